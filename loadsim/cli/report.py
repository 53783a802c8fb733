"""`loadsim report`: a run's table again, or its swimlane, from its folder alone."""

from pathlib import Path

import click
from rich.console import Console

from ..plan.found import read as read_found
from ..plan.lines import SENTENCES, answer, table
from ..report.lanes import View, lanes
from ..results.read import read
from .scenario import show


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--lanes", "drawn", is_flag=True, help="Draw who spoke and who waited when, a line per caller.")
@click.option("--point", help="The load point to draw; the first.")
@click.option("--repeat", type=int, help="The repeat to draw; the first.")
@click.option("--from", "start", type=float, metavar="S", help="Draw from S seconds after the load began.")
@click.option("--to", "end", type=float, metavar="S", help="Draw until then; to the end.")
def report(
    run: Path, drawn: bool, point: str | None, repeat: int | None, start: float | None, end: float | None
) -> None:
    """Print the table of the run in the folder RUN, also of one that broke off or still goes on; of a run of
    `plan callers` first what was found.

    Exit code 0: the run is complete and has an answer; 1: it has none; 2: bad input. A drawing is always 0.
    """
    console = Console(highlight=False)
    view = View(point=point, repeat=repeat, start=start, end=end)
    if drawn:
        console.print(lanes(read(run), console.width, view))
    elif view != View():
        raise click.UsageError("--point, --repeat, --from and --to choose what --lanes draws")
    else:
        found = read_found(run)
        if found is not None:
            for text in table(found):
                console.print(text, soft_wrap=not text.startswith(SENTENCES), markup=False)
            for text in ["", *answer(found)]:
                console.print(text, style="bold", markup=False)
        answered = show(run, console)
        if not (answered if found is None else found.stopped is None):
            raise SystemExit(1)
