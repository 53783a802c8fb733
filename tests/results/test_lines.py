import re
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from loadsim.results.lines import Lines
from loadsim.results.read import read
from loadsim.results.write import Recorder
from loadsim.types import RunStopped

from .rows import row


def test_a_line_that_is_taken_in_parts_is_whole(
    recorder: Recorder, folder: Path, short: Callable[[int | None], None]
) -> None:
    short(None)
    recorder.row(row(), "Hi")
    recorder.row(row(turn=42), "Ho")
    assert [one.turn for one in read(folder).rows] == [41, 42]


def test_half_a_line_on_a_full_disk_does_not_spoil_the_next(
    recorder: Recorder, folder: Path, short: Callable[[int | None], None]
) -> None:
    recorder.row(row(turn=1), None)
    short(20)
    with pytest.raises(RunStopped, match=re.escape(f"cannot write {folder / 'requests.jsonl'}: No space left")):
        recorder.row(row(turn=2), None)
    assert len((folder / "requests.jsonl").read_bytes().split(b"\n")[1]) == 20
    assert (len(read(folder).rows), read(folder).torn) == (1, 1)
    short(None)
    recorder.row(row(turn=3), "three")
    run = read(folder)
    assert [one.turn for one in run.rows] == [1, 3]
    assert (run.torn, run.texts) == (0, {1: "three"})


def test_the_end_of_a_run_takes_half_a_line_back(
    recorder: Recorder, folder: Path, short: Callable[[int | None], None]
) -> None:
    recorder.row(row(turn=1), None)
    short(20)
    with pytest.raises(RunStopped) as stopped:
        recorder.row(row(turn=2), None)
    recorder.close("stopped", str(stopped.value))
    run = read(folder)
    assert ([one.turn for one in run.rows], run.torn) == ([1], 0)
    assert run.facts["why"].startswith("cannot write ")


def test_a_limit_of_the_system_stops_the_run_with_the_files_name(tmp_path: Path) -> None:
    lines = Lines(tmp_path / "events.jsonl")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        lines.write(b"123\n")
        lines.write(b"45\n")
        with pytest.raises(RunStopped, match=r"cannot write .*events.jsonl: File too large"):
            lines.write(b"12345\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    lines.write(b"abc\n")
    lines.close()
    assert (tmp_path / "events.jsonl").read_bytes() == b"123\n45\nabc\n"
