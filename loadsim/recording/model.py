"""A recording: one phone call as data.

Times are seconds from the start of the call. Texts are what a speech recogniser hears and a voice speaks.
"""

from typing import Any

import msgspec


class Utterance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something said, from `start` to `end` (seconds into the call)."""

    text: str
    start: float
    end: float


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the agent generated (`text`) and when its voice spoke.

    `heard` is the part the caller heard when they cut in (`end` is then the cut); None: all of it.
    """

    text: str
    start: float
    end: float
    heard: str | None = None

    @property
    def in_history(self) -> str:
        """The text that later prompts carry."""
        return self.text if self.heard is None else self.heard


class ToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call the agent made and the result it got; `result` goes into the history as JSON text."""

    id: str
    name: str
    arguments: dict[str, Any]
    result: Any


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the caller says and the agent's reply.

    `tools`: one list of calls per step, each step a request of its own before the spoken reply.
    `backchannels`: what the caller murmurs while the agent speaks.
    """

    caller: Utterance
    agent: Reply
    tools: tuple[tuple[ToolCall, ...], ...] = ()
    backchannels: tuple[Utterance, ...] = ()


class Recording(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A call: system prompt, tool schemas (OpenAI's form) and turns.

    `fresh` is one more caller message that follows the last reply; a measured row says it with a salt.
    """

    title: str
    source: str
    system: str
    tools: tuple[dict[str, Any], ...]
    turns: tuple[Turn, ...]
    fresh: str = "One more thing before you go, can I give you a reference number?"
