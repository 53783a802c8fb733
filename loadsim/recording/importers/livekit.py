"""LiveKit's session report: {"chat_history": {"items": [...]}}, or the history alone.

Items are messages with their metrics (when somebody spoke, in seconds since 1970), function calls and their outputs. Of
an interrupted message the content is what was heard.
"""

from typing import Any

import msgspec

from ..draft import Call, Draft, Result, Said, Step
from .shape import arguments, parts, shaped


class Metrics(msgspec.Struct):
    started_speaking_at: float | None = None
    stopped_speaking_at: float | None = None


class Message(msgspec.Struct):
    role: str
    content: str | list[Any] | None = None
    interrupted: bool | None = False
    metrics: Metrics | None = None


class FunctionCall(msgspec.Struct):
    call_id: str
    name: str
    arguments: str | dict[str, Any] | None = None


class FunctionCallOutput(msgspec.Struct):
    call_id: str
    output: Any = None


class History(msgspec.Struct):
    items: list[Any]


class Report(msgspec.Struct):
    chat_history: History


class Typed(msgspec.Struct):
    type: str = "message"


class Update(msgspec.Struct):
    instructions: Any = None


def read(data: Any) -> Draft:
    """What the history tells: texts, times, cuts and tools. It has no tool declarations."""
    report = isinstance(data, dict) and "chat_history" in data
    history = shaped(data, Report, "").chat_history if report else shaped(data, History, "")
    place = "chat_history.items" if report else "items"
    draft = Draft()
    calls: list[Call] = []
    for number, item in enumerate(history.items):
        here = f"{place}[{number}]"
        kind = shaped(item, Typed, here).type
        if kind == "function_call":
            calls.append(_call(draft, shaped(item, FunctionCall, here)))
            continue
        if calls:  # calls that follow each other were made at once
            draft.items.append(Step(tuple(calls)))
            calls = []
        _take(draft, kind, item, here)
    if calls:
        draft.items.append(Step(tuple(calls)))
    return _from_first(draft)


def _take(draft: Draft, kind: str, item: Any, here: str) -> None:
    match kind:
        case "message":
            _message(draft, shaped(item, Message, here))
        case "function_call_output":
            output = shaped(item, FunctionCallOutput, here)
            draft.items.append(Result(output.call_id, output.output))
        case "agent_config_update" if not draft.items and not draft.system:
            told = shaped(item, Update, here).instructions
            told = told.get("audio") if isinstance(told, dict) else told
            draft.system = told if isinstance(told, str) else ""
        case other:
            draft.notes[f"left out: items of the type {other[:40]}"] += 1


def _message(draft: Draft, message: Message) -> None:
    text, others = parts(message.content)
    draft.notes["left out: images and other parts that are no text"] += others
    match message.role:
        case "system" | "developer" if not draft.items:
            draft.system = "\n\n".join(filter(None, [draft.system, text]))
        case "system" | "developer":
            draft.notes["left out: system messages in mid-call"] += 1
        case "user" | "assistant":
            times = message.metrics or Metrics()
            said = Said(
                by="caller" if message.role == "user" else "agent",
                text=text,
                start=times.started_speaking_at,
                end=times.stopped_speaking_at,
                interrupted=bool(message.interrupted) and message.role == "assistant",
            )
            draft.items.append(said)
        case other:
            draft.notes[f"left out: messages of the role {other[:40]}"] += 1


def _call(draft: Draft, one: FunctionCall) -> Call:
    given = arguments(one.arguments)
    draft.notes["left out: arguments of tool calls that are not keys and values"] += given is None
    return Call(one.call_id, one.name, given or {})


def _from_first(draft: Draft) -> Draft:
    """The draft with times since the first one in it."""
    said = [item for item in draft.items if isinstance(item, Said)]
    first = min((time for one in said for time in (one.start, one.end) if time is not None), default=0.0)

    def since(time: float | None) -> float | None:
        return None if time is None else time - first

    replace = msgspec.structs.replace
    draft.items = [
        replace(item, start=since(item.start), end=since(item.end)) if isinstance(item, Said) else item
        for item in draft.items
    ]
    return draft
