"""What must hold before a load begins, and the counts that only this server's tokenizer can give."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ..caller.history import SALT_DIGITS, Ask, Wording, asks, cold_system, salt, warm_prompt, wording
from ..caller.speech import first_chunk
from ..caller.talk import AFTER_REPLY
from ..recording.messages import Message
from ..recording.model import Recording
from ..scenario.model import Group, Scenario
from ..scenario.sweep import points
from ..scenario.turns import parse_turns
from ..scenario.units import format_duration
from ..server.api import Server
from ..types import BadInput, Kind, ServerInfo
from .places import Places, places

Recordings = Mapping[str, Recording]
"""The recordings of a scenario by the names it gives them."""


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """One recording as a group says it. Tokens are None where the server does not count for us.

    `warm`: tokens of the prompt that a slot holds first (0: nothing); `first`, `longest`: of the first and the last
    measured prompt. `opening`: tokens that a cold prompt can share with any other. `expects`: kinds planned for the
    first measured prompt; empty: any.
    """

    recording: Recording
    turns: range
    warm: int | None
    first: int | None
    longest: int | None
    opening: int
    expects: frozenset[Kind]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One load point, checked. `scripts`: by group; its callers take them in turn. `tokens`: those of recorded texts;
    `alone`: the turn that one caller says alone, of `first`'s recording, `alone_expects` the kinds planned for it, and
    `slot_alone` the slot for it; `shared`: the caller whose slot that is, None: it is nobody's."""

    point: str
    scenario: Scenario
    places: Places
    scripts: dict[str, tuple[Script, ...]]
    tokens: dict[str, int]
    alone: int
    alone_expects: frozenset[Kind]
    slot_alone: int | None = None
    shared: tuple[str, int] | None = None

    def script(self, group: str, number: int) -> Script:
        """What caller `number` of a group says."""
        scripts = self.scripts[group]
        return scripts[number % len(scripts)]

    def max_tokens(self, reply: str) -> int:
        """How many tokens a reply may have (`free`), or will have (`recorded`, `exactly`)."""
        return _max_tokens(self.scenario, self.tokens, reply)

    @property
    def first(self) -> Script:
        """What the caller who is alone says."""
        return self.scripts[_alone(self.scenario)][0]

    @property
    def wording(self) -> Wording | None:
        return wording(self.scenario.barge_in.heard)

    @property
    def slots(self) -> list[int]:
        """The busy slots, in order."""
        return sorted(slot for row in self.places.values() for slot in row if slot is not None)


def check_server(info: ServerInfo, scenario: Scenario) -> None:
    """Raises BadInput for a model that the server has not, or a reply rule that it cannot follow."""
    wanted = scenario.request.get("model")
    if wanted is not None and info.models and wanted not in info.models:
        raise BadInput(f"request.model: the server has no {wanted!r}; it has {', '.join(info.models)}")
    slot = scenario.baseline.slot
    if slot is not None and info.slots is not None and slot >= info.slots:
        # llama-server takes a number out of range for none, and says nothing.
        raise BadInput(f"baseline.slot: the server has slots 0 to {info.slots - 1}; got {slot}")
    if info.slots is None and scenario.reply == "recorded" and scenario.callers:
        raise BadInput(
            f"reply: recorded needs a server that counts tokens, and {info.url} has no /tokenize: "
            "use reply: {free: 120}"
        )


def _check_every(scenario: Scenario, scripts: list[Script]) -> None:
    """Raises BadInput where callers' words alone take longer than half of the time between two pauses, in which a turn
    that is under way has to end."""
    every, pace = scenario.baseline.every, scenario.pace
    if every is None or pace.by != "speech" or pace.times != "recorded":
        return
    said = [
        (script.recording.turns[number - 1].caller, number)
        for script in scripts
        for number in script.turns
        if number <= len(script.recording.turns)
    ]
    words, number = max(((each.end - each.start, number) for each, number in said), default=(0.0, 0))
    turn = words + pace.endpointing
    if every / 2 < turn:
        least = format_duration(math.ceil(turn * 2))
        raise BadInput(
            f"baseline.every: turn {number} takes its caller {turn:.1f} s, and a turn under way has half of "
            f"{format_duration(every)} to end before a pause; expected {least} or more"
        )


