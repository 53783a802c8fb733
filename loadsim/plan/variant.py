"""A scenario as a search measures it: so many callers of one group, all at once or with the pace of people."""

from typing import Any

from ..engine.arrivals import length
from ..engine.point import TURN_S
from ..recording.model import Recording
from ..scenario.check import EMBEDDED, settable, started
from ..scenario.load import dump, restore
from ..scenario.model import Scenario
from ..scenario.turns import parse_turns
from ..scenario.units import format_duration
from ..types import BadInput

START = "1 min"  # paced calls begin spread over this
START_S = 60.0
LEAST_ALONE = 2

Sets = dict[str, Any]
"""Dotted keys of a scenario and their values, as plain data."""


def searched(scenario: Scenario, asked: str | None) -> str:
    """The group whose number is searched: the one asked for, the only one, or the only warm one. Raises BadInput."""
    if scenario.probe is not None:
        raise BadInput("plan callers: the scenario is a probe, one caller with a question; give one with callers")
    if scenario.sweep:
        swept = ", ".join(scenario.sweep)
        raise BadInput(f"plan callers: a search has no sweep; leave out sweep ({swept}) and give one value each")
    groups = scenario.callers
    if asked is not None:
        if asked not in groups:
            raise BadInput(f"--group {asked}: no such group (groups: {', '.join(groups)})")
        return asked
    warm = [name for name, group in groups.items() if group.cache == "warm"]
    for found in (list(groups), warm):
        if len(found) == 1:
            return found[0]
    raise BadInput(
        f"plan callers: which group's number is searched? --group {' or --group '.join(warm or groups)}; "
        "the others stay as they are"
    )


def others(scenario: Scenario, group: str) -> int:
    """How many callers there are of other groups."""
    return sum(each.count for name, each in scenario.callers.items() if name != group)


def at_once(scenario: Scenario, group: str, repeats: int, share: bool = True) -> Scenario:
    """The scenario with the group's callers all talking at once, measured `repeats` times at the most.

    Without a `share` to be told, one caller's replies only show whether the card is as it was: one of each side does,
    and the one before it that is dropped.
    """
    sets: Sets = {"repeat": repeats, f"callers.{group}.start": "together", f"callers.{group}.every": "0 s"}
    if scenario.pace.by == "speech":
        # A paced group's call lasts minutes; at once it is the message that all say at one time.
        bare = dump(Scenario(recording=scenario.recording))
        sets |= {"pace": bare["pace"], "speculation": bare["speculation"], f"callers.{group}.turns": "last"}
    if scenario.callers[group].again:
        sets |= {f"callers.{group}.again": False}
        if not any(each.again for name, each in scenario.callers.items() if name != group):
            sets |= {"duration": None}
    if not share:
        sets |= {"baseline.replies": min(scenario.baseline.replies, LEAST_ALONE)}
    # The file's own number need not fit its server: it is the search that chooses it.
    return put(scenario, sets | {f"callers.{group}.count": 1})


def sets_at(scenario: Scenario, group: str, count: int, slots: int | None) -> Sets:
    """What a load point sets: so many callers, and so many slots where they are ours to set, each with its context."""
    sets: Sets = {f"callers.{group}.count": count}
    if slots is not None:
        sets |= {"server.slots": slots}
        if "context" in settable(scenario.server):
            sets |= {"server.context": scenario.server.context // scenario.server.slots * slots}
    return sets


def paced(before: Scenario, group: str, recording: Recording, count: int, replies: int) -> tuple[Sets, float]:
    """What callers with the pace of people set, so that they get so many `replies` in all, and for how many seconds
    they talk. `before`: the scenario as the file has it, whose own pace is kept."""
    speech = before.pace.by == "speech"
    pace = dump(before)["pace"] if speech else {"by": "speech"}
    turns = before.callers[group].turns if speech else "all"
    said = parse_turns(turns, len(recording.turns), before.callers[group].cache)
    call = len(said) * TURN_S if before.pace.times == "drawn" else max(length(recording, said), 1.0)
    start = before.callers[group].start
    ramp = start.seconds if start.how == "spread" else START_S
    # Callers begin evenly over that time, the first one at once: in the mean they miss a little under half of it.
    seconds = float(round(replies / count * call / len(said) + ramp * (count - 1) / count / 2))
    sets: Sets = {
        "repeat": 1,
        "pace": pace,
        "duration": format_duration(seconds),
        f"callers.{group}.turns": turns,
        f"callers.{group}.again": True,
        f"callers.{group}.start": dump(before)["callers"][group]["start"] if start.how == "spread" else START,
    }
    if speech:
        sets |= {"speculation": dump(before)["speculation"]}
    return sets, seconds / before.pace.time_scale


def grows(scenario: Scenario) -> bool:
    """Whether the server can be started with more slots."""
    return started(scenario.server) and "slots" in settable(scenario.server)


def embedded(scenario: Scenario) -> bool:
    return scenario.server.url == EMBEDDED and scenario.server.launch is None


def put(scenario: Scenario, sets: Sets) -> Scenario:
    """The scenario with these keys set. Raises BadInput for what does not go together."""
    data = dump(scenario)
    for key, value in sets.items():
        *path, last = key.split(".")
        inner = data
        for name in path:
            inner = inner[name]
        inner[last] = value
    return restore(data, "loadsim plan callers")
