"""A call on its way to a recording: what was said and done, in order, as far as somebody's file tells it."""

from collections import Counter
from typing import Any, Literal

import msgspec

Speaker = Literal["caller", "agent"]


class Word(msgspec.Struct, frozen=True):
    """A word of an utterance and when it was spoken (seconds into the call)."""

    start: float
    end: float


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Something said, with the times (seconds into the call) and word times that are known.

    `interrupted`: the caller cut the agent short. `whole`: `text` is then all that the agent would have said, and its
    times those of the whole; else it is only what was heard.
    """

    by: Speaker
    text: str
    start: float | None = None
    end: float | None = None
    words: tuple[Word, ...] = ()
    interrupted: bool = False
    whole: bool = False


class Call(msgspec.Struct, frozen=True):
    """A tool call; its result comes as a Result of the same id."""

    id: str
    name: str
    arguments: dict[str, Any]


class Step(msgspec.Struct, frozen=True):
    """Tool calls that the agent made at once."""

    calls: tuple[Call, ...]


class Result(msgspec.Struct, frozen=True):
    """What a tool answered."""

    id: str
    value: Any


Item = Said | Step | Result


class Draft(msgspec.Struct):
    """A call as its file tells it. `notes`: what of the file could not be used, and how often."""

    items: list[Item] = msgspec.field(default_factory=list)
    system: str = ""
    tools: list[Any] = msgspec.field(default_factory=list)
    notes: Counter[str] = msgspec.field(default_factory=Counter)
