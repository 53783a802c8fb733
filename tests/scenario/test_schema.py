from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from loadsim import shipped
from loadsim.scenario.load import dump, load
from loadsim.scenario.schema import schema

SCENARIOS = sorted(shipped.folder("scenarios").rglob("*.yaml"))
GOOD: dict[str, Any] = {"recording": "a.json", "callers": {"warm": {"count": 2}}}


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_shipped_scenarios_are_valid(path: Path, validator: jsonschema.Draft202012Validator) -> None:
    validator.validate(yaml.safe_load(path.read_text()))
    validator.validate(dump(load(str(path))))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"callers": {"warm": {"count": 2, "start": "together", "every": "1.5s", "turns": 40}}},
        {"callers": {"warm": {"count": 2, "start": "6 s", "every": 0, "turns": "40-42"}}},
        {"reply": {"free": 120}, "fit": None, "request": {"anything": [1]}},
    ],
)
def test_what_loads_is_valid(change: dict[str, Any], validator: jsonschema.Draft202012Validator) -> None:
    validator.validate(GOOD | change)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"callers": {}}, "callers"),
        ({"callers": {"warm": {"count": 0}}}, "callers.warm.count"),
        ({"callers": {"warm": {"cuont": 2}}}, "callers.warm"),
        ({"callers": {"warm": {"count": 2, "every": "together"}}}, "callers.warm.every"),
        ({"callers": {"warm": {"count": 2, "start": 6}}}, "callers.warm.start"),
        ({"callers": {"warm": {"count": 2, "start": "6 parsecs"}}}, "callers.warm.start"),
        ({"callers": {"warm": {"count": 2, "turns": "first"}}}, "callers.warm.turns"),
        ({"callers": {"warm": {"count": 2, "slots": "neighbour"}}}, "callers.warm.slots"),
        ({"server": {"slots": "4"}}, "server.slots"),
        ({"reply": {"free": 0}}, "reply"),
        ({"sweep": {"callers.warm.slots": []}}, "sweep.callers.warm.slots"),
        ({"recording": None}, "recording"),
    ],
)
def test_what_does_not_load_is_not(
    change: dict[str, Any], key: str, validator: jsonschema.Draft202012Validator
) -> None:
    errors = list(validator.iter_errors(GOOD | change))
    assert {".".join(map(str, error.path)) for error in errors} == {key}


def test_every_key_is_described() -> None:
    def undescribed(node: dict[str, Any], path: str) -> list[str]:
        inner = [node.get("additionalProperties"), *node.get("anyOf", [])]
        here = [key for part in inner if isinstance(part, dict) for key in undescribed(part, path)]
        for key, value in node.get("properties", {}).items():
            here += [f"{path}{key}"] * ("description" not in value) + undescribed(value, f"{path}{key}.")
        return here

    assert undescribed(schema(), "") == []
    assert schema()["properties"]["callers"]["additionalProperties"]["properties"]["count"] == {
        "type": "integer",
        "minimum": 1,
        "description": "how many callers.",
    }


def test_defaults_are_written_as_in_a_file() -> None:
    timeouts = schema()["properties"]["timeout"]["properties"]
    assert {key: value["default"] for key, value in timeouts.items()} == {
        "loading": "5 min",
        "connect": "10 s",
        "first_token": "2 min",
        "silence": "30 s",
    }
