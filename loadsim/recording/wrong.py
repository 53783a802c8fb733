"""What is wrong with a file, in one plain line."""

import re
from pathlib import Path

import msgspec

from ..types import BadInput

_WORDS = {
    "`str`": "text",
    "`float`": "a number",
    "`int`": "a whole number",
    "`bool`": "true or false",
    "`null`": "null",
    "`object`": "keys and values",
    "`array`": "a list",
    "`str | null`": "text, or null",
    "`float | null`": "a number, or null",
    "`object | null`": "keys and values, or null",
    "`array | null`": "a list, or null",
    "`str | array | null`": "text or a list, or null",
    "`str | object | null`": "text or keys and values, or null",
}
_AT = re.compile(r"(.*?)(?: - at `\$((?:\.\w+|\[\d+\]|\[\.\.\.\])*)`)?", re.DOTALL)  # msgspec's way to name a place
BOM = b"\xef\xbb\xbf"


def bad(path: Path, where: str, text: str) -> BadInput:
    """A file that cannot be used, the place in it, and why."""
    return BadInput(line(": ".join(part for part in (str(path), where, text) if part)))


def line(text: str) -> str:
    """Somebody else's text, with nothing in it that moves a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def words(said: str) -> str:
    """msgspec's message in plain words."""
    if missing := re.fullmatch("Object missing required field `(.*)`", said, re.DOTALL):
        return f"{missing[1]} is missing"
    said = re.sub("`[^`]*`", lambda word: _WORDS.get(word[0], word[0]), said)
    return said[0].lower() + said[1:]


def parted(error: Exception) -> tuple[str, str]:
    """msgspec's message and the dotted place that it names."""
    said, where = _AT.fullmatch(str(error)).groups("")  # type: ignore[union-attr]  # it matches any text
    return said, where


def no_json(path: Path, raw: bytes, error: Exception) -> BadInput | None:
    """Why these bytes are no JSON, and on which line; None where they are."""
    if isinstance(error, RecursionError):
        return bad(path, "", "nested too deeply")
    try:
        raw.decode()
    except UnicodeDecodeError as broken:
        return bad(path, _row(raw, broken.start), "not UTF-8 text")
    if isinstance(error, msgspec.ValidationError):
        return None
    said, _, at = str(error).removeprefix("JSON is malformed: ").partition(" (byte ")
    said = "ends too early" if said == "Input data was truncated" else said
    return bad(path, _row(raw, int(at.rstrip(")") or len(raw))), f"not JSON: {said}")


def _row(raw: bytes, at: int) -> str:
    row = raw.count(b"\n", 0, at) + 1
    return f"line {row}"
