"""A tree becomes a Scenario: each value is held against the type that the model gives its key."""

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from . import tree, units
from .model import Scenario
from .tree import Listing, Mapping, Node, Scalar, bad
from .units import Celsius, Duration, Percent, Start, VoiceRate

PARSERS: dict[type, Callable[[str], Any]] = {
    Duration: units.parse_duration,
    Start: units.parse_start,
    VoiceRate: units.parse_rate,
    Percent: units.parse_percent,
    Celsius: units.parse_celsius,
}
WORDS: dict[type, str] = {
    Duration: units.TIME,
    Start: units.START,
    VoiceRate: units.RATE,
    Percent: units.PERCENT,
    Celsius: units.CELSIUS,
}
LARGEST = 2**63 - 1  # what JSON readers agree on as a whole number


def build(node: Node) -> Scenario:
    """The scenario that the tree tells. Raises BadInput with place, key and what is allowed."""
    scenario: Scenario = _value(node, model(), ())
    return scenario


def dump(scenario: Scenario) -> dict[str, Any]:
    """The scenario as plain data with every default filled in; times are text such as `6 s`."""
    data: dict[str, Any] = msgspec.to_builtins(scenario, enc_hook=as_text)
    for key in ("callers", "phases"):
        if not data[key]:
            del data[key]  # none at all is not to be read back
    return data


def as_text(value: Any) -> str:
    """msgspec's encoding hook for what has a unit."""
    match value:
        case Duration():
            return units.format_duration(value)
        case Start():
            return units.format_start(value)
        case VoiceRate():
            return units.format_rate(value)
        case Percent():
            return units.format_percent(value)
        case Celsius():
            return units.format_celsius(value)
    raise NotImplementedError


def put(node: Node, path: Sequence[str], value: Node) -> Node:
    """`tree.put` that keeps what a short form says: in `pace: speech`, `pace.gap` is put beside `by: speech`."""
    kind = next((field.type for field in model().fields if field.name == path[0]), None)
    if isinstance(kind, inspect.UnionType):
        kind = next((each for each in kind.types if isinstance(each, inspect.StructType)), None)
    held = node.items.get(path[0]) if isinstance(node, Mapping) else None
    if isinstance(held, Scalar) and isinstance(kind, inspect.StructType) and short(kind):
        node = tree.put(node, path[:1], Mapping(held.where, {short(kind): held}))
    return tree.put(node, path, value)


@cache
def model() -> inspect.StructType:
    """The model's types, as msgspec sees them."""
    kind = inspect.type_info(Scenario)
    assert isinstance(kind, inspect.StructType)
    return kind


def short(kind: inspect.StructType) -> str:
    """The key whose value may stand for the whole struct, or nothing."""
    return getattr(kind.cls, "SHORT", "")


def short_words(kind: inspect.StructType) -> tuple[str, ...]:
    """What may stand for the whole struct."""
    types = [field.type for field in kind.fields if field.name == short(kind)]
    return tuple(str(word) for each in types if isinstance(each, inspect.LiteralType) for word in each.values)


