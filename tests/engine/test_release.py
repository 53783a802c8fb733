"""A stream that a caller closes, over a real connection: the server hears of it, and lets its slot go when it does."""

from pathlib import Path

import pytest

from tests.engine.test_cuts import OWN, cut_after, worded
from tests.engine.truthful import measured, of


def test_a_real_stream_that_is_closed_is_gone_at_the_server_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_after(monkeypatch, 0.3)
    scenario = OWN | {"pace": {"by": "speech"}, "barge_in": {"by": "drawn", "probability": 1}}
    scenario |= {"callers": {"warm": {"count": 1, "turns": "3"}}}
    found, truth = measured(tmp_path / "run", scenario, worded, step=0.2, release=0.3)
    (row,) = of(found, "load")
    assert row.cut is not None
    assert row.cut.closed
    assert truth.log[-1].outcome == "gone"
    assert len(truth.log[-1].token_s) >= len(row.token_s) == row.cut.heard + row.cut.unheard
    (released,) = [e for e in found.events if e["event"] == "released"]
    # the server hears of it a moment after the caller has hung up, and is asked every now and then
    freed, left = truth.log[-1].freed_s, truth.log[-1].ended_s
    assert freed is not None
    assert left is not None
    assert released["after_s"] >= freed - left >= 0.299
