"""Tool schemas and arguments, beside jsonschema."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadsim.recording.schema import form, mismatches

from .calls import LOOK_UP

PARAMETERS = LOOK_UP["function"]["parameters"]


def test_a_tool_in_openais_form_passes() -> None:
    assert list(form(LOOK_UP)) == []
    assert list(form({"type": "function", "function": {"name": "hang_up"}})) == []


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ({"name": "look_up", "input_schema": {}}, "not in OpenAI's form"),
        ({"type": "function", "function": "look_up"}, "not in OpenAI's form"),
        ({"type": "custom", "function": {"name": "look_up"}}, "not in OpenAI's form"),
        ({"type": "function", "function": {}}, "function.name: expected 1 to 64 letters, digits, _ or -; got null"),
        ({"type": "function", "function": {"name": "look up"}}, 'function.name: .*; got "look up"'),
        (
            {"type": "function", "function": {"name": "a", "description": 3}},
            "function.description: expected text; got 3",
        ),
        ({"type": "function", "function": {"name": "a", "parameters": {"type": "string"}}}, "function.parameters: "),
        (
            {"type": "function", "function": {"name": "a", "parameters": {"type": "object", "properties": {"b": 1}}}},
            "function.parameters.properties: expected a schema for each name",
        ),
        (
            {"type": "function", "function": {"name": "a", "parameters": {"type": "object", "properties": ["b"]}}},
            "function.parameters.properties: expected a schema for each name",
        ),
        (
            {"type": "function", "function": {"name": "a", "parameters": {"type": "object", "required": "b"}}},
            "function.parameters.required: expected a list of names",
        ),
    ],
)
def test_another_form_is_said_so(tool: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(" | ".join(form(tool)))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"part": "valve", "shop": "north", "count": 2}, []),
        ({"part": "valve", "count": 2.0}, []),
        ({}, ["part is missing"]),
        ({"part": 3}, ["part: expected string; got 3"]),
        ({"part": "valve", "shop": "west"}, ['shop: expected one of "north", "south"; got "west"']),
        ({"part": "valve", "count": True}, ["count: expected integer; got true"]),
        ({"part": "valve", "count": 2.5}, ["count: expected integer; got 2.5"]),
        ({"part": "valve", "colour": "red"}, ["unknown key colour (allowed: count, part, shop)"]),
    ],
)
def test_arguments_are_held_against_the_schema(arguments: dict[str, Any], said: list[str]) -> None:
    assert list(mismatches(arguments, PARAMETERS)) == said


def test_a_place_inside_is_named() -> None:
    schema = {
        "type": "object",
        "properties": {
            "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": ["number", "null"]}}}}
        },
    }
    value = {"lines": [{"n": None}, {"n": "x"}]}
    assert list(mismatches(value, schema)) == ['lines[1].n: expected number or null; got "x"']


def test_true_is_not_one() -> None:
    assert list(mismatches(True, {"enum": [1]})) == ["expected one of 1; got true"]
    assert list(mismatches(1.0, {"enum": [1]})) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 0.5]) | st.sampled_from("abc"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(["string", "number", "integer", "boolean", "object", "array", "null"])
SCHEMAS = st.recursive(
    st.fixed_dictionaries({}, optional={"type": KINDS | st.lists(KINDS, min_size=1, max_size=2, unique=True)})
    | st.fixed_dictionaries(
        {"enum": st.lists(st.integers(-1, 1) | st.booleans() | st.sampled_from("abc"), min_size=1)}
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS,
            "items": inner,
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abc"), unique=True),
            "additionalProperties": st.booleans(),
        },
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(JSON, SCHEMAS)
def test_it_agrees_with_jsonschema(value: Any, schema: dict[str, Any]) -> None:
    assert (not list(mismatches(value, schema))) == jsonschema.Draft202012Validator(schema).is_valid(value)


@settings(deadline=None)
@given(JSON, JSON)
def test_a_schema_that_is_none_breaks_nothing(value: Any, schema: Any) -> None:
    list(mismatches(value, schema))
    list(form({"type": "function", "function": schema}))
