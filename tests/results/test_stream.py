"""A run read a line at a time is the run read whole."""

import fcntl
import os
from pathlib import Path

import pytest

from loadsim.results.read import read
from loadsim.results.stream import Stream, remarks
from loadsim.types import BadInput
from tests.report.export.folders import lines, make
from tests.stats.rows import row


def begun(t: float, resumed: int, point: str = "p") -> dict[str, object]:
    return {"t_s": t, "event": "phase", "phase": "x", "point": point, "resumed": resumed}


def test_rows_texts_and_events_are_those_of_the_whole(tmp_path: Path) -> None:
    rows = [row(caller=1), row(caller=2, point="q"), row(caller=3, resumed=1), row(caller=4, point="q", resumed=1)]
    folder = make(tmp_path, *rows)
    lines(folder / "events.jsonl", [begun(0.0, 0), begun(1.0, 0, "q"), begun(2.0, 1)])
    lines(folder / "replies.jsonl", [{"request": number, "text": f"{number}"} for number in range(4)])
    stream, whole = Stream(folder), read(folder)
    found = list(stream.rows())
    assert [number for number, _ in found] == [1, 2, 3]
    assert [each.caller for _, each in found] == [each.caller for each in whole.rows] == [2, 3, 4]
    assert [each.text for each in stream.texts()] == ["1", "2", "3"] == list(whole.texts.values())
    assert stream.events == whole.events
    assert [event["t_s"] for event in stream.events] == [1.0, 2.0]


def test_half_a_last_line_is_left_out_and_told(tmp_path: Path) -> None:
    folder = make(tmp_path, row(), row(caller=1), ended=None)
    file = folder / "requests.jsonl"
    file.write_bytes(file.read_bytes()[:-9])
    stream = Stream(folder)
    assert len(list(stream.rows())) == 1
    assert list(remarks(stream)) == [
        "the run did not complete (it was killed)",
        "requests.jsonl ends in half a line, which is left out",
    ]


def test_a_damaged_line_is_left_out_and_told(tmp_path: Path) -> None:
    folder = make(tmp_path, row(), row(caller=1), row(caller=2))
    file = folder / "requests.jsonl"
    first, _, third = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first + b"{broken\n" + third)
    stream = Stream(folder)
    assert [(number, each.caller) for number, each in stream.rows()] == [(0, row().caller), (2, 2)]
    assert "1 line of requests.jsonl could not be read (first at line 2)" in list(remarks(stream))
    file.write_bytes(b"{broken\n")
    with pytest.raises(BadInput, match=r"requests\.jsonl:1: "):
        list(Stream(folder).rows())


def test_files_that_are_not_there_are_empty(tmp_path: Path) -> None:
    folder = make(tmp_path)
    (folder / "requests.jsonl").unlink()
    stream = Stream(folder)
    assert (list(stream.rows()), list(stream.texts()), list(stream.samples("card")), stream.events) == ([], [], [], [])
    assert not stream.has("card.jsonl")


@pytest.mark.parametrize("name", ["requests.jsonl", "events.jsonl"])
def test_a_folder_or_a_pipe_in_a_files_place_is_told(tmp_path: Path, name: str) -> None:
    folder = make(tmp_path / "a")
    (folder / name).unlink(missing_ok=True)
    (folder / name).mkdir()
    with pytest.raises(BadInput, match=f"cannot read .*{name}: Is a directory"):
        list(Stream(folder).rows())
    (folder / name).rmdir()
    os.mkfifo(folder / name)
    with pytest.raises(BadInput, match=f"cannot read .*{name}: not a file"):
        list(Stream(folder).rows())


def test_a_run_that_goes_on_says_so(tmp_path: Path) -> None:
    folder = make(tmp_path, row(), ended=None)
    held = os.open(folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        assert list(remarks(Stream(folder))) == ["the run still goes on; this is what it has so far"]
    finally:
        os.close(held)


def test_a_complete_run_needs_no_remark(tmp_path: Path) -> None:
    assert list(remarks(Stream(make(tmp_path, row())))) == []
    why = remarks(Stream(make(tmp_path, row(), ended="stopped", why="it rained")))
    assert list(why) == ["the run did not complete (stopped): it rained"]
