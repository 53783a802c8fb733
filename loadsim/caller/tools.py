"""Tool calls that the server's model makes, answered from the recording."""

from collections.abc import Iterable
from typing import Any

import msgspec

from ..recording.messages import Message, as_json
from ..recording.model import Recording

MOST_STEPS = 3  # of tool calls in one turn, as LiveKit has it
NEUTRAL = {"status": "unknown"}
"""The result of a call that the recording has none for: it says nothing, and breaks nothing."""

Results = dict[tuple[str, bytes], Any]
"""The recorded result of each call, by the tool's name and its arguments."""


def results(recording: Recording) -> Results:
    """All results in a recording; of the same call made twice the first."""
    found: Results = {}
    for turn in recording.turns:
        for calls in turn.tools:
            for call in calls:
                found.setdefault((call.name, _canonical(call.arguments)), call.result)
    return found


def answer(calls: Iterable[dict[str, str]], known: Results, text: str = "") -> tuple[list[Message], int]:
    """The messages of a tool step, for calls (`id`, `name`, `arguments` as JSON text) that a reply of `text` made, and
    how many of them the recording has no result for.

    Arguments that are no JSON object go back as an empty one: templates refuse a prompt that holds others.
    """
    asked, said, misses = [], [], 0
    for number, call in enumerate(calls, 1):
        arguments = _arguments(call["arguments"])
        key = (call["name"], _canonical(arguments))
        misses += key not in known
        # A server that names no id gets one that stays the same in every later prompt.
        name = call["id"] or f"call_{number}"
        sent = call["arguments"] if arguments is not None else "{}"
        asked.append({"id": name, "type": "function", "function": {"name": call["name"], "arguments": sent}})
        said.append({"role": "tool", "tool_call_id": name, "content": as_json(known.get(key, NEUTRAL))})
    return [{"role": "assistant", "content": text, "tool_calls": asked}, *said], misses


def _arguments(text: str) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return None


def _canonical(arguments: dict[str, Any] | None) -> bytes:
    """Arguments as bytes that do not depend on the order of keys."""
    return b"" if arguments is None else msgspec.json.encode(arguments, order="deterministic")
