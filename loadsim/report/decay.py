"""Whether decoding slowed down in the course of a run, and why: a small table and a sentence."""

from collections.abc import Callable, Iterator

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..results.read import Run
from ..stats.cause import FELL, Evidence, State
from ..stats.decay import WINDOW_S, Decay, Memory, decay
from ..stats.trend import Trend
from ..types import RequestRow
from .grid import grid
from .logs import size
from .setting import seconds, setting
from .words import lasting, listed, number, percent

SHARE = (
    "share over time: each window of {} with the usual load, against the one caller measured next to it, so that heat "
    "cancels out; the share above is of all replies against all of one caller's, so the two may differ"
)
UNCHANGED = 0.005  # of a clock
MIB = 1 << 20


def decays(run: Run, least: int = 1) -> dict[str, Decay]:
    """Of each of the server's settings in a run, by the names of its load points. Windows are the scenario's, else a
    minute, but at the most so long that the run has `least` of them."""
    groups: dict[bytes, list[str]] = {}
    for point in dict.fromkeys(row.point for row in run.rows if row.row in ("baseline", "load")):
        groups.setdefault(msgspec.json.encode(setting(run, point).get("server")), []).append(point)
    found = {}
    for names in groups.values():
        rows = [row for row in run.rows if row.point in names]
        of = setting(run, names[0])
        window = min(seconds(of.get("window")) or WINDOW_S, _span(rows) / least)
        if window and (one := decay(rows, run.card, run.host, window, here=of.embedded)) is not None:
            found[", ".join(names)] = one
    return found


def shown(run: Run) -> Iterator[RenderableType]:
    """For a run's tables: nothing of a run that is too short to say something, see `stats.decay.LEAST_WINDOWS`."""
    found = {name: of for name, of in decays(run).items() if of.long_enough}
    for name, of in found.items():
        yield table(of, "over time" if len(found) == 1 else name)
        if of.share is not None:
            yield Text(SHARE.format(lasting(of.seconds)))
        yield Text(sentence(of))


def table(of: Decay, name: str) -> Table:
    """The first and the last of everything, with the rates' slopes and their intervals."""
    made = grid(name, "first", "last", "change", "a minute", "from", "to")
    made.columns[0].no_wrap, made.columns[0].overflow = False, "fold"
    rates = (("one caller, tokens/s", of.one), ("under load, tokens/s", of.load), ("share", of.share))
    for label, trend in rates:
        if trend is not None:
            made.add_row(label, *_trend(trend, share=label == "share"))
    for label, get in STATES.items():
        first, last = get(of.evidence.first), get(of.evidence.last)
        if first is not None or last is not None:
            label = label.replace("core", "CPU").replace("SM", "CPU") if of.cpu else label
            change = "-" if first is None or last is None or label.endswith(" C") else signed(last / first - 1)
            made.add_row(label, _plain(first), _plain(last), change, "-", "-", "-")
    if of.memory is not None:
        line = of.memory.slope
        ends = (of.memory.first / MIB, of.memory.last / MIB)
        slopes = (None if each is None else each / MIB for each in (line.per, line.low, line.high))
        made.add_row(
            "server memory, MiB", *map(_plain, ends), signed(of.memory.last / of.memory.first - 1), *map(number, slopes)
        )
    return made


STATES: dict[str, Callable[[State], float | None]] = {
    "core, C": lambda state: state.heat,
    "memory, C": lambda state: state.memory_heat,
    "SM clock, MHz": lambda state: state.clock,
    "memory clock, MHz": lambda state: state.memory_clock,
    "power, W": lambda state: state.power,
}


def sentence(of: Decay) -> str:
    """What happened to the rate, and the rule that says why, with the figures that it is by."""
    decode, seen = of.main, of.evidence
    whose = "One caller's decode rate" if of.by == "one caller" else "The decode rate under load"
    rule = of.verdict.rule
    said = f"{whose} {moved(decode)} in {lasting(decode.last_at - decode.first_at)}"
    if rule == "no decay":
        noise = " beyond noise" if decode.change <= -FELL else ""
        said = f"No decay{noise}: {said[0].lower()}{said[1:]}"
    else:
        said += f": {_why(of)}"
    if _dark(seen) and rule != "unknown temperature":
        said += "; unknown temperature"
    return f"{said}.{_load(of)}"


def moved(trend: Trend) -> str:
    """By how much, with the interval."""
    said = f"{'fell' if trend.change < 0 else 'rose'} by {percent(abs(trend.change))}"
    if trend.low is None or trend.high is None:
        return said
    return f"{said} ({signed(trend.low)} to {signed(trend.high)} at 95 %)"


def signed(ratio: float) -> str:
    """A change to a tenth of a per cent; sensors and clocks tell no more."""
    rounded = round(ratio * 100, 1)
    return f"{rounded:+.1f} %" if rounded else "0.0 %"


