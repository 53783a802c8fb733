import asyncio
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loadsim
from loadsim.results.histograms import read_log
from loadsim.results.read import read
from loadsim.results.write import Recorder, default_folder
from loadsim.types import BadInput, RequestRow, RunStopped

from .conftest import Clock
from .rows import TEXT, row, rows


def plain(of: RequestRow) -> bytes:
    """A row as its line."""
    return msgspec.json.encode(of, enc_hook=list)


def facts(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return found


@given(st.lists(st.tuples(rows(), st.none() | TEXT), max_size=4))
def test_a_run_comes_back_as_it_was_recorded(replies: list[tuple[RequestRow, str | None]]) -> None:
    with tempfile.TemporaryDirectory() as made:
        recorder = Recorder(Path(made), 0.0, True, Clock())
        for one, text in replies:
            recorder.row(one, text)
        recorder.close("complete")
        run = read(Path(made))
    assert list(map(plain, run.rows)) == [plain(one) for one, _ in replies]
    assert run.texts == {number: text for number, (_, text) in enumerate(replies) if text is not None}
    assert run.torn == 0


def test_a_row_is_one_line_of_the_names_and_values_that_it_knows(recorder: Recorder, folder: Path) -> None:
    recorder.row(row(sent_s=0.25, token_s=[0.123456, 0.2], prompt_n=7), "Hello\nthere")
    assert (folder / "requests.jsonl").read_text() == (
        '{"point":"12 callers","repeat":1,"row":"load","group":"agents","caller":3,"turn":41,"sent_s":0.25,'
        '"outcome":"ok","prompt_n":7,"id":0,"token_s":[0.123456,0.2]}\n'
    )
    assert (folder / "replies.jsonl").read_text() == '{"request":0,"text":"Hello\\nthere"}\n'


def test_everything_is_in_the_files_before_the_run_ends(recorder: Recorder, folder: Path, clock: Clock) -> None:
    recorder.row(row(), "Hi")
    clock.now = 1001.5
    recorder.event("phase", phase="all callers", name="a field may have any name")
    run = read(folder)
    assert list(map(plain, run.rows)) == [plain(row(id=0))]
    assert run.texts == {0: "Hi"}
    assert run.events == [
        {"t_s": 1.5, "event": "phase", "phase": "all callers", "name": "a field may have any name"}
    ]  # fmt: skip
    assert run.facts["ended"] is None


def test_a_text_keeps_its_rows_number_where_others_have_none(recorder: Recorder, folder: Path) -> None:
    for text in (None, "one", None, ""):
        recorder.row(row(), text)
    assert read(folder).texts == {1: "one", 3: ""}


def test_texts_are_not_kept_unless_asked_for(folder: Path, clock: Clock) -> None:
    recorder = Recorder(folder, 0.0, False, clock)
    recorder.row(row(), "my number is five five five")
    recorder.close("complete")
    assert not (folder / "replies.jsonl").exists()
    assert b"five five five" not in b"".join(file.read_bytes() for file in folder.iterdir())
    assert read(folder).texts == {}


def test_run_json_tells_what_the_run_was(recorder: Recorder, folder: Path, clock: Clock) -> None:
    before = datetime.now().timestamp()
    recorder.describe(scenario={"seed": 1}, server={"slots": 4})
    recorder.describe(server={"slots": 12})
    found = facts(folder)
    assert found["format"] == "loadsim run 1"
    assert found["id"] == recorder.id
    assert (found["ended"], found["why"]) == (None, None)
    assert found["scenario"] == {"seed": 1}
    assert found["server"] == {"slots": 12}
    assert found["versions"]["loadsim"] == loadsim.__version__
    assert found["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["versions"].keys() >= {"platform", "aiohttp", "uvloop", "msgspec"}
    assert found["host"].keys() == {"cpu", "cores", "memory_bytes"}
    assert found["host"]["memory_bytes"] > 2**28
    assert abs(found["started"]["epoch_s"] - before) < 5
    assert datetime.fromisoformat(found["started"]["time"]).timestamp() == pytest.approx(found["started"]["epoch_s"])
    clock.now = 1060.0
    recorder.close("stopped", "the server went away")
    found = facts(folder)
    assert (found["ended"], found["why"], found["seconds"]) == ("stopped", "the server went away", 60.0)
    assert found["server"] == {"slots": 12}
    assert not (folder / "run.json.new").exists()


def test_the_wall_clock_origin_is_where_the_runs_clock_is_zero(folder: Path) -> None:
    clock = Clock()
    clock.now = 1300.0
    Recorder(folder, 1000.0, True, clock)
    assert facts(folder)["started"]["epoch_s"] == pytest.approx(datetime.now().timestamp() - 300, abs=5)


def test_two_runs_have_two_ids(tmp_path: Path, clock: Clock) -> None:
    assert Recorder(tmp_path / "a", 0.0, True, clock).id != Recorder(tmp_path / "b", 0.0, True, clock).id


def test_nothing_of_the_environment_or_the_hosts_name_is_written(
    folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    recorder = Recorder(folder, 0.0, True, clock)
    recorder.row(row(), "Hi")
    recorder.event("phase")
    recorder.close("complete")
    written = b"".join(file.read_bytes() for file in folder.iterdir())
    assert b"sk-very-secret" not in written
    assert os.uname().nodename.encode() not in written


def test_what_the_giver_changes_later_is_not_written(recorder: Recorder, folder: Path) -> None:
    given = {"slots": [1]}
    recorder.describe(server=given)
    given["slots"].append(2)
    recorder.describe(other=1)
    assert facts(folder)["server"] == {"slots": [1]}


def test_each_point_leaves_its_histograms_with_the_interval(recorder: Recorder, folder: Path, clock: Clock) -> None:
    measured = {"sent_s": 1.0, "first_token_s": 1.5, "token_s": [0.5, 0.75, 1.0]}
    recorder.row(row(point="a", **measured), None)
    recorder.row(row(point="a", row="warm", **measured), None)
    clock.now = 1010.0
    recorder.end_point("a")
    recorder.row(row(point="b", row="baseline", number=0, **measured), None)
    recorder.row(row(point="b", row="baseline", number=1, **measured), None)
    clock.now = 1025.0
    recorder.close("complete")
    intervals = read_log(folder / "histograms.hlog")
    assert [(i.tag, i.start_s, i.length_s, i.histogram.get_total_count()) for i in intervals] == [
        ("a/load/ttft", 0.0, 10.0, 1),
        ("a/load/gap", 0.0, 10.0, 2),
        ("b/baseline/ttft", 10.0, 15.0, 1),
        ("b/baseline/gap", 10.0, 15.0, 2),
    ]


def test_values_outside_the_histograms_are_counted_in_run_json(recorder: Recorder, folder: Path) -> None:
    recorder.row(row(point="a", sent_s=1.0, first_token_s=1.0), None)
    recorder.close("complete")
    assert facts(folder)["clamped"] == {"a/load/ttft": 1}


def test_the_clock_is_the_running_loops(folder: Path) -> None:
    async def record() -> None:
        Recorder(folder, asyncio.get_running_loop().time() - 5.0, True).event("phase", phase="x")

    asyncio.run(record())
    assert read(folder).events[0]["t_s"] == pytest.approx(5.0, abs=1.0)


# -- where to


def test_a_folder_is_named_for_scenario_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    now = datetime(2026, 3, 9, 7, 5, 1)
    for name in ("twelve-20260309-070501", "twelve-20260309-070501-2", "twelve-20260309-070501-3"):
        folder = default_folder("twelve", now)
        assert folder == Path("results") / name
        assert folder.is_dir()  # made at once, so that a second run of this second takes another


def test_an_empty_folder_is_used_and_a_full_one_left_alone(tmp_path: Path, clock: Clock) -> None:
    Recorder(tmp_path, 0.0, True, clock)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(BadInput, match=re.escape(f"{tmp_path} is not empty")):
        Recorder(tmp_path, 0.0, True, clock)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "file").write_text("")
    for path, why in ((tmp_path / "file", "File exists"), (tmp_path / "file" / "run", "Not a directory")):
        with pytest.raises(BadInput, match=re.escape(f"cannot write a run into {path}: {why}")):
            Recorder(path, 0.0, True, clock)
    with pytest.raises(BadInput, match="cannot write a run into /proc/none"):
        Recorder(Path("/proc/none"), 0.0, True, clock)


def test_files_have_the_modes_that_the_user_set(recorder: Recorder, folder: Path) -> None:
    recorder.row(row(), "Hi")
    umask = os.umask(0)
    os.umask(umask)
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask


# -- a disk that is full


def test_a_folder_that_went_away_stops_the_run(recorder: Recorder, folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    with pytest.raises(RunStopped, match=re.escape(f"{folder} was deleted or replaced")):
        recorder.row(row(), None)
    with pytest.raises(RunStopped, match=re.escape(f"{folder} was deleted or replaced")):
        recorder.describe(server=1)


def test_an_old_run_json_stands_until_the_new_one_is_whole(
    recorder: Recorder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[:9])
        raise OSError(28, "No space left on device")

    before = (folder / "run.json").read_bytes()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RunStopped, match=r"cannot write .*run.json: No space left on device"):
        recorder.describe(server=1)
    assert (folder / "run.json").read_bytes() == before
    assert not (folder / "run.json.new").exists()


def test_histograms_that_cannot_be_written_are_no_complete_run(
    recorder: Recorder, folder: Path, short: Callable[[int | None], None]
) -> None:
    recorder.row(row(sent_s=1.0, first_token_s=1.5), None)
    short(0)
    with pytest.raises(RunStopped, match=r"cannot write .*histograms.hlog: No space left on device"):
        recorder.close("complete")
    assert facts(folder)["ended"] == "stopped"
    assert facts(folder)["why"].endswith("histograms.hlog: No space left on device")
