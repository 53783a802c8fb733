"""Records as rows of a table: structs within them become columns of their own, named `outer_inner`.

A pair of numbers becomes two columns, `_low` and `_high`. What is a list or a mapping is JSON in its cell; an empty one
is missing, but for a field that can also be missing itself: there it is `[]`.
"""

from collections.abc import Callable, Collection
from typing import Any, Literal

import msgspec
from msgspec import inspect

from ...scenario.secret import masked, masked_data

Cell = str | int | float | bool | None
Kind = Literal["integer", "real", "boolean", "text"]
Get = Callable[[Any], Cell]

_KINDS: dict[type, Kind] = {
    inspect.IntType: "integer",
    inspect.FloatType: "real",
    inspect.BoolType: "boolean",
    inspect.StrType: "text",
    inspect.LiteralType: "text",
}


class Column(msgspec.Struct, frozen=True):
    """A column of a table; any cell of it may be missing (None)."""

    name: str
    kind: Kind


class Record(msgspec.Struct, frozen=True):
    """The columns that records of one struct have, and how each cell is got."""

    columns: tuple[Column, ...]
    gets: tuple[Get, ...]

    def cells(self, record: object) -> tuple[Cell, ...]:
        return tuple(get(record) for get in self.gets)


def record(of: type[msgspec.Struct], leave: Collection[str] = (), prefix: str = "") -> Record:
    """The columns of a struct, without the fields in `leave`; `prefix`: put before each name."""
    made: list[tuple[Column, Get]] = []
    for field in msgspec.structs.fields(of):
        if field.name not in leave:
            made += _field(inspect.type_info(field.type), prefix + field.name, _named(field.name))
    return Record(tuple(column for column, _ in made), tuple(get for _, get in made))


def as_json(value: object) -> str:
    """A list or a mapping in one cell."""
    return msgspec.json.encode(masked_data(msgspec.to_builtins(value))).decode()


def _field(found: inspect.Type, name: str, get: Callable[[Any], Any]) -> list[tuple[Column, Get]]:
    optional = False
    if isinstance(found, inspect.UnionType):
        optional = True
        (found,) = (each for each in found.types if not isinstance(each, inspect.NoneType))
    if isinstance(found, inspect.StructType):
        inner = record(found.cls, prefix=f"{name}_")
        return [(column, _within(get, each)) for column, each in zip(inner.columns, inner.gets, strict=True)]
    if isinstance(found, inspect.TupleType):
        kind = _KINDS[type(found.item_types[0])]
        return [(Column(f"{name}_{end}", kind), _within(get, _at(i))) for i, end in enumerate(("low", "high"))]
    kind = _KINDS.get(type(found), "text")
    if kind != "text":
        return [(Column(name, kind), get)]
    if isinstance(found, inspect.StrType | inspect.LiteralType):
        return [(Column(name, kind), _text(get))]
    return [(Column(name, kind), _json(get, optional))]


def _named(name: str) -> Callable[[Any], Any]:
    return lambda of: getattr(of, name)


def _at(place: int) -> Callable[[Any], Any]:
    return lambda of: of[place]


def _within(outer: Callable[[Any], Any], inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def get(of: Any) -> Any:
        found = outer(of)
        return None if found is None else inner(found)

    return get


def _text(get: Callable[[Any], Any]) -> Get:
    def cell(of: Any) -> Cell:
        found = get(of)
        return None if found is None else masked(found)

    return cell


def _json(get: Callable[[Any], Any], optional: bool) -> Get:
    def cell(of: Any) -> Cell:
        found = get(of)
        return as_json(found) if found or (optional and found is not None) else None

    return cell
