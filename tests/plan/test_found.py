"""The answer of a search on disk."""

from pathlib import Path

import pytest

from loadsim.plan.found import FILE, Found, read, write
from loadsim.types import Unwritable

FOUND = Found(callers=3, high=4, group="warm", others=0, targets=["ttft p95 <= 800 ms"], default=False,
              limit="target", confidence=0.95)  # fmt: skip


def test_it_comes_back(tmp_path: Path) -> None:
    write(FOUND, tmp_path)
    assert read(tmp_path) == FOUND
    assert [each.name for each in tmp_path.iterdir()] == [FILE]


def test_a_full_disk_leaves_the_answer_before_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(FOUND, tmp_path)
    whole = (tmp_path / FILE).read_bytes()

    def full(path: Path, data: bytes) -> int:
        path.open("wb").write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(Unwritable, match=r"plan\.json: No space left on device$"):
        write(Found(callers=9, high=9, group="warm", others=0, targets=[], default=False, limit="most", confidence=0.9),
              tmp_path)  # fmt: skip
    assert (tmp_path / FILE).read_bytes() == whole
    assert [each.name for each in tmp_path.iterdir()] == [FILE]
