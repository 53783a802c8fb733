"""`loadsim plan callers`: bad input in a line, and a search on the embedded server."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from loadsim.cli import main
from loadsim.plan.found import read
from loadsim.results.read import read as read_run

SMALL = """
recording: front_desk.json
server: {slots: 2, context: 32768, batch: 512, ubatch: 512}
callers: {warm: {count: 2}}
baseline: {replies: 0}
reply: {exactly: 8}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("LOADSIM_API_KEY", raising=False)
    Path("small.yaml").write_text(SMALL)


def loadsim(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr("sys.argv", ["loadsim", *args])
    try:
        main()
    except SystemExit as gone:
        return int(gone.code or 0)
    return 0


def callers(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    return loadsim(monkeypatch, "plan", "callers", *args)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["small.yaml", "--slo", "speed > 3"], "--slo 'speed > 3': no measure 'speed' (measures: ttft, ttfs, "),
        (["small.yaml", "--slo", "ttft p95 <= 8 %"], "--slo 'ttft p95 <= 8 %': expected a limit in ms or s"),
        (["small.yaml", "--group", "cold"], "--group cold: no such group (groups: warm)"),
        (["lab/reach"], "the scenario is a probe, one caller with a question; give one with callers"),
        (["twelve_unpinned"], "a search has no sweep; leave out sweep (callers.warm.slots)"),
        (["no_such"], "no_such"),
        (["small.yaml", "--slo", "share >= 5 %"], "a share is of one caller's rate"),
        (
            ["small.yaml", "--set", "callers={a: {count: 1}, b: {count: 1}}"],
            "--group a or --group b; the others stay as they are",
        ),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    args: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callers(monkeypatch, *args) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not list(Path("results").glob("*")) if Path("results").exists() else True


def test_help_is_there_without_a_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert loadsim(monkeypatch, "plan", "--help") == 0
    assert "callers  " in capsys.readouterr().out
    assert callers(monkeypatch, "--help") == 0
    told = capsys.readouterr().out
    assert "ttft p95 <= 800 ms" in told
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_search_on_the_embedded_server(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # Whatever else this machine does: so loose a target that the most decides, and nobody looks at the client.
    monkeypatch.setattr("loadsim.plan.watch.Watch.changed", lambda watch, point: None)
    args = ["small.yaml", "--slo", "ttft p95 <= 60 s", "--most", "3", "--repeats", "3", "--out", "run"]
    assert callers(monkeypatch, *args, "--together-only") == 0
    out = capsys.readouterr().out
    found = read(Path("run"))
    assert found is not None
    assert (found.callers, found.high, found.limit, found.slots) == (3, None, "most", 3)
    assert "At least 3 warm callers meet every target. The search ends there (--most)." in " ".join(out.split())
    assert "Confirmed on a server with 3 slots (-np 3) and no more." in out
    assert [point.slots for point in found.points] == [2, 2, 3]
    run = read_run(Path("run"))
    assert run.facts["ended"] == "complete"
    assert [event["settings"]["context"] for event in run.events if event["event"] == "server"] == [32768, 49152]
    assert loadsim(monkeypatch, "report", "run") == 0
    again = capsys.readouterr().out
    assert again.startswith(out.partition("\nThe run lies in")[0])  # the search, as it was printed
    assert "\n3 warm, slots 0-2\n" in again
    assert run.host and run.server
    assert loadsim(monkeypatch, "scenario", "--resume", "run") == 2
    assert json.loads(Path("run/plan.json").read_text())["callers"] == 3


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_after_a_signal_what_is_known_is_said(number: signal.Signals) -> None:
    program = [sys.executable, "-m", "loadsim", "plan", "callers", "small.yaml", "--slo", "ttft p95 <= 60 s"]
    with subprocess.Popen([*program, "--out", "run"], stdout=subprocess.PIPE, text=True) as search:
        assert search.stdout is not None
        said = ""
        while "holds" not in said:  # a point is over
            said += search.stdout.readline()
            assert search.poll() is None, said
        search.send_signal(number)
        said = " ".join((said + search.stdout.read()).split())
    assert search.returncode == 130
    assert "The search was stopped by hand. Whether " in said
    assert said.endswith("The run lies in run; to look at: run/report.html")
    found = read(Path("run"))
    assert found is not None
    assert (found.limit, found.callers) == ("interrupted", found.points[0].count)
    report = subprocess.run([sys.executable, "-m", "loadsim", "report", "run"], capture_output=True, text=True)
    assert report.returncode == 1
    assert "The search was stopped by hand." in report.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_answer_is_confirmed_with_the_pace_of_people(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("loadsim.plan.watch.Watch.changed", lambda watch, point: None)
    args = ["small.yaml", "--slo", "underruns < 50 %", "--most", "1", "--repeats", "3", "--out", "run"]
    paced = ["--set", "pace={by: speech, time_scale: 20}", "--set", "callers.warm.turns=3-8"]
    assert callers(monkeypatch, *args, *paced) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Now 1 caller with the pace of people, until 6 replies are heard: about " in out
    assert "This is not real load: time runs 20 times faster." in out
    found = read(Path("run"))
    assert found is not None
    assert found.paced is not None
    assert found.paced.measured is not None
    assert found.paced.measured.replies >= 6
