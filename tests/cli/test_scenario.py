"""The command as a user runs it: what it prints, how it ends, and what is left when it is ended by force."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loadsim.results.read import read

ROOT = Path(__file__).parents[2]
LOADSIM = (sys.executable, "-m", "loadsim")
QUICK = ("--set", "callers.warm.count=3", "--set", "server.slots=3", "--set", "server.context=60000")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("LOADSIM_API_KEY", raising=False)
    return tmp_path


def loadsim(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*LOADSIM, *args], capture_output=True, text=True, timeout=100, check=False)


@contextlib.contextmanager
def started(*args: str) -> Iterator["subprocess.Popen[str]"]:
    """A run that goes on while the test does something to it; gone at the end."""
    popen = subprocess.Popen(
        [*LOADSIM, "scenario", "twelve_callers", "--out", "run", *QUICK, *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield popen
    finally:
        popen.kill()
        popen.wait()


def wait(until: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    """The processes that a process has started and that still run."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def lines(name: str) -> int:
    path = Path("run", name)
    return path.read_bytes().count(b"\n") if path.exists() else 0


def phases() -> list[str]:
    path = Path("run/events.jsonl")
    events = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    return [event["phase"] for event in events if event["event"] == "phase"]


@pytest.mark.slow
def test_the_main_job_small(here: Path) -> None:
    done = loadsim(
        "scenario", "twelve_callers", "--out", "run", *QUICK, "--set", "repeat=2", "--set", "baseline.replies=2"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    text = " ".join(done.stdout.split())
    assert "3 warm, slots 0-2" in text
    assert "2 x 3" in text
    assert "warm: 6 extension; 6 ok" in text
    assert "10,369" in text
    assert "3 warm callers hear the first token after" in text
    assert "The run lies in run; to look at: run/report.html" in text
    assert "warm callers hear the first token after" in Path("run/report.html").read_text()
    found = read(Path("run"))
    assert found.facts["ended"] == "complete"
    load = [row for row in found.rows if row.row == "load"]
    assert {(row.kind, row.cache_n, row.outcome) for row in load} == {("extension", 10_369, "ok")}
    assert {len(row.token_s) for row in load} == {45}
    logs = {"host.jsonl", "server.jsonl"}  # where it took long enough for a sample
    assert sorted({path.name for path in Path("run").iterdir()} - logs) == [
        "events.jsonl", "histograms.hlog", "replies.jsonl", "report.html", "requests.jsonl", "run.json", "server.log",
    ]  # fmt: skip
    # the table is made again from the run alone
    again = loadsim("report", "run")
    table = done.stdout[done.stdout.index("\n3 warm, slots") : done.stdout.index("\nThe run lies in")]
    assert (again.returncode, again.stdout.strip()) == (0, table.strip())


def test_no_text_leaves_the_replies_out_and_the_key_reaches_no_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADSIM_API_KEY", "s3cret-key")
    sets = ("--set", "repeat=1", "--set", "baseline.replies=0")
    done = loadsim("scenario", "twelve_callers", "--out", "run", "--no-text", *QUICK, *sets)
    assert done.returncode == 0, done.stderr
    assert not Path("run/replies.jsonl").exists()
    assert not any(b"s3cret" in path.read_bytes() for path in Path("run").iterdir())
    assert "s3cret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("scenario", "nine_callers"), "loadsim: no scenario 'nine_callers', neither here nor in "),
        (("scenario", "twelve_callers", "--set", "callers.warm.cuont=4"), "loadsim: --set callers.warm.cuont=4: "),
        (("scenario", "twelve_callers", "--set", "recording=nothing.json"), "loadsim: "),
        (("scenario", "twelve_callers", "--url", "gpu-box"), "loadsim: --url gpu-box: expected http://"),
        (("scenario",), "Error: name a scenario, such as twelve_callers"),
        (
            ("scenario", "twelve_callers", "--out", "full"),
            "loadsim: full is not empty: a run needs a folder of its own",
        ),
        (("report", "nowhere"), "loadsim: nowhere is not a run: there is no such folder"),
        (
            ("scenario", "twelve_callers", "--set", "server.context=60000"),
            "loadsim: the call of callers.warm needs 10,5",
        ),
    ],
)
def test_bad_input_is_one_line_and_code_2_and_leaves_nothing(here: Path, args: tuple[str, ...], said: str) -> None:
    Path("full").mkdir()
    Path("full/mine").touch()
    done = loadsim(*args)
    assert done.returncode == 2
    *_, last = done.stderr.splitlines()
    assert last.startswith(said)
    assert "Traceback" not in done.stderr
    assert [path.name for path in here.rglob("*") if path.is_file()] == ["mine"]
    assert not any(Path("results").glob("*"))


@pytest.mark.slow
def test_an_old_run_is_neither_shown_as_new_nor_touched(here: Path) -> None:
    few = ("--set", "repeat=1", "--set", "baseline.replies=0")
    assert loadsim("scenario", "twelve_callers", "--out", "run", *QUICK, *few).returncode == 0
    before = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    again = loadsim("scenario", "twelve_callers", "--out", "run", *QUICK, *few)
    assert (again.returncode, again.stdout) == (2, "")
    assert {path.name: path.read_bytes() for path in Path("run").iterdir()} == before


