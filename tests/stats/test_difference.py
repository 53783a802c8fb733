import itertools
import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from loadsim.stats.difference import fisher, holm, newcombe, of_counts, of_ratio
from tests.benchmarks.coverage import covered, covered_counts, middle

A = [100.0, 104.0, 98.0, 101.0, 103.0]
B = [110.0, 125.0, 108.0, 119.0, 131.0]
TRIALS = 1500


def test_the_ratio_is_scipys_welch_of_the_logarithms() -> None:
    logs = [[math.log(x) for x in values] for values in (B, A)]
    known = stats.ttest_ind(*logs, equal_var=False)
    ends = known.confidence_interval(0.95)

    found = of_ratio(A, B, 0.95)

    assert found.mid == pytest.approx(math.exp(sum(logs[0]) / 5 - sum(logs[1]) / 5) - 1)
    assert (found.low, found.high) == pytest.approx((math.expm1(ends.low), math.expm1(ends.high)))
    assert found.p == pytest.approx(known.pvalue)


def test_the_other_way_round_it_is_the_inverse() -> None:
    there, back = of_ratio(A, B, 0.95), of_ratio(B, A, 0.95)

    assert (1 + there.mid) * (1 + back.mid) == pytest.approx(1)
    assert (1 + there.low) * (1 + back.high) == pytest.approx(1)
    assert there.p == pytest.approx(back.p)


def test_what_is_surely_not_nothing_need_not_be_over_the_least_that_counts() -> None:
    assert of_ratio(A, B, 0.95).p < 0.02
    assert of_ratio(A, B, 0.95, 0.2).p > 0.5  # it is 17 %


def test_at_the_least_that_counts_one_side_alone_decides() -> None:
    """By symmetry the mean is over it as often as under it, and hardly ever beyond it on the other side."""
    mid = of_ratio(A, B, 0.95).mid

    assert of_ratio(A, B, 0.95, mid).p == pytest.approx(0.5, abs=0.001)


@pytest.mark.parametrize(("b", "least", "p"), [([2.0] * 5, 0.0, 0.0), ([1.0] * 5, 0.0, 1.0), ([1.02] * 5, 0.03, 1.0)])
def test_repeats_that_are_all_alike(b: list[float], least: float, p: float) -> None:
    found = of_ratio([1.0] * 5, b, 0.95, least)

    assert found.low == found.mid == found.high == pytest.approx(b[0] - 1)
    assert found.p == p


@pytest.mark.parametrize("values", [[1.0], [], [1.0, 0.0], [1.0, -1.0]])
def test_what_has_no_ratio(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"repeats|over 0"):
        of_ratio(values, [1.0, 2.0], 0.95)


def test_fishers_lady_tasting_tea() -> None:
    """The Design of Experiments, 1935: three of four right is 17/70 one-sided, 34/70 on both sides."""
    assert fisher(3, 4, 1, 4) == pytest.approx(34 / 70)


@given(st.tuples(*[st.integers(0, 30)] * 2), st.tuples(*[st.integers(0, 30)] * 2))
def test_fisher_is_scipys(a: tuple[int, int], b: tuple[int, int]) -> None:
    (hits_a, rest_a), (hits_b, rest_b) = a, b
    if not (hits_a + rest_a and hits_b + rest_b):
        return
    known = stats.fisher_exact([[hits_a, rest_a], [hits_b, rest_b]]).pvalue

    assert fisher(hits_a, hits_a + rest_a, hits_b, hits_b + rest_b) == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [((56, 70), (48, 80), 0.0524, 0.3339), ((9, 10), (3, 10), 0.1705, 0.8090), ((5, 56), (0, 29), -0.0381, 0.1926)],
)
def test_newcombes_published_examples(first: tuple[int, int], second: tuple[int, int], low: float, high: float) -> None:
    """Statistics in Medicine 17 (1998), 873-890, table II, method 10: the first share less the second."""
    found = newcombe(*second, *first, 0.95)

    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_bad_replies_in_every_repeat_are_a_difference() -> None:
    found = of_counts([(0, 12)] * 5, [(3, 12), (4, 12), (2, 12), (3, 12), (3, 12)], 0.95)

    assert found.mid == pytest.approx(0.25)
    assert 0.1 < found.low < 0.25 < found.high < 0.4
    assert found.p < 0.001


