"""Cards and servers that slow down in five ways, as they are known to, with seeded noise: their rows and samples.

The card is the article's: 57 to 88 C in 33 s, 1,695 MHz, 166 W of 350, and one dip to 750 MHz.
"""

import random
from collections.abc import Callable
from math import exp

import msgspec

from loadsim.types import CardSample, HostSample, RequestRow
from tests.stats.rows import reply

ONE, SHARE = 218.6, 0.2
MINUTES = 24.0
MIB = 1 << 20


def heat(t: float) -> float:
    """Of the core, C."""
    return 57.0 + 31.0 * min(t / 33.0, 1.0)


def warmed(t: float) -> float:
    """How far the core has got, 0 to 1."""
    return (heat(t) - 57.0) / 31.0


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """At t seconds: the decode rate's `factor`, the SM clock (MHz), power (W) and the server's memory (bytes)."""

    factor: Callable[[float], float] = lambda t: 1.0
    clock: Callable[[float], float] = lambda t: 1695.0
    power: Callable[[float], float] = lambda t: 166.0
    memory: Callable[[float], float] = lambda t: 4096.0 * MIB
    reasons: tuple[str, ...] = ()
    memory_heat: Callable[[float], float | None] = lambda t: None


CASES: dict[str, Case] = {
    # The core throttles to 60 % of its clock as it heats up, and decode falls with it.
    "throttled": Case(
        factor=lambda t: 1 - 0.4 * warmed(t),
        clock=lambda t: 1695 * (1 - 0.4 * warmed(t)),
        reasons=("sw thermal slowdown",),
    ),
    # The card draws all it may, and its clock comes down by 30 % until it does.
    "power limit": Case(
        factor=lambda t: 1 - 0.3 * warmed(t),
        clock=lambda t: 1695 * (1 - 0.3 * warmed(t)),
        power=lambda t: 166 + 183 * warmed(t),
        reasons=("sw power cap",),
    ),
    # The article's: decode falls by 55 %, the clock by 11 %, no flag is set, and nobody reads the memory's temperature,
    # which lags behind the core's.
    "memory heat": Case(
        factor=lambda t: 1 - 0.554 * (1 - exp(-t / 120)),
        clock=lambda t: 1695 * (1 - 0.11 * warmed(t)),
    ),
    # The server gains 170 MiB a minute, and loses 40 % of its rate in all.
    "server memory": Case(
        factor=lambda t: 1 - 0.4 * t / 60 / MINUTES,
        memory=lambda t: (4096 + 170 * t / 60) * MIB,
    ),
    "no decay": Case(),
}


def dipped(t: float) -> bool:
    return 600 <= t < 602


def decaying(
    case: Case, seed: int, pauses: bool = False, minutes: float = MINUTES
) -> tuple[list[RequestRow], list[CardSample], list[HostSample]]:
    """Four callers under load for so many minutes. One caller is alone before and after it, or in a pause every five
    minutes, six replies each, of which the first does not count."""
    chance = random.Random(seed)
    end = 10 + 60 * minutes

    def rate(t: float) -> float:
        return ONE * case.factor(t) * (750 / case.clock(t) if dipped(t) else 1) * chance.gauss(1, 0.02)

    def at(t: float, of: float, **fields: object) -> RequestRow:
        return reply(t, *(0.1 + n / of for n in range(9)), **fields)

    def alone(t: float, side: str, number: int) -> list[RequestRow]:
        fields = {"row": "baseline", "group": "baseline", "side": side, "call": number}
        return [at(t + n, rate(t + n), number=n, **fields) for n in range(6)]

    rows = alone(2.0, "before", 0)
    stops = [300.0 * n for n in range(1, int(minutes // 5) + 1)] if pauses else []
    t = 10.0
    while t < end:
        if stops and t >= stops[0]:
            rows += alone(stops.pop(0) + 2, "during", int(t // 300))
            t += 10.0
        for caller in range(4):
            start = t + caller * 0.1
            rows.append(at(start, SHARE * rate(start), caller=caller, turn=int(t)))
        t += 6.0
    rows += alone(end + 2, "after", 0)
    card = [
        CardSample(
            t_s=t,
            card=0,
            core_c=round(heat(t)),
            memory_c=case.memory_heat(t),
            sm_mhz=750.0 if dipped(t) else round(case.clock(t) * chance.gauss(1, 0.003)),
            memory_mhz=9751.0,
            power_w=round(case.power(t) * chance.gauss(1, 0.005), 1),
            limit_w=350.0,
            reasons=case.reasons if warmed(t) > 0.5 else (),
            busy=0.97,
        )
        for t in range(0, int(end + 12), 3)
    ]
    host = [
        HostSample(
            t_s=float(t),
            lag_p99_ms=chance.uniform(0.5, 4),
            own_cpu=chance.uniform(0.1, 0.2),
            server_rss_bytes=round(case.memory(t) + chance.uniform(-4, 4) * MIB),
        )
        for t in range(0, int(end + 12), 2)
    ]
    return rows, card, host
