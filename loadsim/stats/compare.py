"""Two runs, point by point: what differs surely, what does not, and what cannot be compared.

A difference is called one when, after Holm's adjustment for all the looks of the comparison, it is surely over the
least that counts. Pure; the structs hold all that any output shows.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any

import msgspec

from .comparison import (
    CONFIDENCE,
    LEAST,
    Changed,
    Comparison,
    Crowd,
    Difference,
    Measured,
    PointDifference,
    Side,
    Verdict,
)
from .difference import Gap, holm, of_counts, of_ratio
from .metrics import DECODE, ENOUGH, METRICS, OF_ONE, ONE_CALLER, SHARE, Metric, Sample
from .spread import Range
from .state import disturbed, moved

REPLY_LENGTH, PROMPT_LENGTH = 0.1, 0.05  # by which tokens of a reply, and of a prompt, may differ
DIGITS = 2  # tokens that the digits spoken at a message's end may differ by
KINDS = 0.1  # of the replies that count may be of another kind in the other run


def compare(a: Side, b: Side, least: float = LEAST) -> Comparison:
    """B beside A; whether the runs may be compared at all (`other_recording`) is asked before."""
    pairs, only_a, only_b = paired([point.name for point in a.points], [point.name for point in b.points])
    of_a, of_b = ({point.name: point for point in side.points} for side in (a, b))
    found = [_point(of_a[one], of_b[other], least) for one, other in pairs]
    found = _adjusted(found)
    looks = [each for point in found for each in point.differences if each.p is not None]
    notes = [f"{label}: {note}" for label, side in (("A", a), ("B", b)) for note in side.notes]
    if a.run.id and a.run.id == b.run.id:
        notes.append("A and B are the same run.")
    notes += [
        f"{one} in A is compared with {other} in B: each run has this one point" for one, other in pairs if one != other
    ]
    return Comparison(
        a=a.run,
        b=b.run,
        verdict=overall(point.verdict for point in found),
        points=found,
        only_a=only_a,
        only_b=only_b,
        changed=changes(a.facts, b.facts),
        settings=changes(a.scenario, b.scenario),
        looks=len(looks),
        least=least,
        notes=notes,
    )


def other_recording(a: Side, b: Side) -> str | None:
    """That the runs replayed other calls, so that no figure of one says anything of the other's; None: they did not,
    or do not tell."""
    if not a.digests or not b.digests or sorted(a.digests.values()) == sorted(b.digests.values()):
        return None
    if sorted(a.digests) == sorted(b.digests):
        return f"another version of the recording {', '.join(sorted(a.digests))}"
    return f"other recordings: {', '.join(sorted(a.digests))} in A, {', '.join(sorted(b.digests))} in B"


def paired(a: Sequence[str], b: Sequence[str]) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Names that go together, and those of one side alone. One name beside one other can only mean each other."""
    if len(a) == len(b) == 1:
        return [(a[0], b[0])], [], []
    both = [(name, name) for name in a if name in b]
    return both, [name for name in a if name not in b], [name for name in b if name not in a]


def changes(a: dict[str, Any], b: dict[str, Any]) -> list[Changed]:
    """What is not the same, in A's order and then B's."""
    keys = dict.fromkeys([*a, *b])
    return [Changed(key, a.get(key), b.get(key)) for key in keys if a.get(key) != b.get(key)]


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Of several points: what is surely better or worse decides; then whether anything could be told."""
    return _first(set(verdicts), ("worse", "better", "no difference seen", "not comparable", "too few repeats"))


def of_point(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a point's metrics: that no difference is seen in some says little where others cannot be compared."""
    return _first(set(verdicts), ("worse", "better", "not comparable", "no difference seen", "too few repeats"))


def _first(found: set[Verdict], order: tuple[Verdict, ...]) -> Verdict:
    if "mixed" in found or {"better", "worse"} <= found:
        return "mixed"
    return next((verdict for verdict in order if verdict in found), "unknown")


