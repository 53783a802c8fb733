"""Rows held against what the engine counted, over events made by hand."""

from typing import Any

from loadsim.stats.account import account

from .rows import row


def asked(point: str, repeat: int, count: int) -> dict[str, Any]:
    return {"event": "requests", "t_s": 1.0, "point": point, "repeat": repeat, "asked": count}


def test_every_request_has_its_row() -> None:
    rows = [row(row=kind, repeat=repeat) for kind in ("warm", "baseline", "load") for repeat in (1, 2)]
    found = account(rows, [asked("p", 1, 3), asked("p", 2, 3)])
    assert (found.asked, found.rows, found.open, found.short) == (6, 6, 0, {})


def test_a_row_that_is_missing_is_told_with_its_point() -> None:
    rows = [row(point=point, caller=caller) for point in ("p", "q") for caller in range(4)]
    found = account(rows[:-1], [asked("p", 1, 4), asked("q", 1, 4)])
    assert (found.asked, found.rows, found.short) == (8, 7, {"q": (4, 3)})


def test_a_repeat_that_broke_off_is_no_shortage() -> None:
    found = account([row(), row(repeat=2), row(repeat=2)], [asked("p", 1, 1)])
    assert (found.asked, found.rows, found.open, found.short) == (1, 1, 2, {})


def test_a_run_of_old_was_not_counted() -> None:
    found = account([row(), row()], [{"event": "phase", "phase": "warming", "t_s": 0.0}])
    assert (found.asked, found.rows, found.open, found.short) == (None, 0, 2, {})
