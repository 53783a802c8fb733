"""The prompts of one caller: the call so far, with the caller's own salts.

A server answers a prompt that it holds in 4 tokens, so what is measured must be new: each measured caller message ends
in a salt of spoken digits, the same number of tokens for every caller and repeat.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence

import msgspec

from ..recording.messages import Message, answer_messages, as_json, opening_messages, prompt_messages, step_messages
from ..recording.model import Recording, Reply, ToolCall, Utterance
from ..types import Heard
from .cuts import retranscribe

SALT_DIGITS = 8

Wording = Callable[[str], str]
"""How an agent's text stands in the history."""


def wording(heard: Heard) -> Wording | None:
    """How a whole reply stands in the history, if not as it is."""
    return retranscribe if heard == "retranscribed" else None


def salt(*key: object) -> str:
    """Eight digits as a caller speaks them, " 4 0 7 2 9 1 3 8": always the same for the same key."""
    number = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8]) % 10**SALT_DIGITS
    return "".join(f" {digit}" for digit in f"{number:0{SALT_DIGITS}}")


class Lines(msgspec.Struct, frozen=True):
    """What a recording has for one turn: the caller's `words`, the tool calls of each step, the agent's reply.

    `said`: the words' times; None for the fresh message, which has no reply of its own: the last one stands in.
    """

    number: int
    words: str
    said: Utterance | None
    steps: tuple[tuple[ToolCall, ...], ...]
    reply: Reply

    def recorded(self, step: int) -> str:
        """The text that was generated in a step; about the text, for tool calls: only its length is used."""
        return _calls_text(self.steps[step]) if step < len(self.steps) else self.reply.text


def lines(recording: Recording, number: int) -> Lines:
    """Turn `number`, from 1; one past the last is the recording's `fresh` message."""
    if number > len(recording.turns):
        return Lines(number, recording.fresh, None, (), recording.turns[-1].agent)
    turn = recording.turns[number - 1]
    return Lines(number, turn.caller.text, turn.caller, turn.tools, turn.agent)


class Ask(msgspec.Struct, frozen=True):
    """One request of a turn: `step` counts its tool steps from 0; `reply` is what was recorded for it."""

    turn: int
    step: int
    messages: list[Message]
    reply: str


class History:
    """A call's messages, as the next prompt sends them. They are only added to: every prompt begins with the one
    before it, byte by byte."""

    def __init__(
        self, recording: Recording, first: int, opening: str | None = None, wording: Wording | None = None
    ) -> None:
        """The call before turn `first`, as recorded. `opening`: a cold caller's salt."""
        messages = opening_messages(recording, None if opening is None else cold_system(recording.system, opening))
        if first > 1:
            past = prompt_messages(recording, first - 1)[len(messages) :]
            messages += [*past, *answer_messages(recording.turns[first - 2])]
        self.messages = _worded(messages, wording)

    def caller(self, words: str) -> None:
        self.messages = [*self.messages, {"role": "user", "content": words}]

    def tools(self, step: Sequence[Message]) -> None:
        """The agent's tool calls and their results."""
        self.messages = [*self.messages, *step]

    def agent(self, text: str) -> None:
        self.messages = [*self.messages, {"role": "assistant", "content": text}]


def cold_system(system: str, salted: str) -> str:
    """A system prompt that shares its first token with no other: the salt opens it."""
    return f"{salted.strip()}. {system}"


def warm_prompt(recording: Recording, first: int, wording: Wording | None = None) -> list[Message]:
    """What a warm caller's slot holds before its first measured turn: the call up to the caller message before it.

    It ends in a user message; a prompt that ends in the agent's would be taken as the start of a reply to go on with.
    """
    return _worded(prompt_messages(recording, first - 1), wording)


def asks(
    recording: Recording,
    turns: range,
    salted: Callable[[int], str],
    opening: str | None = None,
    wording: Wording | None = None,
) -> Iterator[Ask]:
    """The requests of `turns` (numbers from 1; one past the last is the recording's `fresh` message), in order, as a
    call goes that nothing disturbs.

    `salted` gives each turn's salt; `opening` is a cold caller's salt. Each prompt begins with the whole one before it.
    """
    history = History(recording, turns[0], opening, wording)
    for number in turns:
        found = lines(recording, number)
        history.caller(found.words + salted(number))
        for step, calls in enumerate(found.steps):
            yield Ask(number, step, history.messages, found.recorded(step))
            history.tools(step_messages(calls))
        yield Ask(number, len(found.steps), history.messages, found.reply.text)
        text = found.reply.in_history
        history.agent(wording(text) if wording else text)


def _worded(messages: list[Message], wording: Wording | None) -> list[Message]:
    if wording is None:
        return messages
    return [
        message | {"content": wording(message["content"])} if message["role"] == "assistant" else message
        for message in messages
    ]


def _calls_text(calls: Sequence[ToolCall]) -> str:
    """Recorded tool calls as about the text a model writes for them."""
    return "".join(f'<tool_call>{{"name": "{c.name}", "arguments": {as_json(c.arguments)}}}</tool_call>' for c in calls)
