"""Runs that broke off and go on: what is kept, what is begun again, and what a reader then sees."""

import fcntl
import os
import re
from pathlib import Path
from typing import Any

import pytest

from loadsim.results.histograms import read_log
from loadsim.results.read import read
from loadsim.results.resume import lock
from loadsim.results.write import Recorder
from loadsim.types import BadInput, HostSample

from .conftest import Clock
from .rows import row

SETS = {"a, 1": {"n": 1}, "b": {"n": 2}, "c": {"n": 3}}
TIMED: dict[str, Any] = {"sent_s": 1.0, "first_token_s": 1.5}


def broken(folder: Path, clock: Clock) -> None:
    """A run with a finished point `a, 1`, two rows of `b`, and half a line in every file that grows."""
    recorder = Recorder(folder, clock.now, True, clock)
    recorder.begin({"seed": 1}, SETS)
    recorder.describe_point("a, 1", slots=[0])
    for point in ("a, 1", "b"):
        recorder.event("phase", phase="warming", point=point, repeat=1)
        recorder.row(row(point=point, turn=1, **TIMED), f"{point} one")
        recorder.row(row(point=point, turn=2, **TIMED), f"{point} two")
        if point == "a, 1":
            clock.now += 60
            recorder.end_point(point)
    os.close(recorder._held or -1)  # as the end of a killed process does
    for name in ("requests.jsonl", "replies.jsonl", "events.jsonl"):
        with (folder / name).open("ab") as file:
            file.write(b'{"po')
    log = (folder / "histograms.hlog").read_bytes()
    assert log.count(b"Tag=") == 1
    # b's histograms as a run that was stopped by hand leaves them, and half a line
    line = next(line for line in log.splitlines(keepends=True) if line.startswith(b"Tag="))
    (folder / "histograms.hlog").write_bytes(log + line.replace(b"Tag=a%2C+1/", b"Tag=b/") + b"Tag=c/lo")


def test_finished_points_stay_and_the_others_count_from_where_they_are_begun_again(folder: Path, clock: Clock) -> None:
    broken(folder, clock)
    recorder = Recorder.resume(folder, clock.now, clock)
    assert recorder.finished == {"a, 1"}
    recorder.begin({"seed": 1}, SETS)
    assert read(folder).facts["points"] == {
        "a, 1": {"slots": [0], "sets": {"n": 1}},
        "b": {"sets": {"n": 2}},
        "c": {"sets": {"n": 3}},
    }
    # until it is begun again, what there is of a point stands
    assert [(r.point, r.turn) for r in read(folder).rows] == [("a, 1", 1), ("a, 1", 2), ("b", 1), ("b", 2)]
    recorder.event("phase", phase="warming", point="b", repeat=1)
    assert [(r.point, r.turn) for r in read(folder).rows] == [("a, 1", 1), ("a, 1", 2)]
    recorder.row(row(point="b", turn=1, **TIMED), "b again")
    recorder.end_point("b")
    recorder.close("complete")
    found = read(folder)
    assert [(r.point, r.turn, r.resumed) for r in found.rows] == [("a, 1", 1, 0), ("a, 1", 2, 0), ("b", 1, 1)]
    assert found.texts == {0: "a, 1 one", 1: "a, 1 two", 2: "b again"}
    assert (found.left_over, found.torn) == (2, 0)
    assert [event["event"] for event in found.events] == ["phase", "finished", "resumed", "phase", "finished"]
    intervals = read_log(folder / "histograms.hlog")
    assert [(i.tag, i.histogram.get_total_count()) for i in intervals] == [("a%2C+1/load/ttft", 2), ("b/load/ttft", 1)]
    assert (found.facts["ended"], found.facts["resumed"]) == ("complete", 1)


def test_the_clock_goes_on_and_never_back(folder: Path, clock: Clock) -> None:
    broken(folder, clock)
    last = read(folder).events[-1]["t_s"]
    assert last == 60.0
    epoch = read(folder).facts["started"]["epoch_s"]
    Recorder.resume(folder, 5.0, lambda: 5.0)  # another process, whose loop began anew
    found = read(folder)
    assert found.events[-1]["t_s"] == 60.0
    assert found.facts["started"]["epoch_s"] == epoch


def test_the_salts_source_is_another_after_each_resume(folder: Path, clock: Clock) -> None:
    broken(folder, clock)
    seen = set()
    for _ in range(3):
        recorder = Recorder.resume(folder, clock.now, clock)
        seen.add(recorder.salt)
        assert recorder.salt.startswith(recorder.id)
        recorder.close("interrupted")
    assert len(seen | {recorder.id}) == 4


def test_a_failed_write_takes_only_its_own_line_back(folder: Path, clock: Clock, short: Any) -> None:
    broken(folder, clock)
    recorder = Recorder.resume(folder, clock.now, clock)
    short(10)
    with pytest.raises(Exception, match="No space left"):
        recorder.row(row(point="b"), None)
    short(None)
    recorder.row(row(point="c"), None)
    assert [r.point for r in read(folder).rows] == ["a, 1", "a, 1", "b", "b", "c"]


def test_a_complete_run_and_a_folder_without_one_are_refused(recorder: Recorder, folder: Path, tmp_path: Path) -> None:
    recorder.begin({}, {})
    recorder.close("complete")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(BadInput, match=re.escape(f"{folder}: the run is complete; there is nothing to go on with")):
        Recorder.resume(folder, 0.0, lambda: 0.0)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    (tmp_path / "other").mkdir()
    with pytest.raises(BadInput, match="is not a run"):
        Recorder.resume(tmp_path / "other", 0.0, lambda: 0.0)
    with pytest.raises(BadInput, match=r"cannot go on with the run in .*nothing: No such file"):
        Recorder.resume(tmp_path / "nothing", 0.0, lambda: 0.0)


def test_a_run_that_still_goes_on_is_left_alone(recorder: Recorder, folder: Path) -> None:
    recorder.begin({}, {"a": {}})
    with pytest.raises(BadInput, match=re.escape(f"{folder}: the run still goes on")):
        Recorder.resume(folder, 0.0, lambda: 0.0)
    recorder.close("interrupted")
    Recorder.resume(folder, 0.0, lambda: 0.0).close("complete")


def test_a_file_system_without_locks_is_no_obstacle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(exist_ok=True)

    def none(*_: Any) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    os.close(lock(folder))


def test_half_a_sample_is_cut_off_and_the_logs_go_on(folder: Path, clock: Clock) -> None:
    recorder = Recorder(folder, clock.now, True, clock)
    recorder.begin({"seed": 1}, {"a": {}})
    recorder.row(row(point="a"), None)
    clock.now += 10_000
    recorder.sample("host", HostSample(t_s=recorder.clock(), load=1.0))
    os.close(recorder._held or -1)
    with (folder / "host.jsonl").open("ab") as file:
        file.write(b'{"t_')
    clock.now -= 10_000
    recorder = Recorder.resume(folder, clock.now, clock)
    assert recorder.clock() >= 10_000  # a sample too is a time that has been
    recorder.sample("host", HostSample(t_s=recorder.clock(), load=2.0))
    recorder.close("complete")
    assert [sample.load for sample in read(folder).host] == [1.0, 2.0]
    assert read(folder).torn == 0
