"""Decay: whether decoding slowed down in the course of a run, and what the logs of card, machine and server say of why.

One caller alone is measured from the same state each time, so that its rate tells of the card; the load's rate also
tells of the load. A window is a minute if nothing else is asked for.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

import msgspec
import numpy as np

from ..types import CardSample, HostSample, RequestRow
from .cards import cards, within, works
from .cause import Evidence, State, Verdict, ratio, verdict
from .drift import Alone, alone, course
from .slope import Slope, slope
from .spread import known, middle
from .trend import Trend, Value, trend

WINDOW_S = 60.0
LEAST_WINDOWS = 3
"""A run whose first and last measurement lie closer than so many windows says nothing of decay: with windows of a
minute, the article's card took half a minute to heat up."""
STEADY = 0.25
"""A window with so many more, or fewer, requests in flight than the usual one has another load: its rate is no sign."""
REACH_S = 3.0
"""A log's samples come every 1 to 3 s: a short stretch may lie between two of them."""
LEAST_SAMPLES = 6
"""For a slope of the later half of the time, beside that of all of it."""
RESTARTED = 0.5
"""A server that suddenly holds less than half of its memory is a new one."""


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time around `at` on the run's clock. Decode rates are medians, tokens/s: `one` caller's alone, and
    of `load`, by the ends of its replies. `crowd`: requests in flight as a request under load meets it, itself too.
    `share`: load over one caller, where one caller was alone in this window, or within one of it, after some load: so
    both met the same card."""

    at: float
    one: float | None
    load: float | None
    crowd: float | None
    share: float | None
    state: State


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """Decode against something of the logs, over one caller's times where there are three, else over windows: `r` is
    Pearson's correlation, `line` the regression, in tokens/s per degree, MHz, watt or MiB; None: it did not vary."""

    name: str
    n: int
    r: float | None
    line: Slope | None


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The server's resident memory since its last start: bytes at first and at last; bytes a minute, in all and over
    the later half of the time."""

    first: float
    last: float
    slope: Slope
    late: Slope


class Decay(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says of decay.

    `by`: whose rate the verdict is by, one caller's wherever it was alone twice. `share` and `load`: over windows with
    the usual number of requests in flight; None where several load points, which differ, are looked at together.
    `seconds` of a window; `cpu`: the states are of this machine's CPU, for there is no card.
    """

    by: str
    one: Trend | None
    load: Trend | None
    share: Trend | None
    windows: list[Window]
    against: list[Against]
    memory: Memory | None
    evidence: Evidence
    verdict: Verdict
    seconds: float
    cpu: bool

    @property
    def main(self) -> Trend:
        return self.evidence.decode

    @property
    def long_enough(self) -> bool:
        return self.main.last_at - self.main.first_at >= LEAST_WINDOWS * self.seconds


AGAINST: Mapping[str, Callable[[State], float | None]] = {
    "core temperature": lambda state: state.heat,
    "memory temperature": lambda state: state.memory_heat,
    "SM clock": lambda state: state.clock,
    "memory clock": lambda state: state.memory_clock,
    "power": lambda state: state.power,
    "server memory": lambda state: None if state.rss is None else state.rss / (1 << 20),
}
"""What decode is held against, by its name."""


