"""`loadsim plan traffic` as a command."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from loadsim.cli import cli
from loadsim.results.read import FORMAT
from loadsim.types import BadInput, RequestRow
from tests.stats.rows import call, playout, row, spoke

PACED = {"callers": {"warm": {"count": 2}}, "pace": {"by": "speech", "time_scale": 1.0}}


def plan(*args: str | Path) -> Result:
    return CliRunner().invoke(cli, ["plan", "traffic", *map(str, args)], env={"COLUMNS": "80"})


def asked(*more: str | Path) -> Result:
    return plan("--calls-per-hour", "180", "--call", "4.5m", "--slots", "12", *more)


def said(done: Result) -> str:
    return " ".join(done.output.split())


def write(folder: Path, *rows: RequestRow, scenario: dict[str, Any] = PACED, events: list[dict[str, Any]] = []) -> Path:  # noqa: B006
    facts = {"format": FORMAT, "ended": "complete", "why": None, "server": {}, "points": {}, "scenario": scenario}
    (folder / "run.json").write_bytes(msgspec.json.encode(facts))
    (folder / "requests.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    (folder / "events.jsonl").write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    return folder


def turns(caller: int = 0, point: str = "p") -> list[RequestRow]:
    """Three turns, 10 s apart, of which the server has 2 s; the call lasts from 9 s to 35 s."""
    return [
        row(turn=int(t / 10), caller=caller, point=point, sent_s=t, end_s=t + 2, spoke=spoke(t - 1, t),
            playout=playout(t + 1, t + 5))
        for t in (10.0, 20.0, 30.0)
    ]  # fmt: skip


def test_the_question_of_the_readme() -> None:
    done = asked("--busy", "1.7s", "--turn", "12.4s", "--price", "$0.26/h", "--occupancy", "55%")
    assert done.exit_code == 0
    assert "12 slots refuse 25.6 % of 180 calls an hour; 22 slots keep it at 1 % or less, on 2 cards of 12." in said(
        done
    )
    assert "Of 12 callers on the line 4 or fewer are served at the same time" in said(done)
    assert "every slot taken 100 % $0.00036" in said(done)
    assert "occupancy given 55 % $0.00066" in said(done)
    assert max(map(len, done.output.splitlines())) <= 80


def test_json_has_every_figure() -> None:
    found = json.loads(asked("--price", "0.26/h", "--json").output)
    assert found["traffic"]["erlangs"] == 13.5
    assert found["traffic"]["call"] == {"value": 270.0, "origin": "given"}
    assert found["traffic"]["wait"] is None
    assert found["cost"]["full"] == pytest.approx(0.26 / 720)
    assert json.loads(asked("--json").output)["cost"] is None


def test_a_run_gives_what_is_not_given(tmp_path: Path) -> None:
    run = write(tmp_path, *turns(), *turns(1), events=[call(3, 3, "ended"), call(3, 3, "ended", caller=1)])
    found = json.loads(plan("--calls-per-hour", "180", "--slots", "12", "--run", run, "--json").output)["traffic"]
    assert found["call"] == {"value": 26.0, "origin": "measured", "of": f"{tmp_path.name}, 2 whole calls"}
    assert found["talking"]["busy"]["value"] == 2.0
    assert found["talking"]["turn"] == {
        "value": 10.0,
        "origin": "measured",
        "of": f"{tmp_path.name}, 4 turns of 2 callers",
    }
    assert found["talking"]["measured"] == pytest.approx([16 / 22, 0.0, 6 / 22])
    own = json.loads(asked("--run", run, "--busy", "1s", "--json").output)["traffic"]
    assert own["call"]["origin"] == own["talking"]["busy"]["origin"] == "given"
    assert own["talking"]["turn"]["origin"] == "measured"
    assert "measured" in plan("--calls-per-hour", "180", "--slots", "12", "--run", run).output


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (
            ["--blocking", "1"],
            "--blocking: expected a percentage, more than 0 % and at most 100 %, such as 1 %; got '1'",
        ),
        (["--blocking", "100%"], "--blocking: expected a percentage less than 100 %, such as 1 %; got '100%'"),
        (["--busy", "1.7"], "--busy: give a unit: 800 ms, 6 s, 5 min, 4 h; got 1.7"),
        (
            ["--busy", "1.7s"],
            "--busy and --turn go together: a request is with the server for so much of so long a turn",
        ),
        (["--point", "p"], "--point names a load point of --run: give that too"),
        (["--occupancy", "55%"], "--network, --data and --occupancy are worth nothing without --price"),
        (["--data", "1MB/min"], "--network, --data and --occupancy are worth nothing without --price"),
        (
            ["--price", "cheap"],
            "--price: expected a price and its time: 0.26/h, $0.26/h, 6.20/day, 190/mo; got 'cheap'",
        ),
        (["--calls-per-hour", "-3"], "--calls-per-hour: expected a number more than 0; got '-3'"),
        (["--call", "900000h"], "162,000,000 calls at a time are over 100,000: check --calls-per-hour and --call"),
        (["--run", "nowhere"], "nowhere is not a run: there is no such folder"),
    ],
)
def test_bad_input_in_a_line(args: list[str], error: str) -> None:
    done = asked(*args)
    assert isinstance(done.exception, BadInput)
    assert str(done.exception) == error


def test_a_call_has_a_length() -> None:
    done = plan("--calls-per-hour", "180", "--slots", "12")
    assert str(done.exception) == "how long is a call? Give --call, or a paced run with --run"
    assert str(plan("--slots", "12", "--price", "1/h").exception) == "how many calls? Give --calls-per-hour"
    assert str(plan("--slots", "12", "--call", "1m").exception) == "how many calls? Give --calls-per-hour"


def test_a_card_has_slots() -> None:
    assert plan("--calls-per-hour", "180", "--call", "4.5m").exit_code == 2
    assert asked("--slots", "0").exit_code == 2


def test_runs_that_tell_nothing_of_calls(tmp_path: Path) -> None:
    def refused(*args: str) -> str:
        return str(asked("--run", tmp_path, *args).exception)

    write(tmp_path, *turns(), *turns(point="q"))
    assert refused() == f"{tmp_path} has several load points: name one with --point: p, q"
    assert refused("--point", "r") == "--point r: no such load point; the run has: p, q"
    assert asked("--run", tmp_path, "--point", "q").exit_code == 0
    write(tmp_path, *turns(), scenario={"pace": {"by": "at_once"}})
    assert refused() == f"{tmp_path} is no paced run: its callers do not speak and listen; run one with pace: speech"
    write(tmp_path, *turns(), scenario={"pace": {"by": "speech", "time_scale": 10.0}})
    assert refused() == f"{tmp_path} ran 10 times faster than people talk: it tells no times of theirs"
    write(tmp_path, *turns()[:1])
    assert refused() == f"{tmp_path} has no caller with two turns: it tells nothing of them; give --busy and --turn"
    assert asked("--run", tmp_path, "--busy", "1s", "--turn", "9s").exit_code == 0
    write(tmp_path, row(row="baseline"))
    assert refused() == f"{tmp_path} has no load: nothing can be measured of its calls"
