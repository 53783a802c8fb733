"""A run on a disk that lost or changed some of it: what is whole is read, what is not is told."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadsim.report.answer import answers
from loadsim.results.read import Run, read, read_whole
from loadsim.results.records import Damaged
from loadsim.results.write import Recorder
from loadsim.types import BadInput, CardSample, HostSample, RequestRow, ServerSample

from .conftest import Clock
from .rows import row

LOGS = ("requests", "replies", "events", "card", "host", "server")
TURNS = 6


def written(folder: Path, turns: int = TURNS) -> Path:
    """A run of so many rows, texts, events and samples of each kind, in the order of their turns."""
    recorder = Recorder(folder, 0.0, text=True, now=lambda: 1.0)
    for turn in range(turns):
        recorder.row(row(turn=turn, sent_s=float(turn), end_s=turn + 0.5, token_s=[0.25, 0.5]), f"text {turn}")
        recorder.event("noted", turn=turn)
        recorder.sample("card", CardSample(t_s=float(turn), stamp_s=1e9, took_s=0.01, card=turn))
        recorder.sample("host", HostSample(t_s=float(turn), cpu=turn / 10))
        recorder.sample("server", ServerSample(t_s=float(turn), took_s=0.01, processing=turn))
    recorder.close("complete")
    return folder


def turns(run: Run, log: str) -> list[int]:
    """Which turns a log still has."""
    match log:
        case "requests":
            return [each.turn for each in run.rows]
        case "replies":
            return [int(text.split()[1]) for text in run.texts.values()]
        case "events":
            return [event["turn"] for event in run.events]
        case "card":
            return [each.card for each in run.card]
        case "host":
            return [round((each.cpu or 0) * 10) for each in run.host]
    return [each.processing or 0 for each in run.server]


def paired(run: Run) -> bool:
    """Whether every text is its own row's."""
    return all(text == f"text {run.rows[place].turn}" for place, text in run.texts.items())


DAMAGE: dict[str, tuple[Callable[[list[bytes]], bytes], list[int]]] = {
    "a flipped bit": (lambda of: of[2].replace(b"{", b"[", 1), [0, 1, 3, 4, 5]),
    "a line of NULs": (lambda of: b"\0" * 100 + b"\n", [0, 1, 3, 4, 5]),
    "half a line": (lambda of: of[2][:20] + b"\n", [0, 1, 3, 4, 5]),
    "half a line, and the next one behind it": (lambda of: of[2][:20], [0, 1, 3, 4, 5]),
    "NULs before a whole line": (lambda of: b"\0" * 4096 + of[2], [0, 1, 2, 3, 4, 5]),
    "a newline that is none": (lambda of: of[2][:-1] + b"\x0b", [0, 1, 2, 3, 4, 5]),
    "another program's line": (lambda of: b'{"level":"info"}\n' if b"cpu" not in of[2] else b"[]\n", [0, 1, 3, 4, 5]),
    "an empty line": (lambda of: b"\n", [0, 1, 3, 4, 5]),
    "no UTF-8": (lambda of: of[2].replace(b":", b':"\xff\xfe",', 1), [0, 1, 3, 4, 5]),
    "too deep": (lambda of: of[2].replace(b":", b":" + b"[" * 100_000, 1), [0, 1, 3, 4, 5]),
}


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_line_costs_itself_alone_and_is_told(tmp_path: Path, log: str, name: str) -> None:
    folder = written(tmp_path / "run")
    file, (damage, left) = folder / f"{log}.jsonl", DAMAGE[name]
    of = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*of[:2], damage(of), *of[3:]]))
    run = read(folder)
    assert turns(run, log) == left
    assert run.damaged == (Damaged(file=f"{log}.jsonl", lines=1, first=3),)
    assert paired(run)
    assert all(turns(run, other) == [*range(TURNS)] for other in LOGS if other not in (log, "replies"))
    said = " ".join(answers([], run))
    assert f"1 line of {log}.jsonl could not be read (first at line 3)" in said
    assert ("1 row is missing" in said) == (log == "requests" and len(left) < TURNS)


