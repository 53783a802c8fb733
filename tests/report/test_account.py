"""What a run says of its rows and its files."""

from pathlib import Path

from loadsim.report.account import written
from loadsim.report.answer import answers
from loadsim.results.read import read
from loadsim.results.write import Recorder
from tests.results.rows import row


def made(folder: Path, rows: int) -> Path:
    """4 requests, counted, and so many rows of 10 tokens."""
    recorder = Recorder(folder, 0.0, text=False, now=lambda: 1.0)
    for caller in range(rows):
        recorder.row(row(caller=caller, token_s=[0.25] * 10), None)
    recorder.event("requests", point="12 callers", repeat=1, asked=4)
    recorder.close("complete")
    for file in folder.iterdir():
        if file.name not in ("requests.jsonl", "events.jsonl", "run.json"):
            file.unlink()
    return folder


def test_requests_rows_and_bytes_are_told(tmp_path: Path) -> None:
    folder = made(tmp_path / "run", 4)
    (folder / "replies.jsonl").write_bytes(b'{"request":0,"text":"a"}'.ljust(9_999) + b"\n")
    for name, size in (("run.json", 20_000), ("requests.jsonl", 9_900)):
        (folder / name).write_bytes((folder / name).read_bytes().rstrip().ljust(size - 1) + b"\n")
    total = sum(file.stat().st_size for file in folder.iterdir())
    assert 39_950 < total < 40_000
    assert written(read(folder)) == (
        "4 requests, 4 rows; 40.0 kB on disk, 999 bytes a token: run.json 20.0 kB (500), "
        "replies.jsonl 10.0 kB (250), requests.jsonl 9.90 kB (248), the rest 0.077 kB (1.92)"
    ).replace("0.077 kB (1.92)", f"{(total - 39_900) / 1e3:.3f} kB ({(total - 39_900) / 40:.2f})")
    assert not any("counted" in said for said in answers([], read(folder)))


def test_a_request_without_a_row_is_told_in_the_answer(tmp_path: Path) -> None:
    found = read(made(tmp_path / "run", 3))
    assert written(found).startswith("4 requests, 3 rows; ")
    assert "12 callers: 4 requests were counted, and 3 rows are there." in list(answers([], found))


def test_a_run_of_old_tells_its_rows(tmp_path: Path) -> None:
    folder = made(tmp_path / "run", 3)
    (folder / "events.jsonl").unlink()
    assert written(read(folder)).startswith("3 rows; ")
