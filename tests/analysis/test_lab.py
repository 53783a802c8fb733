"""Every scenario of the lab at a reduced size on the embedded server, and its study's table of that run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loadsim import shipped
from tests.analysis.small import ROOT, SMALL, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SAID = {
    "reach": ("reach", ["ubatch=64 932 68 68 596", "ubatch=128 868 132 132 596", "eval, ms"]),
    "checkpoints": ("checkpoints", ["extension 1 600 600 200", "repeat 1 800 0 800", "repeat 1 800 796 4"]),
    "floor": ("floor", ["new tokens n batches", "The step: 4 new tokens in one batch", "Fit: ", "messages tools n"]),
    "prefill": ("prefill", ["tokens/s least most eval, ms", "400 3 "]),
    "tools": ("tools", ["0 of 7 as tool_calls, 0 with the recorded tools"]),
    "step": ("floor", ["new tokens n batches", "The step: 4 new tokens in one batch take", "messages tools n"]),
    "reach_below_ubatch": ("reach", ["batch=64", "batch=128 872 128 128 596"]),
    "reach_ubatch_4096": ("reach", ["ubatch=64, batch=64 936 64 64", "ubatch=128, batch=128 872 128 128 596"]),
    "callers_12": (
        "callers",
        ["token, ms callers n least", "slope, ms", "count=4 5,456 4,800 656 376 376 4 agree"],
    ),
    "callers_24": (
        "callers",
        ["count=1 682 600 82 47 47 1 agree", "count=24 16,368 14,400 1,968 1,128 1,128 24 agree"],
    ),
    "cold_join": ("cold_join", ["ubatch=64 2 691", "ubatch=128, alone 4", "stall before"]),
    "cold_join_twelve": ("cold_join", ["ubatch=64 1 691", "ubatch=128 12", "stall before"]),
    "batch_below_ubatch": ("cold_join", ["batch=64 1 691", "batch=128 2", "stall before"]),
    "ubatch_4096": ("cold_join", ["ubatch=2048, batch=2048 1 691", "ubatch=4096, batch=4096 2", "stall before"]),
    "hot_card": ("hot_card", ["2 warm, 1, before 0.0 2", "2 warm, 1, after 0.", "Nothing but the card's state"]),
    "guidellm": ("guidellm", ["count=3", " 256 ", "in prompt reply", "requests/s"]),
}
"""By scenario, the study that reads its runs and words of what it prints."""


def test_every_scenario_of_the_lab_is_run_and_studied() -> None:
    lab = {name.removeprefix("lab/") for name in shipped.names("scenarios") if name.startswith("lab/")}
    assert lab == set(SMALL) == set(SAID)


@pytest.mark.parametrize("scenario", SMALL)
def test_a_study_prints_its_table_of_a_small_run(scenario: str, tmp_path: Path) -> None:
    name, wanted = SAID[scenario]
    run(scenario, tmp_path / "run", sets=SMALL[scenario])
    command = [sys.executable, str(ROOT / "analysis" / f"{name}.py"), str(tmp_path / "run")]
    path = {"PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=100, env=os.environ | path)
    said = " ".join(done.stdout.split())
    assert [words for words in wanted if words not in said] == []
    assert (tmp_path / "run" / f"{name}.png").stat().st_size > 10_000
