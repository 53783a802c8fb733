from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from loadsim import shipped
from loadsim.scenario.load import dump, load, restore
from loadsim.scenario.schema import schema
from loadsim.types import BadInput

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
        {"callers": {"warm": {"count": 2, "start": "at 0"}, "b": {"count": 2, "start": "at 5 s"}}},
        {"callers": {"warm": {"count": 2, "start": "every 800 ms"}, "b": {"count": 2, "start": "poisson  .5s"}}},
        {"callers": {"warm": {"count": 2, "start": "call"}}, "pace": "speech"},
        {"callers": {"warm": {"count": 2, "again": True, "recordings": ["a", "b"]}}, "duration": "5 min"},
        {"pace": {"by": "speech", "gap": "1 s", "words_per_s": 2.5}, "barge_in": "drawn", "speculation": "none"},
        {"pace": {"gap": None}, "voice": {"rate": "150 wpm"}, "reply": {"exactly": 120}, "patience": None},
        {"voice": {"rate": "0.5tokens/s", "tts": 0}, "retry": "livekit", "history": "conversation"},
    ],
)
def test_what_loads_is_valid(change: dict[str, Any], validator: jsonschema.Draft202012Validator) -> None:
    validator.validate(GOOD | change)
    validator.validate(dump(restore(GOOD | change, "it loads")))


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
        ({"callers": {"warm": {"count": 2, "start": "every 0 s"}}}, "callers.warm.start"),
        ({"callers": {"warm": {"count": 2, "start": "poisson 0"}}}, "callers.warm.start"),
        ({"callers": {"warm": {"count": 2, "start": "at"}}}, "callers.warm.start"),
        ({"callers": {"warm": {"count": 2, "start": "call 5 s"}}}, "callers.warm.start"),
        ({"callers": {"warm": {"count": 2, "recordings": "a"}}}, "callers.warm.recordings"),
        ({"pace": "talk"}, "pace"),
        ({"pace": {"SHORT": "by"}}, "pace"),
        ({"barge_in": None}, "barge_in"),
        ({"voice": "clause"}, "voice"),
        ({"voice": {"rate": "0.0 wpm"}}, "voice.rate"),
        ({"voice": {"rate": "150 words/s"}}, "voice.rate"),
        ({"voice": {"rate": 0}}, "voice.rate"),
        ({"patience": "long"}, "patience"),
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
    with pytest.raises(BadInput):
        restore(GOOD | change, "it does not load")


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


def test_a_description_goes_on_over_indented_lines() -> None:
    group = schema()["properties"]["callers"]["additionalProperties"]
    assert group["description"] == "Callers that do the same."
    assert group["properties"]["slots"]["description"] == (
        "`neighbours` pins callers to slots side by side, `spread` to slots far apart, `low` to those below all "
        "others, `high` above; `server` lets it choose."
    )
    assert group["properties"]["cache"]["description"] == (
        "`warm` callers find their history in their slot, `cold` ones share nothing with any slot."
    )


def test_a_short_form_is_its_words_or_its_keys() -> None:
    for key, words in {"pace": ["at_once", "speech"], "speculation": ["drawn", "none", "recorded"]}.items():
        short, keys = schema()["properties"][key]["anyOf"]
        assert short == {"enum": words}
        assert keys["properties"]["by"]["enum"] == words
        assert "SHORT" not in keys["properties"]
    assert schema()["properties"]["speculation"]["anyOf"][1]["description"] == (
        "Requests that are sent before it is known that the caller has ended. "
        "`speculation: drawn` is short for `{by: drawn}`."
    )


def test_defaults_are_written_as_in_a_file() -> None:
    timeouts = schema()["properties"]["timeout"]["properties"]
    assert {key: value["default"] for key, value in timeouts.items()} == {
        "loading": "5 min",
        "connect": "10 s",
        "first_token": "2 min",
        "silence": "30 s",
        "outage": "5 min",
    }
    group = schema()["properties"]["callers"]["additionalProperties"]["properties"]
    assert group["start"]["default"] == "together"
    assert schema()["properties"]["voice"]["default"] == {
        "rate": "4.5 tokens/s",
        "chunk": "clause",
        "tts": "150 ms",
        "network": "110 ms",
    }
