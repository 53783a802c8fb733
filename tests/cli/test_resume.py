"""`loadsim scenario --resume`: a sweep that was killed in the middle ends as if it had not been."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from loadsim.results.histograms import read_log
from loadsim.results.read import read, read_whole
from tests.calls import CALL

ROOT = Path(__file__).parents[2]
LOADSIM = (sys.executable, "-m", "loadsim", "scenario")

SWEEP = """\
recording: call.json
callers: {warm: {count: 1, turns: 3-4}}
baseline: {replies: 2}
repeat: 3
sweep: {callers.warm.count: [1, 2, 3]}
"""
# by hand: a warm row per caller, and one before each of the 2 x 2 baseline's and again for the slot that they share;
# of each caller, turns 3 and 4
ROWS = {
    (f"count={n}", repeat, kind): rows
    for n in (1, 2, 3)
    for repeat in (1, 2, 3)
    for kind, rows in (("warm", n + 5), ("baseline", 4), ("load", 2 * n))
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("LOADSIM_API_KEY", raising=False)
    Path("mine").mkdir()
    Path("mine/sweep.yaml").write_text(SWEEP)
    Path("mine/call.json").write_bytes(msgspec.json.encode(CALL))
    return tmp_path


@pytest.fixture
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.truth", "first=0.01", "step=0.005", "tokens=8"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as truth:
        assert truth.stdout is not None
        yield json.loads(truth.stdout.readline())["url"]
        truth.kill()


def killed(url: str, when: Callable[[], bool]) -> None:
    """Begin the sweep in `run`, and kill it when it has come so far."""
    begun = subprocess.Popen([*LOADSIM, "mine/sweep.yaml", "--url", url, "--out", "run"], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 30
    while not when():
        assert time.monotonic() < end
        time.sleep(0.01)
    begun.send_signal(signal.SIGKILL)
    begun.wait()


def rows(point: str, row: str) -> int:
    with contextlib.suppress(Exception):
        return sum(r.point == point and r.row == row for r in read_whole(Path("run")).rows)
    return 0


def resumed(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*LOADSIM, "--resume", *args], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
def test_after_kill_each_point_has_its_rows_and_none_twice(here: Path, url: str) -> None:
    killed(url, lambda: rows("count=2", "load") >= 2)
    with Path("run/requests.jsonl").open("ab") as file:
        file.write(b'{"point":"count=2","rep')  # as if killed in the middle of a write
    before = read_whole(Path("run"))
    ended = {(r.point, r.end_s) for r in before.rows}
    done = resumed("run")
    assert done.returncode == 0, done.stderr
    found = read(Path("run"))
    assert Counter((r.point, r.repeat, r.row) for r in found.rows) == ROWS
    assert {r.resumed for r in found.rows if r.point == "count=1"} == {0}
    assert {r.resumed for r in found.rows if r.point != "count=1"} == {1}
    # what was measured before is kept, and what was left over is nowhere in the figures
    assert ended <= {(r.point, r.end_s) for r in read_whole(Path("run")).rows}
    assert found.left_over == sum(point == "count=2" for point, _ in ended) > 0
    assert all(r.planned for r in found.rows if r.row != "warm")
    assert not any(r.kind == "full_hit" for r in found.rows if r.row != "warm")
    counts = {i.tag: i.histogram.get_total_count() for i in read_log(Path("run/histograms.hlog"))}
    # each baseline side's first reply is dropped
    assert {tag: n for tag, n in counts.items() if tag and tag.endswith("/ttft")} == {
        f"count={n}/{row}/ttft": samples for n in (1, 2, 3) for row, samples in (("baseline", 6), ("load", 6 * n))
    }
    assert len(read_log(Path("run/histograms.hlog"))) == len(counts)
    assert set(found.texts) == set(range(len(found.rows)))
    assert (found.facts["ended"], found.facts["resumed"]) == ("complete", 1)
    times = [r.end_s or 0.0 for point in found.facts["points"] for r in found.rows if r.point == point]
    assert times == sorted(times)  # one clock, which goes on
    assert f"{found.left_over} rows of load points that were begun again are left out." in done.stdout
    assert resumed("run").returncode == 2


@pytest.mark.slow
def test_it_may_be_killed_again(here: Path, url: str) -> None:
    killed(url, lambda: rows("count=1", "load") >= 1)
    command = [*LOADSIM, "--resume", "run"]
    again = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while rows("count=2", "load") < 2:
        time.sleep(0.01)
    again.kill()
    again.wait()
    assert resumed("run").returncode == 0
    found = read(Path("run"))
    assert Counter((r.point, r.repeat, r.row) for r in found.rows) == ROWS
    by_point = {point: {r.resumed for r in found.rows if r.point == point} for point in found.facts["points"]}
    assert by_point == {"count=1": {1}, "count=2": {2}, "count=3": {2}}


@pytest.mark.slow
def test_what_cannot_go_on_is_one_line(here: Path, url: str) -> None:
    killed(url, lambda: rows("count=1", "load") >= 1)
    before = {file.name: file.read_bytes() for file in Path("run").iterdir()}
    call = msgspec.structs.replace(CALL, fresh="Another one, it is")
    Path("mine/call.json").write_bytes(msgspec.json.encode(call))
    for args, said in (
        (("run",), "loadsim: run: recording call.json is not what the run began with; start it anew"),
        (("nothing",), "loadsim: nothing is not a run: there is no such folder"),
        (("run", "--url", url), "Error: --resume goes on with a run as it was begun; it takes nothing else"),
    ):
        done = resumed(*args)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1] == said
    assert {file.name: file.read_bytes() for file in Path("run").iterdir()} == before


def _children(parent: int) -> list[int]:
    """The processes that a process has started."""
    found = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
    return list(map(int, found.stdout.split()))


def _alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_a_sweep_of_the_embedded_server_ends_as_an_unbroken_one(here: Path) -> None:
    sets = ["sweep={callers.warm.count: [1, 4, 8]}", "server={slots: 8, context: 32768}", "repeat=2"]
    command = [*LOADSIM, "mine/sweep.yaml", *(f"--set={each}" for each in sets)]
    subprocess.run([*command, "--out", "whole"], stdout=subprocess.DEVNULL, timeout=200, check=True)
    begun = subprocess.Popen([*command, "--out", "run"], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 100
    while not rows("count=4", "load"):
        assert time.monotonic() < end
        time.sleep(0.01)
    children = _children(begun.pid)  # and this machine's log
    begun.kill()
    begun.wait()
    assert children
    end = time.monotonic() + 10
    while any(map(_alive, children)):
        assert time.monotonic() < end, "the server outlived the run"
        time.sleep(0.01)
    done = subprocess.run([*LOADSIM, "--resume", "run"], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    whole, run = read(Path("whole")), read(Path("run"))
    assert list(run.facts["points"]) == list(whole.facts["points"]) == [f"count={n}" for n in (1, 4, 8)]
    assert Counter((r.point, r.repeat, r.row) for r in run.rows) == Counter(
        (r.point, r.repeat, r.row) for r in whole.rows
    )
    finished = [event["point"] for event in read_whole(Path("run")).events if event["event"] == "finished"]
    assert finished == list(run.facts["points"])  # none twice
