"""Children that end with us, without llama.cpp."""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop

from loadsim.server import process

READY = "import sys, time; print('{\"x\": 1}', flush=True); "


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_it_hears_our_message_and_ends_with_its_pipe(tmp_path: Path, run: Callable[..., Any]) -> None:
    async def main() -> tuple[object, int | None, int]:
        code = 'import sys; word = input(); print(f\'{{"word": "{word}"}}\', flush=True); sys.stdin.read(); sys.exit(7)'
        child = await process.start(python(code), tmp_path / "log", b"sesame\n")
        before = child.returncode
        return child.ready, before, await child.stop()

    assert run(main()) == ({"word": "sesame"}, None, 7)


def test_a_child_that_ends_unasked_is_noticed(tmp_path: Path) -> None:
    async def main() -> None:
        child = await process.start(python(READY + "time.sleep(0.05); sys.exit(3)"), tmp_path / "log")
        async with asyncio.timeout(5):
            assert [*await asyncio.gather(child.ended(), child.ended())] == [3, 3]
        assert child.returncode == await child.stop() == 3

    asyncio.run(main())


def test_a_deaf_child_is_ended_by_force_with_its_group(tmp_path: Path) -> None:
    code = READY + "import subprocess; subprocess.run(['sleep', '60'])"

    async def main() -> int:
        child = await process.start(python(code), tmp_path / "log")
        return await child.stop(grace=0.2)

    began = time.monotonic()
    assert asyncio.run(main()) == -9
    assert time.monotonic() - began < 30  # of the minute that it would sleep


def test_what_a_dead_child_said_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("an older run\n")
    with pytest.raises(process.StartError, match=r"status 5 before it was ready; its last words:\n  no luck$"):
        asyncio.run(_start(python("import sys; print('no luck', file=sys.stderr); sys.exit(5)"), log))
    assert log.read_text() == "an older run\nno luck\n"
    with pytest.raises(process.StartError, match="signal SIGABRT"):
        asyncio.run(_start(python("import os; os.abort()"), log))


def test_a_ready_line_that_is_no_json_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(msgspec.DecodeError):
        asyncio.run(_start(python("import time; print('hello', flush=True); time.sleep(60)"), tmp_path / "log"))


def test_a_start_that_is_given_up_leaves_no_child(tmp_path: Path) -> None:
    began = tmp_path / "began"
    code = (
        f"import time; open({str(began)!r}, 'w').close(); time.sleep(1); open({str(tmp_path / 'late')!r}, 'w').close()"
    )

    async def main() -> None:
        start = asyncio.create_task(process.start(python(code), tmp_path / "log"))
        while not began.exists():
            await asyncio.sleep(0.01)
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start

    asyncio.run(main())
    time.sleep(1.2)
    assert not (tmp_path / "late").exists()


async def _start(command: list[str], log: Path) -> None:
    await process.start(command, log)
