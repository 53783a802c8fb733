"""Standard streams that whoever started us has closed: a program by cron or a supervisor may find them so."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = (sys.executable, "-m", "loadsim", "doctor", "--url", "http://127.0.0.1:9")


def shell(redirection: str) -> "subprocess.CompletedProcess[str]":
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", *NOBODY]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, cwd=ROOT)


@pytest.mark.parametrize(("closed", "shown"), [("<&-", True), ("2>&-", True), (">&-", False), ("<&- >&- 2>&-", False)])
def test_closed_streams_change_nothing(closed: str, shown: bool) -> None:
    done = shell(closed)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.endswith("not ready: 1 thing to mend\n") is shown


def test_a_full_disk_behind_the_output_is_one_line() -> None:
    done = shell(">/dev/full")
    assert (done.returncode, done.stderr) == (1, "loadsim: cannot go on: No space left on device\n")
