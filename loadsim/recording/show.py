"""A call as rows and totals for a table: who speaks when, and what each turn costs in tokens where a server counts."""

import statistics
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from .messages import Message, prompt_messages
from .model import Recording, Turn, Utterance


class Tokens(msgspec.Struct, frozen=True):
    """A server's counts, one per turn: the prompt up to the caller's message, and the text of the reply."""

    prompts: tuple[int, ...]
    replies: tuple[int, ...]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A turn. `new`: what its prompt has more than the one before it; the first turn's is its whole prompt.

    `spoken`: the new tokens are only speech, as no tools were called in this turn or in the one before.
    """

    number: int
    turn: Turn
    spoken: bool
    new: int | None = None
    reply: int | None = None

    @property
    def tools(self) -> list[str]:
        """The names of the called tools, those of a step together."""
        return [", ".join(call.name for call in calls) for calls in self.turn.tools]


class Spread(msgspec.Struct, frozen=True):
    """Least, median and most of some counts."""

    least: int
    median: float
    most: int


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """A whole call. Paces are words per second of speech; token figures are None where nobody counted.

    `drawn`: how many utterances and replies have times that are not the call's own.

    `spoken` and `tools`: new tokens of the turns after the first, by `Row.spoken`. `prompt`: of the last turn.
    """

    turns: int
    seconds: float
    tool_turns: int
    cuts: int
    backchannels: int
    drawn: int
    caller_pace: float
    agent_pace: float
    spoken: Spread | None
    tools: Spread | None
    replies: Spread | None
    prompt: int | None


async def measure(
    recording: Recording, prompt: Callable[[list[Message]], Awaitable[int]], text: Callable[[str], Awaitable[int]]
) -> Tokens:
    """Ask for every count of a call: `prompt` counts messages as a server renders them with the call's tools, `text` a
    text by itself."""
    return Tokens(
        tuple([await prompt(prompt_messages(recording, number + 1)) for number in range(len(recording.turns))]),
        tuple([await text(turn.agent.text) for turn in recording.turns]),
    )


def rows(recording: Recording, tokens: Tokens | None = None) -> list[Row]:
    """The turns in order, numbered from 1."""
    found = []
    for at, turn in enumerate(recording.turns):
        spoken = at > 0 and not turn.tools and not recording.turns[at - 1].tools
        row = Row(number=at + 1, turn=turn, spoken=spoken)
        if tokens:
            new = tokens.prompts[at] - (tokens.prompts[at - 1] if at else 0)
            row = msgspec.structs.replace(row, new=new, reply=tokens.replies[at])
        found.append(row)
    return found


def totals(recording: Recording, tokens: Tokens | None = None) -> Totals:
    """The figures of the whole call, which has at least one turn."""
    turns, later = recording.turns, rows(recording, tokens)[1:]
    replies = [*([recording.greeting] if recording.greeting else []), *(turn.agent for turn in turns)]
    return Totals(
        turns=len(turns),
        seconds=max(turn.agent.end for turn in turns),
        tool_turns=sum(bool(turn.tools) for turn in turns),
        cuts=sum(reply.heard is not None for reply in replies),
        backchannels=sum(len(turn.backchannels) for turn in turns),
        drawn=sum(reply.drawn for reply in replies) + sum(turn.caller.drawn for turn in turns),
        caller_pace=_pace([(turn.caller.text, _speech(turn.caller)) for turn in turns]),
        agent_pace=_pace([(reply.in_history, reply.end - reply.start) for reply in replies]),
        spoken=_spread([row.new for row in later if row.spoken]),
        tools=_spread([row.new for row in later if not row.spoken]),
        replies=_spread(tokens.replies if tokens else ()),
        prompt=tokens.prompts[-1] if tokens else None,
    )


def _speech(said: Utterance) -> float:
    return said.end - said.start - sum(pause.end - pause.start for pause in said.pauses)


def _pace(said: list[tuple[str, float]]) -> float:
    seconds = sum(seconds for _, seconds in said)
    return sum(len(text.split()) for text, _ in said) / seconds if seconds > 0 else 0.0


def _spread(counts: Sequence[int | None]) -> Spread | None:
    known = [count for count in counts if count is not None]
    return Spread(min(known), statistics.median(known), max(known)) if known else None
