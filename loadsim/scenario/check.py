"""What no single key can be wrong about: a scenario's keys held against each other."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec

from ..types import ServerSettings
from . import launch, tree
from .build import suggestion
from .model import Pace, Probe, ReplyLength, Scenario, Server, Telemetry
from .retry import RETRIES
from .secret import is_secret, secrets
from .tree import Node, bad
from .turns import bounds
from .units import format_duration

EMBEDDED = "embedded"
MOST_SLOTS = 256  # that llama.cpp is built for
LEAST_CONTEXT = 256  # tokens per slot; llama.cpp pads a slot's context to multiples of it

MOST_NAME = 20  # characters of a name that stands in a table's first column
MOST_LABEL = 120  # and of a load point's

LEAST_EVERY, MOST_EVERY = 0.1, 60.0
LEAST_WINDOW, MOST_WINDOW = 1.0, 3600.0
CARD_EXAMPLE = "ssh gpu-box loadsim card --every {every}"

PROBES = {
    "reach": ("history", "tail", "replaced", "route"),
    "checkpoints": ("history", "tail"),
    "prefill": ("lengths",),
    "floor": ("history", "new_tokens", "messages"),
    "tools": (),
}
"""What each kind of probe reads besides its slot."""

OF_CALLERS = (
    "baseline",
    "reply",
    "pace",
    "voice",
    "barge_in",
    "speculation",
    "retry",
    "patience",
    "history",
    "duration",
    "phases",
    "window",
    "abort",
)
"""Keys that tell how callers talk."""

_REPLY = "write reply: recorded, {free: 120} or {exactly: 120}"
SET_BY = {
    "messages": "the recording gives them",
    "tools": "the recording gives them",
    "stream": "replies are always streamed",
    "stream_options": "replies are always streamed",
    "max_tokens": _REPLY,
    "max_completion_tokens": _REPLY,
    "n_predict": _REPLY,
    "ignore_eos": _REPLY,
    "id_slot": "write callers.<group>.slots",
    "cache_prompt": "write callers.<group>.cache",
    "timings_per_token": "timings are always asked for",
    "return_progress": "loadsim decides whether to ask for progress",
}
"""Request fields that the engine sets itself, and what to write instead."""

_URL = re.compile(r"(?i:https?)://(\[[0-9a-fA-F:.]+\]|[^\s/?#@:\[\]]+)(:[0-9]{1,5})?(/[^\s?#@]*)?")

Problem = tuple[str, str]
"""A dotted key and what is wrong with it."""


def check(scenario: Scenario, node: Node) -> None:
    """Raises BadInput for the first thing that cannot be, at its place in the tree that the scenario was built from."""
    for path, text in _secrets(scenario):
        raise bad(_unspoken(tree.find(node, path).where), path, text)
    for path, text in chain(
        _own(scenario),
        _talking(scenario),
        _lasting(scenario),
        _probing(scenario),
        _logging(scenario.telemetry),
        _settings(scenario.server),
        _fitting(scenario),
    ):
        raise bad(tree.find(node, path).where, path, text)


def _secrets(scenario: Scenario) -> Iterator[Problem]:
    if re.search("[@?]", scenario.server.url):
        yield "server.url", "no name, password or query in a url; give the key as LOADSIM_API_KEY"
    for key, command in {"server.launch": scenario.server.launch, "telemetry.card": scenario.telemetry.card}.items():
        for name in secrets(command or ""):
            yield key, f"no secrets in a scenario; give {name} by a file, or in the environment"
    for path in _paths(scenario.request, "request"):
        if is_secret(path.rpartition(".")[2]):
            yield path, "no secrets in a scenario; give the key as LOADSIM_API_KEY"


def _own(scenario: Scenario) -> Iterator[Problem]:
    """Keys that are wrong by themselves, in a way that their type cannot tell."""
    if bool(scenario.callers) == (scenario.probe is not None):
        if not scenario.callers:
            yield "", "callers is missing (groups of callers), or a probe in their place"
        yield "probe", "a scenario has callers or a probe, not both"
    if not scenario.recording.strip() or not scenario.recording.isprintable():
        yield "recording", f"expected a file of recordings/, or a path; got {scenario.recording!r}"
    for name, group in scenario.callers.items():
        if not re.fullmatch(r"[\w-]+", name):
            yield f"callers.{name}", "a group's name is letters, digits, - and _"
        if (said := unfit(name)) is not None:
            yield f"callers.{name}", f"a group's name {said}"
        if not all(recording.strip() and recording.isprintable() for recording in group.recordings):
            yield f"callers.{name}.recordings", "expected files of recordings/, or paths; one has no name"
        try:
            bounds(group.turns, group.cache)
        except ValueError as error:
            yield f"callers.{name}.turns", str(error)
    if scenario.baseline.replies == 1:
        yield "baseline.replies", "expected 2 or more, since the first is dropped, or 0 for no baseline; got 1"
    reply = scenario.reply
    if isinstance(reply, ReplyLength) and (reply.free is None) == (reply.exactly is None):
        yield "reply", f"expected one of exactly, free; got {'neither' if reply.free is None else 'both'}"
    for key in scenario.request:
        if key in SET_BY:
            yield f"request.{key}", f"loadsim sets this itself; {SET_BY[key]}"
    waits = msgspec.structs.asdict(scenario.timeout)
    times: dict[str, float | None] = {f"timeout.{key}": seconds for key, seconds in waits.items()}
    times |= {"patience": scenario.patience, "duration": scenario.duration, "baseline.every": scenario.baseline.every}
    for key, seconds in times.items():
        if seconds == 0:
            yield key, "expected a time longer than 0"


def _talking(scenario: Scenario) -> Iterator[Problem]:
    """How callers talk: what rests on another key, and what would have no effect."""
    pace, barge_in, speculation = scenario.pace, scenario.barge_in, scenario.speculation
    speech = pace.by == "speech"
    for name, group in scenario.callers.items():
        lasts = scenario.lasts
        if group.again and lasts is None:
            yield f"callers.{name}.again", "the calls would never end; give a duration, such as 10 min"
        late = group.start.how in ("at", "every") and lasts is not None
        if late and group.start.seconds >= (lasts or 0.0):
            length = format_duration(lasts or 0.0)
            yield f"callers.{name}.start", f"nobody begins before the scenario's duration, {length}, is over"
        if group.every and speech:
            yield f"callers.{name}.every", "not used where pace is speech, which times the turns; leave it out"
        if group.start.how == "call" and not speech:
            yield f"callers.{name}.start", "call is only for pace: speech, where a recorded call takes its time"
    for key in ("times", "gap", "words_per_s", "time_scale"):
        if not speech and getattr(pace, key) != getattr(Pace(), key):
            yield f"pace.{key}", "has no effect unless pace.by is speech"
    if barge_in.false_interruption and barge_in.backchannels == "none":
        yield "barge_in.false_interruption", "has no effect unless barge_in.backchannels is recorded or drawn"
    if speculation.by != "none":
        if not speech:
            yield "speculation.by", f"{speculation.by} needs pace.by: speech, where a caller's words take time"
        if speculation.eager > pace.endpointing:
            most, got = format_duration(pace.endpointing), format_duration(speculation.eager)
            yield "speculation.eager", f"expected pace.endpointing, which is {most}, at the most; got {got}"
    after = RETRIES[scenario.retry][0].limit or 0.0
    if scenario.timeout.first_token < after:
        got = format_duration(scenario.timeout.first_token)
        why = f"since {scenario.retry} retries only then"
        yield "timeout.first_token", f"expected {after:g} s or more, {why}; got {got}"


def _lasting(scenario: Scenario) -> Iterator[Problem]:
    """What bears on a load that goes on for a while: its phases, windows, baselines and ends."""
    everyone = sum(group.count for group in scenario.callers.values())
    names = [phase.name for phase in scenario.phases]
    if scenario.phases and scenario.duration is not None:
        yield "duration", "the phases say how long the load lasts; leave it out"
    for phase in scenario.phases:
        if (said := unfit(phase.name)) is not None:
            yield "phases", f"a phase's name {said}"
        if not phase.name.strip() or names.count(phase.name) > 1:
            yield "phases", f"each phase needs a name of its own; got {phase.name!r}"
        if not phase.for_:
            yield "phases", f"expected a time longer than 0 for {phase.name}"
        if max(phase.ends) > everyone:
            yield "phases", f"{phase.name} has {max(phase.ends)} callers; there are {everyone}: raise a group's count"
    if scenario.phases and not any(max(phase.ends) for phase in scenario.phases):
        yield "phases", "no phase has a caller"
    for name, group in scenario.callers.items():
        if scenario.phases and not group.again:
            yield (
                f"callers.{name}.again",
                "phases say how many are on calls, so who hangs up calls again: write true",
            )
    if not LEAST_WINDOW <= scenario.window <= MOST_WINDOW:
        least, most = format_duration(LEAST_WINDOW), format_duration(MOST_WINDOW)
        yield "window", f"expected {least} to {most}; got {format_duration(scenario.window)}"
    if scenario.baseline.every is not None:
        if scenario.lasts is None:
            yield "baseline.every", "the load has no end that could be told; give a duration, such as 4 h"
        if not scenario.baseline.replies:
            yield "baseline.every", "there is no baseline, since baseline.replies is 0"
        if scenario.lasts is not None and scenario.baseline.every >= scenario.lasts:
            got, most = format_duration(scenario.baseline.every), format_duration(scenario.lasts)
            yield "baseline.every", f"no pause would come: expected less than the load's {most}; got {got}"
    for key in ("silence", "first_token"):
        least = getattr(scenario.timeout, key)
        if scenario.timeout.outage < least:
            got = format_duration(scenario.timeout.outage)
            which = f"expected timeout.{key}, which is {format_duration(least)}, or more"
            why = "a reply may be waited for as long"
            yield "timeout.outage", f"{which}, since {why}; got {got}: lower timeout.{key} too, or leave outage out"
    if scenario.abort.card is not None and (scenario.telemetry.every is None or scenario.telemetry.card == "none"):
        yield "abort.card", "the cards are not logged (telemetry), so nobody knows how hot they are"


def unfit(name: str) -> str | None:
    """Why a name cannot stand in a table, if so."""
    if not name.isprintable():
        return f"is one line of printable characters; got {name[:60]!r}"
    if len(name) > MOST_NAME:
        return f"has {MOST_NAME} characters at the most, so that tables stay whole; got {len(name)}"
    return None


def _probing(scenario: Scenario) -> Iterator[Problem]:
    """What a probe would not read, and what it cannot do."""
    probe = scenario.probe
    if probe is None:
        return
    bare, usual = Scenario(recording=scenario.recording), Probe(kind=probe.kind)
    for key in OF_CALLERS:
        if getattr(scenario, key) != getattr(bare, key):
            yield key, "has no effect on a probe, where nobody talks; leave it out"
    for key in sorted({key for keys in PROBES.values() for key in keys} - set(PROBES[probe.kind])):
        if getattr(probe, key) != getattr(usual, key):
            kinds = " or ".join(kind for kind, keys in PROBES.items() if key in keys)
            yield f"probe.{key}", f"has no effect unless probe.kind is {kinds}"
    if probe.replaced != "bisect" and max(probe.replaced) > probe.tail:
        got = max(probe.replaced)
        yield "probe.replaced", f"only the tail is edited, which has {probe.tail} tokens (probe.tail); got {got}"
    if scenario.server.url == EMBEDDED and probe.slot >= scenario.server.slots:
        yield "probe.slot", f"expected a slot of the server, 0 to {scenario.server.slots - 1}; got {probe.slot}"


def _logging(telemetry: Telemetry) -> Iterator[Problem]:
    """How often samples are taken, and the command of a remote card log."""
    if telemetry.every is not None and not LEAST_EVERY <= telemetry.every <= MOST_EVERY:
        least, most = format_duration(LEAST_EVERY), format_duration(MOST_EVERY)
        yield "telemetry.every", f"expected {least} to {most}, or null; got {format_duration(telemetry.every)}"
    if telemetry.card in ("auto", "none"):
        return
    if " " not in telemetry.card.strip() and not re.search("[/.]", telemetry.card):
        # One bare word is rather a slip than a program that needs no flag.
        hint = suggestion(telemetry.card.lower(), ["auto", "none"])
        allowed = f"expected auto, none, or a command such as {CARD_EXAMPLE}"
        yield "telemetry.card", f"{allowed}; got {telemetry.card!r}{hint}"
    try:
        launch.names(telemetry.card, ("every",), CARD_EXAMPLE)
    except ValueError as error:
        yield "telemetry.card", str(error)


def _settings(server: Server) -> Iterator[Problem]:
    """Numbers and names that llama-server does not take."""
    if server.url != EMBEDDED:
        url = _URL.fullmatch(server.url)
        if not url or int((url[2] or ":0")[1:]) > 65535:
            meant = f"http://{server.url}"
            hint = f"; did you mean {meant}?" if _URL.fullmatch(meant) else ""
            yield "server.url", f"expected http://host[:port][/path], https://... or embedded; got {server.url!r}{hint}"
    if server.restart and not started(server):
        yield "server.restart", "has no effect on a server that loadsim does not start; leave it out"
    if server.launch is not None:
        try:
            names = launch.names(server.launch)
        except ValueError as error:
            yield "server.launch", str(error)
            return
        if server.url == EMBEDDED and "port" not in names:
            yield "server.launch", "expected {port} in it, or server.url to say where the server will be"


def started(server: Server) -> bool:
    """Whether loadsim starts the server, by itself or by a command."""
    return server.url == EMBEDDED or server.launch is not None


def settable(server: Server) -> list[str]:
    """The settings that reach the server; all, where a template is wrong that is to be told of."""
    fields = list(ServerSettings.__struct_fields__)
    if server.launch is None:
        return fields if server.url == EMBEDDED else []
    try:
        names = launch.names(server.launch)
    except ValueError:
        return fields
    return [name for name in fields if name in names]


def _fitting(scenario: Scenario) -> Iterator[Problem]:
    """What has to fit in a server that loadsim starts; of another one, only it can tell."""
    server, callers = scenario.server, scenario.callers
    told = settable(server)
    if "slots" not in told:
        return
    if server.url == EMBEDDED and server.launch is None and server.slots > MOST_SLOTS:
        yield "server.slots", f"expected {MOST_SLOTS} at the most; got {server.slots}"
    if "context" in told and server.context < LEAST_CONTEXT * server.slots:
        least = LEAST_CONTEXT * server.slots
        needed = f"{server.slots} slots need {least} tokens, {LEAST_CONTEXT} each"
        yield "server.context", f"{needed}; the context has {server.context}"
    count = sum(group.count for group in callers.values())
    if count > server.slots:
        counts = " or ".join(f"callers.{name}.count" for name in callers)
        needed = f"{count} callers need {count} slots; the server has {server.slots}"
        largest = max(callers, key=lambda name: callers[name].count)
        yield f"callers.{largest}.count", f"{needed}: lower {counts} or raise server.slots"
    slot = scenario.baseline.slot
    if slot is not None and slot >= server.slots:
        yield "baseline.slot", f"expected a slot of the server, 0 to {server.slots - 1}; got {slot}"


def _paths(value: Any, path: str) -> Iterator[str]:
    """The dotted key of every mapping's entry in free data."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield f"{path}.{key}"
        yield from _paths(inner, f"{path}.{key}")
    for item in value if isinstance(value, list) else ():
        yield from _paths(item, path)


def _unspoken(where: str) -> str:
    """The place without the value that a flag repeats."""
    return re.sub(r"^(--set [^=]*=|--url ).*", r"\1...", where, flags=re.DOTALL)
