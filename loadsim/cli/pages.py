"""Writes pages, and says where they lie."""

from pathlib import Path

import click
from rich.console import Console

from ..report.page.page import page
from ..report.point import Point
from ..report.words import path_text
from ..results.read import Run, read
from ..types import BadInput, RunStopped
from .target import written

NAME = "report.html"


def save(html: str, file: Path) -> bool:
    """Write a page to `file`, whole or not at all; whether the system took it. Why not is said in a line."""
    try:
        with written(file) as part:
            part.write_text(html, encoding="utf-8")
    except (BadInput, RunStopped) as error:
        click.echo(f"loadsim: {error}", err=True)
        return False
    return True


def leave(folder: Path, console: Console, run: Run | None = None, found: list[Point] | None = None) -> None:
    """Write the page of a run that has just ended, and say where both lie."""
    html = page([read(folder) if run is None else run], None if found is None else [found])
    saved = save(html, folder / NAME)
    look = f"; to look at: {path_text(folder / NAME)}" if saved else ""
    console.print(f"\nThe run lies in {path_text(folder)}{look}", soft_wrap=True, markup=False)
