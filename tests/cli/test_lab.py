"""The lab's probes as they ship, against the embedded server: the article's numbers, to the token."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from loadsim.report.table import holds
from loadsim.results.read import Run, read
from loadsim.stats.probe import Checkpoints, Floor, Prefill, Reach, Tools, batches, probes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("LOADSIM_API_KEY", raising=False)


def loadsim(name: str, sets: Sequence[str] = ()) -> tuple[Run, str]:
    """A run of a lab scenario, and what it printed in one line."""
    flags = [word for key in sets for word in ("--set", key)]
    command = [sys.executable, "-m", "loadsim", "scenario", f"lab/{name}", "--out", "run", *flags]
    done = subprocess.run(command, check=True, timeout=850, capture_output=True, text=True)
    return read(Path("run")), " ".join(done.stdout.split())


def found(run: Run) -> Any:
    (probed,) = probes(run.rows)
    assert holds(run)
    return probed.found


BY_UBATCH = {512: (17_362, 516), 1024: (16_850, 1028), 2048: (15_830, 2048)}
"""The article's restore points, and the edges."""


def test_the_reach_and_its_edge_by_ubatch() -> None:
    run, said = loadsim("reach")
    assert holds(run)
    reaches = {probed.point: probed.found for probed in probes(run.rows)}
    assert list(reaches) == [f"ubatch={ubatch}" for ubatch in BY_UBATCH]
    for ubatch, (restored, edge) in BY_UBATCH.items():
        reach = reaches[f"ubatch={ubatch}"]
        assert isinstance(reach, Reach)
        assert (reach.tokens, reach.history) == (17_878, 10_371)
        assert (reach.restored, reach.past) == (restored, (10_367, 10_367))
        assert (reach.edge, reach.beyond) == (edge, edge + 1)
        answer = f"The reach is {edge:,} tokens: in a prompt of 17,878 tokens, an edit within it restores {restored:,}"
        assert answer in said


def test_a_grid_of_edits() -> None:
    run, _ = loadsim("reach", ["sweep.server.ubatch=[512]", "probe.replaced=[4, 60, 300, 516, 517, 1028]"])
    assert [(edit.replaced, edit.parts.cache_n, edit.inside) for edit in found(run).edits] == [
        (4, (17_874, 17_874), True), (60, (17_362, 17_362), True), (300, (17_362, 17_362), True),
        (516, (17_362, 17_362), True), (517, (10_367, 10_367), False), (1028, (10_367, 10_367), False),
    ]  # fmt: skip


def test_the_chat_route_is_the_same_within_two_tokens() -> None:
    run, said = loadsim("reach", ["sweep.server.ubatch=[512]", "probe.route=chat"])
    reach = found(run)
    restored, edge = BY_UBATCH[512]
    assert abs(reach.tokens - 17_878) <= 2
    assert abs(reach.restored - restored) <= 2
    assert all(abs(past - 10_367) <= 2 for past in reach.past)
    assert abs(reach.edge - edge) <= 2
    assert reach.beyond - reach.edge <= 4  # an edit is of whole words
    assert "through the chat route" in said


def test_checkpoints_by_their_number() -> None:
    run, said = loadsim("checkpoints")
    assert holds(run)
    reused = {
        probed.point: {case.case: case.parts.cache_n for case in probed.found.cases}
        for probed in probes(run.rows)
        if isinstance(probed.found, Checkpoints)
    }
    some = {"extension": (10_371, 10_371), "repeat": (17_874, 17_874), "edit": (17_362, 17_362)}
    none = {"extension": (10_371, 10_371), "repeat": (0, 0), "edit": (0, 0)}
    assert reused == {"checkpoints=0": none} | {f"checkpoints={n}": some for n in (2, 8, 32)}
    assert said.count("is reused") == 10


def test_without_checkpoints_only_a_pure_extension_is_reused() -> None:
    short = ["probe.history=3000", "probe.tail=24"]
    run, said = loadsim("checkpoints", ["sweep.server.checkpoints=[0]", *short])
    assert [(case.case, case.parts.cache_n) for case in found(run).cases] == [
        ("extension", (3000, 3000)), ("repeat", (0, 0)), ("edit", (0, 0)),
    ]  # fmt: skip
    assert "a pure extension is reused (3,000 of 3,024), an identical repeat is not (0 of 3,024) and an edit is" in said


def test_prefill() -> None:
    run, _ = loadsim("prefill")
    prefill = found(run)
    assert isinstance(prefill, Prefill)
    assert [(one.length, one.parts.rows, one.parts.cache_n, one.parts.prompt_n) for one in prefill.prompts] == [
        (n, 3, (0, 0), (n, n)) for n in (1000, 4000, 10_394)
    ]
    assert all(one.parts.rate is not None and one.parts.rate.mid > 1000 for one in prefill.prompts)


def test_floor() -> None:
    run, _ = loadsim("floor", ["repeat=2"])
    floor = found(run)
    assert isinstance(floor, Floor)
    assert [(one.new, one.parts.prompt_n) for one in floor.grown] == [
        (n, (n, n)) for n in (1, 4, 5, 6, 8, 12, 16, 24, 60, 105)
    ]
    assert {(row.cache_n, row.slot) for row in run.rows if "new" in row.probe} == {(10_367, 0)}
    assert [batches(one.new, (2048, 2048)) for one in floor.grown] == [1, 1, *[2] * 8]
    assert [chat.tools for chat in floor.chats] == [5, 5, 5, 0, 0, 0]
    for chat in floor.chats:
        assert chat.parts.prompt_n == (4, 4)
        assert chat.render is not None
        assert chat.parts.ttft is not None
        assert 0 < chat.render.mid < chat.parts.ttft.mid + 100


def test_tools_are_asked_of_a_model_that_calls_none() -> None:
    run, said = loadsim("tools")
    tools = found(run)
    assert isinstance(tools, Tools)
    # the front desk's tool calls, by hand
    assert [(case.turn, case.step) for case in tools.cases] == [
        (3, 0), (12, 0), (17, 0), (22, 0), (22, 1), (40, 0), (47, 0),
    ]  # fmt: skip
    assert "0 of 7 tool cases came back as tool calls" in said