@pytest.mark.parametrize("out", ["mine", "link", "."])
def test_a_folder_of_the_users_stays_when_nothing_began(here: Path, monkeypatch: pytest.MonkeyPatch, out: str) -> None:
    Path("mine").mkdir()
    Path("link").symlink_to("mine")
    if out == ".":
        monkeypatch.chdir("mine")
    done = loadsim("scenario", "twelve_callers", "--url", "http://127.0.0.1:9", "--out", out)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert list((here / "mine").iterdir()) == []
    assert (here / "link").is_symlink()


def test_a_folder_name_that_cannot_be_is_one_line(here: Path) -> None:
    done = loadsim("scenario", "twelve_callers", "--out", "x" * 300)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(("key", "code"), [("s3cret\r\n", 0), ("s3cret\x01key", 2)])
def test_a_keys_line_end_is_no_part_of_it(here: Path, monkeypatch: pytest.MonkeyPatch, key: str, code: int) -> None:
    monkeypatch.setenv("LOADSIM_API_KEY", key)
    few = ("--set", "repeat=1", "--set", "baseline.replies=0")
    done = loadsim("scenario", "twelve_callers", "--out", "[bold]x[/red]", *QUICK, *few)
    assert done.returncode == code, done.stderr
    assert "s3cret" not in done.stdout + done.stderr
    assert code or "The run lies in [bold]x[/red]" in done.stdout


@pytest.mark.slow
def test_a_closed_output_does_not_end_the_run(here: Path) -> None:
    with started("--set", "repeat=2") as popen:
        assert popen.stdout is not None
        popen.stdout.readline()
        popen.stdout.close()
        popen.wait(timeout=60)
    assert read(Path("run")).facts["ended"] == "complete"


def test_no_server_there(here: Path) -> None:
    done = loadsim("scenario", "twelve_callers", "--url", "http://127.0.0.1:9")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("loadsim: no server at http://127.0.0.1:9: cannot connect")
    assert not any(Path("results").glob("*"))


def test_a_server_that_cannot_start_says_why_and_where_its_log_is(here: Path) -> None:
    done = loadsim("scenario", "twelve_callers", "--out", "run", "--set", "server.batch=1")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("loadsim: the embedded server did not start: ")
    assert "(see run/server.log)" in done.stderr
    assert json.loads(Path("run/run.json").read_text())["ended"] == "stopped"


@pytest.mark.parametrize("moment", ["starting", "warming", "one caller, before", "all callers"])
def test_ctrl_c_keeps_every_row_and_leaves_no_server(here: Path, moment: str) -> None:
    with started() as popen:
        if moment == "starting":
            wait(lambda: bool(children(popen.pid)))
        else:
            wait(lambda: moment in phases())
        servers = children(popen.pid)
        rows = lines("requests.jsonl")
        popen.send_signal(signal.SIGINT)
        out, err = popen.communicate(timeout=30)
        assert popen.returncode == 130
        assert "Traceback" not in err
        wait(lambda: all(map(gone, servers)), 5)
    if moment != "starting":
        found = read(Path("run"))
        assert found.facts["ended"] == "interrupted"
        assert len(found.rows) >= rows
        assert "The run did not complete (interrupted)" in " ".join(out.split())


@pytest.mark.slow
def test_kill_leaves_no_server_and_a_run_that_reads(here: Path) -> None:
    with started() as popen:
        wait(lambda: "all callers" in phases())
        servers = children(popen.pid)
        assert servers
        rows = lines("requests.jsonl")
        popen.send_signal(signal.SIGKILL)
        popen.wait()
        wait(lambda: all(map(gone, servers)), 5)
    found = read(Path("run"))
    assert (found.facts["ended"], len(found.rows) >= rows) == (None, True)
    again = loadsim("report", "run")
    assert again.returncode == 1
    assert "it was killed" in " ".join(again.stdout.split())


def test_an_embedded_server_that_dies_stops_the_run_with_its_rows(here: Path) -> None:
    with started() as popen:
        wait(lambda: "one caller, before" in phases())
        rows = lines("requests.jsonl")
        for server in children(popen.pid):
            os.kill(server, signal.SIGKILL)
        _, err = popen.communicate(timeout=30)
        assert popen.returncode == 1
        assert err.startswith("loadsim: the embedded server is gone (")
        assert err.count("\n") == 1
    found = read(Path("run"))
    assert found.facts["ended"] == "stopped"
    assert len(found.rows) >= rows >= 3


def test_the_schema_is_json(here: Path) -> None:
    done = loadsim("scenario", "--schema")
    assert done.returncode == 0
    assert "callers" in json.loads(done.stdout)["properties"]


def test_help_reads(here: Path) -> None:
    done = loadsim("--help")
    assert done.returncode == 0
    for command in ("scenario", "recording", "server", "report"):
        assert f"  {command}  " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
