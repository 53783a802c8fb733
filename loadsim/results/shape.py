"""What a run's readers take for granted in run.json and events.jsonl, so that damage is told with its place.

Only what is read by name stands here; more keys may come. What a run of old lacks has a default.
"""

from typing import Annotated, Any

import msgspec

from ..types import RequestRow

LONGEST_S = 1e9
"""Thirty years: what lies further from a run's begin is no time of its."""
TIMES = tuple(name for name in RequestRow.__struct_fields__ if name.endswith("_s") and name != "token_s")


class Started(msgspec.Struct):
    """When a run's clock was 0; before the year 10,000, which is as far as a calendar goes."""

    epoch_s: Annotated[float, msgspec.Meta(ge=0, lt=2.5e11)]


class Script(msgspec.Struct):
    """A caller's prompts, as counted before the load."""

    first_tokens: int | None = None
    warm_tokens: int | None = None


class Place(msgspec.Struct):
    """A load point; `groups`: the scripts of each, of old one for all of its callers."""

    sets: dict[str, Any] = {}
    groups: dict[str, list[Script] | Script] = {}
    slots: list[int] = []
    alone: int | None = None
    shared: tuple[str, int] | None = None


class Call(msgspec.Struct):
    """A recording."""

    tokens: int | None = None


class Pace(msgspec.Struct):
    time_scale: float | None = None


class Voice(msgspec.Struct):
    chunk: str | None = None


class Scenario(msgspec.Struct):
    """The scenario as it was run; `sweep`: the values of each swept key."""

    sweep: dict[str, list[Any]] | None = None
    pace: Pace | None = None
    voice: Voice | None = None


class Booted(msgspec.Struct):
    health_s: float | None = None
    first_token_s: float | None = None


class Told(msgspec.Struct):
    """What a server told."""

    boot: Booted | None = None
    round_trip_s: float | None = None


class Facts(msgspec.Struct):
    """run.json."""

    id: str = ""
    started: Started | None = None
    ended: str | None = None
    why: str | None = None
    seconds: float | None = None
    resumed: int = 0
    folder: str = "."
    scenario: Scenario | None = None
    points: dict[str, Place] = {}
    recordings: dict[str, Call] | None = None
    server: Told = msgspec.field(default_factory=Told)
    cards: list[dict[str, Any]] | None = None
    host: dict[str, Any] | None = None
    versions: dict[str, Any] | None = None
    digests: dict[str, str] = {}
    clamped: dict[str, int] | None = None


class Event(msgspec.Struct):
    """A line of events.jsonl; `resumed`: how often the run had been."""

    event: str
    t_s: float
    resumed: int = 0
    point: str = ""


class OfPoint(msgspec.Struct):
    """What happened at a load point."""

    point: str


class Ended(OfPoint):
    """A call's end."""

    group: str
    why: str
    planned: int
    said: int
    repeat: int
    caller: int
    call: int


class Released(OfPoint):
    """A slot that was free again after a cut."""

    group: str
    after_s: float | None = None


class OfLoad(OfPoint):
    """What happened in a repeat's load."""

    repeat: int


class Load(OfLoad):
    """A load's begin."""

    start_s: float
    window_s: float


class LoadPhase(OfLoad):
    """A scenario's phase began."""

    at_s: float
    name: str
    callers: tuple[int, int]


class Pause(OfLoad):
    """Callers paused for one of them; `quiet_s`: when the last turn was over."""

    number: int
    shut_s: float
    open_s: float
    quiet_s: float | None
    why: str | None


class Phase(msgspec.Struct):
    """What was begun."""

    phase: str


class Asked(OfLoad):
    """How many requests a repeat's callers made, as the engine counted them."""

    asked: int


class Began(OfLoad):
    """Nobody is given a token from now on."""

    since_s: float
    said: str


class Over(Began):
    """Somebody is again."""

    seconds: float
    failed: int


class Restarted(OfPoint):
    """The server that died is there again."""

    after_s: float


class Log(msgspec.Struct):
    """What befell a log of samples."""

    log: str
    what: str
    why: str


class Boot(msgspec.Struct):
    health_s: float
    first_token_s: float


class Server(msgspec.Struct):
    """A server that was reached."""

    points: list[str] = []
    round_trip_s: float | None = None
    boot: Boot | None = None


EVENTS: dict[str, type[msgspec.Struct]] = {
    "client": OfPoint,
    "finished": OfPoint,
    "call": Ended,
    "released": Released,
    "load": Load,
    "load phase": LoadPhase,
    "pause": Pause,
    "phase": Phase,
    "requests": Asked,
    "outage": Began,
    "outage over": Over,
    "restarted": Restarted,
    "telemetry": Log,
    "server": Server,
    "stay": Server,
}


def check_facts(facts: dict[str, Any]) -> None:
    """Raises msgspec.ValidationError, which names the field."""
    msgspec.convert(facts, Facts)


def check_event(event: dict[str, Any]) -> None:
    """Raises msgspec.ValidationError, which names the field."""
    name = msgspec.convert(event, Event).event
    if name in EVENTS:
        msgspec.convert(event, EVENTS[name])


def check_row(row: RequestRow) -> None:
    """Raises ValueError, which names the field."""
    for name in TIMES:
        value = getattr(row, name)
        if value is not None and not -LONGEST_S < value < LONGEST_S:
            raise ValueError(f"{name} is {value:g}, which is no time of a run")
    if row.token_s and not -LONGEST_S < min(row.token_s) <= max(row.token_s) < LONGEST_S:
        raise ValueError("token_s holds what is no time of a run")
