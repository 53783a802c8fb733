"""`loadsim card`, as a far machine runs it at the end of ssh."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.telemetry.cards import ARTICLE, Machine, Simulated, simulated

LOADSIM = (sys.executable, "-m", "loadsim", "card")


@pytest.mark.parametrize("every", [("200ms",), ("0.2",), ("200 ms",), ("0.2", "s")])
def test_it_logs_until_its_input_ends_however_the_time_is_written(tmp_path: Path, every: tuple[str, ...]) -> None:
    env = simulated(Machine(cards=[Simulated(curve=ARTICLE)]), tmp_path)
    pipe = subprocess.PIPE
    with subprocess.Popen([*LOADSIM, "--every", *every], env=env, stdin=pipe, stdout=pipe, cwd=tmp_path) as popen:
        assert popen.stdout is not None and popen.stdin is not None
        lines = [json.loads(popen.stdout.readline()) for _ in range(4)]
        popen.stdin.close()
        assert popen.wait(10) == 0
    assert [line["says"] for line in lines] == ["sample", "cards", "sample", "sample"]
    first, second = (line["sample"]["stamp_s"] for line in lines[2:])
    assert 0.1 < second - first < 1.5  # and not the usual 2 s


def card(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [*LOADSIM, *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--every", "2", "m"), "loadsim: --every: no unit 'm': give ms, s, min or h; got '2m'"),
        (("--every", "1 ms"), "loadsim: --every: expected 100 ms or more; got 1 ms"),
        (("--every", "often"), "loadsim: --every: expected a time with its unit"),
    ],
)
def test_a_time_that_is_none_is_bad_input(arguments: tuple[str, ...], said: str) -> None:
    done = card(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == 1