def _point(a: Measured, b: Measured, least: float) -> PointDifference:
    reasons = [f"{name}: {side.refused}" for name, side in (("A", a), ("B", b)) if side.refused]
    if a.time_scale != b.time_scale:
        reasons.append(f"time runs {a.time_scale:g} times faster in A, {b.time_scale:g} times in B")
    state = moved(a.state, b.state)
    notes = [f"{name}: {note}" for name, side in (("A", a), ("B", b)) for note in side.notes]
    groups, only_a, only_b = paired(_groups(a), _groups(b))
    unlikes: list[str] = []
    notes += [f"{name} calls in {run} alone" for run, names in (("A", only_a), ("B", only_b)) for name in names]
    differences: list[Difference] = []
    baseline: list[str] = []
    if ONE_CALLER in a.crowds and ONE_CALLER in b.crowds:
        one, other = a.crowds[ONE_CALLER], b.crowds[ONE_CALLER]
        baseline = [f"{ONE_CALLER}: {why}" for why in unlike_rows(one, other)]
        differences += _differences(OF_ONE, ONE_CALLER, one, other, baseline, [], state, least)
    for name, theirs in groups:
        who = name if name == theirs else f"{name} / {theirs}"
        unlike = [f"{who}: {why}" for why in unlike_rows(a.crowds[name], b.crowds[theirs])]
        stops = [*reasons, *unlike]
        unlikes += unlike
        differences += _differences(
            METRICS, who, a.crowds[name], b.crowds[theirs], stops, [*stops, *baseline], state, least
        )
    notes += [why for why in baseline if all(why.partition(": ")[2] not in told for told in unlikes)]
    return PointDifference(
        a=a.name,
        b=b.name,
        verdict="unknown",
        differences=differences,
        reasons=[*reasons, *unlikes, *state],
        disturbed=disturbed(a.state, b.state),
        notes=notes,
    )


def _differences(
    names: Iterable[str],
    who: str,
    a: Crowd,
    b: Crowd,
    stops: list[str],
    of_share: list[str],
    state: list[str],
    least: float,
) -> Iterator[Difference]:
    """Of one group. `stops`, `of_share`: why no figure of it is comparable, and why its share is not; `state`: why
    speeds are not."""
    for name in names:
        metric = METRICS[name]
        why = of_share if name == SHARE else [*stops, *state] if metric.speed else stops
        found = _difference(metric, who, a, b, why, least)
        if found is not None:
            yield found


def unlike_rows(a: Crowd, b: Crowd) -> Iterator[str]:
    """Why the rows of two groups are no like for like."""
    for what, one, other, most in (
        ("of max_tokens", a.cap, b.cap, REPLY_LENGTH),
        ("tokens a reply", a.reply, b.reply, REPLY_LENGTH),
        ("tokens a prompt", a.prompt, b.prompt, PROMPT_LENGTH),
        ("new tokens a prompt", a.new, b.new, PROMPT_LENGTH),
    ):
        if one is not None and other is not None and abs(one - other) > max(most * max(one, other), DIGITS):
            yield f"{_plain(one)} {what} in A, {_plain(other)} in B"
    if (share := _other_kinds(a.kinds, b.kinds)) > KINDS:
        yield f"another kind of rows: {_kinds(a.kinds)} in A, {_kinds(b.kinds)} in B ({share:.0%} differ)"


def _difference(metric: Metric, who: str, a: Crowd, b: Crowd, stops: list[str], least: float) -> Difference | None:
    """One metric; None: neither run has it. Its verdict stands when all looks are known."""
    if metric.counted:
        counts_a, counts_b = _counts(metric.name, a.samples), _counts(metric.name, b.samples)
        one, other = _counted(counts_a), _counted(counts_b)
        values_a, values_b = ([bad / of for bad, of in counts] for counts in (counts_a, counts_b))
    else:
        counts_a, counts_b = [], []
        values_a, values_b = _values(metric.name, a.samples), _values(metric.name, b.samples)
        one, other = _ranged(values_a), _ranged(values_b)
    if one is None and other is None:
        return None
    found = Difference(
        metric=metric.name,
        who=who,
        unit=metric.unit,
        counted=metric.counted,
        less_is_better=metric.less_is_better,
        a=one,
        b=other,
        repeats_a=values_a,
        repeats_b=values_b,
        counts_a=counts_a,
        counts_b=counts_b,
        verdict="unknown",
    )
    change = msgspec.structs.replace
    if one is None or other is None:
        return change(found, why=f"not known in {'A' if one is None else 'B'}")
    found = change(found, change=other.mid - one.mid if metric.counted else other.mid / one.mid - 1)
    if stops:
        return change(found, verdict="not comparable", why=stops[0])
    if (few := min(one.n, other.n)) < ENOUGH:
        return change(found, verdict="too few repeats", why=f"{few} of {ENOUGH}")
    gap = gap_of(found, CONFIDENCE, least)
    # Where no reply was bad in either run there is nothing to look at, whatever the runs are like.
    looked = gap.p if one.high or other.high else None
    return change(found, low=gap.low, high=gap.high, p=looked, verdict="no difference seen")


