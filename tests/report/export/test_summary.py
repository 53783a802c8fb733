"""The JSON summary, against its own schema and against figures worked out on paper."""

from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from loadsim.report.export.summary import schema, summary, text
from loadsim.results.read import read
from tests.report.runs import BOTH, LOAD, SPEECH
from tests.stats.rows import cut, playout, reply, row

from .folders import NASTY, lines, make

RUNS = Path(__file__).parents[2] / "analysis" / "runs"


def told(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(text(summary(read(folder))))
    jsonschema.validate(found, schema())
    return found


def test_figures_are_those_of_the_tables(tmp_path: Path) -> None:
    found = told(
        make(tmp_path, *BOTH, *LOAD, id="abc", scenario=SPEECH, points={"p": {"slots": [0], "sets": {"a": 1}}})
    )
    assert (found["format"], found["id"], found["ended"], found["holds"]) == (
        "loadsim summary 1",
        "abc",
        "complete",
        True,
    )
    (point,) = found["points"]
    assert (point["point"], point["sets"], point["slots"]) == ("p", {"a": 1}, [0])
    (warm,) = point["summary"]["load"]
    assert (warm["name"], warm["repeats"], warm["each"]) == ("warm", 2, 12)
    assert warm["ttft"]["p50"] == pytest.approx(0.2)
    assert point["summary"]["baseline"]["gap"]["p50"] == pytest.approx(0.01)
    assert point["summary"]["shares"]["warm"]["mean"]["both"]["mid"] == pytest.approx(0.5)
    assert found["answer"][0].startswith("12 warm callers hear the first token after 200 ms at p50")
    assert any(line.startswith("load delivered: ") for line in point["remarks"])


def test_what_is_missing_is_null(tmp_path: Path) -> None:
    found = told(make(tmp_path, row(prompt_ms=None, headers_s=None, token_s=[0.2])))
    (warm,) = found["points"][0]["summary"]["load"]
    assert (warm["prompt_eval"], warm["before_headers"], warm["decode"], warm["gap"]["p50"]) == (None,) * 4
    assert (found["id"], found["seconds"], found["points"][0]["summary"]["baseline"]) == (None, None, None)


def test_what_is_heard_and_cut_is_there(tmp_path: Path) -> None:
    rows = [reply(10.0, 0.5, 1.0, playout=playout(11.0, 13.0, underruns=2, silent_s=0.5), cut=cut(12.0, 1.0, 7))]
    point = told(make(tmp_path, *rows, scenario=SPEECH))["points"][0]
    assert (point["heard"]["warm"]["underruns"], point["cuts"]["warm"]["unheard"]) == (2, 7)


@pytest.mark.parametrize("ended", [None, "interrupted", "stopped"])
def test_a_run_that_broke_off_says_so(tmp_path: Path, ended: str | None) -> None:
    found = told(make(tmp_path, row(), ended=ended, why="it rained"))
    assert (found["ended"], found["why"], found["holds"]) == (ended, "it rained", False)
    assert found["answer"][0].startswith("The run did not complete")


def test_half_a_last_line_is_counted(tmp_path: Path) -> None:
    folder = make(tmp_path, row(), row(caller=1))
    file = folder / "requests.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    assert (told(folder)["torn"], told(folder)["points"][0]["summary"]["load"][0]["rows"]) == (1, 1)


def test_an_empty_run_has_no_points(tmp_path: Path) -> None:
    found = told(make(tmp_path))
    assert (found["points"], found["probes"], found["holds"]) == ([], [], False)


def test_any_text_is_kept(tmp_path: Path) -> None:
    found = told(make(tmp_path, row(point=NASTY, group=NASTY)))
    assert found["points"][0]["summary"]["load"][0]["name"] == NASTY


@pytest.mark.parametrize("name", [path.name for path in sorted(RUNS.iterdir())])
def test_runs_of_every_kind_fit_the_schema(name: str) -> None:
    found = told(RUNS / name)
    assert found["points"] or found["probes"]
    for probe in found["probes"]:
        assert probe[probe["kind"]] is not None
        assert sum(probe[kind] is not None for kind in ("reach", "checkpoints", "prefill", "floor", "tools")) == 1


def test_what_is_no_number_is_null(tmp_path: Path) -> None:
    folder = make(tmp_path, *BOTH, *LOAD)
    lines(folder / "card.jsonl", [])
    assert b"NaN" not in text(summary(read(folder)))