def test_one_bad_burst_is_one_event_however_many_replies_it_had() -> None:
    """Fisher alone would take its twelve for independent ones: p < 0.001."""
    found = of_counts([(0, 12)] * 5, [(12, 12), (0, 12), (0, 12), (0, 12), (0, 12)], 0.95)

    assert fisher(0, 60, 12, 60) < 0.001
    assert found.low < 0 < found.high
    assert found.p == pytest.approx(stats.ttest_1samp([1, 0, 0, 0, 0], 0).pvalue)


def test_none_at_all_in_both_still_leaves_room() -> None:
    """Wilson's upper bound of 0 of 60 is z² / (60 + z²)."""
    found = of_counts([(0, 12)] * 5, [(0, 12)] * 5, 0.95)

    assert found.mid == 0
    assert found.high == -found.low == pytest.approx(1.96**2 / (60 + 1.96**2), rel=1e-4)
    assert found.p == 1


@given(
    st.lists(st.tuples(st.integers(0, 12), st.just(12)), min_size=2, max_size=8),
    st.lists(st.tuples(st.integers(0, 12), st.just(12)), min_size=2, max_size=8),
)
def test_counts_keep_within_bounds(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    found = of_counts(a, b, 0.95)

    assert -1 <= found.low <= found.mid <= found.high <= 1
    assert 0 <= found.p <= 1


@pytest.mark.parametrize("counts", [[(1, 2)], [(0, 0), (1, 2)]])
def test_what_has_no_share(counts: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match=r"repeats|replies"):
        of_counts(counts, [(1, 2), (1, 2)], 0.95)


def test_holm_by_hand() -> None:
    """0.005 x 4, 0.01 x 3, 0.03 x 2, and 0.04 is not let under the one before it."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_never_makes_a_look_surer_and_keeps_their_order(p: list[float]) -> None:
    adjusted = holm(p)

    assert all(mine >= plain and mine <= 1 for mine, plain in zip(adjusted, p, strict=True))
    assert all((adjusted[i] <= adjusted[j]) for i, j in itertools.product(range(len(p)), repeat=2) if p[i] < p[j])


def test_the_noises_middle_is_what_is_drawn() -> None:
    """The geometric mean of 1 + x exp(1), x = 1: by the exponential integral, e E1(1) = 0.596347."""
    assert middle("skewed", 1.0) == pytest.approx(0.596347, abs=1e-4)
    assert middle("lognormal", 0.2) == 0


def _within_chance(hits: int, of: int, share: float) -> bool:
    """Whether so many hits are no rarer than 1 in 1,000 on either side."""
    low, high = stats.binom.ppf([0.001, 0.999], of, share)
    return bool(low <= hits <= high)


@pytest.mark.parametrize("repeats", [5, 8, 12])
@pytest.mark.parametrize("kind", ["normal", "lognormal"])
@pytest.mark.parametrize("spreads", [(0.03, 0.03), (0.1, 0.1), (0.03, 0.1), (0.1, 0.03)])
def test_the_interval_covers_a_known_difference_in_95_of_100(
    kind: str, spreads: tuple[float, float], repeats: int
) -> None:
    assert _within_chance(covered(kind, spreads, repeats, TRIALS, 7), TRIALS, 0.95)


@pytest.mark.parametrize("repeats", [5, 8, 12])
def test_skewed_noise_alike_in_both_is_covered_as_often_or_more(repeats: int) -> None:
    assert covered("skewed", (0.1, 0.1), repeats, TRIALS, 7) >= stats.binom.ppf(0.001, TRIALS, 0.95)


def test_skewed_noise_in_one_run_alone_is_covered_in_some_90_of_100() -> None:
    """No method knows the skew from five repeats: the bound that is told to users."""
    assert covered("skewed", (0.1, 0.03), 5, TRIALS, 7) >= stats.binom.ppf(0.001, TRIALS, 0.9)


@pytest.mark.parametrize("bursts", [False, True])
@pytest.mark.parametrize("shares", [(0.05, 0.05), (0.05, 0.25)])
def test_counts_are_covered_in_95_of_100_or_more(shares: tuple[float, float], bursts: bool) -> None:
    found = partial(covered_counts, shares, bursts, 5)(600, 7)

    assert found >= stats.binom.ppf(0.001, 600, 0.95)


def test_a_ratio_beyond_what_a_number_holds_is_the_largest() -> None:
    found = of_ratio([5e-324] * 5, [1e308] * 5, 0.95)
    assert 1e300 < found.mid < math.inf and found.p == 0
