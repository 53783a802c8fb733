"""A file that only grows."""

import contextlib
import os
from pathlib import Path

from ..types import FolderGone, Unwritable


class Lines:
    """Appends to the file at `path`, which the first write makes. What is written is in the file at once.

    Raises FolderGone where the file is no longer what stands at `path`, and Unwritable, naming the file, where the
    system refuses. What went into the file of such a write is taken back before the next one, so that no line ever
    stands behind half of another.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._size = 0  # of the whole lines, in bytes
        self._torn = False

    def write(self, lines: bytes) -> None:
        self.check()
        try:
            if self._fd is None:
                self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
                self._size = os.fstat(self._fd).st_size  # a resumed run's file is there already
            if self._torn:
                os.ftruncate(self._fd, self._size)
            self._torn = True
            rest = memoryview(lines)
            while rest:  # a disk that is nearly full takes a part
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            raise Unwritable(f"cannot write {self._path}: {error.strerror}") from error
        self._torn = False
        self._size += len(lines)

    def check(self) -> None:
        """Raises FolderGone where the file was deleted or replaced since it was made: the system would still take what
        is written, and nobody could read it."""
        if self._fd is not None and not same(self._fd, self._path):
            raise FolderGone(f"{self._path} was deleted or replaced while the run went on: nothing more can be kept")

    def close(self) -> None:
        if self._fd is None:
            return
        if self._torn:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
        os.close(self._fd)
        self._fd = None


def same(fd: int, path: Path) -> bool:
    """Whether what is open is still what stands at the path."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # a network's file system that does not answer is not known to have lost it
