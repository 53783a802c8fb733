"""What must hold before a load begins, and the counts that only this server's tokenizer can give."""

from typing import Any

import msgspec

from ..caller.history import SALT_DIGITS, Ask, asks, cold_system, salt, warm_prompt
from ..recording.messages import Message
from ..recording.model import Recording
from ..scenario.model import FreeReply, Group, Scenario
from ..scenario.turns import parse_turns
from ..server.api import Server
from ..types import BadInput, Kind, ServerInfo
from .places import Places, places

AFTER_REPLY: frozenset[Kind] = frozenset({"extension", "rewind"})


class GroupPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a group's callers will send. Tokens are None where the server does not count for us.

    `warm`: tokens of the prompt that their slots hold first (0: nothing); `first`, `longest`: of the first and the last
    measured prompt. `expects`: kinds planned for the first measured prompt; empty: any.
    """

    turns: range
    warm: int | None
    first: int | None
    longest: int | None
    expects: frozenset[Kind]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One load point, checked. `opening`: tokens that a cold prompt can share with any other; `lengths`: tokens of the
    recorded replies, by text; `alone`: the turn that one caller says alone, `alone_expects`
    the kinds planned for it."""

    point: str
    scenario: Scenario
    places: Places
    groups: dict[str, GroupPlan]
    opening: int
    lengths: dict[str, int]
    alone: int
    alone_expects: frozenset[Kind]

    def max_tokens(self, reply: str) -> int:
        """How many tokens a reply may have (`free`), or will have (`recorded`)."""
        rule = self.scenario.reply
        return rule.free if isinstance(rule, FreeReply) else self.lengths[reply]

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
    if info.slots is None and scenario.reply == "recorded":
        raise BadInput(
            f"reply: recorded needs a server that counts tokens, and {info.url} has no /tokenize: "
            "use reply: {free: 120}"
        )


async def prompt_tokens(server: Server, messages: list[Message], tools: tuple[dict[str, Any], ...]) -> list[int] | None:
    """A chat request's prompt, rendered and tokenized by this server; None where it does not tell."""
    text = await server.render(messages, tools)
    return None if text is None else await server.tokenize(text)


async def preflight(server: Server, info: ServerInfo, point: str, scenario: Scenario, recording: Recording) -> Plan:
    """Check one load point against this server and count its tokens. Raises BadInput with both numbers where the
    call does not fit."""
    where = places(scenario.callers, info.slots)
    script = {name: _script(name, group, recording) for name, group in scenario.callers.items()}
    recorded = scenario.reply == "recorded"
    groups = {name: await _group(server, recording, scenario.callers[name], script[name]) for name in script}
    # Alone, one warm caller says the first warm group's first turn; beside cold callers only, the first of theirs that
    # a slot can be warm for.
    warm = [name for name, group in scenario.callers.items() if group.cache == "warm"]
    alone = max(script[next(iter(warm or script))][0].turn, 2)
    asked = [ask for said in script.values() for ask in said]
    if scenario.baseline.replies:
        asked.append(next(asks(recording, range(alone, alone + 1), lambda turn: salt("baseline", turn))))
    plan = Plan(
        point=point,
        scenario=scenario,
        places=where,
        groups=groups,
        opening=await _opening(server, recording),
        lengths=await _lengths(server, asked) if recorded else {},
        alone=alone,
        alone_expects=groups[warm[0]].expects if warm else AFTER_REPLY,
    )
    for name, said in script.items():
        longest = max(plan.max_tokens(ask.reply) for ask in said)
        _check_fits(info, f"callers.{name}", plan.groups[name].longest, longest)
    if scenario.baseline.replies:
        prompt = _size(await prompt_tokens(server, asked[-1].messages, recording.tools))
        _check_fits(info, "baseline", prompt, plan.max_tokens(asked[-1].reply))
    return plan


def _script(name: str, group: Group, recording: Recording) -> list[Ask]:
    try:
        turns = parse_turns(group.turns, len(recording.turns), group.cache)
    except ValueError as error:
        raise BadInput(f"callers.{name}.turns: {error}") from None
    opening = salt(name) if group.cache == "cold" else None
    return list(asks(recording, turns, lambda turn: salt(name, turn), opening))


async def _group(server: Server, recording: Recording, group: Group, script: list[Ask]) -> GroupPlan:
    first = await prompt_tokens(server, script[0].messages, recording.tools)
    longest = await prompt_tokens(server, script[-1].messages, recording.tools)
    turns = range(script[0].turn, script[-1].turn + 1)
    warm: list[int] | None = []
    expects: frozenset[Kind] = frozenset({"cold"})
    if group.cache == "warm":
        warm = await prompt_tokens(server, warm_prompt(recording, turns[0]), recording.tools)
        whole = warm is None or first is None or first[: len(warm)] == warm
        # A template may write the end of a prompt differently once the reply stands behind it.
        expects = frozenset({"extension"}) if whole else frozenset({"extension", "rewind"})
    if group.slots == "server":
        expects = frozenset()
    return GroupPlan(turns=turns, warm=_size(warm), first=_size(first), longest=_size(longest), expects=expects)


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


async def _lengths(server: Server, script: list[Ask]) -> dict[str, int]:
    """Tokens of each recorded reply, by its text."""
    empty = len(await server.tokenize("") or [])
    found = {}
    for text in {ask.reply for ask in script}:
        tokens = await server.tokenize(text)
        found[text] = max(len(tokens or []) - empty, 1)
    return found


def _check_fits(info: ServerInfo, who: str, prompt: int | None, reply: int) -> None:
    if prompt is None or info.context is None or prompt + reply <= info.context:
        return
    needed = -(-(prompt + reply) // 256) * 256 * (info.slots or 1)
    raise BadInput(
        f"the call of {who} needs {prompt + reply:,} tokens of context ({prompt:,} of prompt, {reply:,} of "
        f"reply); the server has {info.context:,} per slot: give it a context (-c) of {needed} or more"
    )
