"""The shipped scenarios as they are, against the embedded server."""

import asyncio
import os
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path

import pytest

from loadsim.results.read import read
from loadsim.server import embedded
from loadsim.stats.summary import summarize
from loadsim.types import ServerSettings

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("LOADSIM_API_KEY", raising=False)
    return tmp_path


def loadsim(*args: str) -> None:
    subprocess.run([sys.executable, "-m", "loadsim", "scenario", *args], check=True, timeout=300, capture_output=True)


@pytest.mark.timeout(300)
def test_twelve_callers() -> None:
    loadsim("twelve_callers", "--out", "run")
    rows = read(Path("run")).rows
    load = [row for row in rows if row.row == "load"]
    assert Counter((row.outcome, row.kind, row.cache_n, len(row.token_s)) for row in load) == {
        ("ok", "extension", 10_369, 45): 60
    }
    assert Counter((row.repeat, row.slot) for row in load) == {(r, slot): 1 for r in range(1, 6) for slot in range(12)}
    alone = [row for row in rows if row.row == "baseline"]
    assert Counter((row.side, row.kind, row.cache_n) for row in alone) == {
        ("before", "extension", 10_369): 30,
        ("after", "extension", 10_369): 30,
    }
    assert len({row.prompt_n for row in load + alone}) == 1  # every salt has the same length


@pytest.mark.timeout(300)
def test_callers_whom_nobody_pins_meet_on_fewer_slots_and_are_evaluated_again() -> None:
    loadsim("twelve_unpinned", "--out", "run", "--set", "repeat=1", "--set", "baseline.replies=0")
    pinned, unpinned = (point.load[0] for point in summarize(read(Path("run")).rows))
    assert (pinned.slots_used, pinned.moves) == (12, 0)
    assert unpinned.slots_used is not None
    assert unpinned.moves is not None
    assert unpinned.slots_used <= 2
    assert unpinned.moves >= 10
    assert unpinned.new == pinned.new
    assert unpinned.evaluated is not None
    assert pinned.evaluated is not None
    assert unpinned.evaluated > 1.3 * pinned.evaluated


@pytest.mark.timeout(300)
def test_cold_callers_are_cold_again_on_a_server_that_has_seen_them(tmp_path: Path) -> None:
    sets = ("--set", "callers={warm: {count: 1}, new: {count: 1, cache: cold}}", "--set", "repeat=2")
    with asyncio.Runner() as runner:
        settings = ServerSettings(slots=2, context=65536)
        process = runner.run(embedded.start(settings, tmp_path / "server.log"))
        try:
            for name in "ab":
                loadsim("twelve_callers", "--out", name, "--url", process.ready["url"], *sets)
        finally:
            runner.run(process.stop())
    for name in "ab":
        cold = [row for row in read(Path(name)).rows if row.group == "new"]
        assert {(row.kind, row.cache_n, row.planned) for row in cold} == {("cold", 0, True)}
        assert len(cold) == 2


@pytest.mark.timeout(400)
def test_an_installed_wheel_finds_its_scenarios_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH")
    venv.create(tmp_path / "venv", with_pip=True)
    bin_ = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    install = [str(bin_ / "pip"), "install", "-q", "-c", str(ROOT / "constraints.txt"), f"{ROOT}[embedded]"]
    subprocess.run(install, check=True, timeout=300, capture_output=True)
    few = ("--set", "callers.warm.count=2", "--set", "repeat=1", "--set", "baseline.replies=0")
    command = [str(bin_ / "loadsim"), "scenario", "twelve_callers", "--out", "run", *few]
    subprocess.run(command, check=True, timeout=100, capture_output=True)
    assert read(Path("run")).facts["ended"] == "complete"
