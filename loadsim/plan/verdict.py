"""Whether a load point meets its targets, as far as its repeats can tell."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Literal

import msgspec
from scipy.special import stdtrit

from ..stats.interval import Interval, clean_trials, of_mean, of_share
from ..types import RequestRow, RunStopped
from .slo import Sample, Target, hits, replies, sample, statistic

Verdict = Literal["meets", "misses", "unclear"]

LEAST = 3  # repeats before anything is decided: two that are alike by chance look sure
ERROR = 0.05  # that a verdict is wrong, over all looks at a point
ONE_LOOK = 1 - 2 * ERROR
CLEAN = 300  # replies without a hit that are asked for where none at all is allowed


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A target's figure at a load point, in the target's base unit: seconds, tokens/s, times the voice, or a ratio.

    `low`, `high`: the interval over repeats, None where one is not enough for it. `hits` of `of` replies were bad,
    where such are counted; `shown`: they are rarer than that at 95 %. `near`: unclear, and hardly ever clear after all
    the repeats.
    """

    target: str
    value: float | None
    low: float | None = None
    high: float | None = None
    verdict: Verdict
    hits: int | None = None
    of: int | None = None
    shown: float | None = None
    near: bool = False


def confidence(repeats: int) -> float:
    """Of the interval at one look, so that all looks at a point of so many `repeats` are wrong in 5 % at the most.

    After each repeat it is looked whether the verdict is clear; who looks often enough at intervals of 95 % finds one
    that is wrong. The error is shared equally by the looks (Bonferroni), and is of one side: what meets its target can
    only be wrong as a miss, and the other way round.
    """
    return 1 - 2 * ERROR / max(repeats - LEAST + 1, 1)


def judge(target: Target, samples: Sequence[Sample], repeats: int) -> Figure:
    """A target's figure over the repeats of a load point so far, of `repeats` at the most.

    Repeats are the samples. Where replies are counted that were bad, those of one burst are not independent, and the
    repeats are few: the wider one of both intervals stands. None at all that was bad is taken for met; how rare they
    are is then only told (`shown`), since 1 % would need 300 replies.
    """
    values = [sample.value for sample in samples]
    found = of_mean(values, confidence(repeats))
    if not target.counted:
        verdict = _verdict(target, found) if len(samples) >= LEAST else "unclear"
        return Figure(
            target=target.text,
            value=found.mid,
            low=_finite(found.low),
            high=_finite(found.high),
            verdict=verdict,
            near=verdict == "unclear" and _near(target, values, repeats),
        )
    bad, of = sum(sample.hits for sample in samples), sum(sample.of for sample in samples)
    pooled = of_share(bad, of, confidence(repeats))
    wider = Interval(bad / of, max(min(pooled.low, found.low), 0.0), min(max(pooled.high, found.high), 1.0))
    clear: Verdict = "meets" if not bad else _verdict(target, wider)
    return Figure(
        target=target.text,
        value=bad / of,
        low=wider.low if bad else pooled.low,
        high=wider.high if bad else pooled.high,
        verdict=clear if len(samples) >= LEAST else "unclear",
        hits=bad,
        of=of,
        shown=of_share(bad, of, ONE_LOOK).high,
    )


def figure(target: Target, rows: Sequence[RequestRow], voice: float, repeats: int | None) -> Figure:
    """A target's figure at a load point so far, of so many `repeats` at the most; None: over the replies of one long
    load. `rows`: load rows of one group and one-caller rows. Raises RunStopped where it cannot be told."""
    loads = [row for row in rows if row.row == "load"]
    alone = [row for row in rows if row.row == "baseline"]
    if repeats is None:
        found = judge_replies(target, loads, alone, voice)
    else:
        samples = [
            sample(target, [r for r in loads if r.repeat == n], [r for r in alone if r.repeat == n], voice)
            for n in sorted({row.repeat for row in loads})
        ]
        told = [each for each in samples if each is not None]
        found = judge(target, told, repeats) if len(told) == len(samples) else None
    if found is None:
        raise RunStopped(f"{target.title} cannot be told: no reply has what it takes")
    return found


def judge_replies(
    target: Target, rows: Sequence[RequestRow], alone: Sequence[RequestRow], voice: float
) -> Figure | None:
    """A target's figure over the replies of one long load, which come one by one: by how many are beyond the limit.

    `rows`, `alone`: as in `slo.sample`. None: it cannot be told.
    """
    allowed = target.allowed
    if allowed is None:
        found = sample(target, rows, alone, voice)
        if found is None:
            return None
        return Figure(target=target.text, value=found.value, verdict="meets" if target.met(found.value) else "misses")
    if target.counted:
        bad, of = hits(target, rows)
        value = bad / of if of else None
    else:
        values = replies(target, rows, voice)
        bad, of = sum(not target.met(value) for value in values), len(values)
        value = statistic(target, values)
    if not of:
        return None
    pooled = of_share(bad, of, ONE_LOOK)
    if not allowed:
        verdict: Verdict = "misses" if bad else "meets"
    elif pooled.high < allowed or (pooled.high == allowed and target.relation == "<="):
        verdict = "meets"
    else:
        verdict = "misses" if pooled.low > allowed else "unclear"
    return Figure(target=target.text, value=value, verdict=verdict, hits=bad, of=of, shown=pooled.high)


def needed(targets: Sequence[Target]) -> int:
    """How many replies show what the targets ask for if none is beyond its limit (rule of three)."""
    return max([clean_trials(target.allowed) if target.allowed else _any(target) for target in targets], default=1)


def overall(figures: Sequence[Figure]) -> Verdict:
    """Of a load point: it misses with one target, and meets with all."""
    found = [figure.verdict for figure in figures]
    if "misses" in found:
        return "misses"
    return "unclear" if "unclear" in found else "meets"


def _near(target: Target, values: Sequence[float], repeats: int) -> bool:
    """Whether more repeats are hopeless: the mean is nearer to its limit than half of what all of them can tell apart.

    By the values' own spread. Of means that stand so after half of the repeats one in 15 is clear after all of them;
    who stops there never takes a wrong verdict for it, but only leaves one that is unclear.
    """
    if len(values) < 2:
        return False
    mid = fmean(values)
    all_of_them = float(stdtrit(repeats - 1, 0.5 + confidence(repeats) / 2)) * stdev(values) / math.sqrt(repeats)
    return abs(mid - target.limit) < all_of_them / 2


def _any(target: Target) -> int:
    return CLEAN if target.counted else 1


def _verdict(target: Target, found: Interval) -> Verdict:
    ends = [target.met(end) for end in (found.low, found.high)]
    return "meets" if all(ends) else "unclear" if any(ends) else "misses"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