def gap_of(found: Difference, confidence: float, least: float = 0.0) -> Gap:
    """How far a difference reaches, at this confidence; `least` is of relative differences."""
    if found.counted:
        return of_counts(found.counts_a, found.counts_b, confidence)
    return of_ratio(found.repeats_a, found.repeats_b, confidence, least)


def _adjusted(points: list[PointDifference]) -> list[PointDifference]:
    """With the verdicts that stand when all looks are counted."""
    adjusted = iter(holm([each.p for point in points for each in point.differences if each.p is not None]))
    done = []
    for point in points:
        found = [
            each if each.p is None else _judged(each, next(adjusted), point.disturbed) for each in point.differences
        ]
        alone = next((each for each in found if each.who == ONE_CALLER and each.metric == DECODE), None)
        verdict = of_point(each.verdict for each in found)
        done.append(msgspec.structs.replace(point, differences=found, alone=alone, verdict=verdict))
    return done


def _judged(difference: Difference, adjusted: float, others: list[str]) -> Difference:
    """`others`: what may have made a difference of speed."""
    verdict: Verdict = "no difference seen"
    why = ""
    if adjusted < 1 - CONFIDENCE and difference.change:
        verdict = "better" if (difference.change < 0) == difference.less_is_better else "worse"
        if others and METRICS[difference.metric].speed:
            verdict, why = "not comparable", others[0]
    return msgspec.structs.replace(difference, adjusted=adjusted, verdict=verdict, why=why)


def _groups(point: Measured) -> list[str]:
    return [name for name in point.crowds if name != ONE_CALLER]


def _values(metric: str, found: Sequence[Sample]) -> list[float]:
    """The repeats' figures that are known; one of 0 has no ratio, and none has one without end."""
    return [value for sample in found if (value := sample.figures.get(metric)) is not None and 0 < value < math.inf]


def _counts(metric: str, found: Sequence[Sample]) -> list[tuple[int, int]]:
    return [sample.counts[metric] for sample in found if metric in sample.counts]


def _ranged(values: Sequence[float]) -> Range | None:
    """The geometric mean, so that B's over A's is the change."""
    if not values:
        return None
    return Range(math.exp(fmean(map(math.log, values))), min(values), max(values), len(values))


def _counted(counts: Sequence[tuple[int, int]]) -> Range | None:
    if not counts:
        return None
    shares = [bad / of for bad, of in counts]
    bad, of = _sum(counts)
    return Range(bad / of, min(shares), max(shares), len(counts))


def _sum(counts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(bad for bad, _ in counts), sum(of for _, of in counts)


def _other_kinds(a: dict[str, int], b: dict[str, int]) -> float:
    """The share of replies that would have to be of another kind for both to be alike; 0 where kinds are not known."""
    if not a or not b:
        return 0.0
    of_a, of_b = sum(a.values()), sum(b.values())
    return sum(abs(a.get(kind, 0) / of_a - b.get(kind, 0) / of_b) for kind in {*a, *b}) / 2


def _kinds(kinds: dict[str, int]) -> str:
    return ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in sorted(kinds.items(), key=lambda item: -item[1]))


def _plain(value: float | None) -> str:
    return "none" if value is None else f"{value:,.10g}"
