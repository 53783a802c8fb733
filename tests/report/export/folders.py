"""Runs in folders, made by hand."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from loadsim.results.read import FORMAT
from loadsim.types import RequestRow

NASTY = 'a|b, "c"\n<script>alert(1)</script> שלום 🙂 `x` *y* [z](http://w) \\'
"""What a name may hold: quotes, a line end, HTML, Markdown, right-to-left letters, and one beyond the 16-bit ones."""


def make(folder: Path, *rows: RequestRow, **facts: Any) -> Path:
    """A complete run with these rows, unless `facts` say otherwise."""
    folder.mkdir(exist_ok=True)
    plain: dict[str, Any] = {"format": FORMAT, "ended": "complete", "why": None, "server": {}, "points": {}}
    (folder / "run.json").write_bytes(msgspec.json.encode(plain | facts))
    lines(folder / "requests.jsonl", rows)
    return folder


def lines(file: Path, records: Iterable[Any]) -> None:
    file.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
