"""`python -m tests.benchmarks.coverage [--trials 2000] [--seed 1]`: how often the intervals of `loadsim compare` cover.

Simulated pairs of runs whose difference is known: how often, in 100, the interval of 95 % covers it, by repeats and by
noise. B is 10 % more than A. Noise is normal, lognormal, or skewed (1 plus an exponential waiting time), each with the
given spread of one repeat in A and in B. Counted replies are 12 a repeat, alike in all repeats, or worse in some bursts
than in others. At last, whole comparisons: how often one of 12 metrics is called different where nothing is, and how
often a metric is that is 10 % more.
"""

import argparse
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loadsim.stats.comparison import CONFIDENCE, LEAST
from loadsim.stats.difference import holm, of_counts, of_ratio

FACTOR = 1.1
REPEATS = (3, 5, 8, 12)
SPREADS = ((0.03, 0.03), (0.1, 0.1), (0.03, 0.1), (0.2, 0.03))
METRICS = 12
Draw = Callable[[np.random.Generator, float, int], NDArray[np.float64]]


def _normal(random: np.random.Generator, spread: float, n: int) -> NDArray[np.float64]:
    return 1 + spread * random.standard_normal(n)


def _lognormal(random: np.random.Generator, spread: float, n: int) -> NDArray[np.float64]:
    return np.exp(spread * random.standard_normal(n))


def _skewed(random: np.random.Generator, spread: float, n: int) -> NDArray[np.float64]:
    return 1 + spread * random.standard_exponential(n)


NOISE: dict[str, Draw] = {"normal": _normal, "lognormal": _lognormal, "skewed": _skewed}


def middle(kind: str, spread: float) -> float:
    """The logarithm of the noise's geometric mean, by quadrature."""
    if kind == "lognormal":
        return 0.0
    if kind == "normal":
        at, weight = np.polynomial.hermite_e.hermegauss(40)
        return float(weight @ np.log(np.maximum(1 + spread * at, 1e-9)) / weight.sum())
    at, weight = np.polynomial.laguerre.laggauss(60)
    return float(weight @ np.log1p(spread * at))


def covered(kind: str, spreads: tuple[float, float], repeats: int, trials: int, seed: int) -> int:
    """How many of so many simulated comparisons cover the known difference."""
    random = np.random.default_rng((seed, repeats))
    known = FACTOR * math.exp(middle(kind, spreads[1]) - middle(kind, spreads[0])) - 1
    hits = 0
    for _ in range(trials):
        a = NOISE[kind](random, spreads[0], repeats)
        b = FACTOR * NOISE[kind](random, spreads[1], repeats)
        found = of_ratio(a.tolist(), b.tolist(), CONFIDENCE)
        hits += found.low <= known <= found.high
    return hits


def covered_counts(shares: tuple[float, float], bursts: bool, repeats: int, trials: int, seed: int) -> int:
    """The same of counted replies, 12 a repeat; `bursts`: each repeat has a share of its own around these."""
    random = np.random.default_rng((seed, repeats, 1))
    hits = 0
    for _ in range(trials):
        sides = []
        for share in shares:
            each = random.beta(4 * share, 4 * (1 - share), repeats) if bursts else np.full(repeats, share)
            sides.append([(int(bad), 12) for bad in random.binomial(12, each)])
        found = of_counts(sides[0], sides[1], CONFIDENCE)
        hits += found.low <= shares[1] - shares[0] <= found.high
    return hits


def called(spread: float, factor: float, repeats: int, trials: int, seed: int) -> int:
    """How many comparisons of 12 metrics call the first one different; without a factor, any."""
    random = np.random.default_rng((seed, repeats, 2))
    hits = 0
    for _ in range(trials):
        a, b = (np.exp(spread * random.standard_normal((METRICS, repeats))) for _ in range(2))
        b[0] *= factor
        p = [of_ratio(x.tolist(), y.tolist(), CONFIDENCE, LEAST).p for x, y in zip(a, b, strict=True)]
        adjusted = holm(p)
        hits += (adjusted[0] if factor != 1 else min(adjusted)) < 1 - CONFIDENCE
    return hits


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.coverage", description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given: Any = parser.parse_args()
    trials, seed = given.trials, given.seed

    def line(name: str, count: Callable[..., int]) -> None:
        shares = [100 * count(repeats=repeats) / trials for repeats in REPEATS]
        print(f"{name:44}" + "".join(f"{share:10.1f}" for share in shares), flush=True)

    print(f"{trials:,} simulated pairs each, seed {seed}; covered in 100, by repeats on each side")
    print(f"{'':44}" + "".join(f"{repeats:10}" for repeats in REPEATS))
    for kind in NOISE:
        for spreads in SPREADS:
            a, b = (f"{100 * spread:.0f} %" for spread in spreads)
            line(f"{kind}, {a} in A, {b} in B", partial(covered, kind, spreads, trials=trials, seed=seed))
    for bursts in (False, True):
        for shares in ((0.05, 0.05), (0.05, 0.25)):
            a, b = (f"{100 * share:.0f} %" for share in shares)
            name = f"bad replies, {a} in A, {b} in B{', in bursts' if bursts else ''}"
            line(name, partial(covered_counts, shares, bursts, trials=trials, seed=seed))
    print(f"\nin 100 comparisons of 12 metrics (least {LEAST:.0%}, Holm), by repeats")
    trials //= 10  # each has twelve intervals
    for spread in (0.01, 0.02, 0.03, 0.05):
        line(f"one is called where none differs, {spread:.0%}", partial(called, spread, 1.0, trials=trials, seed=seed))
        line(f"the one of +10 % is called, {spread:.0%}", partial(called, spread, FACTOR, trials=trials, seed=seed))


if __name__ == "__main__":
    main()
