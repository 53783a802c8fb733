"""The percentile plot, held against HdrHistogram's definition and the rule of a hundred samples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.report.page.percentiles import percentiles
from loadsim.stats.tokens import percentile
from tests.report.page.made import chart, counts, heard, series, shown_of, table
from tests.report.runs import run_of
from tests.stats.rows import alone, row


def test_ten_values_stand_at_their_ranks_without_the_last() -> None:
    rows = [heard(0.1 * (10 - i), caller=i) for i in range(10)]
    found = chart(percentiles([shown_of(run_of(*rows))]), "percentiles-ttft")
    assert found.x.scale == "tail"
    line = series(found, "p")
    assert line.x == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]
    assert line.y == pytest.approx([100, 200, 300, 400, 500, 600, 700, 800, 900])
    assert found.said == "TTFT: p 500 ms at p50, 1,000 at most."


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=2000))
def test_each_point_is_the_percentile_that_it_stands_at(values: list[int]) -> None:
    rows = [heard(value / 1e6, turn=i) for i, value in enumerate(values)]
    line = series(chart(percentiles([shown_of(run_of(*rows))]), "percentiles-ttft"), "p")
    assert len(line.x) <= 200
    known = sorted(value / 1e3 for value in values)
    for q, value in zip(line.x, line.y, strict=True):
        assert value == pytest.approx(percentile(known, q), rel=1e-5)
    assert line.x[-1] == pytest.approx(100 * (1 - 1 / len(values)), abs=1e-5)


def test_the_tail_of_many_values_is_as_fine_as_its_beginning() -> None:
    """A hundred thousand gaps: 1 ms, but one in a thousand of 50 ms; two hundred points reach past p99.99."""
    steps = [0.05 if i % 1000 == 999 else 0.001 for i in range(100_000)]
    times = [0.1]
    for step in steps:
        times.append(times[-1] + step)
    found = percentiles([shown_of(run_of(row(token_s=times, token_server_ms=[])))])
    line = series(chart(found, "percentiles-gap"), "p")
    assert len(line.x) <= 200 and line.x[-1] == 99.999
    assert sum(q > 99.9 for q in line.x) > 40  # two of five decades
    assert {round(value or 0, 1) for q, value in zip(line.x, line.y, strict=True) if q > 99.9} == {50.0}
    assert {round(value or 0, 1) for q, value in zip(line.x, line.y, strict=True) if q <= 99.9} == {1.0}
    cells = dict(zip(table(found, "Percentiles").columns, table(found, "Percentiles").rows[1], strict=True))
    assert cells == {
        "ms": "gap, p", "n": "100,000", "p50": "1.00", "p90": "1.00", "p95": "1.00", "p99": "1.00", "p99.9": "1.00",
        "max": "50.0",
    }  # fmt: skip


@pytest.mark.parametrize(("replies", "p99"), [(99, "-"), (100, "99.0")])
def test_no_p99_under_a_hundred_values(replies: int, p99: str) -> None:
    rows = [heard((i + 1) / 1000, turn=i) for i in range(replies)]
    one = table(percentiles([shown_of(run_of(*rows))]), "Percentiles")
    assert one.rows[0][one.columns.index("p99")] == p99
    assert one.rows[0][one.columns.index("p99.9")] == "-"
    assert one.rows[0][one.columns.index("n")] == f"1 x {replies}"


def test_each_baseline_is_dashed_beside_its_load_point() -> None:
    quiet = [alone(i, side, 0.01, point="p") for side in ("before", "after") for i in range(3)]
    found = chart(
        percentiles([shown_of(run_of(*(heard(0.3, caller=i) for i in range(3)), *quiet))]), "percentiles-ttft"
    )
    line = series(found, "one caller beside p")
    assert (line.dashed, line.role) == (True, "alone")
    assert line.y == [200.0] * 3  # four replies count; the last is in the table


def test_of_many_load_points_the_baselines_are_one_line() -> None:
    shown = counts(sizes=(1, 2, 3, 4, 5))
    rows = [*shown.run.rows, *(alone(i, "before", 0.01, point=f"count={n}") for n in range(1, 6) for i in range(3))]
    found = chart(percentiles([shown_of(run_of(*rows, points=shown.run.facts["points"]))]), "percentiles-ttft")
    assert [each.label for each in found.series if each.role == "alone"] == ["one caller"]


def test_nothing_that_counts_is_no_section() -> None:
    assert percentiles([shown_of(run_of(row(outcome="error", error="HTTP 500")))]) is None
    assert percentiles([shown_of(run_of())]) is None
