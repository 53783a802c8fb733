"""Rows for tests."""

import string
from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st

from loadsim.types import Cut, Playout, RequestRow, Spoke

CALLER = {"repeat": 1, "group": "agents", "caller": 3, "turn": 41}

# What JSON cannot carry, no row has: NaN, infinities, half a surrogate pair.
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
SECONDS = st.floats(0, 1e6)


def row(**fields: Any) -> RequestRow:
    """A load row that ended well."""
    return msgspec.convert({"point": "12 callers", "row": "load", "outcome": "ok", **CALLER, **fields}, RequestRow)


def rows() -> st.SearchStrategy[RequestRow]:
    """Any row at all."""
    special: dict[Any, st.SearchStrategy[Any]] = {
        float: SECONDS,
        float | None: st.none() | SECONDS,
        Sequence[float]: st.lists(SECONDS, max_size=8),
        int: st.integers(0, 2**40),
        int | None: st.none() | st.integers(-(2**40), 2**40),
        str: TEXT,
        str | None: st.none() | TEXT,
        dict[str, Any]: st.dictionaries(TEXT, st.integers(0, 2**40) | TEXT | st.lists(TEXT, max_size=2), max_size=3),
    }

    def built(kind: Any) -> st.SearchStrategy[Any]:
        fields = {
            field.name: special.get(field.type, st.from_type(field.type)) for field in msgspec.structs.fields(kind)
        }
        return st.builds(kind, **fields)

    special |= {kind | None: st.none() | built(kind) for kind in (Spoke, Playout, Cut)}
    return built(RequestRow)


WORDS = st.text(string.ascii_letters + string.digits + " ,=/%+;|\n\té漢", max_size=12)
