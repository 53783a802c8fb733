"""A disk that is full in the middle of a run, and a folder that is not the run's alone."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from loadsim.cli.scenario import began
from loadsim.results.read import read
from loadsim.results.write import Recorder
from loadsim.types import RunStopped, Unwritable
from tests.results.rows import row


def test_a_run_on_a_full_disk_tells_how_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path / "run", 0.0, True, lambda: 1.0)
    recorder.row(row(), "Hello.")
    before = (tmp_path / "run/run.json").stat().st_size

    def full(path: Path, data: bytes) -> int:
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    recorder.close("stopped", "cannot write requests.jsonl: No space left on device")
    facts = read(tmp_path / "run").facts
    assert (facts["ended"], facts["why"]) == ("stopped", "cannot write requests.jsonl: No space left on device")
    assert (tmp_path / "run/run.json").stat().st_size == before  # it took no room
    assert before % 4096 == 0
    assert not (tmp_path / "run/run.json.new").exists()


def test_a_run_json_that_grows_past_its_room_is_left_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path / "run", 0.0, True, lambda: 1.0)
    before = (tmp_path / "run/run.json").read_bytes()

    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(Unwritable, match=r"run\.json: No space left on device$"):
        recorder.describe(much="x" * 10_000)
    assert (tmp_path / "run/run.json").read_bytes() == before
    assert issubclass(Unwritable, RunStopped)


def test_only_the_runs_own_files_are_taken_away(tmp_path: Path) -> None:
    for name in ("run.json", "events.jsonl", "histograms.hlog", "notes.txt"):
        (tmp_path / name).touch()
    assert not began(tmp_path, made=True)
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.slow
def test_a_sweep_ends_where_nothing_can_be_written(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    (tmp_path / "sweep.yaml").write_text(
        "recording: front_desk.json\nfit: null\nserver: {slots: 2, context: 65536}\n"
        "callers: {warm: {count: 1, turns: 3-4}}\nbaseline: {replies: 2}\nrepeat: 3\n"
        "sweep: {callers.warm.count: [1, 2]}\n"
    )
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384)); "
        "sys.argv = ['loadsim', 'scenario', 'sweep.yaml', '--url', sys.argv[1], '--out', 'run']; "
        "from loadsim.cli import main; main()"
    )
    server = [sys.executable, "-m", "loadsim", "server", "--set", "slots=2", "--set", "context=65536"]
    with subprocess.Popen(server, cwd=root, stdout=subprocess.PIPE, text=True) as ours:
        assert ours.stdout is not None
        command = [sys.executable, "-c", code, ours.stdout.readline().strip()]
        # Python does not notice that a file of bytecode was cut short by the limit.
        environment = {
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(root),
            "PATH": "/usr/bin:/bin",
            "HOME": str(Path.home()),
        }
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=90, check=False
        )
        ours.terminate()
    said = "cannot write run/requests.jsonl: File too large"
    page = "loadsim: cannot write run/report.html: File too large\n"
    assert (done.returncode, done.stderr) == (1, f"{page}loadsim: {said}\n")
    assert not (tmp_path / "run/report.html").exists()
    facts = msgspec.json.decode((tmp_path / "run/run.json").read_bytes())
    assert (facts["ended"], facts["why"]) == ("stopped", said)
