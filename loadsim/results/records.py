"""The records of a file that only grows, a line each, as a reader finds them: whole, torn at the end, or damaged."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import msgspec

from ..types import BadInput

UNREADABLE = (ValueError, RecursionError)  # msgspec's errors are ValueErrors

T = TypeVar("T")


class Damaged(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of a file that could not be read: how many, and the number of the first one, from 1."""

    file: str
    lines: int
    first: int


class Kind(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """What a line holds. `begins`: how every line begins, of what its keys are; `foreign`: keys that none has, but
    lines of other files; `check` raises a ValueError for what the type lets pass."""

    type: type[T]
    begins: bytes
    foreign: tuple[bytes, ...] = ()
    check: Callable[[T], None] | None = None


class Told(msgspec.Struct, kw_only=True):
    """What reading a file told beside its records: how many were written at the least, whether it ends in half a line,
    and its damaged lines."""

    count: int = 0
    torn: bool = False
    damaged: Damaged | None = None


class Records(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """What a file holds, and the place of each record as `each` gives it."""

    found: list[T]
    places: list[int | None]
    told: Told


def records(file: Path, kind: Kind[T], done: Callable[[T], None] | None = None) -> Records[T]:
    """The records of a file, each as `done` leaves it. Raises BadInput as `each` does."""
    made = Records[T](found=[], places=[], told=Told())
    for place, record in each(file, kind, made.told):
        if done is not None:
            done(record)
        made.found.append(record)
        made.places.append(place)
    return made


def each(file: Path, kind: Kind[T], told: Told) -> Iterator[tuple[int | None, T]]:
    """The records of a file, one after the other; a file that is not there has none. The number before each is how many
    were written before it, as far as the lines tell; None: behind NULs, which may stand for any number of lines.

    A damaged line is left out and told, as a flipped bit, a power cut or a lost newline leave it; a whole record that
    stands in it beside half another one is kept. Half a last line is torn, as a run leaves it that was killed.
    Raises BadInput for a file that cannot be opened, and, at its end, for one of which no line could be read: it is
    something else.
    """
    decode = msgspec.json.Decoder(kind.type).decode
    why: str | None = None
    known, some = True, False

    def read(text: bytes) -> T:
        record = decode(text)
        if any(key in text for key in kind.foreign):
            raise ValueError("a line of another file")
        if kind.check is not None:
            kind.check(record)
        return record

    try:
        with opened(file) as data:
            for number, line in enumerate(data, 1):
                try:
                    record = read(line)
                except UNREADABLE as error:
                    said = str(error) or type(error).__name__
                else:
                    some = True
                    yield (told.count if known else None), record
                    told.count += 1
                    continue
                known = known and b"\0" not in line
                whole = line.endswith(b"\n")
                pieces = line.split(kind.begins)
                for piece in pieces[1:]:
                    try:
                        record = read(kind.begins + piece[: piece.rfind(b"}") + 1])
                    except UNREADABLE:
                        if not whole and piece is pieces[-1]:
                            break
                    else:
                        some = True
                        yield (told.count if known else None), record
                    told.count += 1
                if not whole:
                    told.torn = True
                    break
                told.count += len(pieces) == 1
                before = told.damaged or Damaged(file=file.name, lines=0, first=number)
                told.damaged = msgspec.structs.replace(before, lines=before.lines + 1)
                if why is None and line.strip(b"\0\r\n "):
                    why = f"{file}:{number}: {said}"
    except FileNotFoundError:
        return
    if why is not None and not some:
        raise BadInput(why)


@contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    """A file of a run. Raises BadInput where it cannot be read, FileNotFoundError and NotADirectoryError."""
    try:
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise BadInput(f"cannot read {file}: not a file")  # who reads a pipe waits for its writer
        with file.open("rb") as data:
            yield data
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from error


def contents(file: Path) -> bytes:
    """What a file of a run holds. Raises as `opened` does."""
    with opened(file) as data:
        return data.read()


def packed(times: Sequence[float]) -> "array[float]":
    """Numbers in a quarter of the memory of a list, which numpy takes without a copy."""
    return array("d", times)
