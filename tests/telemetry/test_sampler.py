"""What becomes of a sampler's process: commands of a user's that do what they like, and our own."""

import asyncio
import shlex
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import psutil
import pytest

from loadsim.run import Loop
from loadsim.telemetry import sampler as module
from loadsim.telemetry.sampler import Sampler
from loadsim.telemetry.ticks import Order

SAMPLE = '{"says": "sample"}'


class Seen:
    """A sampler at work on a command of the user's, and all that is heard and noted of it."""

    def __init__(self, folder: Path, command: list[str], foreign: bool = True) -> None:
        self.lines: list[dict[str, Any]] = []
        self.notes: list[tuple[str, str]] = []
        self.log = folder / "card.log"
        self.sampler = Sampler(
            command, 0.02, self.log, self._heard, lambda *said: self.notes.append(said), foreign=foreign
        )

    def _heard(self, said: dict[str, Any]) -> bool:
        self.lines.append(said)
        return said.get("says") == "sample"

    async def until(self, done: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not done():
                await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AGAIN_S", 0.3)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who says nothing for a second is silent; a process that is late on a busy machine might be so too."""
    monkeypatch.setattr(module, "PATIENCE_S", 0.9)


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def watch(main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(main)


def test_lines_are_heard_as_they_come(tmp_path: Path) -> None:
    async def main() -> None:
        seen = Seen(
            tmp_path, shell(f"echo '{SAMPLE}'; sleep 0.2; printf '{SAMPLE[:5]}'; sleep 0.1; echo '{SAMPLE[5:]}'; cat")
        )
        await seen.until(lambda: len(seen.lines) == 1)
        first = time.monotonic()
        await seen.until(lambda: len(seen.lines) == 2)
        assert time.monotonic() - first > 0.2
        await seen.sampler.stop()
        assert seen.lines == [{"says": "sample"}] * 2
        assert seen.notes == []
        assert not seen.log.exists()

    watch(main())


def test_a_banner_and_warnings_are_said_once_and_samples_go_on(tmp_path: Path) -> None:
    async def main() -> None:
        banner = r"printf 'Welcome\033[2J to gpu-box\n\377\376\n[1]\n'"
        script = f"{banner}; for i in 1 2 3; do echo '{SAMPLE}'; echo noise; done; cat"
        seen = Seen(tmp_path, shell(script))
        await seen.until(lambda: len(seen.lines) == 3)
        await asyncio.sleep(0.1)
        await seen.sampler.stop()
        assert seen.notes == [("garbage", "it printed what is no sample: Welcome?[2J to gpu-box")]

    watch(main())


@pytest.mark.slow
def test_one_that_prints_nothing_but_garbage_is_ended_and_said_once(tmp_path: Path, hasty: None) -> None:
    async def main() -> None:
        seen = Seen(tmp_path, shell("while sleep 0.05; do echo garbage; done"))
        await seen.until(lambda: len(seen.notes) == 2)
        await asyncio.sleep(1.5)  # it is started again, and does the same
        await seen.sampler.stop()
        assert seen.notes == [
            ("garbage", "it printed what is no sample: garbage"),
            ("silent", "it gave no sample for 1 s; it printed: garbage"),
        ]

    watch(main())


def test_json_that_is_no_sample_is_garbage(tmp_path: Path) -> None:
    async def main() -> None:
        seen = Seen(tmp_path, shell("""echo '{"says": "hello"}'; echo '{"sam'; cat"""))
        await seen.until(lambda: seen.notes)
        await seen.sampler.stop()
        assert seen.notes == [("garbage", 'it printed what is no sample: {"says": "hello"}')]

    watch(main())


def test_one_that_dies_is_said_once_with_its_last_words_and_started_again(tmp_path: Path) -> None:
    async def main() -> None:
        count = tmp_path / "count"
        refused = "ssh: connect to host gpu-box port 22: Connection refused"
        script = f"echo x >> {shlex.quote(str(count))}; echo '{refused}' >&2; exit 255"
        seen = Seen(tmp_path, shell(script))
        await seen.until(lambda: count.exists() and len(count.read_text().split()) >= 3)
        await seen.sampler.stop()
        assert seen.notes == [("ended", f"it ended with status 255; its last words: {refused}")]
        assert refused in seen.log.read_text()

    watch(main())


def test_one_that_speaks_is_not_silent_however_long_it_goes_on(tmp_path: Path, hasty: None) -> None:
    async def main() -> None:
        seen = Seen(tmp_path, shell(f"while sleep 0.2; do echo '{SAMPLE}'; done"))
        await seen.until(lambda: len(seen.lines) > 8)
        await seen.sampler.stop()
        assert seen.notes == []

    watch(main())


def test_garbage_is_said_once_though_the_log_has_been_gone_between(tmp_path: Path) -> None:
    async def main() -> None:
        seen = Seen(tmp_path, shell(f"echo noise; echo '{SAMPLE}'; exit 3"))
        await seen.until(lambda: len(seen.notes) >= 6)
        await seen.sampler.stop()
        garbage, ended = ("garbage", "it printed what is no sample: noise"), ("ended", "it ended with status 3")
        assert seen.notes[:6] == [garbage, ended, ("back", ""), ended, ("back", ""), ended]

    watch(main())


def test_one_that_comes_back_says_so_and_may_go_again(tmp_path: Path) -> None:
    async def main() -> None:
        seen = Seen(tmp_path, shell(f"echo '{SAMPLE}'; exit 3"))
        await seen.until(lambda: len(seen.notes) >= 3)
        await seen.sampler.stop()
        assert seen.notes[:3] == [
            ("ended", "it ended with status 3"),
            ("back", ""),
            ("ended", "it ended with status 3"),
        ]

    watch(main())


def test_one_that_falls_silent_is_ended_and_started_again(tmp_path: Path, hasty: None) -> None:
    async def main() -> None:
        seen = Seen(tmp_path, shell(f"echo '{SAMPLE}'; sleep 100"))
        began = time.monotonic()
        await seen.until(lambda: seen.notes)
        assert 0.9 < time.monotonic() - began < 5
        await seen.until(lambda: len(seen.lines) == 2)
        await seen.sampler.stop()
        assert seen.notes == [("silent", "it said nothing for 1 s"), ("back", "")]

    watch(main())


def test_a_command_that_is_not_there_is_said_once_and_not_tried_again(tmp_path: Path) -> None:
    async def main() -> None:
        seen = Seen(tmp_path, ["no-such-ssh", "gpu-box"])
        await asyncio.sleep(1.2)
        await seen.sampler.stop()
        assert seen.notes == [("ended", "no-such-ssh: command not found")]

    watch(main())


def test_a_line_without_an_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 20.0)

    async def main() -> None:
        # Three megabytes and no line end; then, later, a sample.
        script = "import os, time\nfor _ in range(48): os.write(1, b'x' * 65536)\ntime.sleep(0.5)\n"
        script += f"os.write(1, b'\\n{SAMPLE}\\n')\ninput()"
        seen = Seen(tmp_path, [sys.executable, "-c", script])
        await seen.until(lambda: seen.notes)
        assert seen.lines == []
        await seen.until(lambda: seen.lines)
        await seen.sampler.stop()
        (note,) = seen.notes
        assert note[0] == "garbage"
        assert len(note[1]) < 300

    watch(main())


@pytest.mark.slow
@pytest.mark.parametrize("ignores", [False, True])
def test_stopping_leaves_no_process(tmp_path: Path, ignores: bool) -> None:
    """Also one that hears neither the end of its input nor a TERM, and what it has started."""

    async def main() -> None:
        trap = "trap '' TERM; " if ignores else ""
        seen = Seen(
            tmp_path, shell(f'{trap}sleep 1000 & echo \'{{"says": "sample", "pid": \'$!\'}}\'; wait; sleep 1000')
        )
        await seen.until(lambda: seen.lines)
        pid = seen.lines[0]["pid"]
        began = time.monotonic()
        await seen.sampler.stop()
        assert time.monotonic() - began < 4
        assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE

    watch(main())


def test_our_own_is_told_of_the_server_also_when_it_is_started_again(tmp_path: Path) -> None:
    async def main() -> None:
        script = 'import sys; print(\'{"says": "sample", "told": \' + sys.stdin.readline().strip() + \'}\', flush=True)'
        seen = Seen(tmp_path, [sys.executable, "-c", script], foreign=False)
        seen.sampler.tell(Order(group=17, guarded=True))
        await seen.until(lambda: len(seen.lines) == 2)
        await seen.sampler.stop()
        assert [line["told"] for line in seen.lines] == [{"group": 17, "guarded": True}] * 2

    watch(main())


def test_what_has_said_its_last_word_is_not_started_again(tmp_path: Path) -> None:
    async def main() -> None:
        seen = Seen(tmp_path, shell(f"echo '{SAMPLE}'; sleep 0.3"))
        await seen.until(lambda: seen.lines)
        seen.sampler.last()
        await asyncio.sleep(0.8)
        await seen.sampler.stop()
        assert len(seen.lines) == 1
        assert seen.notes == []

    watch(main())


def test_one_that_complains_of_nothing_leaves_no_log_while_it_runs(tmp_path: Path) -> None:
    """Nor, so, where we are killed."""

    async def main() -> None:
        seen = Seen(tmp_path, shell(f"echo '{SAMPLE}'; cat"))
        await seen.until(lambda: seen.lines)
        assert not seen.log.exists()
        await seen.sampler.stop()

    watch(main())


def test_who_floods_stderr_fills_no_disk(tmp_path: Path) -> None:
    async def main() -> None:
        seen = Seen(tmp_path, shell("yes >&2"))
        await seen.until(lambda: seen.notes)
        await asyncio.sleep(0.8)
        await seen.sampler.stop()
        assert seen.notes == [("flood", "it printed 1 MiB on stderr, and was ended for good")]
        assert seen.log.stat().st_size == 1 << 20

    watch(main())


def test_who_floods_stdout_is_ended(tmp_path: Path) -> None:
    async def main() -> None:
        seen = Seen(tmp_path, shell("yes"))
        await seen.until(lambda: len(seen.notes) == 2)
        await asyncio.sleep(0.8)
        await seen.sampler.stop()
        assert [what for what, _ in seen.notes] == ["garbage", "flood"]
        assert seen.notes[1][1] == "it printed 1,000 lines that are no samples, and was ended for good"

    watch(main())
