"""Two runs beside each other, as data: what is compared, and what is found. All that any output shows is here."""

from typing import Any, Literal

import msgspec

from .metrics import Sample
from .spread import Range
from .state import State

Verdict = Literal["better", "worse", "mixed", "no difference seen", "too few repeats", "not comparable", "unknown"]
"""`mixed`: something is better and something worse; `unknown`: nothing is known in both runs."""

CONFIDENCE = 0.95
LEAST = 0.03  # a smaller relative difference is none: two runs of one thing differ by as much


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
    """A group of a load point, or one caller alone, in one run. `prompt`, `new`, `reply`: medians of a prompt's tokens,
    of those that were new, and of a reply's; `cap`: of max_tokens. `kinds`: the replies that count, by kind."""

    name: str
    samples: list[Sample]
    callers: int = 0
    prompt: float | None = None
    new: float | None = None
    reply: float | None = None
    cap: float | None = None
    kinds: dict[str, int] = {}


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A load point of one run. `refused`: why its figures are no answer; `notes`: what the reader must know of it."""

    name: str
    crowds: dict[str, Crowd]
    time_scale: float = 1.0
    state: State = State()
    refused: str | None = None
    notes: list[str] = []


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A run by its folder and its id; when it was started, and how it ended (None: it was killed, or goes on)."""

    path: str
    id: str
    ended: str | None
    started: str | None = None


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two runs. `digests`: of its recordings, by name; `facts`: what may differ on purpose, by a word such
    as `build`; `scenario`: dotted keys and their values; `notes`: what its end says of it."""

    run: Named
    points: list[Measured]
    digests: dict[str, str] = {}
    facts: dict[str, str | None] = {}
    scenario: dict[str, Any] = {}
    notes: list[str] = []


class Changed(msgspec.Struct, frozen=True):
    """A setting or a fact that is not the same in both runs; None: not told."""

    key: str
    a: Any
    b: Any


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one group in both runs.

    a, b: over repeats, in the metric's unit: the geometric mean of the repeats' own figures and their range; of counts
    the share of all replies that were bad, with the lowest and the highest repeat. repeats_a,
    repeats_b: each repeat's own figure. counts_a, counts_b: of each repeat the bad replies and all, where such are
    counted. change: B's difference from A, relative to A (0.1: 10 % more), or of counts in
    shares (0.1: 10 points more). low, high: its 95 % interval, p: of a difference no larger than `least`, adjusted: p
    after Holm for all looks; None: not to be had, from too few repeats or of what is not known. `why`: what keeps the
    verdict from being one.
    """

    metric: str
    who: str
    unit: str
    counted: bool
    less_is_better: bool
    a: Range | None
    b: Range | None
    repeats_a: list[float] = []
    repeats_b: list[float] = []
    counts_a: list[tuple[int, int]] = []
    counts_b: list[tuple[int, int]] = []
    change: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted: float | None = None
    verdict: Verdict
    why: str = ""


class PointDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A load point in both runs, under its name in each.

    reasons: why it, or its speed, is not comparable. disturbed: what else the server's machine did; a difference of
    speed that is seen may come from that, and is none. alone: one caller's decode rate, which tells how the machine, or
    the server as a whole, moved; None: not measured.
    """

    a: str
    b: str
    verdict: Verdict
    differences: list[Difference]
    reasons: list[str] = []
    disturbed: list[str] = []
    notes: list[str] = []
    alone: Difference | None = None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """B beside A.

    looks: differences that were tested. least: the smallest relative one that counts. changed: facts such as the
    build. settings: keys of the scenario. only_a, only_b: points of one run alone. notes: what the reader must know of
    either run.
    """

    a: Named
    b: Named
    verdict: Verdict
    points: list[PointDifference]
    only_a: list[str]
    only_b: list[str]
    changed: list[Changed]
    settings: list[Changed]
    looks: int
    least: float
    confidence: float = CONFIDENCE
    notes: list[str] = []
