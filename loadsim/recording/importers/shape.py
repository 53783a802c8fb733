"""Somebody else's JSON as a struct, or a line that says where it is not."""

from typing import Any, TypeVar

import msgspec

from ..wrong import line, parted, words

T = TypeVar("T")


class NotThisFormat(Exception):
    """The data is not what a format promises: what is wrong, and where."""


def shaped(value: Any, kind: type[T], place: str) -> T:
    """The value as `kind`; `place` is where it stands in the file, such as `messages[3]`."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        said, where = parted(error)
        at = f"{place}{where}".lstrip(".")
        raise NotThisFormat(line(f"{at}: {words(said)}" if at else words(said))) from None


def parts(content: Any) -> tuple[str, int]:
    """The text of a message's content, a text or a list of parts, and how many parts are none."""
    if content is None or isinstance(content, str):
        return content or "", 0
    texts = [text for part in content if (text := _text(part)) is not None]
    return "\n".join(texts), len(content) - len(texts)


def arguments(value: Any) -> dict[str, Any] | None:
    """A call's arguments, JSON text or keys and values; None if they are neither."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value or "{}")
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return None
    return {} if value is None else value if isinstance(value, dict) else None


def _text(part: Any) -> str | None:
    """OpenAI: {"type": "text", "text"}; LiveKit: a text, or audio with a transcript."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return None
    text = part.get("text", part.get("transcript"))
    return text if isinstance(text, str) else None
