"""The tools of an imported call: their declarations, and each call with its result."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from .draft import Item, Result, Step
from .model import ToolCall, Turn
from .schema import form

_KINDS: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}


class Answers:
    """The results of a call's items, each taken once by the call of its id."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._values: defaultdict[str, list[Any]] = defaultdict(list)
        self._ids: set[str] = set()
        for item in items:
            if isinstance(item, Result):
                self._values[item.id].append(item.value)

    @property
    def left(self) -> int:
        """How many were not taken."""
        return sum(map(len, self._values.values()))

    def calls(self, step: Step, notes: Counter[str]) -> tuple[ToolCall, ...]:
        """A step's calls with their results, named as servers take it and with ids of their own."""
        found = []
        for call in step.calls:
            name = re.sub(r"[^a-zA-Z0-9_-]", "_", call.name)[:64]
            if not name:
                notes["left out: tool calls without a name"] += 1
                continue
            values = self._values[call.id]
            notes["tool calls without a result, now null"] += not values
            found.append(ToolCall(self._own(call.id), name, call.arguments, values.pop(0) if values else None))
        return tuple(found)

    def _own(self, name: str) -> str:
        tried, number = name or "call", 1
        while tried in self._ids:
            number += 1
            tried = f"{name or 'call'}-{number}"
        self._ids.add(tried)
        return tried


def declared(tools: Iterable[Any], turns: Sequence[Turn], notes: Counter[str]) -> tuple[dict[str, Any], ...]:
    """The file's tools in OpenAI's form, and one for each name that is called without being among them."""
    found: dict[str, dict[str, Any]] = {}
    for tool in tools:
        # Some files keep a function's declaration bare.
        whole = {"type": "function", "function": tool} if isinstance(tool, dict) and "function" not in tool else tool
        if not isinstance(whole, dict) or list(form(whole)) or whole["function"]["name"] in found:
            notes["left out: tools that are not in OpenAI's form, or stand twice"] += 1
        else:
            found[whole["function"]["name"]] = {"type": "function", "function": whole["function"]}
    calls = [call for turn in turns for step in turn.tools for call in step]
    made = dict.fromkeys(call.name for call in calls if call.name not in found)
    for name in made:
        found[name] = _made(name, [call.arguments for call in calls if call.name == name])
    if made:
        names = ", ".join(list(made)[:8]) + (", ..." if len(made) > 8 else "")
        notes[f"tools that the file does not declare, declared from their calls: {names}"] += len(made)
    return tuple(found.values())


def _made(name: str, arguments: list[dict[str, Any]]) -> dict[str, Any]:
    kinds: defaultdict[str, set[str | None]] = defaultdict(set)
    for one in arguments:
        for key, value in one.items():
            kinds[key].add(_KINDS.get(type(value)))
    properties = {
        key: {"type": found.pop()} if len(found) == 1 and None not in found else {} for key, found in kinds.items()
    }
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
