"""A run over time on one axis: who called, what they waited for, one caller alone, and what card and machine did."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from ...stats.drift import alone
from ...stats.headline import in_headline
from ...stats.spread import since
from ...stats.tokens import decode_rate
from ...types import CardSample, HostSample, RequestRow, ServerSample
from ..decay import decays, sentence
from .parts import Axis, Chart, Draw, Role, Rule, Section, Series, Shown, Stripe
from .thin import MOST, thin

LEAST = 3  # moments of something, or it has no course
MIB = 1 << 20
RAW = 1000  # replies drawn one by one, of all: the windows' lines say the rest

Sample = TypeVar("Sample", CardSample, HostSample, ServerSample)


def over_time(shown: list[Shown]) -> Section | None:
    """A chart per subject, of every run its own; all share the axis."""
    charts = [chart for number, one in enumerate(shown) for chart in _charts(one, f"time{number}")]
    if not charts:
        return None
    words = [_named(one, sentence(of)) for one in shown for of in decays(one.run).values() if of.long_enough]
    words += [_named(one, "No card log: unknown temperature.") for one in shown if not one.run.card]
    return Section(id="time", title="Over time", words=words, parts=[*charts])


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A chart to be, of the series that are known."""

    name: str
    title: str
    said: str
    y: Axis
    series: list[Series | None]
    more: list[Axis] = []
    rules: list[Rule] = []


def _charts(one: Shown, name: str) -> Iterator[Chart]:
    stripes = [*_stripes(one)]
    for subject in (*_heard(one), *_cards(one), *_machine(one), *_server(one)):
        found = [each for each in subject.series if each is not None]
        if found:
            yield Chart(
                id=f"{name}-{subject.name}",
                title=_named(one, subject.title),
                said=subject.said,
                x=Axis(label="time into the run", scale="clock"),
                y=subject.y,
                more=subject.more,
                series=found,
                rules=subject.rules,
                stripes=stripes,
                sync=name,
            )


def _heard(one: Shown) -> Iterator[Subject]:
    """What callers met."""
    load = [row for row in one.run.rows if row.row == "load"]
    if len(load) < LEAST:
        return
    yield Subject(
        name="ttft",
        title="First token",
        said="How long callers waited for the first token, by when they asked.",
        y=Axis(label="TTFT", unit="ms", low=0),
        series=[*_first_tokens(load), *_windows(one, "p95 of a window", lambda of: of.ttft.p95)],
    )
    yield Subject(
        name="decode",
        title="Decode rate",
        said="Tokens/s of one caller alone and of each reply under load, by when it was asked for.",
        y=Axis(label="decode", unit="tokens/s", low=0),
        series=[_alone(one), *_rates(load)],
        rules=_voice(one),
    )
    yield Subject(
        name="stall",
        title="Largest gap",
        said="The largest time between two tokens in each window.",
        y=Axis(label="gap", unit="ms", low=0),
        series=[*_windows(one, "largest gap", lambda of: of.gap.max)],
    )
    yield Subject(
        name="callers",
        title="Requests in flight, and errors",
        said="How many requests were in flight, and the errors of each window.",
        y=Axis(label="requests", low=0),
        series=[_in_flight(load), *_errors(one)],
    )


def _cards(one: Shown) -> Iterator[Subject]:
    numbers = sorted({sample.card for sample in one.run.card})
    for number in numbers:
        mine = [sample for sample in one.run.card if sample.card == number]
        of = "card" if numbers == [0] else f"card {number}"
        yield Subject(
            name=f"heat{number}",
            title=f"Temperature, {of}",
            said="The card's temperatures.",
            y=Axis(label="temperature", unit="C"),
            series=[
                _samples("core", mine, lambda each: each.core_c, "heat"),
                _samples("memory", mine, lambda each: each.memory_c, "warn"),
            ],
        )
        yield Subject(
            name=f"clock{number}",
            title=f"Clocks, {of}",
            said="The card's clocks.",
            y=Axis(label="clock", unit="MHz", low=0),
            series=[
                _samples("SM", mine, lambda each: each.sm_mhz, "clock"),
                _samples("memory", mine, lambda each: each.memory_mhz, "other"),
            ],
        )
        yield Subject(
            name=f"power{number}",
            title=f"Power, {of}",
            said="What the card draws, and its limit.",
            y=Axis(label="power", unit="W", low=0),
            series=[
                _samples("draw", mine, lambda each: each.power_w, "power"),
                _samples("limit", mine, lambda each: each.limit_w, "quiet"),
            ],
        )
        yield Subject(
            name=f"reasons{number}",
            title=f"Throttle reasons, {of}",
            said="When each of the card's clock event reasons was in force, a line for each.",
            y=Axis(label="reason", low=0),
            series=[*_reasons(mine)],
        )


def _machine(one: Shown) -> Iterator[Subject]:
    """What this machine did, on which loadsim ran."""
    host = one.run.host
    yield Subject(
        name="cpu",
        title="CPU of this machine",
        said="How busy all cores of this machine were, and how much of one core loadsim took.",
        y=Axis(label="CPU", unit="%", low=0, high=100),
        series=[
            _samples("all cores", host, lambda each: _times(each.cpu, 100), "power"),
            _samples("loadsim, of one core", host, lambda each: _times(each.own_cpu, 100), "quiet"),
        ],
    )
    if not one.run.card:
        yield Subject(
            name="cpuheat",
            title="Temperature and clock of this machine's CPU",
            said="The CPU's temperature and its clock.",
            y=Axis(label="clock", unit="MHz"),
            more=[Axis(label="temperature", unit="C")] if any(each.cpu_c is not None for each in host) else [],
            series=[
                _samples("clock", host, lambda each: each.cpu_mhz, "clock"),
                _samples("temperature", host, lambda each: each.cpu_c, "heat", axis=1),
            ],
        )
    yield Subject(
        name="memory",
        title="Memory",
        said="Resident memory of the server, where loadsim started it, and of loadsim.",
        y=Axis(label="resident", unit="MiB", low=0),
        series=[
            _samples("server", host, lambda each: _times(each.server_rss_bytes, 1 / MIB), "load"),
            _samples("loadsim", host, lambda each: _times(each.own_rss_bytes, 1 / MIB), "quiet"),
        ],
    )


