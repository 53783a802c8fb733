"""Barge-ins on the page, of rows made by hand."""

from typing import Any

import pytest

from loadsim.report.page.barge import barge_ins
from loadsim.report.page.parts import Chart, Section, Shown, Table
from loadsim.report.point import points
from loadsim.results.read import Run
from loadsim.types import RequestRow
from tests.report.runs import SPEECH, run_of
from tests.stats.rows import cut, row

CUT = row(turn=1, outcome="cut", cut=cut(12.0, 1.5, 40, closed=True))


def after(depth: int, again: int, **fields: Any) -> RequestRow:
    """A prompt that grew by 60 tokens after a cut, of which `again` more were evaluated."""
    plain = {"turn": depth + 2, "cut_tokens": depth, "kind": "rewind", "cache_n": 9_000, "new_tokens": 60}
    return row(**plain | {"prompt_n": 60 + again, "prompt_ms": 100.0 + again} | fields)


def section(*rows: RequestRow, labels: tuple[str, ...] = ("",)) -> Section | None:
    run: Run = run_of(*rows, scenario=SPEECH)
    return barge_ins([Shown(label=label, run=run, points=points(run)) for label in labels])


def charts(found: Section | None) -> dict[str, Chart]:
    assert found is not None
    return {part.id: part for part in found.parts if isinstance(part, Chart)}


def test_cut_depth_against_the_next_prompt() -> None:
    found = charts(section(CUT, after(40, 4), after(12, 500), row(turn=99)))
    assert list(found) == ["barge-evaluated", "barge-ms", "barge-cache"]
    others, cuts = found["barge-evaluated"].series
    # the cut reply's own prompt and the last one came after whole replies
    assert (others.x, others.y) == ([0.0, 0.0], [60, 60])
    assert (cuts.x, cuts.y) == ([12.0, 40.0], [560, 64])
    assert cuts.label == "p, after a cut"
    assert cuts.notes == [
        "p, repeat 1: warm 0, turn 14, rewind, 500 tokens evaluated again",
        "p, repeat 1: warm 0, turn 42, rewind, 4 tokens evaluated again",
    ]
    assert found["barge-ms"].series[1].y == [600.0, 104.0]
    assert found["barge-cache"].series[1].y == [9_000, 9_000]
    assert found["barge-evaluated"].said == (
        "Prompt tokens evaluated: 312 tokens at p50 over 2 prompts after a cut, 60.0 over 2 after whole replies."
    )


def test_the_table_is_the_terminals() -> None:
    found = section(CUT, after(40, 440, prompt_ms=420.0), row(turn=3))
    assert found is not None
    (table,) = (part for part in found.parts if isinstance(part, Table))
    assert table.columns == [
        "load point", "prompts", "n", "cache_n, p50", "evaluated, p50", "grew by, p50", "eval, ms, p50"
    ]  # fmt: skip
    assert table.rows == [
        ["p", "after a cut", "1", "9,000", "500", "60", "420"], ["p", "others", "2", "10,369", "60", "60", "140"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("prompts", "said"),
    [
        (
            [after(40, 4), after(12, 0)],
            "The run does not show where a cut goes too deep: after cuts of up to 40 tokens no prompt had more than 4 "
            "tokens evaluated again.",
        ),
        (
            [after(40, 4), after(516, 32), after(520, 7000), after(600, 6500)],
            "The server went back to the last prompt's end after cuts of up to 516 tokens, and further after those of "
            "520 or more: up to 7,000 tokens were evaluated again.",
        ),
        (
            [after(40, 4), after(12, 33), after(50, 900)],
            "After 2 of 3 cuts the server went back further than the last prompt, the shallowest of 12 tokens: up to "
            "900 tokens were evaluated again. Depth alone does not decide it: the deepest after which it did not has "
            "40 tokens.",
        ),
        (
            [after(1, 100)],
            "After each of 1 cut the server went back further than the last prompt: up to 100 tokens were evaluated "
            "again.",
        ),
    ],
)
def test_how_deep_a_cut_may_be(prompts: list[RequestRow], said: str) -> None:
    found = section(CUT, *prompts)
    assert found is not None
    assert found.words[1:] == [said]


def test_what_a_server_does_not_tell_is_not_drawn() -> None:
    found = section(CUT, after(40, 4, cache_n=None, kind=None), row(turn=3, cache_n=None))
    assert list(charts(found)) == ["barge-ms"]
    assert found is not None
    assert len(found.words) == 1  # nobody knows how far it went back
    assert charts(found)["barge-ms"].series[1].notes == ["p, repeat 1: warm 0, turn 42"]


def test_tool_steps_and_lost_replies_are_no_prompts_after_a_cut() -> None:
    found = charts(section(CUT, after(40, 4), after(7, 900, step=1), after(9, 900, outcome="error")))
    assert found["barge-evaluated"].series[1].x == [40.0]


def test_each_point_has_its_series() -> None:
    rows = [CUT, after(40, 4), row(turn=1, outcome="cut", cut=cut(12.0, 1.5, 40), point="q"), after(5, 0, point="q")]
    found = charts(section(*rows, labels=("a", "b")))
    assert [series.label for series in found["barge-evaluated"].series] == [
        "after whole replies", "a: p, after a cut", "a: q, after a cut", "b: p, after a cut", "b: q, after a cut"
    ]  # fmt: skip


def test_many_prompts_are_thinned_and_say_so() -> None:
    many = [row(turn=i, prompt_n=i) for i in range(3001)]
    series = charts(section(CUT, after(40, 4), *many))["barge-evaluated"].series[0]
    assert len(series.y) == 1500
    assert (series.y[0], series.y[-1]) == (0, 3000)
    assert series.label == "after whole replies, 1,500 of 3,002 drawn"


def test_where_nobody_cuts_in_there_is_no_section() -> None:
    assert section(row(), row(turn=6)) is None
