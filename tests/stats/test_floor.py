"""The floor's fit and its step, on times of a known making and beside scipy's own regression."""

from typing import Any

import pytest
from scipy import stats

from loadsim.stats.floor import Step, fit, step
from loadsim.stats.probe import Floor, Grown, batches, probes
from tests.stats.test_probe import ask

NEW = (1, 4, 5, 6, 8, 12, 16, 24, 60, 105)


def grown(evals: dict[int, float], **fields: Any) -> list[Grown]:
    (probed,) = probes(ask("floor", {"new": new}, prompt_n=new, prompt_ms=ms, **fields) for new, ms in evals.items())
    assert isinstance(probed.found, Floor)
    return probed.found.grown


def cut(new: int) -> int:
    return batches(new, (2048, 2048))


def test_what_the_times_were_made_of_comes_back() -> None:
    # the article: 54 ms at 4 new tokens, 130 at 24, 136 at 60
    found = fit(grown({new: 52.0 + 0.2 * new + (70 if new > 4 else 0) for new in NEW}), cut)
    assert found is not None and found.batch is not None
    assert (found.base, found.token.ms, found.batch.ms) == pytest.approx((52.0, 0.2, 70.0))
    assert found.r2 == pytest.approx(1)
    assert found.n == 10
    assert (found.batch.low, found.batch.high) == pytest.approx((70.0, 70.0))


def test_without_a_break_it_is_the_plain_regression() -> None:
    evals = {new: 50 + new + 5 * (-1) ** at for at, new in enumerate(NEW)}
    found = fit(grown(evals), lambda _: 1)
    line = stats.linregress(list(evals), list(evals.values()))
    margin = line.stderr * 2.306004  # Student's t, 97.5 %, 8 degrees of freedom
    assert found is not None and found.batch is None
    assert (found.base, found.token.ms) == pytest.approx((line.intercept, line.slope))
    assert (found.token.low, found.token.high) == pytest.approx((line.slope - margin, line.slope + margin))
    assert found.r2 == pytest.approx(line.rvalue**2)


@pytest.mark.parametrize("new", [(), (4,), (4, 24), (4, 5, 24), (4, 4, 4, 4)])
def test_too_few_numbers_of_new_tokens_make_no_fit(new: tuple[int, ...]) -> None:
    assert fit(grown({n: 50.0 + n for n in new}) if new else [], cut) is None


def test_batches_that_grow_as_the_tokens_do_cannot_be_told_from_them() -> None:
    assert fit(grown({new: 50.0 + new for new in NEW}), lambda new: new) is None


def test_times_that_do_not_vary_have_nothing_to_explain() -> None:
    found = fit(grown(dict.fromkeys(NEW, 54.0)), cut)
    assert found is not None and found.r2 is None
    assert found.base == pytest.approx(54)


def test_a_time_that_is_not_told_is_left_out() -> None:
    rows = [ask("floor", {"new": new}, prompt_ms=None if new == 5 else float(new)) for new in NEW]
    (probed,) = probes(rows)
    assert isinstance(probed.found, Floor)
    assert step(probed.found.grown, cut) == Step(one=4, two=6, one_ms=4.0, two_ms=6.0)
    found = fit(probed.found.grown, cut)
    assert found is not None and found.n == 9


def test_the_step_stands_between_the_nearest_rows() -> None:
    assert step(grown({1: 50.0, 4: 54.0, 24: 130.0, 60: 136.0}), cut) == Step(one=4, two=24, one_ms=54.0, two_ms=130.0)
    assert step(grown({1: 50.0, 5: 99.0}), cut) == Step(one=1, two=5, one_ms=50.0, two_ms=99.0)
    assert step(grown({24: 130.0, 60: 136.0}), cut) is None
    assert step(grown({4: 54.0}), cut) is None
