"""The scenario's JSON Schema, by which editors complete and check a file while it is written."""

import re
from typing import Any

import msgspec
from msgspec import NODEFAULT, inspect

from .build import model, plain_time
from .turns import PATTERN as TURNS
from .units import PATTERN as TIME
from .units import Start


def schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12. Descriptions are the model's docstrings.

    msgspec's own generator fails on defaults of a custom type, such as the times.
    """
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "title": "loadsim scenario", **_schema(model())}


def _schema(kind: inspect.Type) -> dict[str, Any]:
    match kind:
        case inspect.StructType():
            return _struct(kind)
        case inspect.DictType(value_type=inner, min_length=least):
            return _known(type="object", additionalProperties=_schema(inner), minProperties=least)
        case inspect.ListType(item_type=inner, min_length=least):
            return _known(type="array", items=_schema(inner), minItems=least)
        case inspect.UnionType(types=types):
            return {"anyOf": [_schema(each) for each in types]}
        case inspect.LiteralType(values=values):
            return {"enum": list(values)}
        case inspect.CustomType(cls=cls):
            word = "together|" if cls is Start else ""
            return {"anyOf": [{"type": "string", "pattern": f"^(?:{word}{TIME})$"}, {"const": 0}]}
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
    text = kind.cls.__doc__ or ""
    said = dict(re.findall(r"^ *(\w+): (.+)$", text, re.MULTILINE))
    properties = {}
    for field in kind.fields:
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        properties[field.name] = _schema(field.type) | _known(description=said.get(field.name))
        if field.name == "turns":
            properties["turns"] |= {"type": ["string", "integer"], "pattern": f"^(?:{TURNS})$"}
        if not field.required:
            properties[field.name]["default"] = msgspec.to_builtins(default, enc_hook=plain_time)
    return {
        "type": "object",
        "description": text.partition("\n")[0],
        "properties": properties,
        "required": [field.name for field in kind.fields if field.required],
        "additionalProperties": False,
    }


def _known(**words: Any) -> dict[str, Any]:
    """A schema without the words that have no value."""
    return {word: value for word, value in words.items() if value is not None}
