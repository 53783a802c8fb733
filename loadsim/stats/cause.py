"""Why decoding slowed down: named rules over what the logs say, the first that holds."""

import math
from collections.abc import Callable
from typing import Literal

import msgspec

from .trend import Trend

Named = Literal[
    "too few to tell", "no decay", "client", "machine", "power limit", "throttled", "clock", "server memory",
    "memory heat", "unknown temperature", "no cause seen",
]  # fmt: skip

FELL = 0.05
"""A rate that fell by less is no decay: a card's boost clock alone comes and goes in steps of about 1 %, and one
caller's median moves by a few per cent on a machine that others use too."""
EXPLAINS = 0.7
"""The part of the fall, on a logarithmic scale, that a clock must have fallen by to explain it. Compute-bound decode
falls with the clock (1.0), memory-bound decode by less than it (over 1.0); in the article the clock fell by 11 % and
decode by 55 %, which is 0.15."""
IN_FORCE = 0.5
"""A reason is in force where half of the samples at work have it; a dip of a second is not why a rate stays low."""
AT_LIMIT = 0.95
"""A card that is held at its power limit draws it within a few per cent; the article's drew 47 % of it."""
WARMER_C = 5.0
"""Sensors tell whole degrees, and a card under a steady load stays within a few."""
MEMORY_COOL_C = 90.0
"""GDDR6X throttles at 110 C of its junction, GDDR6 and HBM from 95 C on: memory below this, at its clock, is well."""
LAG_MS = 25.0
"""A loop this late blurs gaps that a listener could tell apart."""
CLIENT_CPU = 0.9
"""Of a core: loadsim has one, and what it cannot do in time is measured late."""
BUSY, OTHERS = 0.9, 0.25
"""Parts of this machine's CPU: busy in all, and with what is neither loadsim nor the server that it started. A server
that computes here then waits for its turn."""
GREW, GREW_BYTES = 0.1, 64 << 20
"""Memory that grew by less, in part or in bytes, is what any server's buffers do."""
STILL = 0.4
"""A leak goes on: in the later half of the time, memory must grow, and decode fall, at this part of the whole time's
rate. Checkpoints and caches that fill up stop growing; a card that has heated up slows down no more, whatever grows."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What the logs say of a stretch, in medians over the samples in which the card was at work; None: not told.

    Degrees Celsius, MHz, watts; `reasons`: clock event reasons by the share of samples that had them. `rss`: bytes of
    the server; `lag_ms`, `client_cpu`: how late loadsim's loop came (p99), and how much of a core it took. `busy`,
    `others`: parts of this machine's CPU, 0 to 1, in use, and in use by neither loadsim nor the server.
    """

    samples: int = 0
    heat: float | None = None
    memory_heat: float | None = None
    clock: float | None = None
    memory_clock: float | None = None
    power: float | None = None
    limit: float | None = None
    reasons: dict[str, float] | None = None
    rss: float | None = None
    lag_ms: float | None = None
    client_cpu: float | None = None
    busy: float | None = None
    others: float | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict is made of: the decode rate's trend, the states at its first and its last measurement, and ratios
    of the last to the first: of the clocks, and of one caller's rate by the server's `own` clock.

    Of the server's memory: by what part and by how many bytes it `grew`. `still_grew`, `still_fell`: the slopes of that
    memory and of decode in the later half of the time, over those of all of it; None: too few measurements. `cpu`:
    there is no card, and the states are of the CPU.
    """

    decode: Trend
    first: State
    last: State
    clock: float | None
    memory_clock: float | None
    own: float | None
    grew: float | None
    grown_bytes: float | None
    still_grew: float | None = None
    still_fell: float | None = None
    cpu: bool = False

    @property
    def explained(self) -> float | None:
        """The part of the fall that the SM clock's fall is, on a logarithmic scale."""
        return self._part(self.clock)

    @property
    def memory_explained(self) -> float | None:
        return self._part(self.memory_clock)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The throttle reasons in force at last that were not at first."""
        before, after = self.first.reasons or {}, self.last.reasons or {}
        return tuple(name for name, share in after.items() if share >= IN_FORCE > before.get(name, 0.0))

    @property
    def warmer(self) -> bool:
        """Whether a sensor, the core's or the memory's, is."""
        pairs = ((self.first.heat, self.last.heat), (self.first.memory_heat, self.last.memory_heat))
        return any(a is not None and b is not None and b - a >= WARMER_C for a, b in pairs)

    def _part(self, clock: float | None) -> float | None:
        fell = 1 + self.decode.change
        return None if clock is None or fell >= 1 else math.log(clock) / math.log(fell)


class Verdict(msgspec.Struct, frozen=True):
    """The rule that holds, and what it names: throttle reasons."""

    rule: Named
    named: tuple[str, ...] = ()


def verdict(seen: Evidence) -> Verdict:
    rule = next(name for name, holds in RULES if holds(seen))
    return Verdict(rule, seen.reasons if rule == "throttled" else ())


def ratio(first: float | None, last: float | None) -> float | None:
    return last / first if first and last else None


def _untold(seen: Evidence) -> bool:
    return seen.decode.high is None


def _steady(seen: Evidence) -> bool:
    """The rate did not fall by enough, or not by more than its noise."""
    return seen.decode.change > -FELL or (seen.decode.high or 0.0) >= 0


def _client(seen: Evidence) -> bool:
    """loadsim was late or busy at the end, and the server's own clock, where it tells, saw less than half the fall."""
    slow = (seen.last.lag_ms or 0.0) > LAG_MS or (seen.last.client_cpu or 0.0) > CLIENT_CPU
    return slow and (seen.own is None or 1 - seen.own < -seen.decode.change / 2)


