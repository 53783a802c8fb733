"""Cold joins on the page, of rows made by hand."""

from typing import Any

import msgspec

from loadsim.report.page.cold import MOST_CHARTS, cold_joins
from loadsim.report.page.parts import Chart, Section, Shown, Table
from loadsim.report.point import points
from loadsim.results.read import Run
from tests.report.runs import SPEECH, printed, run_of
from tests.stats.rows import reply

SCENARIO: dict[str, Any] = SPEECH | {
    "callers": {"warm": {}, "joiner": {"cache": "cold"}},
    "server": {"batch": 2048, "ubatch": 2048},
}
# evaluated from 10 to 12 s
COLD = reply(9.5, 2.5, 2.6, group="joiner", kind="cold", prompt_n=10_369, headers_s=10.0, prompt_ms=2000.0)
SPEAKS = reply(8.0, 1.0, 1.5, 2.5, 2.5, 3.25, 4.0, 4.5)  # tokens at 9, 9.5, 10.5 (two), 11.25, 12 and 12.5 s
WAITS = reply(11.0, 1.5, 1.6, caller=1)
LATE = reply(20.0, 1.0, 1.1, caller=1, turn=6)


def section(run: Run, *labels: str) -> Section | None:
    return cold_joins([Shown(label=label, run=run, points=points(run)) for label in labels or ("",)])


def run_with(*rows: Any) -> Run:
    return run_of(*rows, COLD, scenario=SCENARIO, embedded=True)


def charts(found: Section | None) -> list[Chart]:
    assert found is not None
    return [part for part in found.parts if isinstance(part, Chart)]


def test_waits_and_gaps_lie_where_their_token_came() -> None:
    (chart,) = charts(section(run_with(SPEAKS, WAITS, LATE)))
    gaps, waits = chart.series
    # the evaluation lasts 2 s, so 2 s before and after it are seen: from 8 to 14 s
    assert list(zip(gaps.x, gaps.y, strict=True)) == [
        (-0.5, 500.0), (0.5, 1000.0), (1.25, 750.0), (2.0, 750.0), (2.5, 500.0), (2.6, 100.0)
    ]  # fmt: skip
    assert list(zip(waits.x, waits.y, strict=True)) == [(-1.0, 1000.0), (2.5, 1500.0)]
    assert waits.notes == ["warm 0, turn 5, repeat 1", "warm 1, turn 5, repeat 1"]
    assert [(s.label, s.start, s.end, s.role) for s in chart.stripes] == [
        ("the cold prompt is evaluated", 0.0, 2.0, "cold")
    ]  # fmt: skip
    assert chart.said == (
        "1 cold join, with a prompt of 10,369 tokens to evaluate, waited 2.50 s for the first token at p50. Meanwhile "
        "others waited up to 1,500 ms for their first token and replies stalled for up to 1,000 ms; a caller's longest "
        "time stood 1 time before the first token and 1 time inside a reply."
    )


def test_the_table_is_the_terminals() -> None:
    run = run_with(SPEAKS, WAITS)
    found = section(run)
    assert found is not None
    (table,) = (part for part in found.parts if isinstance(part, Table))
    assert table.columns == [
        "load point", "cold join", "TTFT, s", "steps p50", "max", "predict", "wait, ms", "hit", "gap, ms", "hit",
        "tok/s",
    ]  # fmt: skip
    assert table.rows == [["p", "joiner 0, repeat 1", "2.50", "4", "4", "7", "1,500", "1", "1,000", "1", "2.00"]]
    assert " ".join(table.rows[0][1:]) in " ".join(printed(run).split())
    assert any(line.startswith("While the cold prompt is evaluated, of other callers:") for line in found.words)


def test_joins_of_a_point_lie_over_one_another() -> None:
    again = msgspec.structs.replace(
        COLD, repeat=2, sent_s=109.5, headers_s=110.0, first_token_s=114.0, prompt_ms=4000.0
    )
    spoke = reply(110.0, 1.0, 2.0, 7.0, repeat=2)
    (chart,) = charts(section(run_with(SPEAKS, again, spoke)))
    gaps, waits = chart.series
    assert (1.0, 1000.0) in zip(waits.x, waits.y, strict=True)  # at 111 s, of a prompt evaluated from 110 s on
    assert (2.0, 1000.0) in zip(gaps.x, gaps.y, strict=True)
    assert (7.0, 5000.0) in zip(gaps.x, gaps.y, strict=True)  # as long after it as it took
    assert [(s.label, s.end) for s in chart.stripes] == [("the cold prompt is evaluated, p50", 3.0)]
    # rows of one repeat are never held against another's
    assert len(waits.x) == 2


def test_nobody_else_met_it() -> None:
    (chart,) = charts(section(run_with(LATE)))
    assert chart.said.endswith("Nobody else waited or was spoken to meanwhile.")
    assert [series.x for series in chart.series] == [[], []]


def test_who_is_asked_too_early_waits_for_nothing() -> None:
    early = reply(9.0, 2.0, 2.5, outcome="superseded")
    (chart,) = charts(section(run_with(early)))
    assert [series.x for series in chart.series] == [[], []]


def test_of_many_points_those_with_the_longest_times_are_drawn() -> None:
    rows = [
        msgspec.structs.replace(row, point=f"p{n}") for n in range(10) for row in (COLD, reply(9.0, 3.0 + n, caller=1))
    ]
    found = section(run_of(*rows, scenario=SCENARIO, points={f"p{n}": {"slots": []} for n in range(10)}))
    drawn = charts(found)
    assert found is not None
    assert [chart.title for chart in drawn] == [f"Around a cold prompt, p{n}" for n in range(2, 10)]
    assert len({chart.id for chart in drawn}) == MOST_CHARTS
    assert "Drawn are the 8 load points of 10 whose callers met the longest times." in found.words
    (table,) = (part for part in found.parts if isinstance(part, Table))
    assert len(table.rows) == 10


def test_long_series_are_thinned_and_say_so() -> None:
    many = reply(9.0, *(0.1 + 0.001 * i for i in range(2000)), *(3.0 + 0.01 * i for i in range(50)))
    (chart,) = charts(section(run_with(many)))
    gaps = chart.series[0]
    assert len(gaps.x) <= 1500
    assert gaps.label == f"gap inside a reply, {len(gaps.x):,} of 2,049 drawn"
    assert max(y for y in gaps.y if y is not None) == 901.0  # the stall stays


def test_runs_side_by_side_are_named() -> None:
    found = section(run_with(SPEAKS), "a", "b")
    assert [chart.title for chart in charts(found)] == ["Around a cold prompt, a: p", "Around a cold prompt, b: p"]


def test_without_joins_there_is_no_section() -> None:
    assert section(run_of(SPEAKS, scenario=SCENARIO)) is None
    assert section(run_of(COLD, scenario=SPEECH | {"callers": {"joiner": {"cache": "cold"}}})) is None