def test_lines_are_counted_and_the_first_one_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", 30)
    file = folder / "requests.jsonl"
    of = file.read_bytes().splitlines(keepends=True)
    for place in (16, 20, 21):
        of[place] = of[place].replace(b'"turn":', b'"turm":')
    file.write_bytes(b"".join(of))
    assert "3 lines of requests.jsonl could not be read (first at line 17): 3 rows are missing from these figures." in (
        list(answers([], read(folder)))
    )


def test_nuls_over_several_rows_leave_the_texts_with_their_own(tmp_path: Path) -> None:
    folder = written(tmp_path / "run")
    file = folder / "requests.jsonl"
    of = file.read_bytes().splitlines(keepends=True)
    lost = b"".join(of[1:4])
    # A block of zeros that begins within one row and ends within another, over two newlines.
    file.write_bytes(of[0] + lost[:30] + b"\0" * (len(lost) - 60) + lost[-30:] + b"".join(of[4:]))
    run = read(folder)
    assert [each.turn for each in run.rows] == [0, 4, 5]
    assert run.texts == {0: "text 0", 1: "text 4", 2: "text 5"}
    assert (run.noted, run.missing) == (6, 3)
    # In a run of old, whose rows have no numbers of their own, nobody knows how many they were: no text is better than
    # another row's.
    file.write_bytes(b"".join(line.replace(b',"id":%d' % i, b"") for line in [file.read_bytes()] for i in [0]))
    for number in (4, 5):
        file.write_bytes(file.read_bytes().replace(b',"id":%d' % number, b""))
    assert read(folder).texts == {0: "text 0"}


def test_a_row_of_old_is_its_lines_number(tmp_path: Path) -> None:
    folder = written(tmp_path / "run")
    file = folder / "requests.jsonl"
    of = [line.replace(b',"id":%d' % i, b"") for i, line in enumerate(file.read_bytes().splitlines(keepends=True))]
    file.write_bytes(b"".join([of[0], of[1][:-1], of[2], b"x\n", *of[4:]]))  # a newline lost, and a line
    run = read(folder)
    assert [each.turn for each in run.rows] == [0, 1, 2, 4, 5]
    assert run.texts == {place: f"text {each.turn}" for place, each in enumerate(run.rows)}
    assert run.missing == 1


@pytest.mark.parametrize("log", LOGS)
def test_a_file_of_which_no_line_can_be_read_is_something_else(tmp_path: Path, log: str) -> None:
    folder = written(tmp_path / "run")
    (folder / f"{log}.jsonl").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(BadInput, match=rf"{log}\.jsonl:1: "):
        read(folder)


@pytest.mark.parametrize("log", LOGS)
def test_a_file_that_a_power_cut_left_as_nuls_alone_is_damage(tmp_path: Path, log: str) -> None:
    folder = written(tmp_path / "run")
    file = folder / f"{log}.jsonl"
    file.write_bytes(b"\0" * (file.stat().st_size - 1) + b"\n")
    run = read(folder)
    assert turns(run, log) == []
    assert run.damaged == (Damaged(file=f"{log}.jsonl", lines=1, first=1),)
    assert run.missing == (6 if log == "requests" else 0)


def test_a_line_of_another_log_is_no_sample(tmp_path: Path) -> None:
    folder = written(tmp_path / "run")
    files = {log: folder / f"{log}.jsonl" for log in LOGS}
    for log in LOGS:
        whole = files[log].read_bytes()
        for other in LOGS:
            if other != log:
                files[log].write_bytes(whole + files[other].read_bytes().splitlines(keepends=True)[0])
                run = read(folder)
                assert turns(run, log) == [*range(TURNS)], (log, other)
                assert [each.file for each in run.damaged] == [f"{log}.jsonl"], (log, other)
        files[log].write_bytes(whole)