async def prompt_tokens(server: Server, messages: list[Message], tools: tuple[dict[str, Any], ...]) -> list[int] | None:
    """A chat request's prompt, rendered and tokenized by this server; None where it does not tell."""
    text = await server.render(messages, tools)
    return None if text is None else await server.tokenize(text)


async def preflight(server: Server, info: ServerInfo, point: str, scenario: Scenario, recordings: Recordings) -> Plan:
    """Check one load point against this server and count its tokens. Raises BadInput with both numbers where a call
    does not fit."""
    where = places(scenario.callers, info.slots)
    said = {
        name: [(recordings[call], _said(name, group, recordings[call], scenario)) for call in calls(group, scenario)]
        for name, group in scenario.callers.items()
    }
    slot = slot_alone(scenario, where, info.slots)
    said_as = wording(scenario.barge_in.heard)
    scripts = {
        name: tuple([await _script(server, call, scenario.callers[name], script, said_as) for call, script in found])
        for name, found in said.items()
    }
    # Alone, one warm caller says a turn from the middle of the first warm group's, so that its prompt is as long as
    # theirs are in the mean; beside cold callers only, one of theirs that a slot can be warm for.
    group = _alone(scenario)
    first = scripts[group][0]
    alone = max(first.turns[(len(first.turns) - 1) // 2], 2)
    everyone = [ask for found in said.values() for _, script in found for ask in script]
    baseline = next(asks(first.recording, range(alone, alone + 1), lambda turn: salt("baseline", turn)))
    counted = await _tokens(server, scenario, [*everyone, baseline], recordings) if info.slots is not None else {}
    plan = Plan(
        point=point,
        scenario=scenario,
        places=where,
        scripts=scripts,
        tokens=counted,
        alone=alone,
        alone_expects=first.expects if scenario.callers[group].cache == "warm" else AFTER_REPLY,
        slot_alone=slot,
        shared=next(((name, row.index(slot)) for name, row in where.items() if slot is not None and slot in row), None),
    )
    for name, found in said.items():
        for script, (_, requests) in zip(scripts[name], found, strict=True):
            longest = max(plan.max_tokens(ask.reply) for ask in requests)
            prompt = script.longest
            if prompt is not None and scenario.history == "conversation" and scenario.reply != "recorded":
                # The server's own replies stand in the history, and all of them have this length.
                said_before = [ask.reply for ask in requests[:-1]]
                extra = (scenario.reply.exactly or 0) * len(said_before) - sum(counted.get(r, 0) for r in said_before)
                prompt += max(extra, 0)
            _check_fits(info, f"callers.{name}", prompt, longest)
    _check_every(scenario, [script for found in scripts.values() for script in found])
    if scenario.baseline.replies:
        prompt = _size(await prompt_tokens(server, baseline.messages, first.recording.tools))
        _check_fits(info, "baseline", prompt, plan.max_tokens(baseline.reply))
    return plan


def calls(group: Group, scenario: Scenario) -> list[str]:
    """The names of a group's recordings."""
    return group.recordings or [scenario.recording]


def named(point: Scenario) -> list[str]:
    """The recordings of one load point's groups, or of its probe, each once."""
    said = [name for group in point.callers.values() for name in calls(group, point)]
    return list(dict.fromkeys(said or [point.recording]))


def names(scenario: Scenario) -> list[str]:
    """The recordings of all groups, or probes, at all load points, each once."""
    return list(dict.fromkeys(name for _, point in points(scenario) for name in named(point)))


def slot_alone(scenario: Scenario, where: Places, slots: int | None) -> int | None:
    """The slot of one caller alone: the one that is wished; within a load one that nobody has, if there is one; else
    the first caller's."""
    if scenario.baseline.slot is not None:
        return scenario.baseline.slot
    taken = {slot for row in where.values() for slot in row}
    spare = [slot for slot in range(slots or 0) if slot not in taken]
    if scenario.baseline.every is not None and spare:
        return spare[-1]
    return next(slot for row in where.values() for slot in row)


def _alone(scenario: Scenario) -> str:
    """The group that one caller alone is of."""
    warm = (name for name, group in scenario.callers.items() if group.cache == "warm")
    return next(warm, next(iter(scenario.callers)))


def _max_tokens(scenario: Scenario, tokens: dict[str, int], reply: str) -> int:
    rule = scenario.reply
    return tokens[reply] if rule == "recorded" else rule.free or rule.exactly or 1


def _said(name: str, group: Group, recording: Recording, scenario: Scenario) -> list[Ask]:
    """All that a caller of the group asks, if nothing disturbs the call."""
    try:
        turns = parse_turns(group.turns, len(recording.turns), group.cache)
    except ValueError as error:
        raise BadInput(f"callers.{name}.turns: {error}") from None
    opening = salt(name) if group.cache == "cold" else None
    return list(asks(recording, turns, lambda turn: salt(name, turn), opening, wording(scenario.barge_in.heard)))


async def _script(
    server: Server, recording: Recording, group: Group, said: list[Ask], said_as: Wording | None
) -> Script:
    first = await prompt_tokens(server, said[0].messages, recording.tools)
    longest = await prompt_tokens(server, said[-1].messages, recording.tools)
    turns = range(said[0].turn, said[-1].turn + 1)
    warm: list[int] | None = []
    expects: frozenset[Kind] = frozenset({"cold"})
    if group.cache == "warm":
        warm = await prompt_tokens(server, warm_prompt(recording, turns[0], said_as), recording.tools)
        whole = warm is None or first is None or first[: len(warm)] == warm
        # A template may write the end of a prompt differently once the reply stands behind it.
        expects = frozenset({"extension"}) if whole else frozenset({"extension", "rewind"})
    if group.slots == "server":
        expects = frozenset()
    return Script(
        recording=recording,
        turns=turns,
        warm=_size(warm),
        first=_size(first),
        longest=_size(longest),
        opening=await _opening(server, recording),
        expects=expects,
    )


def _size(tokens: list[int] | None) -> int | None:
    return None if tokens is None else len(tokens)


async def _opening(server: Server, recording: Recording) -> int:
    """How many tokens of a cold prompt can be found in a slot, at most: what the template writes before the system
    prompt, and the salt, of which two callers may share the start."""
    prompts = []
    for digit in " 0", " 9":
        system = {"role": "system", "content": cold_system("", digit * SALT_DIGITS)}
        prompt = await prompt_tokens(server, [system, {"role": "user", "content": "Hello."}], recording.tools)
        prompts.append(prompt or [])
    differ = [i for i, (one, other) in enumerate(zip(*prompts, strict=False)) if one != other]
    return differ[-1] if differ else 0


async def _tokens(server: Server, scenario: Scenario, script: list[Ask], recordings: Recordings) -> dict[str, int]:
    """Tokens of each recorded reply, of what a voice begins with, and of what was heard before a cut, by the text."""
    empty = len(await server.tokenize("") or [])
    texts = {ask.reply for ask in script}
    texts |= {text[:end] for text in texts if (end := first_chunk(scenario.voice.chunk, text, whole=True))}
    texts |= set(_heard(recordings)) if scenario.barge_in.by == "recorded" else set()
    found = {}
    for text in texts:
        tokens = await server.tokenize(text)
        found[text] = max(len(tokens or []) - empty, 1)
    return found


def _heard(recordings: Recordings) -> Iterator[str]:
    for recording in recordings.values():
        yield from (turn.agent.heard for turn in recording.turns if turn.agent.heard)


def _check_fits(info: ServerInfo, who: str, prompt: int | None, reply: int) -> None:
    if prompt is None or info.context is None or prompt + reply <= info.context:
        return
    needed = -(-(prompt + reply) // 256) * 256 * (info.slots or 1)
    raise BadInput(
        f"the call of {who} needs {prompt + reply:,} tokens of context ({prompt:,} of prompt, {reply:,} of "
        f"reply); the server has {info.context:,} per slot: give it a context (-c) of {needed} or more"
    )
