"""Small calls for tests."""

from typing import Any

from msgspec.structs import replace

from loadsim.recording.model import Recording, Reply, ToolCall, Turn, Utterance

LOOK_UP: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look up a part.",
        "parameters": {
            "type": "object",
            "properties": {
                "part": {"type": "string"},
                "shop": {"type": "string", "enum": ["north", "south"]},
                "count": {"type": "integer"},
            },
            "required": ["part"],
            "additionalProperties": False,
        },
    },
}


def turn(number: int, words: int = 8) -> Turn:
    """Turn `number` (from 1) of a call with ten seconds per turn: the caller speaks 3 s, the agent 3 s."""
    at = 10.0 * (number - 1)
    return Turn(
        caller=Utterance(" ".join(f"ask{number}" for _ in range(words)), at, at + 3),
        agent=Reply(" ".join(f"answer{number}" for _ in range(words)), at + 4, at + 7),
    )


def call(turns: int, **changes: Turn) -> Recording:
    """A sound call; `turn_3=...` is another third turn."""
    made = [changes.get(f"turn_{number}", turn(number)) for number in range(1, turns + 1)]
    return Recording("A call", "written for tests", "You answer the phone.", (LOOK_UP,), tuple(made))


def with_tool(turn: Turn, *ids: str) -> Turn:
    """The turn with a step for each id, of one sound tool call."""
    return replace(turn, tools=tuple((ToolCall(i, "look_up", {"part": "valve"}, {"price": 4}),) for i in ids))