def test_a_row_that_is_not_there_is_missed_without_a_damaged_line(tmp_path: Path) -> None:
    folder = written(tmp_path / "run")
    file = folder / "requests.jsonl"
    of = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(of[:2] + of[3:]))
    run = read(folder)
    assert paired(run) and len(run.texts) == 5
    assert "Of 6 rows that were recorded, 1 row is missing from these figures." in list(answers([], run))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_a_disk_does_to_a_log_the_rest_is_read(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    folder = written(tmp_path_factory.mktemp("fuzz") / "run")
    log = data.draw(st.sampled_from(LOGS))
    file = folder / f"{log}.jsonl"
    whole = file.read_bytes()
    start = data.draw(st.integers(0, len(whole) - 1))
    end = data.draw(st.integers(start + 1, min(start + 300, len(whole))))
    new = data.draw(st.one_of(st.just(b""), st.just(b"\0" * (end - start)), st.binary(max_size=40)))
    file.write_bytes(whole[:start] + new + whole[end:])
    ends = [place for place, byte in enumerate(whole) if byte == 10]
    # What lies wholly before the damage, its newline too, or behind a newline that is behind the damage.
    before = sum(place < start for place in ends)
    behind = [turn for turn in range(TURNS) if turn and ends[turn - 1] >= end]
    try:
        run = read(folder)
    except BadInput:
        assert before == 0 and not behind
        return
    kept = turns(run, log) if log != "replies" else [int(text.split()[1]) for text in run.texts.values()]
    assert kept[:before] == [*range(before)]
    assert not behind or kept[-len(behind) :] == behind
    if log == "requests" and not any(byte in b"0123456789" for byte in new):
        assert paired(run)


def broken_off(folder: Path, clock: Clock) -> None:
    """Point `a` finished, with a damaged row in it; `b` under way."""
    recorder = Recorder(folder, 0.0, True, clock)
    recorder.begin({"seed": 1}, {"a": {}, "b": {}})
    for point in ("a", "b"):
        recorder.event("phase", phase="warming", point=point, repeat=1)
        for turn in range(3):
            recorder.row(row(point=point, turn=turn), f"text {turn}")
        if point == "a":
            recorder.end_point(point)
    os.close(recorder._held or -1)
    file = folder / "requests.jsonl"
    of = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([of[0], b"\0" * 50, *of[3:]]))  # rows 1 and 2 of a, newlines and all


def test_a_damaged_run_goes_on_and_its_texts_stay_with_their_rows(folder: Path, clock: Clock) -> None:
    broken_off(folder, clock)
    recorder = Recorder.resume(folder, clock.now, clock)
    assert (recorder.finished, recorder.rows) == (frozenset({"a"}), 6)
    recorder.event("phase", phase="warming", point="b", repeat=1)
    for turn in (7, 8):
        recorder.row(row(point="b", turn=turn), f"text {turn}")
    recorder.end_point("b")
    recorder.close("complete")
    run = read(folder)
    assert [(each.point, each.turn, each.id) for each in run.rows] == [("a", 0, 0), ("b", 7, 6), ("b", 8, 7)]
    assert paired(run) and len(run.texts) == 3
    assert (run.left_over, run.missing) == (3, 2)


def test_a_point_whose_end_is_damaged_is_measured_again(folder: Path, clock: Clock) -> None:
    broken_off(folder, clock)
    file = folder / "events.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"event":"finished"', b'"event":"finishe\xff"'))
    assert Recorder.resume(folder, clock.now, clock).finished == frozenset()


def test_a_begin_whose_event_is_damaged_still_sets_the_older_rows_aside(folder: Path, clock: Clock) -> None:
    broken_off(folder, clock)
    recorder = Recorder.resume(folder, clock.now, clock)
    recorder.event("phase", phase="warming", point="b", repeat=1)
    recorder.row(row(point="b", turn=9), None)
    recorder.close("stopped", "x")
    file = folder / "events.jsonl"
    of = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*of[:-1], of[-1].replace(b'"phase"', b'"phas\xff"')]))
    assert [(each.point, each.turn) for each in read(folder).rows] == [("a", 0), ("b", 9)]


def test_a_last_row_that_lacks_its_newline_alone_is_kept_when_the_run_goes_on(folder: Path, clock: Clock) -> None:
    broken_off(folder, clock)
    file = folder / "requests.jsonl"
    file.write_bytes(file.read_bytes()[:-1])
    before = len(read(folder).rows)
    recorder = Recorder.resume(folder, clock.now, clock)
    recorder.row(row(point="b", turn=9), None)
    recorder.close("stopped", "x")
    assert len(read_whole(folder).rows) == before + 1


def test_times_are_packed_and_equal_to_what_was_written(tmp_path: Path) -> None:
    found: RequestRow = read(written(tmp_path / "run")).rows[0]
    assert list(found.token_s) == [0.25, 0.5] and list(found.token_server_ms) == []
    assert memoryview(found.token_s).nbytes == 16  # type: ignore[arg-type]
