"""By how much two sets of repeats differ, and how sure that is. Pure; repeats are independent samples.

Times and rates are compared as ratios: their noise is in per cent, and a ratio means the same for a fast server and a
slow one. Counts are compared as differences of shares, for none at all has no ratio.
"""

import math
from collections.abc import Sequence
from statistics import fmean, variance

import msgspec
from scipy.special import gammaln, ndtri, stdtr, stdtrit

from .interval import Interval

LARGEST = 700.0
"""A logarithm whose number can still be held."""


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A difference of B from A: a relative one (0.1 is 10 % more), or of shares (0.1 is 10 points more).

    `low`, `high`: its interval. `p`: how often repeats that differ by no more than the `least` of interest would look
    at least so different.
    """

    mid: float
    low: float
    high: float
    p: float


def of_ratio(a: Sequence[float], b: Sequence[float], confidence: float, least: float = 0.0) -> Gap:
    """B over A, less 1, by their geometric means: Welch's t on the logarithms, which takes unequal spreads.

    `least`: the smallest relative difference that counts; 0.03 is a factor of 1.03 either way. Raises ValueError for
    fewer than two values on a side, and for values that are not over 0.
    """
    if min(len(a), len(b)) < 2:
        raise ValueError("a difference needs two repeats on each side")
    if min(*a, *b) <= 0:
        raise ValueError("a ratio needs values over 0")
    found = _welch([math.log(x) for x in a], [math.log(x) for x in b], confidence, math.log1p(least))
    mid, low, high = (math.expm1(min(end, LARGEST)) for end in (found.mid, found.low, found.high))
    return Gap(mid=mid, low=low, high=high, p=found.p)


def of_counts(a: Sequence[tuple[int, int]], b: Sequence[tuple[int, int]], confidence: float, least: float = 0.0) -> Gap:
    """B's share less A's of counted replies; `a`, `b`: hits and of how many, by repeat.

    Replies of one burst are not independent, and repeats are few: of Newcombe's interval for all replies and Welch's
    over the repeats' own shares the wider one stands, and so does the larger one of Fisher's exact p and Welch's.
    Raises ValueError for fewer than two repeats on a side, and a repeat with no reply.
    """
    if min(len(a), len(b)) < 2:
        raise ValueError("a difference needs two repeats on each side")
    if not all(of for _, of in (*a, *b)):
        raise ValueError("a share needs replies")
    (hits_a, of_a), (hits_b, of_b) = _pooled(a), _pooled(b)
    mid = hits_b / of_b - hits_a / of_a
    over = _welch([hits / of for hits, of in a], [hits / of for hits, of in b], confidence, least)
    pooled = newcombe(hits_a, of_a, hits_b, of_b, confidence)
    exact = fisher(hits_a, of_a, hits_b, of_b) if abs(mid) > least else 1.0
    low, high = min(pooled.low, over.low, mid), max(pooled.high, over.high, mid)
    return Gap(mid=mid, low=max(low, -1.0), high=min(high, 1.0), p=max(exact, over.p))


def fisher(hits_a: int, of_a: int, hits_b: int, of_b: int) -> float:
    """Fisher's exact test of two shares, both sides: the probability of all tables that are no likelier than this one.

    By hand, since scipy.stats takes two seconds to be imported.
    """
    every, hits = of_a + of_b, hits_a + hits_b
    low, high = max(0, hits - of_b), min(hits, of_a)
    whole = _choose(every, hits)
    chances = [_choose(of_a, k) + _choose(of_b, hits - k) - whole for k in range(low, high + 1)]
    seen = chances[hits_a - low]
    return min(math.fsum(math.exp(chance) for chance in chances if chance <= seen + 1e-7), 1.0)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjustment for so many looks: whoever calls those under 5 % a difference is wrong about any in 5 % of all
    such comparisons at the most, however the looks hang together."""
    adjusted = [1.0] * len(p)
    worst = 0.0
    for place, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        worst = max(worst, min(p[index] * (len(p) - place), 1.0))
        adjusted[index] = worst
    return adjusted


def _welch(a: Sequence[float], b: Sequence[float], confidence: float, least: float) -> Gap:
    """Of the means, with the p of a difference over `least` either way."""
    mid = fmean(b) - fmean(a)
    of_a, of_b = variance(a) / len(a), variance(b) / len(b)
    error = math.sqrt(of_a + of_b)
    if error <= 1e-12 * max(abs(mid), 1e-3):  # all alike: what they differ by is no chance
        return Gap(mid=mid, low=mid, high=mid, p=0.0 if abs(mid) > max(least, 1e-12) else 1.0)
    freedom = (of_a + of_b) ** 2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    half = float(stdtrit(freedom, 0.5 + confidence / 2)) * error
    p = float(stdtr(freedom, (least - abs(mid)) / error) + stdtr(freedom, (-least - abs(mid)) / error))
    return Gap(mid=mid, low=mid - half, high=mid + half, p=min(p, 1.0))


def newcombe(hits_a: int, of_a: int, hits_b: int, of_b: int, confidence: float) -> Interval:
    """The interval of the difference of two shares, from Wilson's interval of each (Newcombe 1998, method 10)."""
    a, b = _wilson(hits_a, of_a, confidence), _wilson(hits_b, of_b, confidence)
    mid = b.mid - a.mid
    return Interval(
        mid, mid - math.hypot(b.mid - b.low, a.high - a.mid), mid + math.hypot(b.high - b.mid, a.mid - a.low)
    )


def _wilson(hits: int, of: int, confidence: float) -> Interval:
    z = float(ndtri(0.5 + confidence / 2))
    share = hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return Interval(share, min(middle - half, share), max(middle + half, share))


def _pooled(counts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(hits for hits, _ in counts), sum(of for _, of in counts)


def _choose(n: int, k: int) -> float:
    """The logarithm of n over k."""
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