def suggestion(word: str, allowed: list[str]) -> str:
    """`; did you mean count?`, or nothing."""
    near = get_close_matches(word, allowed, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def expected(kind: inspect.Type) -> str:
    """A type in plain words."""
    match kind:
        case inspect.IntType() | inspect.FloatType():
            word = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
            if kind.ge is not None and kind.le is not None:
                return f"{word}, {kind.ge} to {kind.le}"
            return word if kind.ge is None else f"{word}, {kind.ge} or more"
        case inspect.LiteralType(values=values):
            return _one_of(values)
        case inspect.UnionType(types=types):
            return ", or ".join(expected(each) for each in types)
        case inspect.StructType(fields=fields):
            keys = "keys (" + ", ".join(sorted(field.encode_name for field in fields)) + ")"
            return f"{_one_of(short_words(kind))}, or {keys}" if short(kind) else keys
        case inspect.CustomType(cls=cls):
            return WORDS[cls]
        case inspect.DictType():
            return "keys and their values"
        case inspect.ListType(min_length=least, max_length=most):
            return f"a list of {most}" if most is not None and least == most else "a list"
        case inspect.BoolType():
            return "true or false"
        case inspect.NoneType():
            return "null"
    return "text"


def got(node: Node) -> str:
    """What was written, shortened."""
    match node:
        case Scalar(kind="text", text=text):
            return repr(text if len(text) < 60 else f"{text[:60]}...")
        case Scalar(text=text):
            return text[:60] or "nothing"
        case Listing(items=items):
            return "a list" if items else "an empty list"
    return "keys and values" if node.items else "no keys"


def free(node: Node, path: tuple[str, ...]) -> Any:
    """The node's value as plain data, where anything goes."""
    match node:
        case Mapping(items=pairs):
            return {key: free(value, (*path, key)) for key, value in pairs.items()}
        case Listing(items=values):
            return [free(value, path) for value in values]
        case Scalar(kind="null"):
            return None
        case Scalar(kind="bool", text=text):
            return text.lower() == "true"
        case Scalar(kind="whole" | "decimal"):
            return _number(node, path)
        case Scalar(kind="odd", text=text):
            hint = "quote it if it is text, else write true, false or plain digits"
            raise bad(node.where, ".".join(path), f"YAML readers do not agree on {text[:60]}: {hint}")
    return node.text


def _value(node: Node, kind: inspect.Type, path: tuple[str, ...], union: inspect.Type | None = None) -> Any:
    """The node's value as that type; `union` is the type it was chosen from."""
    match kind, node:
        case inspect.UnionType(types=types), _:
            return _value(node, _member(node, types), path, kind)
        case inspect.AnyType(), _:
            return free(node, path)
        case inspect.NoneType(), Scalar(kind="null"):
            return None
        case inspect.StructType(), Mapping():
            return _struct(node, kind, path)
        case inspect.StructType(cls=cls), Scalar(text=text) if text in short_words(kind):
            return cls(**{short(kind): text})
        case inspect.DictType(value_type=inner, min_length=least), Mapping(items=pairs) if len(pairs) >= (least or 0):
            return {key: _value(value, inner, (*path, key)) for key, value in pairs.items()}
        case inspect.ListType(item_type=inner), Listing(items=values) if _holds(kind, len(values)):
            return [_value(value, inner, path) for value in values]
        case inspect.BoolType(), Scalar(kind="bool", text=text):
            return text.lower() == "true"
        case inspect.IntType(ge=least, le=most), Scalar(kind="whole") as scalar:
            if _within(number := _number(scalar, path), least, most):
                return number
        case inspect.FloatType(ge=least, le=most), Scalar(kind="whole" | "decimal") as scalar:
            if _within(number := _number(scalar, path), least, most):
                return float(number)
        case inspect.LiteralType(values=values), Scalar(text=text) if text in values:
            return text
        case inspect.StrType(), Scalar(kind="text" | "whole" | "decimal" | "odd", text=text):
            return text
        case inspect.CustomType(cls=cls), Scalar(kind="text" | "whole" | "decimal" | "odd", text=text):
            try:
                return PARSERS[cls](text)
            except ValueError as error:
                raise bad(node.where, ".".join(path), str(error)) from None
    raise bad(node.where, ".".join(path), f"expected {expected(union or kind)}; got {got(node)}{_hint(node, kind)}")


def _one_of(words: Sequence[Any]) -> str:
    return ("one of " if len(words) > 1 else "") + ", ".join(map(str, words))


def _member(node: Node, types: tuple[inspect.Type, ...]) -> inspect.Type:
    """The one of a union's types that goes with the node's form."""
    if isinstance(node, Scalar) and node.kind == "null":
        return next((each for each in types if isinstance(each, inspect.NoneType)), types[0])
    form = inspect.StructType if isinstance(node, Mapping) else inspect.ListType
    if not isinstance(node, Scalar):
        return next((each for each in types if isinstance(each, form)), types[0])
    for each in types:
        if isinstance(each, inspect.StructType) and node.text in short_words(each):
            return each
    others = (inspect.StructType, inspect.ListType, inspect.NoneType)
    return next((each for each in types if not isinstance(each, others)), types[0])


def _struct(node: Mapping, kind: inspect.StructType, path: tuple[str, ...]) -> Any:
    """The mapping as that struct; what is left out has the model's default."""
    fields = {field.encode_name: field for field in kind.fields}
    allowed = sorted(fields)
    for key, value in node.items.items():
        if key not in fields:
            known = f"unknown key{suggestion(key, allowed)} (allowed: {', '.join(allowed)})"
            raise bad(value.where, ".".join((*path, key)), known)
    for name, field in fields.items():
        if field.required and name not in node.items:
            raise bad(node.where, ".".join(path), f"{name} is missing ({expected(field.type)})")
    return kind.cls(
        **{fields[key].name: _value(value, fields[key].type, (*path, key)) for key, value in node.items.items()}
    )


def _number(node: Scalar, path: tuple[str, ...]) -> int | float:
    """A whole or decimal scalar as a number."""
    text = node.text.replace("_", "")
    number = float(text) if node.kind == "decimal" or len(text) > 20 else int(text)
    if abs(number) > (sys.float_info.max if node.kind == "decimal" else LARGEST):
        raise bad(node.where, ".".join(path), f"too large a number; got {got(node)}")
    return number


def _holds(kind: inspect.ListType, items: int) -> bool:
    return _within(items, kind.min_length, kind.max_length)


def _within(number: float, least: float | None, most: float | None) -> bool:
    return (least is None or number >= least) and (most is None or number <= most)


def _hint(node: Node, kind: inspect.Type) -> str:
    """How to write what was probably meant."""
    if isinstance(node, Listing) and isinstance(kind, inspect.ListType):
        return "; give it one value or more"
    if not isinstance(node, Scalar):
        return ""
    match kind, node.kind:
        case inspect.IntType() | inspect.FloatType(), "text" if node.text.isdecimal():
            return "; take the quotes off"
        case inspect.IntType(), "odd" | "decimal" if node.text[-1].isdecimal():
            return "; write plain digits"
        case inspect.StrType(), "bool":
            return "; quote it if it is a name"
    return ""
