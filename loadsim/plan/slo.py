"""Targets: what callers are to hear, such as `ttft p95 <= 800 ms`, read from text and measured on a repeat's rows."""

import math
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Literal

import msgspec

from ..report.words import number
from ..stats.headline import failed, in_headline, last_attempts
from ..stats.heard import dry
from ..stats.share import share
from ..stats.spread import known, since
from ..stats.tokens import decode_rate, percentile, stall
from ..types import BadInput, RequestRow

Measure = Literal["ttft", "ttfs", "stall", "underruns", "errors", "decode", "share"]

DEFAULT = ("ttft p95 <= 800 ms", "ttfs p95 <= 1.2 s", "underruns < 1 %")
"""Where a phone agent begins to be bad: TTFT and TTFS at their red lines, underruns at their green one."""

ALLOWED = (
    "ttft p95 <= 800 ms, ttfs p95 <= 1.2 s, stall max <= 1 s, underruns < 1 %, errors < 1 %, decode >= 1.5 x voice, "
    "decode >= 30 tokens/s, share >= 10 %"
)

STATISTICS: dict[str, tuple[str, ...]] = {
    "ttft": ("p50", "p90", "p95", "max"),
    "ttfs": ("p50", "p90", "p95", "max"),
    "stall": ("p50", "p90", "p95", "max"),
    "underruns": (),
    "errors": (),
    "decode": ("slowest", "p5", "p50"),
    "share": (),
}
UNITS: dict[str, tuple[str, ...]] = {
    "ttft": ("ms", "s"),
    "ttfs": ("ms", "s"),
    "stall": ("ms", "s"),
    "underruns": ("%",),
    "errors": ("%",),
    "decode": ("x voice", "tokens/s"),
    "share": ("%",),
}
PER = {"ms": 1000, "s": 1, "%": 100, "x voice": 1, "tokens/s": 1}
"""How many of each unit make a whole one; divided by, so that 9 ms is the float nearest to 0.009."""
AT_LEAST = ("decode", "share")
COUNTED = ("underruns", "errors")
NAMES = {"ttft": "TTFT", "ttfs": "TTFS"}

_RELATIONS = {"≤": "<=", "≥": ">="}
_TARGET = re.compile(
    r"([a-z]+)(?:\s+([a-z]+\d*|\d+))?\s*(<=|<|>=|>|≤|≥|==?)\s*([-+]?[0-9]*\.?[0-9]+)\s*(.*)", re.DOTALL
)


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What a load point must show. `statistic`: over a repeat's replies, empty where the measure has one figure;
    `relation`: how the figure must stand to `limit`, which is in seconds, tokens/s, times the voice's rate, or a ratio;
    `unit`: the one that it was written in."""

    measure: Measure
    statistic: str = ""
    relation: Literal["<=", "<", ">=", ">"]
    limit: float
    unit: str

    @property
    def title(self) -> str:
        """Its name before a figure."""
        if self.statistic == "slowest":
            return f"slowest {self.measure}"
        return f"{NAMES.get(self.measure, self.measure)} {self.statistic}".rstrip()

    @property
    def bound(self) -> str:
        """How it stands to its limit, as it may be written again."""
        return f"{self.relation} {_plain(self.limit * PER[self.unit])} {self.unit}"

    @property
    def text(self) -> str:
        """As it may be written again."""
        statistic = "" if self.statistic in ("", "slowest") else f" {self.statistic}"
        return f"{self.measure}{statistic} {self.bound}"

    @property
    def counted(self) -> bool:
        """Whether replies are counted that were bad, in place of a figure of each."""
        return self.measure in COUNTED

    @property
    def allowed(self) -> float | None:
        """The share of replies that may be beyond the limit; None: it is no matter of single replies."""
        if self.counted:
            return self.limit
        if self.measure == "share":
            return None
        if self.statistic in ("max", "slowest"):
            return 0.0
        below = int(self.statistic[1:]) / 100
        return below if self.measure in AT_LEAST else 1 - below

    def met(self, value: float) -> bool:
        """Whether a figure meets it."""
        match self.relation:
            case "<=":
                return value <= self.limit
            case "<":
                return value < self.limit
            case ">=":
                return value >= self.limit
        return value > self.limit

    def figure(self, value: float | None) -> str:
        """A figure in the target's unit: `842 ms`."""
        return "-" if value is None else f"{number(value * PER[self.unit])} {self.unit}"

    def beside(self, value: float | None) -> str:
        """A figure beside the limit: `TTFT p95 842 ms of 800`."""
        return f"{self.title} {self.figure(value)} of {_plain(self.limit * PER[self.unit])}"


class Sample(msgspec.Struct, frozen=True):
    """A target's figure in one repeat; `hits` of `of` replies were bad, where such are counted."""

    value: float
    hits: int = 0
    of: int = 0


