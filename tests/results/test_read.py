import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadsim.report.answer import answers
from loadsim.results.read import Run, read
from loadsim.results.records import Damaged
from loadsim.results.write import Recorder
from loadsim.types import BadInput, CardSample, HostSample, ServerSample

from .rows import row

WRITES_UNTIL_KILLED = """
import itertools
import sys
from pathlib import Path
from loadsim.results.write import Recorder
from tests.results.rows import row
recorder = Recorder(Path(sys.argv[1]), 0.0, True, lambda: 0.0)
for number in itertools.count():
    if number == 1:
        print(flush=True)
    recorder.row(row(sent_s=0.5, token_s=[i / 1000 for i in range(500)]), "x" * 5000)
    recorder.event("phase", phase="y" * 500)
    recorder.describe(facts="z" * 5000)
"""


def test_a_killed_run_can_be_read(folder: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", WRITES_UNTIL_KILLED, folder], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    for _ in range(20):  # and while it is being written
        run = read(folder)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()
    run = read(folder)
    assert run.facts["ended"] is None
    assert len(run.rows) > 0
    assert all(len(one.token_s) == 500 for one in run.rows)


@pytest.fixture
def whole(recorder: Recorder, folder: Path) -> Path:
    recorder.row(row(turn=1), "one")
    recorder.row(row(turn=2, token_s=[0.25], error="é"), "two, 漢")
    recorder.event("a")
    recorder.event("b")
    recorder.close("complete")
    return folder


def cuts(file: Path) -> Iterator[None]:
    """The file, cut at every byte of its last line."""
    data = file.read_bytes()
    for end in range(data[:-1].rindex(b"\n") + 1, len(data) - 1):
        file.write_bytes(data[:end])
        yield
    file.write_bytes(data)


def test_half_a_last_line_is_counted_and_left_out_wherever_it_breaks(whole: Path) -> None:
    read_back: dict[str, Callable[[Run], bool]] = {
        "requests.jsonl": lambda run: [one.turn for one in run.rows] == [1],
        "replies.jsonl": lambda run: run.texts == {0: "one"},
        "events.jsonl": lambda run: [event["event"] for event in run.events] == ["a"],
    }
    for name, one_left in read_back.items():
        for _, torn in zip(cuts(whole / name), itertools.chain([0], itertools.repeat(1)), strict=False):
            run = read(whole)
            assert run.torn == torn
            assert one_left(run)
    for name in read_back:
        (whole / name).write_bytes((whole / name).read_bytes()[:-3])
    assert read(whole).torn == 3


def test_a_last_line_that_lacks_its_end_alone_is_whole(whole: Path) -> None:
    file = whole / "requests.jsonl"
    file.write_bytes(file.read_bytes()[:-1])
    run = read(whole)
    assert (len(run.rows), run.torn) == (2, 0)


def test_a_row_may_have_fields_that_are_not_known_yet(whole: Path) -> None:
    file = whole / "requests.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"turn":2', b'"turn":2,"aura":{"a":1}'))
    assert [one.turn for one in read(whole).rows] == [1, 2]


def test_a_run_without_its_optional_files_is_read(whole: Path) -> None:
    for name in ("requests.jsonl", "replies.jsonl", "events.jsonl", "histograms.hlog"):
        (whole / name).unlink()
    run = read(whole)
    assert (run.rows, run.events, run.texts, run.torn) == ([], [], {}, 0)
    assert run.facts["ended"] == "complete"


def test_a_run_of_a_newer_format_is_refused(whole: Path) -> None:
    file = whole / "run.json"
    file.write_bytes(file.read_bytes().replace(b"loadsim run 1", b"loadsim run 2"))
    with pytest.raises(BadInput, match="was written by a newer loadsim: format 'loadsim run 2'"):
        read(whole)


@pytest.mark.parametrize("data", [b"{}", b'{"format": 1}', b'{"format": "something else"}'])
def test_a_run_json_of_something_else_is_no_run(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "run.json").write_bytes(data)
    with pytest.raises(BadInput, match=re.escape(f"{tmp_path} is not a run: ")):
        read(tmp_path)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xff", b'{"format":"\xff"}', b"[" * 100_000])
def test_a_broken_run_json_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "run.json").write_bytes(data)
    with pytest.raises(BadInput, match=re.escape(f"{tmp_path / 'run.json'}: ") + "."):
        read(tmp_path)


DAMAGE: list[tuple[dict[str, Any], str]] = [
    ({"points": [1]}, "Expected `object`, got `array` - at `$.points`"),
    ({"points": {"p": {"slots": 3}}}, "Expected `array`, got `int` - at `$.points[...].slots`"),
    ({"scenario": "x"}, "Expected `object | null`, got `str` - at `$.scenario`"),
    ({"scenario": {"sweep": {"a": 1}}}, "Expected `array`, got `int` - at `$.scenario.sweep[...]`"),
    ({"server": None}, "Expected `object`, got `null` - at `$.server`"),
    ({"recordings": {"a": 7}}, "Expected `object`, got `int` - at `$.recordings[...]`"),
    ({"started": {"epoch_s": "noon"}}, "Expected `float`, got `str` - at `$.started.epoch_s`"),
    ({"digests": 4}, "Expected `object`, got `int` - at `$.digests`"),
    ({"folder": None}, "Expected `str`, got `null` - at `$.folder`"),
]


@pytest.mark.parametrize(("facts", "said"), DAMAGE)
def test_a_damaged_run_json_is_told_with_its_place(whole: Path, facts: dict[str, Any], said: str) -> None:
    file = whole / "run.json"
    file.write_bytes(msgspec.json.encode(msgspec.json.decode(file.read_bytes()) | facts))
    with pytest.raises(BadInput, match=f"^{re.escape(f'{file}: {said}')}$"):
        read(whole)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{}", "Object missing required field `event`"),
        ('{"event":"phase"}', "Object missing required field `t_s`"),
        ('{"event":"phase","t_s":1,"point":[]}', "Expected `str`, got `array` - at `$.point`"),
        ('{"event":"phase","t_s":1,"resumed":"x"}', "Expected `int`, got `str` - at `$.resumed`"),
        ('{"event":"finished","t_s":1}', "Object missing required field `point`"),
        ('{"event":"call","t_s":1,"point":"p","group":"g"}', "Object missing required field `why`"),
        ('{"event":"phase","t_s":1,"point":"p"}', "Object missing required field `phase`"),
        ('{"event":"outage","t_s":1,"point":"p","repeat":1}', "Object missing required field `since_s`"),
        ('{"event":"telemetry","t_s":1,"log":"card"}', "Object missing required field `what`"),
        ('{"event":"stay","t_s":1,"points":"p"}', "Expected `array`, got `str` - at `$.points`"),
        ('{"event":"requests","t_s":1,"point":"p","repeat":1}', "Object missing required field `asked`"),
        ('{"event":"server","t_s":1,"boot":4}', "Expected `object | null`, got `int` - at `$.boot`"),
    ],
)
def test_an_event_that_its_readers_could_not_read_is_damage(whole: Path, line: str, said: str) -> None:
    file = whole / "events.jsonl"
    good = b'{"event":"some later kind","t_s":1,"point":"p","what":[]}\n'
    file.write_bytes(good + line.encode() + b"\n")
    assert read(whole).damaged == (Damaged(file="events.jsonl", lines=1, first=2),)
    file.write_bytes(line.encode() + b"\n")  # alone, it is told why
    with pytest.raises(BadInput, match=f"^{re.escape(f'{file}:1: {said}')}$"):
        read(whole)
    file.write_bytes(good)
    assert len(read(whole).events) == 1


