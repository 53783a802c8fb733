"""Calls from other products' files."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from ...types import BadInput
from ..assemble import assemble
from ..draft import Draft
from ..model import Recording
from ..wrong import BOM, bad, no_json
from . import livekit, openai, pipecat, retell, vapi
from .shape import NotThisFormat

FORMATS: dict[str, Callable[[Any], Draft]] = {
    "openai": openai.read,
    "pipecat": pipecat.read,
    "livekit": livekit.read,
    "vapi": vapi.read,
    "retell": retell.read,
}


class Imported(msgspec.Struct, frozen=True):
    """A recording made of somebody's file, and what to know of it: what was left out, and what was drawn."""

    recording: Recording
    notes: tuple[str, ...]


def read(raw: bytes, path: Path, form: str, title: str | None = None) -> Imported:
    """The recording that a file of the format `form` tells; `path` is what errors call it.

    The same bytes make the same recording, with the same drawn times. Raises BadInput.
    """
    raw = raw.removeprefix(BOM)
    if not raw.strip():
        raise bad(path, "", f"the file is empty; expected a call as {form} writes it")
    try:
        data = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise no_json(path, raw, error) or bad(path, "", "a number out of range") from None
    other = looks_like(data)
    hint = f" (looks like {other}: --from {other})" if other and other != form else ""
    try:
        if hint and {form, other} != {"openai", "pipecat"}:  # a context of Pipecat's is OpenAI's messages
            raise NotThisFormat("another format")
        draft = FORMATS[form](data)
        draft.notes["the messages have timestamps, which --from pipecat takes"] += (form, other) == (
            "openai",
            "pipecat",
        )
        chance = Random(hashlib.sha256(raw).digest())
        made, notes = assemble(draft, title or path.stem, f"imported from {path.name} ({form})", chance)
    except NotThisFormat as error:
        raise bad(path, "", hint.strip(" ()") or f"not as {form} writes it: {error}") from None
    except BadInput as error:
        raise bad(path, "", f"{error}{hint}") from None
    return Imported(made, tuple(notes))


def looks_like(data: Any) -> str | None:
    """The format that a file seems to be of."""
    if isinstance(data, dict):
        if "chat_history" in data or "items" in data:
            return "livekit"
        if "artifact" in data or isinstance(data.get("message"), dict):
            return "vapi"
        if {"transcript_object", "transcript_with_tool_calls"} & set(data) or isinstance(data.get("call"), dict):
            return "retell"
    entries = data if isinstance(data, list) else None
    if isinstance(data, dict):
        entries = next((data[key] for key in ("messages", "transcript") if isinstance(data.get(key), list)), None)
    found = [entry for entry in entries or () if isinstance(entry, dict)]
    if any(entry.get("role") == "bot" for entry in found):
        return "vapi"
    if any("timestamp" in entry or "interrupted" in entry for entry in found):
        return "pipecat"
    return "openai" if any("role" in entry for entry in found) else None
