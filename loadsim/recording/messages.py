"""A recording's turns as chat messages (OpenAI's form)."""

from typing import Any

import msgspec

from .model import Recording, ToolCall, Turn

Message = dict[str, Any]


def as_json(value: Any) -> str:
    """A tool's arguments or result as the text a prompt carries; a string stays as it is."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def step_messages(calls: tuple[ToolCall, ...]) -> list[Message]:
    """One tool step: the assistant's calls, then a result for each."""
    asked = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": as_json(call.arguments)}}
        for call in calls
    ]
    results = [{"role": "tool", "tool_call_id": call.id, "content": as_json(call.result)} for call in calls]
    return [{"role": "assistant", "content": "", "tool_calls": asked}, *results]


def answer_messages(turn: Turn) -> list[Message]:
    """What follows the caller's message in later prompts: tool steps, then what was heard of the reply."""
    steps = [message for calls in turn.tools for message in step_messages(calls)]
    return [*steps, {"role": "assistant", "content": turn.agent.in_history}]


def opening_messages(recording: Recording, system: str | None = None) -> list[Message]:
    """What stands before the first caller message: the system prompt, or `system` in its place, and the greeting."""
    messages: list[Message] = [{"role": "system", "content": recording.system if system is None else system}]
    if recording.greeting is not None:
        messages.append({"role": "assistant", "content": recording.greeting.in_history})
    return messages


def prompt_messages(recording: Recording, turn: int) -> list[Message]:
    """The prompt of turn number `turn` (from 1): everything before it, then its caller message."""
    messages = opening_messages(recording)
    for past in recording.turns[: turn - 1]:
        messages += [{"role": "user", "content": past.caller.text}, *answer_messages(past)]
    return [*messages, {"role": "user", "content": recording.turns[turn - 1].caller.text}]
