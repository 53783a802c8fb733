"""What the doctor saw of the machine that it runs on, and of the card that will be logged from here. Pure."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from ..recording.wrong import line
from ..telemetry.lag import LagReport
from ..telemetry.peek import Seen
from ..telemetry.source import ELSEWHERE

Level = Literal["ok", "warning", "bad"]

LATE_MS = 5.0
PAUSE_MS = 20.0
CLOCK_S = 1e-4
NOT_TOLD = "not told: "
SPARE_FILES = 64  # what a process holds open besides its connections
UNKNOWN = "the temperature will be unknown, and a card that slows down has no reason"
SENSORS = {
    "core_c": "core temperature",
    "memory_c": "memory temperature",
    "sm_mhz": "SM clock",
    "memory_mhz": "memory clock",
    "power_w": "power",
    "reasons": "throttle reasons",
}


class Finding(msgspec.Struct, frozen=True):
    """One check: `what` was found, `why` it matters, what would `mend` it. An ok one needs only the first."""

    level: Level
    what: str
    why: str = ""
    mend: str = ""


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """This machine: the loop's clock in its smallest step, the loop's lag, how many files may be open, and what
    the card log will see."""

    clock_s: float
    lag: LagReport
    files: int
    cards: Seen


def machine(client: Client, callers: int) -> Iterator[Finding]:
    """What bears on a load of so many callers."""
    yield _clock(client.clock_s)
    yield _loop(client.lag)
    needed = 2 * callers + SPARE_FILES
    if client.files < needed:
        why = "a connection per request, and one more where a caller is early or tries again"
        what = f"{client.files:,} files may be open; {callers:,} callers need {needed:,}"
        yield Finding("bad", what, why, f"ulimit -n {max(needed, 4096)}")
    else:
        yield Finding("ok", f"{client.files:,} files may be open; {needed:,} are enough")
    yield _cards(client.cards)


def _cards(seen: Seen) -> Finding:
    """What will be known of the card's heat."""
    if seen.every is None:
        return Finding("ok", "nothing will be logged beside the rows (telemetry.every)")
    if seen.cards:
        names = [str(card.name) if len(seen.cards) == 1 else f"{card.card}: {card.name}" for card in seen.cards]
        what = f"card log every {seen.every:g} s: {line(', '.join(names))}"
        lacks = [word for name, word in SENSORS.items() if any(name in card.missing for card in seen.cards)]
        why = f"{NOT_TOLD}{', '.join(lacks)}" if lacks else ""
        if SENSORS["core_c"] in lacks:
            return Finding("warning", what, f"{why}; {UNKNOWN}", "a driver that tells it")
        return Finding("ok", what, why)
    if not seen.why:
        return Finding("ok", "no card log is wanted: a server on the CPU, or telemetry.card: none")
    what = f"no card log: {line(seen.why)}"
    if seen.foreign:
        return Finding(
            "warning", what, UNKNOWN, "mend telemetry.card; it must print a line per sample, as loadsim card"
        )
    if seen.why == ELSEWHERE:
        mend = "--set 'telemetry.card=ssh gpu-box loadsim card --every {every}', with loadsim installed there"
        return Finding("ok", what, UNKNOWN, mend)
    return Finding("ok", what, UNKNOWN)


def _clock(step: float) -> Finding:
    if step <= CLOCK_S:
        return Finding("ok", f"this machine's clock has steps of {step * 1e6:.2g} µs")
    what = f"this machine's clock has steps of {step * 1e3:.2g} ms"
    return Finding("warning", what, "no gap is known better than that", "run from a machine with a finer clock")


def _loop(lag: LagReport) -> Finding:
    late = lag.lag_p99_ms or 0.0
    what = f"the idle event loop is {late:.3g} ms late at p99; GC pauses {lag.gc_longest_ms:.3g} ms at most"
    if late <= LATE_MS and lag.gc_longest_ms <= PAUSE_MS:
        return Finding("ok", what)
    why = "figures hold this machine's own delay"
    return Finding("warning", what, why, "a machine with idle cores, near the agent's; end what else runs here")
