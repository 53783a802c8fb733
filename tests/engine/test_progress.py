"""How far a run is, and when it will be over, as the engine tells it."""

from pathlib import Path
from typing import Any

import pytest

from loadsim.engine import bench
from loadsim.engine.progress import Progress
from loadsim.results.read import Run
from loadsim.server.api import Reply
from tests.calls import any_text
from tests.engine import truthful
from tests.engine.test_pace import SPEECH
from tests.engine.truthful import of


def watched(folder: Path, patch: pytest.MonkeyPatch, scenario: dict[str, Any], **options: Any) -> tuple[Run, Progress]:
    """The run, and its progress at the end."""
    progress = Progress()
    patch.setattr(truthful, "Progress", lambda: progress)
    return truthful.measured(folder, SPEECH | scenario, **options)[0], progress


@pytest.mark.parametrize(
    ("baseline", "alone"), [({"replies": 0}, 0), ({"replies": 2}, 9), ({"replies": 2, "slot": 11}, 8)]
)
def test_the_progress_knows_of_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, baseline: dict[str, Any], alone: int
) -> None:
    callers = {"warm": {"count": 2, "turns": "2-4"}, "new": {"count": 1, "cache": "cold", "turns": "1-2"}}
    found, progress = watched(tmp_path / "run", monkeypatch, {"callers": callers, "baseline": baseline, "repeat": 2})
    # two slots warmed; turns 2 to 4 are four requests, turns 1 and 2 three; the first warming is not counted
    assert len(found.rows) == 2 * (2 + alone + 2 * 4 + 3)
    assert progress.done == progress.total == len(found.rows) - 2
    assert progress.tokens == sum(len(r.token_s) for r in found.rows)


@pytest.mark.parametrize(
    ("scenario", "seconds"),
    [
        # turns 2 to 4 take 10 s; the fourth caller comes after 4 s
        ({"callers": {"warm": {"count": 4, "turns": "2-4", "start": "every 1 s"}}}, 1.4),
        ({"pace": {"by": "speech", "times": "drawn", "time_scale": 100}}, 3 * 12.4 / 100),
        ({"callers": {"warm": {"count": 1, "turns": "2-4", "again": True}}, "duration": "3 s"}, 0.3),
        (
            {"callers": {"warm": {"count": 2, "turns": "2-4", "start": "1 s", "every": "150 ms"}}, "pace": "at_once"},
            0.8,
        ),
    ],
)
def test_the_load_ends_when_the_pace_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: dict[str, Any], seconds: float
) -> None:
    found, progress = watched(tmp_path / "run", monkeypatch, scenario | {"repeat": 2}, first=0.05)
    assert progress.measuring_since is not None
    assert progress.load_ends is not None
    assert progress.loads_left_s == pytest.approx(0, abs=1e-6)
    first, last = (e["t_s"] for e in found.events if e["event"] == "phase" and e["phase"] == "all callers")
    # the connections are opened before the load; measuring began with the first one
    lead = bench.LEAD_S + bench.LEAD_PER_CALLER_S * len({r.caller for r in of(found, "load")})
    # and when that was is noted a moment later
    assert -0.01 < progress.load_ends - progress.measuring_since - (last - first + lead + seconds) < 0.2


def test_nobody_knows_when_callers_end_who_go_as_fast_as_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, progress = watched(tmp_path / "run", monkeypatch, {"pace": "at_once"})
    assert (progress.load_ends, progress.loads_left_s) == (None, None)


def test_the_time_left_by_the_callers_pace() -> None:
    assert Progress(loads_left_s=60).left(100) is None
    assert Progress(loads_left_s=60, load_ends=130).left(100) == 90
    assert Progress(loads_left_s=60, load_ends=130).left(140) == 60  # late, but the other loads are as long


def test_the_time_left_by_the_rows_so_far() -> None:
    assert Progress(total=20).left(100) is None
    assert Progress(total=20, measuring_since=90).left(100) is None
    assert Progress(total=20, measuring_since=90, done=5).left(100) == 30  # 2 s a row


def test_live_replies_wait_or_are_spoken() -> None:
    waiting, other, spoken, over = (Reply(0.0, any_text) for _ in range(4))
    for reply in (spoken, over):
        reply.output(1.0, None)
        reply.output(2.0, None)
    over.end(3.0, "ok")
    progress = Progress(tokens=7, live=[waiting, other, spoken, over])
    assert progress.callers() == (2, 1)
    assert progress.tokens_so_far() == 9
