"""A run.json that is JSON, but not of the kind that its readers take for granted."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from loadsim.results.read import read
from loadsim.results.records import Damaged
from loadsim.types import BadInput

PAIR = Path(__file__).parents[1] / "report" / "pair" / "a"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("host", 3),
        ("versions", ["3.11"]),
        ("cards", {"card": 0}),
        ("cards", [0]),
        ("server.boot", 7),
        ("server.boot", {"health_s": "1 min"}),
        ("server.round_trip_s", "x"),
        ("points.3 warm.groups", "1 min"),
        ("points.3 warm.groups.warm", "1 min"),
        ("points.3 warm.groups.warm", [{"first_tokens": {"a": 1}}]),
        ("points.3 warm.sets", [1]),
        ("started.epoch_s", 1e18),
        ("started.epoch_s", -1),
    ],
)
def test_it_is_named_with_its_place(place: str, value: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(PAIR, run)
    facts = json.loads((run / "run.json").read_text())
    *above, last = place.split(".")
    at = facts
    for key in above:
        at = at[key]
    at[last] = value
    (run / "run.json").write_text(json.dumps(facts))
    with pytest.raises(BadInput, match=rf"run\.json: Expected .*at `\$\.{above[0] if above else last}"):
        read(run)


@pytest.mark.parametrize(("field", "value"), [("headers_s", 1e308), ("end_s", -1e10), ("token_s", [0.1, 1e300])])
def test_a_line_whose_times_are_none_is_damage(field: str, value: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(PAIR, run)
    rows = [json.loads(line) for line in (run / "requests.jsonl").read_text().splitlines()]
    rows[6][field] = value
    (run / "requests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read(run)
    assert len(found.rows) == len(rows) - 1
    assert found.damaged == (Damaged(file="requests.jsonl", lines=1, first=7),)
