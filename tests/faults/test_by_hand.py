"""Runs that are ended from outside: Ctrl-C once and twice, TERM, kill -9 at any moment; and one that is looked at."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from loadsim.report.table import render
from loadsim.results.read import read, read_whole
from loadsim.types import RequestRow
from tests.calls import CALL
from tests.report.runs import text_of

ROOT = Path(__file__).parents[2]
LOADSIM = (sys.executable, "-m", "loadsim")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")

MINE = """\
recording: call.json
callers: {warm: {count: 3, turns: 3-4, again: true}}
server: {slots: 3, context: 12288}
reply: {exactly: 600}
voice: {rate: 400 tokens/s}
baseline: {replies: 2}
repeat: 1
duration: 10 min
"""
PACED = "pace: {by: speech, gap: 200 ms, endpointing: 100 ms}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("LOADSIM_API_KEY", raising=False)
    Path("call.json").write_bytes(msgspec.json.encode(CALL))
    return tmp_path


@contextlib.contextmanager
def begun(scenario: str) -> Iterator["subprocess.Popen[str]"]:
    """`loadsim scenario` as a terminal starts it, in a process group of its own."""
    Path("mine.yaml").write_text(scenario)
    command = [*LOADSIM, "scenario", "mine.yaml", "--out", "run"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as popen:
        try:
            yield popen
        finally:
            popen.kill()


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def loaded(rows: int) -> Callable[[], bool]:
    """Whether the load has left so many rows."""

    def has() -> bool:
        with contextlib.suppress(Exception):
            return len(load()) >= rows
        return False

    return has


def load() -> list[RequestRow]:
    return [row for row in read_whole(Path("run")).rows if row.row == "load"]


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def vanish(folder: Path) -> None:
    shutil.rmtree(folder)


def emptied(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def replaced(folder: Path) -> None:
    folder.rename("elsewhere")
    folder.mkdir()
    (folder / "run.json").write_text("somebody else's")


@pytest.mark.slow
@pytest.mark.parametrize("lose", [vanish, emptied, replaced])
def test_a_folder_that_is_lost_ends_the_run_soon(here: Path, lose: Callable[[Path], None]) -> None:
    with begun(MINE) as popen:
        until(loaded(6))
        servers = children(popen.pid)
        lose(Path("run"))
        out, err = popen.communicate(timeout=60)  # of ten minutes
    assert popen.returncode == 1
    (line,) = err.splitlines()
    assert line.startswith("loadsim: run")
    assert line.endswith(" was deleted or replaced while the run went on: nothing more can be kept")
    assert "The run lies in" not in out
    if lose is replaced:
        assert [file.name for file in Path("run").iterdir()] == ["run.json"]
        assert Path("run/run.json").read_text() == "somebody else's"
    until(lambda: all(map(gone, servers)))


@pytest.mark.slow
@pytest.mark.parametrize("pace", ["", PACED], ids=["at once", "paced"])
def test_ctrl_c_once_finishes_the_turns(here: Path, pace: str) -> None:
    with begun(MINE + pace) as popen:
        until(loaded(6))
        servers = children(popen.pid)
        before = len(load())
        os.killpg(popen.pid, signal.SIGINT)
        out, err = popen.communicate(timeout=30)
    assert popen.returncode == 130
    assert err == "loadsim: finishing turns, Ctrl-C again ends now\n"
    found = read(Path("run"))
    why = "stopped by hand; the turns under way were finished"
    assert (found.facts["ended"], found.facts["why"]) == ("interrupted", why)
    rows = load()
    # each of the replies under way came to its end, and nobody asked for another one
    assert Counter((row.outcome, len(row.token_s)) for row in rows) == {("ok", 600): len(rows)}
    assert len(rows) <= before + 4  # one of them may have ended while we looked
    if not pace:
        assert len(rows) >= before + 2
    assert not [row for row in found.rows if row.side == "after"]
    last = [event for event in found.events if event["event"] == "call"][-3:]
    assert {event["why"] for event in last} <= {"stopped", "ended"}
    assert "The run did not complete (interrupted): stopped by hand; the turns under way" in " ".join(out.split())
    until(lambda: all(map(gone, servers)))


@pytest.mark.slow
@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,)], ids=["Ctrl-C twice", "TERM"])
def test_ctrl_c_twice_and_term_end_at_once(here: Path, signals: tuple[signal.Signals, ...]) -> None:
    with begun(MINE.replace("600", "3000")) as popen:
        until(loaded(3))
        servers = children(popen.pid)
        time.sleep(0.3)
        for number in signals:
            os.killpg(popen.pid, number)
            time.sleep(0.1)
        _, err = popen.communicate(timeout=30)
    assert popen.returncode == 130
    assert err.strip() == ("loadsim: finishing turns, Ctrl-C again ends now" if len(signals) == 2 else "")
    found = read(Path("run"))
    assert (found.facts["ended"], found.facts["why"]) == ("interrupted", "stopped by hand")
    rows = load()
    # what had come of the replies under way is kept
    assert Counter(row.outcome for row in rows[-3:])["cut"] >= 2
    assert all(0 < len(row.token_s) < 3000 for row in rows if row.outcome == "cut" and row.first_token_s is not None)
    until(lambda: all(map(gone, servers)))


def test_ctrl_c_before_anything_is_under_way_ends_at_once(here: Path) -> None:
    # nobody answers there, and it is waited for
    deaf = f"launch: '{sys.executable} -c \"import time; time.sleep(60)\" {{port}}', slots: 3"
    with begun(MINE.replace("slots: 3", deaf)) as popen:
        until(Path("run/server.log").exists)
        time.sleep(0.3)
        servers = children(popen.pid)
        os.killpg(popen.pid, signal.SIGINT)
        _, err = popen.communicate(timeout=20)
    assert (popen.returncode, err.strip()) == (130, "")
    until(lambda: all(map(gone, servers)))


@pytest.mark.slow
def test_a_run_that_goes_on_can_be_looked_at(here: Path) -> None:
    with begun(MINE) as popen:
        until(loaded(4))
        for args in ((), ("--lanes",)):
            looked = subprocess.run(
                [*LOADSIM, "report", "run", *args], capture_output=True, text=True, timeout=60, check=False
            )
            assert (looked.returncode, looked.stderr) == (0 if args else 1, "")
            if not args:
                said = " ".join(looked.stdout.split())
                assert "The run still goes on; this is what it has so far." in said
                assert "3 warm callers hear the first token after" in said
        assert popen.poll() is None
        popen.kill()
        popen.communicate()
    after = subprocess.run([*LOADSIM, "report", "run"], capture_output=True, text=True, timeout=60, check=False)
    assert "The run did not complete (it was killed): all callers, not long after " in " ".join(after.stdout.split())


KILLS = 20


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kill_at_any_moment_loses_no_finished_row(here: Path) -> None:
    chance = random.Random(20)
    seen = []
    for number in range(KILLS):
        place = here / str(number)
        place.mkdir()
        log = place / "passed"
        server = f"{{launch: '{sys.executable} -m tests.faults {{port}} {log}', slots: 3, context: 12288}}"
        scenario = MINE.replace("{slots: 3, context: 12288}", server).replace("600", "20")
        (place / "mine.yaml").write_text(scenario)
        (place / "call.json").write_bytes(msgspec.json.encode(CALL))
        command = [*LOADSIM, "scenario", str(place / "mine.yaml"), "--out", str(place / "run")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as popen:
            until(lambda log=log: log.exists() and b"\n" in log.read_bytes())  # type: ignore[misc]
            time.sleep(chance.uniform(0.0, 4.0))
            popen.kill()
            killed = time.monotonic()
            popen.wait()
        first, *lines = [msgspec.json.decode(line) for line in log.read_bytes().splitlines()]
        until(lambda first=first: gone(first["server"]) and gone(first["proxy"]), 20)  # type: ignore[misc]
        found = read_whole(place / "run")
        rows = sum(row.outcome == "ok" for row in found.rows)
        # a reply that was handed on in the last moment may not have been read: nobody knew of its end
        least = sum(line["at"] < killed - 0.25 for line in lines)
        assert least <= rows <= least + sum(line["at"] >= killed - 0.25 for line in lines) + 1
        assert found.facts["ended"] is None
        assert found.torn <= 1
        assert "killed" in text_of(render(read(place / "run")))
        seen.append(rows)
    assert max(seen) > 50
    assert len(set(seen)) > KILLS / 2  # they were different moments
