"""Logs that are kept short while another program writes them."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from loadsim.run import run
from loadsim.server import short
from loadsim.server.short import keep_short, shorten


def lines(first: int, last: int) -> bytes:
    """Lines of 16 bytes each."""
    return b"".join(b"line %10d\n" % n for n in range(first, last))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short, "MOST", 1600)
    monkeypatch.setattr(short, "HEAD", 168)
    monkeypatch.setattr(short, "TAIL", 328)
    monkeypatch.setattr(short, "LOOK_S", 0.01)


def test_a_logs_beginning_and_end_stay_in_whole_lines(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 200))
    shorten(log)
    # ten whole lines are in 168 bytes; 328 from the end begin in the middle of a line, behind which stand 20
    assert log.read_bytes() == lines(0, 10) + b"[loadsim: 2720 bytes are left out here]\n" + lines(180, 200)


def test_what_is_left_out_adds_up(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 200))
    shorten(log)
    with log.open("ab") as file:
        file.write(lines(200, 400))
    shorten(log)
    assert log.read_bytes() == lines(0, 10) + b"[loadsim: 5920 bytes are left out here]\n" + lines(380, 400)


def test_a_line_without_an_end(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"x" * 5000)
    shorten(log)
    assert log.read_bytes() == b"x" * 168 + b"[loadsim: 4504 bytes are left out here]\n" + b"x" * 328


def test_who_writes_goes_on_behind(tmp_path: Path) -> None:
    """Another process, whose file stays open; its last line is there, and the log short however much it writes."""
    log = tmp_path / "server.log"
    code = "import sys, time\nfor n in range(3000):\n sys.stderr.write(f'line {n:10}\\n'); n % 100 or time.sleep(0.01)"

    with log.open("ab") as file:
        popen = subprocess.Popen([sys.executable, "-c", code], stderr=file)

    async def main() -> None:
        looking = asyncio.create_task(keep_short(log))
        async with asyncio.timeout(60):
            while popen.poll() is None or log.stat().st_size > short.MOST:
                await asyncio.sleep(0.01)
        looking.cancel()

    run(main())
    said = log.read_bytes().splitlines()
    assert said[0] == b"line          0"
    assert said[-1] == b"line       2999"
    assert sum(b"left out" in line for line in said) == 1


def test_a_log_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    async def main() -> None:
        looking = asyncio.create_task(keep_short(tmp_path / "server.log"))
        await asyncio.sleep(0.03)
        (tmp_path / "server.log").write_bytes(lines(0, 200))
        async with asyncio.timeout(20):
            while (tmp_path / "server.log").stat().st_size > short.MOST:
                await asyncio.sleep(0.01)
        assert not looking.done()
        looking.cancel()

    run(main())
