"""Pipecat: its context's messages (OpenAI's form), or its turn events as {role, content, timestamp, interrupted}.

A timestamp is when the turn started; of a cut turn, the content is what was heard.
"""

from datetime import UTC, datetime
from typing import Any

from ..draft import Draft, Said
from . import openai
from .shape import NotThisFormat, shaped


class Event(openai.Message):
    """A message of the context has no timestamp; `role` is missing in messages that only one LLM understands."""

    role: str = ""
    timestamp: str | float | None = None
    interrupted: bool = False


class Log(openai.Chat):
    messages: list[Any] | None = None  # type: ignore[assignment]
    transcript: list[Any] | None = None


def read(data: Any) -> Draft:
    """What the messages or events tell: texts, tools, when turns start and which were cut; never when they end."""
    log = Log(data) if isinstance(data, list) else shaped(data, Log, "")
    name = "" if isinstance(data, list) else "messages" if log.messages is not None else "transcript"
    entries = log.messages if log.messages is not None else log.transcript
    if entries is None:
        raise NotThisFormat("messages is missing (needed: messages, or transcript)")
    draft = Draft(tools=log.tools or [])
    events = [shaped(entry, Event, f"{name}[{number}]") for number, entry in enumerate(entries)]
    times = [_time(event.timestamp, f"{name}[{number}].timestamp") for number, event in enumerate(events)]
    first = min((time for time in times if time is not None), default=0.0)
    for event, time in zip(events, times, strict=True):
        if not event.role:
            draft.notes["left out: messages that only one LLM understands"] += 1
            continue
        # The context holds a running tool's state where its result will be.
        if event.role == "tool" and event.content in ("IN_PROGRESS", "CANCELLED"):
            draft.notes["left out: tool results that were not there yet"] += 1
            continue
        openai.take(draft, event, None if time is None else time - first, event.interrupted)
    if draft.items and all(item.start is None for item in draft.items if isinstance(item, Said)):
        draft.notes["no times and no cuts: a transcript of Pipecat's turn events would have them"] += 1
    return draft


def _time(stamp: str | float | None, place: str) -> float | None:
    """ISO 8601, as Pipecat writes it, or seconds; a time without zone counts as UTC."""
    if stamp is None or isinstance(stamp, float):
        return stamp
    try:
        time = datetime.fromisoformat(stamp)
    except ValueError:
        raise NotThisFormat(f"{place}: expected a time such as 2026-01-31T12:00:00.000Z") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
