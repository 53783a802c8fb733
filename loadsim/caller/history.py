"""The prompts of one caller: the recorded call with the caller's own salts (replay).

A server answers a prompt that it holds in 4 tokens, so what is measured must be new: each measured caller message ends
in a salt of spoken digits, the same number of tokens for every caller and repeat.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence

import msgspec

from ..recording.messages import Message, answer_messages, as_json, prompt_messages, step_messages
from ..recording.model import Recording, ToolCall

SALT_DIGITS = 8


def salt(*key: object) -> str:
    """Eight digits as a caller speaks them, " 4 0 7 2 9 1 3 8": always the same for the same key."""
    number = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8]) % 10**SALT_DIGITS
    return "".join(f" {digit}" for digit in f"{number:0{SALT_DIGITS}}")


class Ask(msgspec.Struct, frozen=True):
    """One request of a turn: `step` counts its tool steps from 0; `reply` is what was recorded for it."""

    turn: int
    step: int
    messages: list[Message]
    reply: str


def cold_system(system: str, salted: str) -> str:
    """A system prompt that shares its first token with no other: the salt opens it."""
    return f"{salted.strip()}. {system}"


def warm_prompt(recording: Recording, first: int) -> list[Message]:
    """What a warm caller's slot holds before its first measured turn: the call up to the caller message before it.

    It ends in a user message; a prompt that ends in the agent's would be taken as the start of a reply to go on with.
    """
    return prompt_messages(recording, first - 1)


def asks(recording: Recording, turns: range, salted: Callable[[int], str], opening: str | None = None) -> Iterator[Ask]:
    """The requests of `turns` (numbers from 1; one past the last is the recording's `fresh` message), in order.

    `salted` gives each turn's salt; `opening` is a cold caller's salt. Each prompt begins with the whole one before it.
    """
    system = recording.system if opening is None else cold_system(recording.system, opening)
    first = turns[0]
    history: list[Message] = [{"role": "system", "content": system}]
    if first > 1:
        history += [*prompt_messages(recording, first - 1)[1:], *answer_messages(recording.turns[first - 2])]
    for number in turns:
        turn = recording.turns[number - 1] if number <= len(recording.turns) else None
        words = turn.caller.text if turn else recording.fresh
        history = [*history, {"role": "user", "content": words + salted(number)}]
        steps = turn.tools if turn else ()
        for step, calls in enumerate(steps):
            yield Ask(number, step, history, _calls_text(calls))
            history = [*history, *step_messages(calls)]
        # The fresh message has no reply of its own: the last one's length stands in.
        reply = turn.agent if turn else recording.turns[-1].agent
        yield Ask(number, len(steps), history, reply.text)
        history = [*history, {"role": "assistant", "content": reply.in_history}]


def _calls_text(calls: Sequence[ToolCall]) -> str:
    """Recorded tool calls as about the text a model writes for them: only its length is used."""
    return "".join(f'<tool_call>{{"name": "{c.name}", "arguments": {as_json(c.arguments)}}}</tool_call>' for c in calls)
