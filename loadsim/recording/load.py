"""Reads a recording from its file; whatever is wrong with the file is one line of BadInput."""

import re
from pathlib import Path

import msgspec

from .. import shipped
from ..types import BadInput
from .model import Recording, Reply, ToolCall, Turn, Utterance

_WORDS = {
    "`str`": "text",
    "`float`": "a number",
    "`int`": "a whole number",
    "`bool`": "true or false",
    "`null`": "null",
    "`object`": "keys and values",
    "`array`": "a list",
    "`str | null`": "text, or null",
}
_KEYS_OF: dict[str, type[msgspec.Struct]] = {
    "turns": Turn,
    "caller": Utterance,
    "agent": Reply,
    "tools": ToolCall,
    "backchannels": Utterance,
}
_AT = re.compile(r"(.*?)(?: - at `\$((?:\.\w+|\[\d+\])*)`)?", re.DOTALL)  # msgspec's way to name a place
_BOM = b"\xef\xbb\xbf"


def load(name: str, near: Path | None = None) -> Recording:
    """The recording that `name` means: a file in the folder `near` (the scenario's), a path, or a shipped name.

    Each with or without `.json`. Raises BadInput with the file, the place in it and what is allowed there.
    """
    path = _find(name, near)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise _bad(path, "", f"cannot be read ({error.strerror})") from None
    return decode(raw, path)


def decode(raw: bytes, path: Path) -> Recording:
    """The recording that a file's bytes tell; `path` is what errors call it. Raises BadInput."""
    raw = raw.removeprefix(_BOM)
    if not raw.strip():
        raise _bad(path, "", "the file is empty; expected a recording")
    try:
        recording = msgspec.json.decode(raw, type=Recording)
    except (msgspec.DecodeError, RecursionError) as error:
        if path.suffix in (".yaml", ".yml") or re.search(rb'(^|[{,\n])\s*"?callers"?\s*:', raw):
            raise _bad(path, "", "a scenario; expected a recording, such as front_desk.json") from None
        raise _reason(path, raw, error) from None
    if not recording.turns:
        raise _bad(path, "turns", "an empty list; expected at least one turn")
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
            raise _bad(folders[0], "", "a folder; expected a recording's file") from None
        raise BadInput(_line(str(error))) from None
    except OSError as error:
        raise _bad(Path(name), "", f"cannot be read ({error.strerror})") from None


def _reason(path: Path, raw: bytes, error: Exception) -> BadInput:
    """msgspec's error in plain words, at its place in the file."""
    if isinstance(error, RecursionError):
        return _bad(path, "", "nested too deeply")
    try:
        raw.decode()
    except UnicodeDecodeError as broken:
        return _bad(path, _row(raw, broken.start), "not UTF-8 text")
    said, where = _AT.fullmatch(str(error)).groups("")  # type: ignore[union-attr]  # it matches any text
    if not isinstance(error, msgspec.ValidationError):
        said, _, at = said.removeprefix("JSON is malformed: ").partition(" (byte ")
        said = "ends too early" if said == "Input data was truncated" else said
        return _bad(path, _row(raw, int(at.rstrip(")") or len(raw))), f"not JSON: {said}")
    steps = [step for step in where.split(".") if step]
    return _bad(path, _place(steps), _allowed(said, steps))


def _row(raw: bytes, at: int) -> str:
    line = raw.count(b"\n", 0, at) + 1
    return f"line {line}"


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
    said = re.sub("`[^`]*`", lambda word: _WORDS.get(word[0], word[0]), said)
    return said[0].lower() + said[1:]


def _bad(path: Path, where: str, text: str) -> BadInput:
    return BadInput(_line(": ".join(part for part in (str(path), where, text) if part)))


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
