"""A recording: one phone call as data.

Times are seconds from the start of the call. Texts are what a speech recogniser hears and a voice speaks.
"""

from typing import Any

import msgspec


class Pause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Silence inside an utterance, from `start` to `end` (seconds into the call), after `after` of its words."""

    after: int
    start: float
    end: float


class Utterance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something said, from `start` to `end` (seconds into the call), with its longer pauses.

    `drawn`: the times are not the call's own, but drawn from how people talk.
    """

    text: str
    start: float
    end: float
    pauses: tuple[Pause, ...] = ()
    drawn: bool = False


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the agent generated (`text`) and when its voice spoke.

    `heard` is the part the caller heard when they cut in (`end` is then the cut); None: all of it. `drawn`: as in
    Utterance.
    """

    text: str
    start: float
    end: float
    heard: str | None = None
    drawn: bool = False

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

    `greeting`: what the agent says before the caller does. `fresh` is one more caller message that follows the last
    reply; a measured row says it with a salt.
    """

    title: str
    source: str
    system: str
    tools: tuple[dict[str, Any], ...]
    turns: tuple[Turn, ...]
    greeting: Reply | None = None
    fresh: str = "One more thing before you go, can I give you a reference number?"
