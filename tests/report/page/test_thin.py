"""Fewer points, and nothing of what an eye would see is gone."""

import math

from hypothesis import example, given
from hypothesis import strategies as st

from loadsim.report.page.thin import thin

WAVE = [math.sin(i / 1000) for i in range(100_000)]


def test_few_points_stay_as_they_are() -> None:
    assert thin([], []) == ([], [])
    assert thin([1.0, 2.0, 3.0], [1.0, None, 3.0], 3) == ([1.0, 2.0, 3.0], [1.0, None, 3.0])


def test_a_single_peak_and_both_ends_stay() -> None:
    y = [*WAVE[:54_321], 50.0, *WAVE[54_322:]]
    x, kept = thin(range(len(y)), y, 500)
    assert 500 <= len(x) <= 502
    assert kept[x.index(54_321.0)] == 50.0
    assert (x[0], x[-1]) == (0.0, 99_999.0)


def test_a_gap_stays_a_gap() -> None:
    y: list[float | None] = [*WAVE]
    y[30_000:40_000] = [None] * 10_000
    x, kept = thin(range(len(y)), y, 500)
    assert [at for at, value in zip(x, kept, strict=True) if value is None] == [30_000.0]


@example([0.0, 0.0, 0.0, 0.0, 1.0, -1.0, *[0.0] * 20], 8)
@given(st.lists(st.none() | st.floats(-1e9, 1e9), max_size=400), st.integers(8, 60))
def test_what_stays_was_there(y: list[float | None], most: int) -> None:
    x, kept = thin(range(len(y)), y, most)
    assert x == sorted(set(x))
    assert all(y[int(at)] == value for at, value in zip(x, kept, strict=True))
    assert sum(value is not None for value in kept) <= most + 2
    known = [value for value in y if value is not None]
    if known:  # of the known ones the first, the last, the largest and the smallest
        left = [value for value in kept if value is not None]
        assert (left[0], left[-1], max(left), min(left)) == (known[0], known[-1], max(known), min(known))