def _load(of: Decay) -> str:
    """Where one caller's rate holds and the load's does not."""
    load = of.load
    if of.by != "one caller" or of.verdict.rule != "no decay" or load is None:
        return ""
    if load.change > -FELL or load.high is None or load.high >= 0:
        return ""
    return f" Under load the rate {moved(load)}: the load changed, or what the server does with it."


def _why(of: Decay) -> str:
    seen, last = of.evidence, of.evidence.last
    match of.verdict.rule:
        case "too few to tell":
            return "too few replies to tell that from noise"
        case "client":
            late = f"its event loop came {number(last.lag_ms)} ms late at p99 at last"
            return f"the client was the bottleneck, {late}, and it took {percent(last.client_cpu)} of a core"
        case "machine":
            others = f"{percent(last.others)} of it with other programs"
            return f"this machine was busy, {percent(last.busy)} of its CPU at last, {others}"
        case "power limit":
            share = (last.reasons or {}).get("sw power cap")
            return (
                f"power limit, {number(last.power)} W of {number(last.limit)}, sw power cap in {percent(share)} of the "
                f"samples at last; {_clock(seen)}"
            )
        case "throttled":
            shares = last.reasons or {}
            reasons = (f"{reason} in {percent(shares.get(reason))} of the samples" for reason in of.verdict.named)
            return f"throttle reasons: {listed(reasons)} at last; {_clock(seen)}"
        case "clock":
            none = "" if last.reasons is None else f"; {_in_force(last.reasons)}"
            return f"the clock explains it; {_clock(seen)}{none}"
        case "server memory":
            return f"server memory grew, {_grown(of)}; {_clock(seen)}"
        case "memory heat":
            cause = "memory-bound heat suspected"
            return f"decode fell more than the SM clock: {cause}; {_clock(seen)}; {_memory(seen)}; {_heat(seen)}"
        case "unknown temperature":
            why = "this machine tells none" if of.cpu else "no card log covers it"
            return f"unknown temperature, for {why}; {_clock(seen)}{_also(of)}"
    return f"no cause seen in the logs; {_clock(seen)}; {_heat(seen)}{_also(of)}"


def _clock(seen: Evidence) -> str:
    name = "the CPU's clock" if seen.cpu else "the SM clock"
    if seen.clock is None or seen.explained is None:
        return f"{name} is not known"
    ends = f"{_plain(seen.first.clock)} to {_plain(seen.last.clock)} MHz"
    if abs(seen.clock - 1) < UNCHANGED:
        return f"{name} stayed at {_plain(seen.last.clock)} MHz"
    if seen.clock > 1:
        return f"{name} rose, {ends}"
    part = "all" if seen.explained >= 1 else percent(seen.explained)
    return f"{name} fell by {percent(1 - seen.clock)}, {ends}, which explains {part} of it"


def _memory(seen: Evidence) -> str:
    """Whether the memory's clock and temperature could be seen."""
    clock, heat = "memory clock not readable", "memory temperature not readable"
    if seen.memory_clock is not None:
        ends = (_plain(seen.first.memory_clock), _plain(seen.last.memory_clock))
        still = abs(seen.memory_clock - 1) < UNCHANGED
        clock = (
            f"memory clock seen ({ends[1]} MHz throughout)" if still else f"memory clock seen ({' to '.join(ends)} MHz)"
        )
    if seen.last.memory_heat is not None:
        heat = f"memory temperature seen ({_plain(seen.first.memory_heat)} to {_plain(seen.last.memory_heat)} C)"
    return f"{clock}, {heat}"


def _heat(seen: Evidence) -> str:
    if _dark(seen):
        return "unknown temperature"
    return f"{'CPU' if seen.cpu else 'core'} {_plain(seen.first.heat)} to {_plain(seen.last.heat)} C"


def _grown(of: Decay) -> str:
    assert of.memory is not None
    line = of.memory.slope
    low, high = ((line.low or line.per) / MIB, (line.high or line.per) / MIB)
    slopes = f"{number(line.per / MIB)} MiB a minute ({number(low)} to {number(high)} at 95 %)"
    return f"{_ends(of.memory)}, {slopes}"


def _also(of: Decay) -> str:
    """What is told of the server's memory where that is not the cause."""
    return "" if of.memory is None else f"; server memory {_ends(of.memory)}"


def _ends(memory: Memory) -> str:
    return f"{size(round(memory.first))} to {size(round(memory.last))}"


def _in_force(reasons: dict[str, float]) -> str:
    return (
        "no throttle reason was in force"
        if not reasons
        else ", ".join(f"{reason} in {percent(share)} of the samples" for reason, share in reasons.items())
    )


def _dark(seen: Evidence) -> bool:
    return seen.first.heat is None or seen.last.heat is None


def _trend(trend: Trend, share: bool) -> list[str]:
    write = percent if share else number
    line = trend.slope
    slopes = (None, None, None) if line is None else (line.per, line.low, line.high)
    return [write(trend.first), write(trend.last), signed(trend.change), *map(write, slopes)]


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _span(rows: list[RequestRow]) -> float:
    times = [row.sent_s for row in rows if row.sent_s is not None]
    return max(times, default=0.0) - min(times, default=0.0)
