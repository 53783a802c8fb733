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