def _machine(seen: Evidence) -> bool:
    return seen.cpu and (seen.last.busy or 0.0) >= BUSY and (seen.last.others or 0.0) >= OTHERS


def _power(seen: Evidence) -> bool:
    """The clock fell in proportion, or is not told, while the power cap was in force and the draw at the limit."""
    last = seen.last
    at_limit = last.power is not None and last.limit is not None and last.power >= AT_LIMIT * last.limit
    capped = (last.reasons or {}).get("sw power cap", 0.0) >= IN_FORCE
    return capped and at_limit and (seen.explained is None or seen.explained >= EXPLAINS)


def _clock(seen: Evidence) -> bool:
    return seen.explained is not None and seen.explained >= EXPLAINS


def _leak(seen: Evidence) -> bool:
    """It grew, and still does; and decode, where that was measured often enough, still falls."""
    large = (seen.grew or 0.0) >= GREW and (seen.grown_bytes or 0.0) >= GREW_BYTES
    goes_on = (seen.still_grew or 0.0) >= STILL and (seen.still_fell is None or seen.still_fell >= STILL)
    return large and goes_on


def _memory_heat(seen: Evidence) -> bool:
    """The memory clock fell in proportion, or the card is warmer and nothing shows its memory to be well."""
    if seen.cpu:
        return False
    if (seen.memory_explained or 0.0) >= EXPLAINS:
        return True
    last = seen.last
    well = last.memory_heat is not None and last.memory_heat < MEMORY_COOL_C and seen.memory_clock is not None
    return seen.warmer and not well


def _unknown(seen: Evidence) -> bool:
    return seen.first.heat is None or seen.last.heat is None


RULES: tuple[tuple[Named, Callable[[Evidence], bool]], ...] = (
    ("too few to tell", _untold),
    ("no decay", _steady),
    ("client", _client),
    ("machine", _machine),
    ("power limit", _power),
    ("throttled", lambda seen: bool(seen.reasons)),
    ("clock", _clock),
    ("server memory", _leak),
    ("memory heat", _memory_heat),
    ("unknown temperature", _unknown),
    ("no cause seen", lambda seen: True),
)
"""Causes that are measured before those that are suspected, and each before what it would be mistaken for: a client
that is late sees every rate fall, and so does a machine that others use; a power cap and a throttled card lower the
clock; and memory that grows does not stop the card from being warm."""
