"""Retell's call object: `transcript_with_tool_calls`, else `transcript_object`, with the times of words."""

from typing import Any

import msgspec

from ..draft import Call, Draft, Result, Said, Step, Word
from .shape import NotThisFormat, arguments, shaped

NOTE = "Retell keeps no system prompt and no tool declarations in a call, and does not say which replies were cut"


class Spoken(msgspec.Struct):
    start: float | None = None
    end: float | None = None


class Utterance(msgspec.Struct):
    content: str | None = None
    words: list[Spoken] | None = None


class Invocation(msgspec.Struct):
    name: str
    tool_call_id: str = ""
    arguments: str | dict[str, Any] | None = None


class Answer(msgspec.Struct):
    tool_call_id: str = ""
    content: Any = None


class Entry(msgspec.Struct):
    role: str


def read(data: Any) -> Draft:
    """What the call tells: texts, times, pauses and tools."""
    call, place = data, ""
    if isinstance(call, dict) and isinstance(call.get("call"), dict):
        call, place = call["call"], "call."  # as a webhook brings it
    keys = ("transcript_with_tool_calls", "transcript_object")
    key = next((key for key in keys if isinstance(call, dict) and call.get(key) is not None), None)
    if key is None:
        raise NotThisFormat(f"{' or '.join(keys)} is missing")
    draft = Draft()
    for number, entry in enumerate(shaped(call[key], list[Any], f"{place}{key}")):
        here = f"{place}{key}[{number}]"
        _take(draft, shaped(entry, Entry, here).role, entry, here)
    draft.notes["no tool calls: the call has no transcript_with_tool_calls"] += key == keys[1]
    draft.notes[NOTE] += any(isinstance(item, Said) for item in draft.items)
    return draft


def _take(draft: Draft, role: str, entry: Any, here: str) -> None:
    match role:
        case "agent" | "user":
            said = shaped(entry, Utterance, here)
            draft.items.append(_said("caller" if role == "user" else "agent", said))
        case "tool_call_invocation":
            one = shaped(entry, Invocation, here)
            given = arguments(one.arguments)
            draft.notes["left out: arguments of tool calls that are not keys and values"] += given is None
            draft.items.append(Step((Call(one.tool_call_id, one.name, given or {}),)))
        case "tool_call_result":
            answer = shaped(entry, Answer, here)
            draft.items.append(Result(answer.tool_call_id, answer.content))
        case other:
            draft.notes[f"left out: entries of the role {other[:40]}"] += 1


def _said(by: Any, said: Utterance) -> Said:
    words = said.words or []
    spoken = tuple(Word(one.start, one.end) for one in words if one.start is not None and one.end is not None)
    start, end = (words[0].start, words[-1].end) if words else (None, None)
    return Said(by=by, text=said.content or "", start=start, end=end, words=spoken)
