"""`loadsim doctor` as a user runs it, on the embedded server with settings that do harm."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"(ok|warning|bad) +(.*)")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("LOADSIM_API_KEY", raising=False)
    return tmp_path


def loadsim(*args: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "loadsim", "doctor", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def bad(done: "subprocess.CompletedProcess[str]") -> list[str]:
    return [match[2] for match in map(LINE.fullmatch, done.stdout.splitlines()) if match and match[1] == "bad"]


def test_the_demo_server_is_ready_and_the_doctor_leaves_nothing(here: Path) -> None:
    done = loadsim()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    assert lines[-1] == "ready for 12 callers"
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("ok      build xllamacpp ") for line in lines)
    assert "ok      12 slots for 12 callers" in lines
    # 393,216 tokens over 12 slots; the fitted call and its fresh message make 10,464, as the scenario's own run says
    assert "ok      context 32,768 a slot; the call needs 10,509 (10,464 + 45 of reply)" in lines
    assert any(re.fullmatch(r"ok +an edited prompt finds 1,\d\d\d of 1,\d\d\d tokens", line) for line in lines)
    assert any(re.fullmatch(r"ok +an idle slot keeps its cache: .*", line) for line in lines)
    # twelve slots, eleven of them empty, and yet
    assert any(re.fullmatch(r"warning two callers who pin nothing both get slot \d+", line) for line in lines)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"checkpoints": "0"}, r"no checkpoints: an edited prompt finds 0 of 1,\d+ tokens"),
        # what such a server does to a slot when another is asked
        (
            {"kv_unified": "true", "cache_idle_slots": "true", "cache_ram": "8192"},
            r"an idle slot lost its cache: 0 of 1,\d+ tokens were left",
        ),
        ({"context": "60000"}, r"context 5,120 a slot; the call needs 10,509 \(10,464 \+ 45 of reply\)"),
        ({"context": "6144"}, r"context 512 a slot; the call needs 10,509 .*"),
    ],
)
def test_a_harmful_setting_is_the_one_thing_to_mend(settings: dict[str, str], expected: str) -> None:
    done = loadsim(*(f"--set=server.{key}={value}" for key, value in settings.items()))
    assert (done.returncode, done.stderr) == (1, "")
    (found,) = bad(done)
    assert re.fullmatch(expected, found)
    assert done.stdout.endswith("not ready: 1 thing to mend\n")


@pytest.mark.slow
def test_a_server_that_never_looks_for_likeness_gives_two_callers_two_slots() -> None:
    done = loadsim("--set", "server.similarity=1")
    assert re.search(r"^ok +two callers of one system prompt who pin nothing get slots \d+ and \d+$", done.stdout, re.M)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--url", "ftp:x"], 2, "expected http://"),
        (["nowhere"], 2, "no scenario 'nowhere'"),
        (["--set", "callers.warm.count=0"], 2, "callers.warm.count"),
    ],
)
def test_bad_input_is_one_line(args: list[str], code: int, said: str) -> None:
    done = loadsim(*args)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_nobody_there_is_not_ready() -> None:
    done = loadsim("--url", "http://127.0.0.1:9", "paced_twelve")
    assert (done.returncode, done.stderr) == (1, "")
    assert "no server at http://127.0.0.1:9" in done.stdout
    assert done.stdout.endswith("not ready: 1 thing to mend\n")