def parse(text: str) -> Target:
    """One target as it is written. Raises BadInput, with what is allowed."""

    def bad(why: str) -> BadInput:
        shown = "".join(c if c.isprintable() else "?" for c in text[:60])
        return BadInput(f"--slo {shown!r}: {why}")

    match = _TARGET.fullmatch(text.strip().lower())
    if match is None:
        raise bad(f"expected a measure, its relation and a limit with its unit: {ALLOWED}")
    measure, statistic, relation, digits, unit = match.groups()
    if measure not in STATISTICS:
        near = get_close_matches(measure, STATISTICS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise bad(f"no measure {measure!r}{hint} (measures: {', '.join(STATISTICS)})")
    statistics = STATISTICS[measure]
    if statistic is None and "slowest" in statistics:
        statistic = "slowest"
    if (statistic or "") not in (statistics or ("",)):
        if not statistics:
            raise bad(f"{measure} is one figure, without {statistic}: {measure} {relation} ...")
        raise bad(f"{measure} is taken at {_or(statistics)}, over a repeat's replies; got {statistic or 'neither'}")
    relation = _RELATIONS.get(relation, relation)
    right = (">=", ">") if measure in AT_LEAST else ("<=", "<")
    if relation not in right:
        raise bad(f"{measure} is to be {_or(right)} its limit; got {relation}")
    unit = re.sub(r"\s+", " ", unit.strip().replace("×", "x"))
    unit = "x voice" if unit == "xvoice" else unit
    if unit not in UNITS[measure]:
        raise bad(f"expected a limit in {_or(UNITS[measure])}; got {f'{digits} {unit}'.strip()!r}")
    limit = float(digits) / PER[unit]
    if math.isinf(limit):
        raise bad("too large a limit")
    if limit <= 0 and not (measure in COUNTED and limit == 0 and relation == "<="):
        raise bad(f"expected a limit over 0; got {digits} {unit}")
    if unit == "%" and limit > 1:
        raise bad(f"expected 100 % at the most; got {digits} %")
    return msgspec.convert(
        {"measure": measure, "statistic": statistic or "", "relation": relation, "limit": limit, "unit": unit}, Target
    )


def targets(texts: Sequence[str]) -> list[Target]:
    """The targets as they are written, or the default ones. Raises BadInput."""
    found = [parse(text) for text in texts or DEFAULT]
    for i, target in enumerate(found):
        if any(other.title == target.title and _alike(other.unit, target.unit) for other in found[:i]):
            raise BadInput(f"--slo {target.text!r}: {target.title} stands twice; one limit is enough")
    return found


def _alike(one: str, other: str) -> bool:
    """Whether two units are of one kind: a time is one in either."""
    return one == other or {one, other} == {"ms", "s"}


def replies(target: Target, rows: Sequence[RequestRow], voice: float) -> list[float]:
    """The target's figure of each reply that has one; `rows`: load rows of one group; `voice`: tokens/s that the voice
    speaks, where a reply does not tell.

    Who hung up while waiting has waited so long at the least, and is not left out.
    """
    good = [row for row in _answered(rows) if in_headline(row) or row.abandoned]
    return known(_FIGURES[target.measure](row, target, voice) for row in good)


def hits(target: Target, rows: Sequence[RequestRow]) -> tuple[int, int]:
    """How many replies were bad, and of how many."""
    found = _answered(rows)
    if target.measure == "errors":
        return sum(map(failed, found)), len(found)
    heard = [row.playout for row in found if in_headline(row) and row.playout is not None]
    return sum(map(dry, heard)), len(heard)


def sample(target: Target, rows: Sequence[RequestRow], alone: Sequence[RequestRow], voice: float) -> Sample | None:
    """The target's figure in one repeat; `rows`: its load rows of one group, `alone`: its one-caller rows. None: it
    cannot be told."""
    if target.counted:
        bad, of = hits(target, rows)
        return Sample(bad / of, bad, of) if of else None
    if target.measure == "share":
        found = share([row for row in alone if in_headline(row)], [row for row in rows if in_headline(row)]).mean.both
        return None if found is None else Sample(found.mid)
    value = percentile(replies(target, rows, voice), _q(target))
    return None if value is None else Sample(value)


def statistic(target: Target, values: Sequence[float]) -> float | None:
    """The target's figure of so many replies."""
    return percentile(values, _q(target))


def _q(target: Target) -> float:
    ends = {"max": 100.0, "slowest": 0.0}
    return ends[target.statistic] if target.statistic in ends else float(target.statistic[1:])


def _answered(rows: Sequence[RequestRow]) -> list[RequestRow]:
    return last_attempts(row for row in rows if row.outcome != "superseded")


def _wait(row: RequestRow, until: float | None) -> float | None:
    return since(row.sent_s, row.end_s if row.abandoned and until is None else until)


def _decode(row: RequestRow, target: Target, voice: float) -> float | None:
    rate = decode_rate(row.token_s)
    if rate is None or target.unit == "tokens/s":
        return rate
    return rate / (row.playout.rate if row.playout is not None else voice)


_FIGURES: dict[str, Callable[[RequestRow, Target, float], float | None]] = {
    "ttft": lambda row, target, voice: _wait(row, row.first_token_s),
    "ttfs": lambda row, target, voice: _wait(row, row.first_speech_s),
    "stall": lambda row, target, voice: stall(row.token_s),
    "decode": _decode,
}


def _or(words: Sequence[str]) -> str:
    return " or ".join(words)


def _plain(value: float) -> str:
    """A limit as it was written: 800, 1.2."""
    return f"{round(value, 9):,.10g}".replace(",", "")
