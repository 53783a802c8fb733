"""Tool schemas: whether they have OpenAI's form, and whether a call's arguments satisfy them.

Of JSON Schema only what tools use is known: type, enum, properties, required, additionalProperties: false, items.
Anything else is taken as satisfied.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list, tuple),
    "null": (type(None),),
}


def form(tool: dict[str, Any]) -> Iterator[str]:
    """What in a tool's declaration is not `{"type": "function", "function": {"name", "description", "parameters"}}`."""
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, dict):
        yield 'not in OpenAI\'s form; expected {"type": "function", "function": {"name": ..., "parameters": {...}}}'
        return
    name, parameters = function.get("name"), function.get("parameters", {"type": "object"})
    if not isinstance(name, str) or not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
        yield f"function.name: expected 1 to 64 letters, digits, _ or -; got {_short(name)}"
    if not isinstance(function.get("description", ""), str):
        yield f"function.description: expected text; got {_short(function['description'])}"
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        yield 'function.parameters: expected a schema of {"type": "object"}'
        return
    properties, required = parameters.get("properties", {}), parameters.get("required", [])
    if not isinstance(properties, dict) or not all(isinstance(schema, dict) for schema in properties.values()):
        yield "function.parameters.properties: expected a schema for each name"
    if not isinstance(required, list) or not all(isinstance(key, str) for key in required):
        yield "function.parameters.required: expected a list of names"


def mismatches(value: Any, schema: Any, path: str = "") -> Iterator[str]:
    """Each way in which `value` does not satisfy `schema`, with its dotted place in the value."""
    if not isinstance(schema, dict):
        return
    at = f"{path}: " if path else ""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{at}expected {' or '.join(map(str, kinds))}; got {_short(value)}"
        return
    options = schema.get("enum")
    if isinstance(options, list) and not any(_same(value, option) for option in options):
        yield f"{at}expected one of {', '.join(map(_short, options))}; got {_short(value)}"
    if isinstance(value, dict):
        yield from _keys(value, schema, path)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from mismatches(item, schema.get("items"), f"{path}[{number}]")


def _keys(value: dict[str, Any], schema: dict[str, Any], path: str) -> Iterator[str]:
    at = f"{path}: " if path else ""
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    for key in required if isinstance(required, list) else ():
        if key not in value:
            yield f"{at}{key} is missing"
    for key, inner in value.items():
        if key in known:
            yield from mismatches(inner, known[key], f"{path}.{key}" if path else key)
        elif schema.get("additionalProperties") is False:
            yield f"{at}unknown key {key} (allowed: {', '.join(sorted(known))})"


def _is(value: Any, kind: Any) -> bool:
    """Whether a JSON value is of a schema's type; 1.0 is an integer, true is no number."""
    if kind in ("integer", "number"):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and (kind == "number" or float(value).is_integer())
    # A type that JSON Schema does not know is not for us to judge.
    return not isinstance(kind, str) or kind not in _TYPES or isinstance(value, _TYPES[kind])


def _same(value: Any, option: Any) -> bool:
    """Equality in JSON: 1 is 1.0, but true is not 1."""
    return bool(value == option) and isinstance(value, bool) == isinstance(option, bool)


def _short(value: Any) -> str:
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError):
        text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
