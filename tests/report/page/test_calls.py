"""How calls ended and requests per turn on the page, of rows and events made by hand."""

from typing import Any

from loadsim.report.page.calls import calls
from loadsim.report.page.parts import Section, Shown, Table
from loadsim.report.point import points
from tests.report.runs import SPEECH, run_of
from tests.stats.rows import call, row


def section(*rows: Any, events: tuple[Any, ...] = (), label: str = "") -> Section | None:
    run = run_of(*rows, scenario=SPEECH | {"pace": {"by": "at_once"}}, events=events)
    return calls([Shown(label=label, run=run, points=points(run))])


def tables(found: Section | None) -> dict[str, Table]:
    assert found is not None
    return {part.caption: part for part in found.parts if isinstance(part, Table)}


def test_how_calls_ended() -> None:
    events = (call(4, 4, "ended"), call(4, 4, "ended"), call(6, 2, "failed"), call(5, 3, "hung_up"), call(9, 1, "left"))
    table = tables(section(row(), events=events, label="run"))["How calls ended"]
    assert table.columns == [
        "load point", "calls", "to the end", "failed", "hung up", "ended when their phase had fewer callers",
        "turns planned", "turns answered",
    ]  # fmt: skip
    # of the one that left, only what it came to was planned: 4 + 4 + 6 + 5 + 1
    assert table.rows == [["run: p", "5", "2", "1", "1", "1", "20", "14"]]


def test_requests_per_turn() -> None:
    rows = [
        row(turn=1, outcome="superseded"), row(turn=1, attempt=1), row(turn=2, outcome="error", error="boom"),
        row(turn=2, attempt=1), row(turn=3, outcome="empty"), row(turn=4, group="other"),
    ]  # fmt: skip
    found = tables(section(*rows))
    assert list(found) == ["Requests per turn"]
    table = found["Requests per turn"]
    assert table.columns == [
        "load point", "group", "requests", "turns answered", "per turn", "requests sent too early and taken back",
        "retries", "empty replies",
    ]  # fmt: skip
    assert table.rows == [
        ["p", "warm", "5", "3", "1.67", "1", "1", "1"],
        ["p", "other", "1", "1", "1.00", "0", "0", "0"],
    ]


def test_an_end_of_a_name_that_is_not_known_is_told_as_it_is() -> None:
    table = tables(section(row(), events=(call(4, 4, "abducted"),)))["How calls ended"]
    assert table.columns[2] == "abducted"
    assert table.rows[0][2] == "1"


def test_paced_calls_that_all_ended_are_told() -> None:
    run = run_of(row(), scenario=SPEECH, events=(call(1, 1, "ended"),))
    found = tables(calls([Shown(label="", run=run, points=points(run))]))
    assert found["How calls ended"].rows == [["p", "1", "1", "1", "1"]]


def test_where_all_went_as_planned_there_is_no_section() -> None:
    assert section(row(), row(turn=6), events=(call(2, 2, "ended"),)) is None
    assert section(row()) is None
