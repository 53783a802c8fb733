"""Finds scenarios and recordings by bare name: a path as given, here, or what ships with loadsim."""

from pathlib import Path
from typing import Literal

Kind = Literal["scenarios", "recordings"]

_SUFFIXES = {"scenarios": (".yaml", ".yml"), "recordings": (".json",)}


def find(kind: Kind, name: str) -> Path:
    """The file that `name` means: that path, with or without its suffix, or a shipped file of that name.

    A name relative to the working directory wins over a shipped one; `lab/tools` finds a shipped file in a subfolder.
    Raises FileNotFoundError with the places looked at and the shipped names.
    """
    for place in (Path(), folder(kind)):
        for suffix in ("", *_SUFFIXES[kind]):
            path = place / f"{name}{suffix}"
            if path.is_file():
                return path
    known = ", ".join(names(kind)) or "none"
    raise FileNotFoundError(f"no {kind[:-1]} {name!r}, neither here nor in {folder(kind)}; shipped are: {known}")


def names(kind: Kind) -> list[str]:
    """The names of all shipped files of a kind, sorted, without suffix."""
    files = (path for path in folder(kind).rglob("*") if path.suffix in _SUFFIXES[kind])
    return sorted(path.relative_to(folder(kind)).with_suffix("").as_posix() for path in files)


def folder(kind: Kind) -> Path:
    """Where a kind ships: inside the package when installed from a wheel, beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "_data" / kind
    return inside if inside.is_dir() else package.parent / kind
