"""Vapi's call object, or its end-of-call report: `artifact.messages` with role bot, user, tool_calls, tool_call_result.

`secondsFromStart` is when somebody began to speak; `time` and `endTime` are milliseconds since 1970.
"""

from typing import Any

import msgspec

from ..draft import Draft, Item, Result, Said, Step
from . import openai
from .shape import NotThisFormat, shaped

NOTE = "Vapi does not say which replies were cut: all count as heard whole"


class Message(msgspec.Struct, rename="camel"):
    role: str
    message: str | None = None
    time: float | None = None
    end_time: float | None = None
    seconds_from_start: float | None = None
    tool_calls: list[openai.ToolCall] | None = None
    tool_call_id: str | None = None
    result: Any = None


def read(data: Any) -> Draft:
    """What the call tells: texts, times and tools."""
    call, place = data, ""
    if isinstance(call, dict) and isinstance(call.get("message"), dict):
        call, place = call["message"], "message."  # the report as a server gets it
    if not isinstance(call, dict):
        raise NotThisFormat("expected keys and values, such as a call's `artifact`")
    artifact = call.get("artifact")
    if isinstance(artifact, dict) and artifact.get("messages") is not None:
        entries, place = artifact["messages"], f"{place}artifact.messages"
    else:
        entries, place = call.get("messages"), f"{place}messages"
    if entries is None:
        raise NotThisFormat("artifact.messages is missing")
    draft = Draft(system=_system(call), tools=_tools(call))
    for number, entry in enumerate(shaped(entries, list[Any], place)):
        _take(draft, shaped(entry, Message, f"{place}[{number}]"))
    draft.notes[NOTE] += any(isinstance(item, Said) for item in draft.items)
    return draft


def _take(draft: Draft, message: Message) -> None:
    text = message.message or ""
    match message.role:
        case "system":
            if draft.items:
                draft.notes["left out: system messages in mid-call"] += 1
            elif text not in draft.system:  # the assistant's prompt stands in both places
                draft.system = "\n\n".join(filter(None, [draft.system, text]))
        case "bot" | "user":
            draft.items.append(_said(message, text))
        case "tool_calls":
            draft.items.append(Step(tuple(openai.call(draft, one) for one in message.tool_calls or ())))
        case "tool_call_result":
            draft.items.append(Result(message.tool_call_id or "", message.result))
        case other:
            draft.notes[f"left out: messages of the role {other[:40]}"] += 1


def _said(message: Message, text: str) -> Item:
    start, end = message.seconds_from_start, None
    # `duration` is left alone: documented in seconds, it comes in milliseconds.
    if start is not None and message.time is not None and message.end_time is not None:
        end = start + (message.end_time - message.time) / 1000
    return Said(by="caller" if message.role == "user" else "agent", text=text, start=start, end=end)


def _model(call: dict[str, Any]) -> dict[str, Any]:
    assistant = call.get("assistant")
    model = assistant.get("model") if isinstance(assistant, dict) else None
    return model if isinstance(model, dict) else {}


def _system(call: dict[str, Any]) -> str:
    messages = _model(call).get("messages")
    found = [one for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    texts = [one.get("content") for one in found if one.get("role") == "system"]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _tools(call: dict[str, Any]) -> list[Any]:
    tools = _model(call).get("tools")
    return tools if isinstance(tools, list) else []
