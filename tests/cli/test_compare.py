from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from loadsim.cli.compare import compare
from loadsim.results.write import Recorder
from loadsim.types import BadInput
from tests.report.compared import rows, write
from tests.stats.rows import row


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(compare, [str(arg) for arg in args])


def refused(*args: str | Path) -> str:
    """Why it is bad input, in one line; the command line makes exit code 2 of it."""
    done = run(*args)
    assert isinstance(done.exception, BadInput), done.output
    assert "\n" not in str(done.exception)
    return str(done.exception)


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return write(tmp_path / "a", *rows())


@pytest.fixture
def b(tmp_path: Path) -> Path:
    return write(tmp_path / "b", *rows(1.1))


def test_two_runs_are_compared(a: Path, b: Path) -> None:
    done = run(a, b)

    assert done.exit_code == 0
    assert "p: worse" in done.output
    assert "ttft p95, ms" in done.output


def test_a_run_and_itself_are_no_different(a: Path) -> None:
    done = run(a, a)

    assert done.exit_code == 0
    assert "A and B are the same run." in done.output


def test_a_broken_rule_is_exit_code_1(a: Path, b: Path) -> None:
    done = run(a, b, "--fail-if", "ttft p95 > +5 %", "--fail-if", "share < -5 %")

    assert done.exit_code == 1
    assert "broken: ttft p95 > +5 %" in done.output
    assert "kept: share < -5 %" in done.output


def test_a_rule_that_is_kept_or_cannot_be_told_fails_nothing(a: Path, b: Path) -> None:
    assert run(a, b, "--fail-if", "ttft p95 > +20 %").exit_code == 0
    done = run(a, b, "--fail-if", "ttft p95 > +10 %")
    assert done.exit_code == 0
    assert "cannot be told: ttft p95 > +10 %" in done.output


def test_a_rule_on_what_is_not_known_is_exit_code_2(a: Path, b: Path) -> None:
    done = run(a, b, "--fail-if", "underruns > +1 %", "--fail-if", "ttft p95 > +5 %")

    assert done.exit_code == 2
    assert "missing: underruns > +1 %; neither run has it" in done.output


def test_a_rule_that_cannot_be_read_is_refused_before_the_runs_are(tmp_path: Path) -> None:
    assert refused(tmp_path / "no", tmp_path / "run", "--fail-if", "ttft").startswith("--fail-if 'ttft': expected")
    assert refused(tmp_path / "no", tmp_path / "run", "--least", "3").startswith("--least: expected a percentage")


def test_the_least_that_counts(a: Path, tmp_path: Path) -> None:
    near = write(tmp_path / "b", *rows(1.028))

    assert "no difference seen" in run(a, near).output
    assert "p: worse" in run(a, near, "--least", "0 %").output
    assert "p: worse" in run(a, near, "--least", ".5%").output


def test_other_recordings_are_refused_in_one_line(a: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "b", *rows(), digests={"call.json": "2"})

    assert refused(a, other) == f"not comparable: {a} and {other} replay another version of the recording call.json"


def test_no_point_in_common_is_refused(tmp_path: Path) -> None:
    a = write(tmp_path / "a", *rows(), *rows(point="q"))
    b = write(tmp_path / "b", *rows(point="r"))

    assert refused(a, b) == "not comparable: no load point is in both runs; A has p, q; B has r"


def test_rows_that_are_no_like_for_like_are_exit_code_2(a: Path, tmp_path: Path) -> None:
    done = run(a, write(tmp_path / "b", *rows(max_tokens=60)), "--fail-if", "ttft p95 > +5 %")

    assert done.exit_code == 2
    assert "p: not comparable" in done.output
    assert "cannot be told: ttft p95 > +5 %" in done.output


def test_a_probe_and_what_is_no_run_are_refused(a: Path, tmp_path: Path) -> None:
    probe = write(tmp_path / "b", row(row="probe"))

    assert refused(a, probe) == f"{probe} is a probe's run: not comparable here, compare takes load points"
    assert refused(a, tmp_path / "no") == f"{tmp_path / 'no'} is not a run: there is no such folder"
    (probe / "requests.jsonl").write_text("{]\n")
    assert "requests.jsonl:1:" in refused(a, probe)


def test_too_few_repeats_decide_nothing(a: Path, tmp_path: Path) -> None:
    done = run(a, write(tmp_path / "b", *rows(2.0, noise=(1.0, 1.01))), "--fail-if", "ttft p95 > 5 %")

    assert done.exit_code == 0
    assert "too few repeats (2 of 5)" in done.output
    assert "cannot be told: ttft p95 > +5 %" in done.output


def test_runs_that_broke_off_or_go_on_are_said_to(a: Path, tmp_path: Path) -> None:
    stopped = write(tmp_path / "b", *rows(noise=(1.0,) * 6), ended="stopped", why="it rained")
    done = run(a, stopped)
    assert "B: the run did not complete (stopped): it rained." in done.output
    assert done.exit_code == 0

    recorder = Recorder(tmp_path / "c", 0.0, False, lambda: 1.0)
    recorder.describe(points={"p": {}})
    for each in rows(noise=(1.0,) * 6):
        recorder.row(each, None)
    assert "B: the run still goes on; this is what it has so far." in run(a, tmp_path / "c").output
    recorder.close("complete")


def test_json_and_markdown(a: Path, b: Path) -> None:
    told: dict[str, Any] = msgspec.json.decode(run(a, b, "--format", "json", "--fail-if", "errors > 1 %").output)
    assert (told["verdict"], told["rules"][0]["rule"]) == ("worse", "errors > +1 %")
    assert run(a, b, "--format", "markdown").output.startswith("**B is worse than A: warm ttft p50 +10.0 %")
    assert run(a, b, "--format", "html").exit_code == 2


def test_a_page_is_written_where_it_is_wanted(
    a: Path, b: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(a, b, "--html")
    assert done.stderr == "loadsim: the page is compare.html\n"
    assert run(a, b, "--html", "--out", "x.html").exit_code == 0
    assert Path("x.html").read_text() == Path("compare.html").read_text()
    assert "is not seen" in done.output or "B is" in done.output
    assert "--out is the file of the page" in run(a, b, "--out", "x.html").stderr
    assert run(a, b, "--html", "--out", "none/x.html").exit_code == 1
