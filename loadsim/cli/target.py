"""A file that a command writes: whole or not at all, and never over another one that was not to go."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ..types import BadInput, RunStopped


def check(target: Path, force: bool, kept: Path) -> None:
    """Raises BadInput where `target` is there already, unless `force` says that it may go; what lies in the folder
    `kept`, which is read, never may."""
    try:
        if not target.exists() or device(target):
            return
        if target.is_dir():
            raise BadInput(f"cannot write {target}: it is a folder")
        if not force:
            raise BadInput(f"{target} exists already; choose another name with --out, or --force to replace it")
        if target.resolve().parent == kept.resolve() and target.name in _own(kept):
            raise BadInput(f"{target} belongs to the run itself, which --force does not replace")
    except OSError as error:
        raise BadInput(f"cannot write {target}: {error.strerror}") from error


@contextlib.contextmanager
def written(target: Path) -> Iterator[Path]:
    """A path to write to; what is written there is at `target` once all of it is, and else nowhere.

    Raises BadInput where there can be no such file, and RunStopped where the system takes no more of it.
    """
    if device(target):  # /dev/stdout, a pipe: there is nothing to put in its place
        with _told(target):
            yield target
        return
    part = target.with_name(f".{target.name[-200:]}.{os.getpid()}.part")
    try:
        part.touch()
    except OSError as error:
        raise BadInput(f"cannot write {target}: {error.strerror}") from error
    try:
        with _told(target):
            yield part
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def _told(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunStopped(f"cannot write {target}: {error.strerror or error}") from error


def folder(path: Path) -> None:
    """Make a folder, if it is not there. Raises BadInput."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot write into {path}: {error.strerror}") from error


def device(target: Path) -> bool:
    """Whether it is there, and neither a file nor a folder."""
    return target.exists() and not target.is_file() and not target.is_dir()


def _own(run: Path) -> set[str]:
    from ..engine.serving import LOG
    from ..plan.found import FILE
    from ..results.resume import FILES
    from .pages import NAME

    return {*FILES, FILE, LOG, NAME}
