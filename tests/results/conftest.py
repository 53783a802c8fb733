"""A recorder on a clock that the test sets, and a disk that fills up."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from loadsim.results.write import Recorder


class Clock:
    """Loop time that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def recorder(folder: Path, clock: Clock) -> Recorder:
    return Recorder(folder, 1000.0, True, clock)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Lets the system take at most 3 bytes at a time, and so many in all; None: no end."""
    write = os.write
    left: list[int | None] = [None]

    def some(fd: int, data: memoryview) -> int:
        take = 3 if left[0] is None else min(3, left[0])
        if not take:
            raise OSError(28, "No space left on device")
        if left[0] is not None:
            left[0] -= take
        return write(fd, data[:take])

    def allow(total: int | None) -> None:
        left[0] = total
        monkeypatch.setattr(os, "write", some)

    return allow
