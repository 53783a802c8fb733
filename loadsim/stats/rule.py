"""Rules that a comparison must keep, such as `ttft p95 > +10 %`, read from text and judged."""

import math
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Literal

import msgspec

from ..types import BadInput
from .compare import gap_of
from .comparison import CONFIDENCE, Comparison, Difference, PointDifference
from .metrics import METRICS, OF_ONE, ONE_CALLER

ALLOWED = (
    "ttft p95 > +10 %, ttfs p50 > +50 %, gap p95 > +20 %, decode p50 < -5 %, decode slowest < -10 %, share < -5 %, "
    "total < -5 %, errors > +1 %, underruns > +1 %, one caller decode p50 < -5 %"
)
SHORT = {"decode": "decode slowest"}
"""What a measure means that is named without its statistic, as in a target."""

_RELATIONS = {"≤": "<=", "≥": ">="}
_RULE = re.compile(r"(.*?)\s*(<=|<|>=|>|≤|≥|==?)\s*([-+−]?[0-9]*\.?[0-9]+)\s*(\S*)")

Kept = Literal["broken", "kept", "cannot be told", "missing"]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a comparison fail. `who`: one caller alone, or any group (None). `limit`: relative to A, 0.1 is 10 %;
    of counted replies in shares, 0.01 is one point of a hundred."""

    metric: str
    who: str | None = None
    relation: Literal["<=", "<", ">=", ">"]
    limit: float

    @property
    def name(self) -> str:
        return f"{self.who} {self.metric}" if self.who else self.metric

    @property
    def text(self) -> str:
        """As it may be written again."""
        return f"{self.name} {self.relation} {signed(self.limit)}"

    def broken(self, value: float) -> bool:
        """Whether a difference is what makes it fail."""
        match self.relation:
            case ">":
                return value > self.limit
            case ">=":
                return value >= self.limit
            case "<":
                return value < self.limit
        return value <= self.limit


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a rule, and by which load point and group. `low`, `high`: the difference's interval at
    `confidence`, in which the looks of all rules are counted. `why`: what keeps it from being told."""

    rule: str
    verdict: Kept
    point: str | None = None
    who: str | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    why: str = ""


def parse(text: str) -> Rule:
    """One rule as it is written. Raises BadInput, with what is allowed."""

    def bad(why: str) -> BadInput:
        shown = "".join(c if c.isprintable() else "?" for c in text[:60])
        return BadInput(f"--fail-if {shown!r}: {why}")

    match = _RULE.fullmatch(" ".join(text.lower().split()))
    if match is None or not match[1]:
        raise bad(f"expected a measure, its relation and a limit in %: {ALLOWED}")
    name, relation, digits, unit = match.groups()
    who = ONE_CALLER if name.startswith(f"{ONE_CALLER} ") else None
    name = name.removeprefix(f"{ONE_CALLER} ")
    name = SHORT.get(name, name)
    known = OF_ONE if who else tuple(METRICS)
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        of = f" of {ONE_CALLER}" if who else ""
        raise bad(f"no measure {name!r}{of}{hint} (measures: {', '.join(known)})")
    relation = _RELATIONS.get(relation, relation)
    worse = (">", ">=") if METRICS[name].less_is_better else ("<", "<=")
    if relation not in worse:
        raise bad(f"{name} is worse the {'larger' if '>' in worse else 'smaller'} it is: {' or '.join(worse)}")
    if unit != "%":
        of = "of all replies, in points" if METRICS[name].counted else "of A's figure"
        raise bad(f"expected a limit in %, {of}; got {f'{digits} {unit}'.strip()!r}")
    limit = float(digits.replace("−", "-")) / 100
    if limit < -1 or math.isinf(limit) or (METRICS[name].counted and limit > 1):
        raise bad(f"expected a limit of {'-100 to 100 %' if METRICS[name].counted else '-100 % or more'}")
    return msgspec.convert({"metric": name, "who": who, "relation": relation, "limit": limit}, Rule)


def rules(texts: Sequence[str]) -> list[Rule]:
    """The rules as they are written. Raises BadInput."""
    found = [parse(text) for text in texts]
    for i, rule in enumerate(found):
        if any(other.name == rule.name for other in found[:i]):
            raise BadInput(f"--fail-if {rule.text!r}: {rule.name} stands twice; one limit is enough")
    return found


def judge(found: Sequence[Rule], comparison: Comparison) -> list[Ruling]:
    """Each rule, by the load point and group that decides it.

    A rule is broken where the difference is surely beyond its limit: with all its interval, at a confidence of 95 % for
    all looks of all rules together (Bonferroni).
    """
    looks = {rule: list(_looks(rule, comparison)) for rule in found}
    told = sum(each.low is not None for each_rule in looks.values() for _, each in each_rule)
    confidence = 1 - (1 - CONFIDENCE) / max(told, 1)
    return [_ruling(rule, looks[rule], confidence) for rule in found]


def _looks(rule: Rule, comparison: Comparison) -> Iterator[tuple[PointDifference, Difference]]:
    for point in comparison.points:
        for each in point.differences:
            if each.metric == rule.metric and (each.who == ONE_CALLER) == (rule.who == ONE_CALLER):
                yield point, each


def _ruling(rule: Rule, looks: list[tuple[PointDifference, Difference]], confidence: float) -> Ruling:
    """The worst of a rule's looks."""
    order: tuple[Kept, ...] = ("missing", "broken", "cannot be told", "kept")
    rulings = [_one(rule, point, each, confidence) for point, each in looks]
    if not rulings:
        return Ruling(rule=rule.text, verdict="missing", why="neither run has it")
    upward = 1.0 if rule.relation in (">", ">=") else -1.0
    return min(rulings, key=lambda each: (order.index(each.verdict), -upward * (each.change or 0.0)))


def _one(rule: Rule, point: PointDifference, of: Difference, confidence: float) -> Ruling:
    plain = Ruling(rule=rule.text, verdict="cannot be told", point=point.b, who=of.who, change=of.change)
    if of.verdict == "unknown":
        return msgspec.structs.replace(plain, verdict="missing", why=of.why)
    if of.low is None:
        return msgspec.structs.replace(plain, why=f"{of.verdict}: {of.why}")
    gap = gap_of(of, confidence)
    plain = msgspec.structs.replace(plain, low=gap.low, high=gap.high, confidence=confidence)
    ends = [rule.broken(end) for end in (gap.low, gap.high)]
    if not any(ends):
        return msgspec.structs.replace(plain, verdict="kept")
    if not all(ends):
        return msgspec.structs.replace(plain, why="the limit lies within the interval")
    if point.disturbed and METRICS[of.metric].speed:
        return msgspec.structs.replace(plain, why=point.disturbed[0])
    return msgspec.structs.replace(plain, verdict="broken")


def signed(ratio: float) -> str:
    """A limit in per cent as it was written, with its sign."""
    return f"{round(ratio * 100, 9):+.6g} %"
