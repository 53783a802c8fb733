"""The scenario's JSON Schema, by which editors complete and check a file while it is written."""

import re
from inspect import cleandoc
from typing import Any

import msgspec
from msgspec import NODEFAULT, inspect

from . import units
from .build import as_text, model, short, short_words
from .turns import PATTERN as TURNS
from .units import Celsius, Duration, Percent, Start, VoiceRate

PATTERNS: dict[type, str] = {
    Duration: units.PATTERN,
    Start: units.START_PATTERN,
    VoiceRate: units.RATE_PATTERN,
    Percent: units.PERCENT_PATTERN,
    Celsius: units.CELSIUS_PATTERN,
}


def schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12. Descriptions are the model's docstrings.

    msgspec's own generator fails on defaults of a custom type, such as the times.
    """
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "title": "loadsim scenario", **_schema(model())}


def _schema(kind: inspect.Type) -> dict[str, Any]:
    match kind:
        case inspect.StructType():
            keys = _struct(kind)
            return {"anyOf": [{"enum": list(short_words(kind))}, keys]} if short(kind) else keys
        case inspect.DictType(value_type=inner, min_length=least):
            return _known(type="object", additionalProperties=_schema(inner), minProperties=least)
        case inspect.ListType(item_type=inner, min_length=least, max_length=most):
            return _known(type="array", items=_schema(inner), minItems=least, maxItems=most)
        case inspect.UnionType(types=types):
            return {"anyOf": [_schema(each) for each in types]}
        case inspect.LiteralType(values=values):
            return {"enum": list(values)}
        case inspect.CustomType(cls=cls):
            text = {"type": "string", "pattern": f"^(?:{PATTERNS[cls]})$"}
            return {"anyOf": [text, {"const": 0}]} if cls in (Duration, Start) else text
        case inspect.IntType(ge=least, le=most):
            return _known(type="integer", minimum=least, maximum=most)
        case inspect.FloatType(ge=least, le=most):
            return _known(type="number", minimum=least, maximum=most)
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.NoneType():
            return {"type": "null"}
        case inspect.StrType():
            return {"type": "string"}
    return {}


def _struct(kind: inspect.StructType) -> dict[str, Any]:
    about, _, keys = cleandoc(kind.cls.__doc__ or "").partition("\n\n")
    said = {key: _line(text) for key, text in re.findall(r"^(\w+): (.+(?:\n +.+)*)$", keys, re.MULTILINE)}
    properties = {}
    for field in kind.fields:
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        properties[field.encode_name] = _schema(field.type) | _known(description=said.get(field.encode_name))
        if field.encode_name == "turns":
            properties["turns"] |= {"type": ["string", "integer"], "pattern": f"^(?:{TURNS})$"}
        if not field.required:
            properties[field.encode_name]["default"] = msgspec.to_builtins(default, enc_hook=as_text)
    return {
        "type": "object",
        "description": _line(about),
        "properties": properties,
        "required": [field.encode_name for field in kind.fields if field.required],
        "additionalProperties": False,
    }


def _line(text: str) -> str:
    return " ".join(text.split())


def _known(**words: Any) -> dict[str, Any]:
    """A schema without the words that have no value."""
    return {word: value for word, value in words.items() if value is not None}
