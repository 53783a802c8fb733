"""OpenAI chat: {"messages": [{role, content, tool_calls, tool_call_id}], "tools"}, or the list of messages alone."""

from typing import Any

import msgspec

from ..draft import Call, Draft, Result, Said, Step
from .shape import arguments, parts, shaped


class Function(msgspec.Struct):
    name: str
    arguments: str | dict[str, Any] | None = None


class ToolCall(msgspec.Struct):
    function: Function
    id: str = ""


class Message(msgspec.Struct):
    role: str
    content: str | list[Any] | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None


class Chat(msgspec.Struct):
    messages: list[Any]
    tools: list[Any] | None = None


def read(data: Any) -> Draft:
    """What the messages tell: texts and tools, but no times and no cuts."""
    chat = Chat(data) if isinstance(data, list) else shaped(data, Chat, "")
    place = "" if isinstance(data, list) else "messages"
    draft = Draft(tools=chat.tools or [])
    for number, message in enumerate(chat.messages):
        take(draft, shaped(message, Message, f"{place}[{number}]"))
    return draft


def take(draft: Draft, message: Message, start: float | None = None, interrupted: bool = False) -> None:
    """Add a message to the draft; what is no speech and no tool is counted."""
    text, others = parts(message.content)
    draft.notes["left out: images and other parts that are no text"] += others
    match message.role:
        case "system" | "developer":
            if draft.items:
                draft.notes["left out: system messages in mid-call"] += 1
            else:
                draft.system = "\n\n".join(filter(None, [draft.system, text]))
        case "user":
            draft.items.append(Said(by="caller", text=text, start=start))
        case "assistant":
            # An assistant that only calls tools has no words, and a time that is not one of speech.
            if text.strip() or not message.tool_calls:
                draft.items.append(Said(by="agent", text=text, start=start, interrupted=interrupted))
            if message.tool_calls:
                draft.items.append(Step(tuple(call(draft, one) for one in message.tool_calls)))
        case "tool":
            draft.items.append(Result(message.tool_call_id or "", text))
        case other:
            draft.notes[f"left out: messages of the role {other[:40]}"] += 1


def call(draft: Draft, one: ToolCall) -> Call:
    """A tool call; arguments that cannot be read are counted and left out."""
    given = arguments(one.function.arguments)
    draft.notes["left out: arguments of tool calls that are not keys and values"] += given is None
    return Call(one.id, one.function.name, given or {})
