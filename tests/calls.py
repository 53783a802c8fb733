"""A small call and small helpers that several tests use."""

import msgspec

from loadsim.recording.model import Recording

CALL = msgspec.convert(
    {
        "title": "a short call",
        "source": "written for the tests",
        "system": "You answer the phone.",
        "tools": [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}],
        "turns": [
            {"caller": {"text": "Hello.", "start": 0, "end": 1}, "agent": {"text": "Hi there.", "start": 2, "end": 3}},
            {
                "caller": {"text": "Find me.", "start": 4, "end": 5},
                "tools": [[{"id": "c1", "name": "find", "arguments": {"who": "me"}, "result": {"ok": True}}]],
                "agent": {"text": "Found you.", "start": 6, "end": 7},
            },
            {
                "caller": {"text": "Tell me more.", "start": 8, "end": 9},
                "agent": {"text": "It is a long story.", "start": 10, "end": 11, "heard": "It is a"},
            },
            {"caller": {"text": "Stop.", "start": 11, "end": 12}, "agent": {"text": "Sure.", "start": 13, "end": 14}},
        ],
        "fresh": "One more, it is",
    },
    Recording,
)


def any_text(text: str, _: int) -> bool:
    """Speakable as soon as there is text."""
    return bool(text)
