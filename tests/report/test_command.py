"""`loadsim report` as a command."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from loadsim.cli.report import report
from loadsim.results.read import FORMAT
from loadsim.types import BadInput, RequestRow
from tests.stats.rows import reply, row


def write(folder: Path, *rows: RequestRow, ended: str | None = "complete") -> None:
    facts: dict[str, Any] = {"format": FORMAT, "ended": ended, "why": None, "server": {}, "points": {}}
    (folder / "run.json").write_bytes(msgspec.json.encode(facts))
    (folder / "requests.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(report, [str(arg) for arg in args])


def test_exit_codes_tell_whether_there_is_an_answer(tmp_path: Path) -> None:
    write(tmp_path, row())
    assert run(tmp_path).exit_code == 0
    assert "1 warm caller hears" in run(tmp_path).output
    write(tmp_path, row(outcome="error", error="boom"))
    assert run(tmp_path).exit_code == 1
    assert "no answer" in run(tmp_path).output
    write(tmp_path, row(), ended=None)
    assert run(tmp_path).exit_code == 1


def test_lanes_are_drawn_of_any_run(tmp_path: Path) -> None:
    write(tmp_path, reply(1.0, 1.0, 3.0), reply(4.0, outcome="error", end_s=5.0, turn=6), ended=None)
    done = run(tmp_path, "--lanes", "--from", "1", "--to", "4")
    assert done.exit_code == 0
    assert "p, repeat 1: seconds of the load, one character is 0.05 s" in done.output
    assert "█" * 40 + "w" * 19 + "E" in done.output
    assert "E request failed" in done.output  # at the very end
    assert "E request failed" not in run(tmp_path, "--lanes", "--to", "3.9").output


@pytest.mark.parametrize("option", ["--point=p", "--repeat=1", "--from=1", "--to=2"])
def test_what_lanes_need_is_refused_without_them(tmp_path: Path, option: str) -> None:
    write(tmp_path, row())
    done = run(tmp_path, option)
    assert done.exit_code == 2
    assert "choose what --lanes draws" in done.output
    assert run(tmp_path, option, "--lanes").exit_code in (0, 1)


def test_a_point_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    write(tmp_path, row())
    done = run(tmp_path, "--lanes", "--point", "x")
    assert isinstance(done.exception, BadInput)
    assert str(done.exception) == "--point x: no such load point; the run has: p"