@pytest.mark.parametrize("name", ["run.json", "requests.jsonl", "events.jsonl", "replies.jsonl"])
def test_a_pipe_in_a_files_place_is_no_file(whole: Path, name: str) -> None:
    (whole / name).unlink(missing_ok=True)
    os.mkfifo(whole / name)
    with pytest.raises(BadInput, match=f"^cannot read {re.escape(str(whole / name))}: not a file$"):
        read(whole)


def test_what_is_not_a_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "old").mkdir()
    for path, why in (
        (tmp_path, "it has no run.json"),
        (tmp_path / "none", "there is no such folder"),
        (tmp_path / "file", "it is a file; name the run's folder"),
    ):
        with pytest.raises(BadInput, match=re.escape(f"{path} is not a run: {why}") + "$"):
            read(path)
    (tmp_path / "old/run.json").write_text("{}")
    with pytest.raises(BadInput, match=re.escape(f"it has no run.json; the last run in it is {tmp_path / 'old'}")):
        read(tmp_path)
    (tmp_path / "run.json").mkdir()
    with pytest.raises(BadInput, match=r"cannot read .*run.json: Is a directory"):
        read(tmp_path)


def test_a_row_of_a_run_is_the_struct_that_was_given(whole: Path) -> None:
    given = row(turn=2, token_s=[0.25], error="é", id=1)
    assert msgspec.json.encode(read(whole).rows[1], enc_hook=list) == msgspec.json.encode(given)


SAMPLES: dict[str, CardSample | HostSample | ServerSample] = {
    "card": CardSample(t_s=1.5, card=1, core_c=88.0, reasons=("sw power cap",)),
    "host": HostSample(t_s=1.5, cpu=0.5, cores=(0.25, 0.75), sensors_c={"coretemp": 61.0}),
    "server": ServerSample(t_s=1.5, took_s=0.01, busy=(0, 3), prompt_tokens=10),
}


def test_samples_come_back_and_half_a_last_one_is_left_out(recorder: Recorder, folder: Path) -> None:
    recorder.row(row(), None)
    for _ in range(2):
        for log, sample in SAMPLES.items():
            recorder.sample(log, sample)
    found = read(folder)  # at once, while it is being written
    assert {"card": found.card, "host": found.host, "server": found.server} == {
        log: [sample] * 2 for log, sample in SAMPLES.items()
    }
    for log in SAMPLES:
        file = folder / f"{log}.jsonl"
        whole = file.read_bytes()
        for _ in cuts(file):
            found = read(folder)
            assert getattr(found, log) in ([SAMPLES[log]], [SAMPLES[log]] * 2)
            assert found.torn == (len(getattr(found, log)) == 1 and file.read_bytes() != whole.splitlines(True)[0])
        file.write_bytes(whole)


def test_a_run_of_old_has_no_samples(whole: Path) -> None:
    found = read(whole)
    assert (found.card, found.host, found.server, found.torn) == ([], [], [], 0)


def test_a_run_that_another_program_writes_is_live(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run", 0.0, text=True, now=lambda: 1.0)
    with (tmp_path / "run" / "events.jsonl").open("ab") as file:
        file.write(b'{"t_s":1.0,"ev')  # in the middle of a write
    found = read(tmp_path / "run")
    assert (found.live, found.torn) == (True, 1)
    said = " ".join(answers([], found))
    assert said == "The run has no row that was measured. The run still goes on; this is what it has so far."
    recorder.close("interrupted", "stopped by hand")
    found = read(tmp_path / "run")
    assert not found.live
    assert "The run did not complete (interrupted): stopped by hand." in " ".join(answers([], found))
