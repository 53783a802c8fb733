"""Commands that know nothing of us, and still end with us."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from loadsim.server import launch

ROOT = Path(launch.__file__).parents[2]
# A command with a child of its own, both deaf to their stdin's end; says both pids.
FAMILY = (
    "import os, subprocess, sys, time; child = subprocess.Popen(['sleep', '60']); "
    "print(os.getpid(), child.pid, flush=True); time.sleep(60)"
)
# The same, with a child that no TERM ends.
DEAF = FAMILY.replace(
    "['sleep', '60']",
    "[sys.executable, '-c', 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)']",
)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait(until: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


def pids(log: Path) -> list[int]:
    wait(lambda: log.exists() and log.read_text().endswith("\n"))
    return list(map(int, log.read_text().split()))


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_it_has_an_open_stdin_whose_end_it_may_heed(tmp_path: Path, run: Callable[..., Any]) -> None:
    code = f"import sys; sys.stdin.read(); open({str(tmp_path / 'heard')!r}, 'w').close(); sys.exit(4)"

    async def main() -> tuple[int | None, int]:
        started = await launch.start(python(code), tmp_path / "log")
        await asyncio.sleep(0.2)
        before = started.returncode
        return before, await started.stop()

    assert run(main()) == (None, 4)
    assert (tmp_path / "heard").exists()


def test_its_output_goes_to_the_log_and_its_words_stay_whole(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv[1:], flush=True); print('and this', file=sys.stderr)"

    async def main() -> int:
        started = await launch.start([*python(code), "two words", "$HOME", "*"], tmp_path / "log")
        return await started.ended()

    (tmp_path / "log").write_text("an older one\n")
    assert asyncio.run(main()) == 0
    assert (tmp_path / "log").read_text() == "an older one\n['two words', '$HOME', '*']\nand this\n"
    assert launch.last_line(tmp_path / "log") == "and this"
    assert launch.last_line(tmp_path / "log", len("an older one\n['two words', '$HOME', '*']\nand this\n")) == ""


def test_stopped_it_is_gone_with_its_children(tmp_path: Path) -> None:
    async def main() -> None:
        started = await launch.start(python(FAMILY), tmp_path / "log")
        family = pids(tmp_path / "log")
        assert all(map(alive, family))
        began = time.monotonic()
        await started.stop()
        assert time.monotonic() - began < 2  # a TERM ended it
        wait(lambda: not any(map(alive, family)))

    asyncio.run(main())


def test_deaf_to_term_it_is_killed(tmp_path: Path) -> None:
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + FAMILY

    async def main() -> None:
        started = await launch.start(python(code), tmp_path / "log")
        family = pids(tmp_path / "log")
        await started.stop(grace=0.5)
        wait(lambda: not any(map(alive, family)))

    asyncio.run(main())


def test_ended_by_itself_it_takes_its_children_along(tmp_path: Path) -> None:
    code = FAMILY.replace("time.sleep(60)", "sys.exit(9)")

    async def main() -> int:
        started = await launch.start(python(code), tmp_path / "log")
        return await started.ended()

    assert asyncio.run(main()) == 9
    wait(lambda: not any(map(alive, pids(tmp_path / "log"))))


def test_a_signal_that_ended_it_is_told_as_a_shell_does(tmp_path: Path) -> None:
    async def main() -> int:
        return await (await launch.start(python("import os; os.kill(os.getpid(), 11)"), tmp_path / "log")).ended()

    assert asyncio.run(main()) == 128 + 11


@pytest.mark.parametrize("family", [FAMILY, DEAF], ids=["kind", "deaf"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_us_whatever_ended_us(tmp_path: Path, number: signal.Signals, family: str) -> None:
    script = (
        "import asyncio, sys, time\n"
        "from pathlib import Path\n"
        "from loadsim.server import launch\n"
        "async def main():\n"
        f"    started = await launch.start([sys.executable, '-c', {family!r}], Path({str(tmp_path / 'log')!r}))\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stderr=subprocess.DEVNULL)
    command, child = pids(tmp_path / "log")
    time.sleep(0.2)  # until the child is deaf
    parent.send_signal(number)
    parent.wait()
    wait(lambda: not alive(command) and not alive(child))


FAR = [sys.executable, str(Path(__file__).with_name("far.py")), "-tt", "gpu-box"]
AWAY = python("import os, time; print(os.getpid(), os.getsid(0), flush=True); time.sleep(60)")


def away(log: Path) -> int:
    """The pid at the far end, which is in a session of its own."""
    wait(lambda: log.exists() and log.read_text().endswith("\n"))
    pid, session = map(int, log.read_text().split())
    assert session == pid != os.getsid(0)
    return pid


def test_over_ssh_the_far_end_goes_with_it(tmp_path: Path) -> None:
    async def main() -> None:
        started = await launch.start([*FAR, *AWAY], tmp_path / "log")
        pid = away(tmp_path / "log")
        assert alive(pid)
        await started.stop()
        wait(lambda: not alive(pid))

    asyncio.run(main())


def test_over_ssh_the_far_end_goes_when_we_are_killed(tmp_path: Path) -> None:
    script = (
        "import asyncio\n"
        "from pathlib import Path\n"
        "from loadsim.server import launch\n"
        "async def main():\n"
        f"    started = await launch.start({[*FAR, *AWAY]!r}, Path({str(tmp_path / 'log')!r}))\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    pid = away(tmp_path / "log")
    assert alive(pid)
    parent.kill()
    parent.wait()
    wait(lambda: not alive(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_killed_guards_leave_nothing(tmp_path: Path) -> None:
    async def main() -> int:
        started = await launch.start(python(FAMILY), tmp_path / "log")
        family = pids(tmp_path / "log")
        os.kill(started.pid, signal.SIGKILL)
        code = await started.ended()
        wait(lambda: not any(map(alive, family)))
        return code

    assert asyncio.run(main()) == -9


def test_a_command_that_cannot_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(launch.CommandError, match=r"^no-such-server: command not found$"):
        asyncio.run(_start(["no-such-server"], tmp_path / "log"))
    with pytest.raises(launch.CommandError, match=r": Permission denied$"):
        asyncio.run(_start([str(tmp_path)], tmp_path / "log"))


async def _start(command: list[str], log: Path) -> None:
    await launch.start(command, log)
