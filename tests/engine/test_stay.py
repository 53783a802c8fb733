"""What ends a run between its rows: the folder that it is recorded in is gone."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from loadsim.engine import stay
from loadsim.engine.progress import Progress
from loadsim.engine.stay import measuring
from loadsim.results.write import Recorder
from loadsim.run import run
from loadsim.scenario.load import restore
from loadsim.types import FolderGone

QUIET = restore({"recording": "call", "callers": {"warm": {"count": 1}}, "telemetry": {"every": None}}, "test")


def moved(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def replaced(folder: Path) -> None:
    moved(folder)
    shutil.copytree(folder.with_name("elsewhere"), folder)


@pytest.mark.parametrize("lose", [shutil.rmtree, moved, replaced, lambda folder: (folder / "events.jsonl").unlink()])
def test_a_folder_that_is_lost_ends_the_run_though_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lose: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(stay, "LOOK_S", 0.05)
    folder = tmp_path / "run"

    async def main() -> None:
        recorder = Recorder(folder, asyncio.get_running_loop().time(), text=False)
        recorder.event("phase", phase="all callers")
        async with measuring(QUIET, {}, recorder, Progress(), recorder.start, None):
            lose(folder)
            async with asyncio.timeout(60):
                await asyncio.Event().wait()

    with pytest.raises(
        FolderGone, match=r"run(/events\.jsonl)? was deleted or replaced while the run went on: nothing"
    ):
        run(main())


def test_a_time_out_of_the_block_stays_one(tmp_path: Path) -> None:
    async def main() -> None:
        recorder = Recorder(tmp_path / "run", asyncio.get_running_loop().time(), text=False)
        async with measuring(QUIET, {}, recorder, Progress(), recorder.start, None):
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        run(main())


def test_nothing_is_written_into_a_folder_that_took_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    recorder = Recorder(folder, 0.0, False, lambda: 1.0)
    moved(folder)
    folder.mkdir()
    (folder / "run.json").write_text("mine")
    writes: list[Callable[[], None]] = [
        lambda: recorder.event("phase"),
        lambda: recorder.describe(a=1),
        recorder.check,
        lambda: recorder.close("complete"),
    ]
    for write in writes:
        with pytest.raises(FolderGone):
            write()
    assert [file.name for file in folder.iterdir()] == ["run.json"]
    assert (folder / "run.json").read_text() == "mine"