def decay(
    rows: Iterable[RequestRow],
    card: Sequence[CardSample] = (),
    host: Sequence[HostSample] = (),
    window: float = WINDOW_S,
    here: bool = False,
) -> Decay | None:
    """Of rows under one set of server settings; samples in the order of their times, as logs are. `here`: the server
    computes on this machine's CPU. None: no rate was measured twice.
    """
    found = list(rows)
    rests = [each for each in alone(found) if each.decode is not None]
    load = [row for row in found if row.row == "load"]
    crowds = _crowds(load, window)
    decodes = {int(each.at // window): each.decode for each in course(load, window) if each.decode is not None}
    steady = _steady(decodes, crowds) if len({row.point for row in load}) == 1 else []
    hot = _hot(rests, load, window)
    shares = {number: share for number in decodes if (share := _share(number, decodes[number], hot, window))}
    one = trend([Value((each.at + each.until) / 2, each.decode or 0.0, each.rates) for each in rests])
    under = trend([Value((number + 0.5) * window, decodes[number]) for number in steady])
    main = one or under
    if main is None:
        return None
    stretches = [(each.at, each.until) for each in rests] if one else [(n * window, (n + 1) * window) for n in steady]
    cpu = here and not card
    logged = _slowest([*card] if not cpu else _of_cpu(host), stretches)
    first, last = (_state(logged, host, *stretch) for stretch in (stretches[0], stretches[-1]))
    windows = [
        Window(
            at=(number + 0.5) * window,
            one=middle(each.decode for each in rests if int(each.at // window) == number),
            load=decodes.get(number),
            crowd=crowds.get(number),
            share=shares.get(number),
            state=_state(logged, host, number * window, (number + 1) * window, reach=0.0),
        )
        for number in sorted({*decodes, *(int(each.at // window) for each in rests)})
    ]
    memory = _memory(host, main.first_at, main.last_at)
    by_number = {int(each.at // window): each.state for each in windows}
    in_states = [(by_number[number], decodes[number]) for number in steady]
    if one is not None and one.n > 2:
        in_states = [(_state(logged, host, each.at, each.until), each.decode or 0.0) for each in rests]
    evidence = Evidence(
        decode=main,
        first=first,
        last=last,
        clock=ratio(first.clock, last.clock),
        memory_clock=ratio(first.memory_clock, last.memory_clock),
        own=ratio(rests[0].own, rests[-1].own) if one else None,
        grew=None if memory is None else memory.last / memory.first - 1,
        grown_bytes=None if memory is None else memory.last - memory.first,
        still_grew=None if memory is None or memory.slope.per <= 0 else memory.late.per / memory.slope.per,
        still_fell=_still([(each.at / 60, each.decode or 0.0) for each in rests])
        or _still([((n + 0.5) * window / 60, decodes[n]) for n in steady]),
        cpu=cpu,
    )
    return Decay(
        by="one caller" if one else "under load",
        one=one,
        load=under,
        share=trend([Value((number + 0.5) * window, shares[number]) for number in steady if number in shares]),
        windows=windows,
        against=_against(in_states),
        memory=memory,
        evidence=evidence,
        verdict=verdict(evidence),
        seconds=window,
        cpu=cpu,
    )


def _crowds(load: Iterable[RequestRow], window: float) -> dict[int, float]:
    """By window, the mean number of requests in flight over the time that requests spend in it: where nobody talks for
    a while, it does not fall."""
    flights = [(row.sent_s, row.end_s) for row in load if row.sent_s is not None and row.end_s is not None]
    if not flights:
        return {}
    starts, ends = np.array(flights).T
    marks = np.arange(math.floor(starts.min() / window), math.ceil(ends.max() / window) + 1) * window
    times = np.concatenate([starts, ends, marks])
    steps = np.concatenate([np.ones(len(starts)), -np.ones(len(ends)), np.zeros(len(marks))])
    order = np.argsort(times, kind="stable")
    times, flying = times[order], np.cumsum(steps[order])
    spans, flying, numbers = np.diff(times), flying[:-1], (times[:-1] // window).astype(int)
    numbers -= (base := int(numbers.min()))
    busy, squares = np.bincount(numbers, flying * spans), np.bincount(numbers, flying**2 * spans)
    return {base + int(n): float(squares[n] / busy[n]) for n in np.flatnonzero(busy > 0)}


def _steady(decodes: Mapping[int, float], crowds: Mapping[int, float]) -> list[int]:
    """The windows with the usual load, in their order."""
    usual = middle(crowds.get(number) for number in decodes)
    if usual is None:
        return []
    return [number for number in sorted(decodes) if abs(crowds.get(number, 0.0) / usual - 1) <= STEADY]


def _hot(rests: Iterable[Alone], load: Iterable[RequestRow], window: float) -> list[Alone]:
    """Who was alone right after a load. Before the first one the card was cold, and warms up within a window."""
    ends = sorted(known(row.end_s for row in load))
    return [each for each in rests if (i := bisect_right(ends, each.at)) and each.at - ends[i - 1] <= window]


def _share(number: int, decode: float, rests: Iterable[Alone], window: float) -> float | None:
    """Of the one caller measured next to a window; on both sides, of their mean."""
    start, end = number * window, (number + 1) * window
    near = known(each.decode for each in rests if max(each.at - end, start - each.until) <= window)
    return decode / fmean(near) if near else None


def _of_cpu(host: Iterable[HostSample]) -> list[CardSample]:
    """This machine's CPU as a card, for a server that computes on it."""
    return [CardSample(t_s=each.t_s, card=0, core_c=each.cpu_c, sm_mhz=each.cpu_mhz) for each in host]


def _slowest(samples: list[CardSample], stretches: Sequence[tuple[float, float]]) -> list[CardSample]:
    """Of several cards, the one whose clock fell the most, or the hottest: all others wait for it."""
    by_card: dict[int, list[CardSample]] = {}
    for sample in samples:
        by_card.setdefault(sample.card, []).append(sample)

    def fate(of: list[CardSample]) -> tuple[float, float]:
        first, last = (_state(of, (), *stretch) for stretch in (stretches[0], stretches[-1]))
        return ratio(first.clock, last.clock) or math.inf, -(last.heat or 0.0)

    return min(by_card.values(), key=fate, default=[])


def _state(
    card: Sequence[CardSample], host: Sequence[HostSample], start: float, end: float, reach: float = REACH_S
) -> State:
    """Of one card while it was at work, and of this machine; of a stretch without a sample, of those around it."""
    seen = _at_work(card, start, end) or _at_work(card, start - reach, end + reach)
    found = next(iter(cards(seen)), None)
    beside = within(host, start, end) or within(host, start - reach, end + reach)
    return State(
        samples=len(seen),
        heat=middle(sample.core_c for sample in seen),
        memory_heat=middle(sample.memory_c for sample in seen),
        clock=None if found is None else found.sm,
        memory_clock=None if found is None else found.memory_clock,
        power=None if found is None else found.power,
        limit=None if found is None else found.limit,
        reasons=None if found is None else found.reasons,
        rss=middle(each.server_rss_bytes for each in beside),
        lag_ms=middle(each.lag_p99_ms for each in beside),
        client_cpu=middle(each.own_cpu for each in beside),
        busy=middle(each.cpu for each in beside),
        others=middle(map(_others, beside)),
    )


def _others(of: HostSample) -> float | None:
    """The part of this machine that neither loadsim nor the server takes."""
    if of.cpu is None or not of.cores:
        return None
    return of.cpu - ((of.own_cpu or 0.0) + (of.server_cpu or 0.0)) / len(of.cores)


def _at_work(card: Sequence[CardSample], start: float, end: float) -> list[CardSample]:
    return [sample for sample in within(card, start, end) if works(sample)]


def _memory(host: Sequence[HostSample], start: float, end: float) -> Memory | None:
    """None: not told, or for too short a time."""
    told = [(each.t_s / 60, float(each.server_rss_bytes)) for each in within(host, start, end) if each.server_rss_bytes]
    born = max((i + 1 for i in range(len(told) - 1) if told[i + 1][1] < RESTARTED * told[i][1]), default=0)
    told = told[born:]
    slopes = _slopes(told)
    if slopes is None:
        return None
    in_all, late = slopes
    return Memory(first=told[0][1], last=told[-1][1], slope=in_all, late=late)


def _slopes(samples: Sequence[tuple[float, float]]) -> tuple[Slope, Slope] | None:
    """In all, and in the later half of the time; None: too few samples."""
    if len(samples) < LEAST_SAMPLES:
        return None
    half = (samples[0][0] + samples[-1][0]) / 2
    in_all, late = slope(samples), slope([each for each in samples if each[0] >= half])
    return None if in_all is None or late is None else (in_all, late)


def _still(samples: Sequence[tuple[float, float]]) -> float | None:
    slopes = _slopes(samples)
    return None if slopes is None or not slopes[0].per else slopes[1].per / slopes[0].per


def _against(pairs: Sequence[tuple[State, float]]) -> list[Against]:
    """Of states and the decode rates in them."""
    found = []
    for name, of in AGAINST.items():
        known_pairs = [(along, rate) for state, rate in pairs if (along := of(state)) is not None]
        if len(known_pairs) > 2:
            line = slope(known_pairs)
            r = None if line is None else math.copysign(math.sqrt(line.fit or 0.0), line.per)
            found.append(Against(name=name, n=len(known_pairs), r=r, line=line))
    return found
