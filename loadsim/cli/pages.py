"""Writes pages, and says where they lie."""

import os
from pathlib import Path

import click
from rich.console import Console

from ..report.page.page import page
from ..report.point import Point
from ..results.read import Run, read

NAME = "report.html"


def save(html: str, file: Path) -> bool:
    """Write a page to `file`, whole or not at all; whether the system took it. Why not is said in a line."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(html, encoding="utf-8")
        beside.replace(file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        click.echo(f"loadsim: cannot write {file}: {error.strerror}", err=True)
        return False
    return True


def leave(folder: Path, console: Console, run: Run | None = None, found: list[Point] | None = None) -> None:
    """Write the page of a run that has just ended, and say where both lie."""
    html = page([read(folder) if run is None else run], None if found is None else [found])
    saved = save(html, folder / NAME)
    look = f"; to look at: {folder / NAME}" if saved else ""
    console.print(f"\nThe run lies in {folder}{look}", soft_wrap=True, markup=False)
