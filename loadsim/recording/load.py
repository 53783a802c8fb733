"""Reads a recording from its file; whatever is wrong with the file is one line of BadInput."""

import re
from pathlib import Path

import msgspec

from .. import shipped
from ..types import BadInput
from .model import Pause, Recording, Reply, ToolCall, Turn, Utterance
from .wrong import BOM, bad, line, no_json, parted, words

_KEYS_OF: dict[str, type[msgspec.Struct]] = {
    "turns": Turn,
    "caller": Utterance,
    "agent": Reply,
    "tools": ToolCall,
    "backchannels": Utterance,
    "pauses": Pause,
    "greeting": Reply,
}


def load(name: str, near: Path | None = None) -> Recording:
    """The recording that `name` means: a file in the folder `near` (the scenario's), a path, or a shipped name.

    Each with or without `.json`. Raises BadInput with the file, the place in it and what is allowed there.
    """
    path = _find(name, near)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise bad(path, "", f"cannot be read ({error.strerror})") from None
    return decode(raw, path)


def decode(raw: bytes, path: Path) -> Recording:
    """The recording that a file's bytes tell; `path` is what errors call it. Raises BadInput."""
    raw = raw.removeprefix(BOM)
    if not raw.strip():
        raise bad(path, "", "the file is empty; expected a recording")
    try:
        recording = msgspec.json.decode(raw, type=Recording)
    except (msgspec.DecodeError, RecursionError) as error:
        if path.suffix in (".yaml", ".yml") or re.search(rb'(^|[{,\n])\s*"?callers"?\s*:', raw):
            raise bad(path, "", "a scenario; expected a recording, such as front_desk.json") from None
        raise _reason(path, raw, error) from None
    if not recording.turns:
        raise bad(path, "turns", "an empty list; expected at least one turn")
    return recording


def _find(name: str, near: Path | None) -> Path:
    try:
        for path in [near / name, near / f"{name}.json"] if near else []:
            if path.is_file():
                return path
        return shipped.find("recordings", name)
    except FileNotFoundError as error:
        folders = [path for path in (near / name if near else Path(name), Path(name)) if path.is_dir()]
        if folders:
            raise bad(folders[0], "", "a folder; expected a recording's file") from None
        raise BadInput(line(str(error))) from None
    except OSError as error:
        raise bad(Path(name), "", f"cannot be read ({error.strerror})") from None


def _reason(path: Path, raw: bytes, error: Exception) -> BadInput:
    """msgspec's error in plain words, at its place in the file."""
    if told := no_json(path, raw, error):
        return told
    said, where = parted(error)
    steps = [step for step in where.split(".") if step]
    return bad(path, _place(steps), _allowed(said, steps))


def _place(steps: list[str]) -> str:
    """`turns[12].agent.start` as a person counts: `turn 13: agent.start`."""
    place = ""
    for step in steps:
        name, *indexes = step.rstrip("]").replace("]", "").split("[")
        match name, [int(index) + 1 for index in indexes]:
            case "tools", [number, call]:
                place += f"step {number}, call {call}: "
            case "tools", [number] if place:
                place += f"step {number}: "
            case _, [number]:
                place += f"{name.removesuffix('s')} {number}: "
            case _:
                place += f"{name}."
    return place.rstrip(".: ")


def _allowed(said: str, steps: list[str]) -> str:
    """What is wrong with a value, and what may stand there."""
    model = _KEYS_OF.get(steps[-1].partition("[")[0], Recording) if steps else Recording
    keys = msgspec.structs.fields(model)
    if found := re.fullmatch("Object contains unknown field `(.*)`", said, re.DOTALL):
        return f"unknown key {found[1]} (allowed: {', '.join(sorted(key.name for key in keys))})"
    if found := re.fullmatch("Object missing required field `(.*)`", said):
        return f"{found[1]} is missing (needed: {', '.join(sorted(key.name for key in keys if key.required))})"
    return words(said)