def _server(one: Shown) -> Iterator[Subject]:
    told = one.run.server
    yield Subject(
        name="slots",
        title="Slots of the server",
        said="Slots in use and requests that wait for one, as the server tells.",
        y=Axis(label="slots", low=0),
        series=[
            _samples("in use", told, lambda each: None if each.busy is None else len(each.busy), "load"),
            _samples("requests that wait", told, lambda each: each.deferred, "bad"),
        ],
    )


def _named(one: Shown, title: str) -> str:
    return f"{one.label}: {title}" if one.label else title


def _series(
    label: str,
    points: Iterable[tuple[float | None, float | None]],
    role: Role,
    draw: Draw = "line",
    axis: int = 0,
) -> Series | None:
    """None: too few are known."""
    found = sorted(((at, value) for at, value in points if at is not None), key=lambda each: each[0])
    if sum(value is not None for _, value in found) < LEAST:
        return None
    x, y = thin([at for at, _ in found], [value for _, value in found], RAW if draw == "points" else MOST)
    return Series(
        label=label,
        x=[round(at, 3) for at in x],
        y=[None if value is None else round(value, 4) for value in y],
        role=role,
        draw=draw,
        axis=axis,
    )


def _samples(
    label: str, of: Sequence[Sample], get: Callable[[Sample], float | None], role: Role, axis: int = 0
) -> Series | None:
    return _series(label, [(each.t_s, get(each)) for each in of], role, axis=axis)


def _first_tokens(load: list[RequestRow]) -> Iterator[Series | None]:
    for group, mine in _by_group(load):
        waits = ((row.sent_s, _times(since(row.sent_s, row.first_token_s), 1e3)) for row in mine)
        yield _series(f"{group}, each reply", waits, "load", "points")


def _rates(load: list[RequestRow]) -> Iterator[Series | None]:
    for group, mine in _by_group(load):
        rates = ((row.sent_s, decode_rate(row.token_s)) for row in mine)
        yield _series(f"{group}, each reply", rates, "load", "points")


def _by_group(load: list[RequestRow]) -> Iterator[tuple[str, list[RequestRow]]]:
    for group in dict.fromkeys(row.group for row in load):
        yield group, [row for row in load if row.group == group and in_headline(row)]


def _alone(one: Shown) -> Series | None:
    rates = [(each.at, each.decode) for each in alone(one.run.rows)]
    return _series("one caller alone", rates, "alone")


def _windows(one: Shown, label: str, get: Callable[..., float | None]) -> Iterator[Series | None]:
    """A line of the windows' figures, in milliseconds; a window spans from its start to its end."""
    for point in one.points:
        windows = ((each.start_s + each.end_s) / 2 for each in point.course.windows)
        found = [_times(get(each.figures), 1e3) for each in point.course.windows]
        yield _series(_of(one, point.name, label), zip(windows, found, strict=True), "other")


def _errors(one: Shown) -> Iterator[Series | None]:
    for point in one.points:
        found = [(each.start_s, float(sum(each.figures.errors.values()))) for each in point.course.windows]
        if any(n for _, n in found):
            yield _series(_of(one, point.name, "errors in a window"), found, "bad", "steps")


def _of(one: Shown, point: str, label: str) -> str:
    return label if len(one.points) == 1 else f"{label}, {point}"


def _in_flight(load: list[RequestRow]) -> Series | None:
    steps = [(row.sent_s, 1) for row in load if row.sent_s is not None and row.end_s is not None]
    steps += [(row.end_s, -1) for row in load if row.sent_s is not None and row.end_s is not None]
    flying, points = 0, []
    for at, step in sorted(steps):
        flying += step
        points.append((at, float(flying)))
    return _series("in flight", points, "load", "steps")


def _voice(one: Shown) -> list[Rule]:
    return [Rule(label=f"a voice, {rate:g} tokens/s", at=rate) for rate in dict.fromkeys(p.voice for p in one.points)]


def _reasons(mine: list[CardSample]) -> Iterator[Series | None]:
    """Each reason a line of its own, at its number while it is in force."""
    named = sorted({reason for sample in mine for reason in sample.reasons or ()})
    for number, reason in enumerate(named, 1):
        told = [(each.t_s, float(number) if reason in (each.reasons or ()) else None) for each in mine]
        x, y = [at for at, _ in told], [value for _, value in told]
        role: Role = "quiet" if reason == "gpu idle" else "bad"
        yield Series(label=reason, x=x, y=y, draw="points", role=role) if any(y) else None


def _stripes(one: Shown) -> Iterator[Stripe]:
    """Phases, pauses for one caller alone, and times without a token."""
    for point in one.points:
        for phase in point.course.phases:
            yield Stripe(label=phase.name, start=phase.start_s, end=phase.end_s)
        for pause in point.course.pauses:
            yield Stripe(label="one caller alone", start=pause.start_s, end=pause.start_s + pause.seconds, role="alone")
        last = max((row.end_s or 0.0 for row in one.run.rows if row.point == point.name), default=0.0)
        for outage in point.outages:
            end = last if outage.seconds is None else outage.since_s + outage.seconds
            yield Stripe(label="no token", start=outage.since_s, end=max(end, outage.since_s), role="bad")


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
