"""`loadsim report`: a run's table again, from its folder alone."""

from pathlib import Path

import click
from rich.console import Console

from .scenario import show


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
def report(run: Path) -> None:
    """Print the table of the run in the folder RUN, also of one that broke off or still goes on."""
    show(run, Console(highlight=False))
