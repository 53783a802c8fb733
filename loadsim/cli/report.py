"""`loadsim report`: a run's table again, its swimlane or its page, from its folder alone."""

import webbrowser
from pathlib import Path

import click
from rich.console import Console

from ..plan.found import read as read_found
from ..plan.lines import SENTENCES, answer, table
from ..report.lanes import View, lanes
from ..report.page.page import page
from ..report.words import path_text
from ..results.read import read
from .pages import NAME, save
from .scenario import show


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--html", is_flag=True, help="Write the page anew, of several runs one page.")
@click.option("--open", "opened", is_flag=True, help="Write the page anew and open it in the browser.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The page's file; else report.html, in the run's folder, of several runs here.",
)
@click.option("--lanes", "drawn", is_flag=True, help="Draw who spoke and who waited when, a line per caller.")
@click.option("--point", help="The load point to draw; the first.")
@click.option("--repeat", type=int, help="The repeat to draw; the first.")
@click.option("--from", "start", type=float, metavar="S", help="Draw from S seconds after the load began.")
@click.option("--to", "end", type=float, metavar="S", help="Draw until then; to the end.")
def report(
    runs: tuple[Path, ...],
    html: bool,
    opened: bool,
    out: Path | None,
    drawn: bool,
    point: str | None,
    repeat: int | None,
    start: float | None,
    end: float | None,
) -> None:
    """Print the table of the run in the folder RUN, also of one that broke off or still goes on; of a run of
    `plan callers` first what was found. With --html or --open write its page instead.

    Exit code 0: the run is complete and has an answer; 1: it has none; 2: bad input. A drawing or a page is always 0.
    """
    console = Console(highlight=False)
    view = View(point=point, repeat=repeat, start=start, end=end)
    if view != View() and not drawn:
        raise click.UsageError("--point, --repeat, --from and --to choose what --lanes draws")
    if drawn and (html or opened):
        raise click.UsageError("--lanes draws in the terminal; the page has its own, so give one or the other")
    if drawn and len(runs) > 1:
        raise click.UsageError("--lanes draws one run")
    if html or opened:
        write(runs, out, opened)
    elif out is not None:
        raise click.UsageError("--out is the file of the page; give --html too")
    elif drawn:
        console.print(lanes(read(runs[0]), console.width, view))
    else:
        answered = [printed(run, console) for run in runs]
        if not all(answered):
            raise SystemExit(1)


def write(runs: tuple[Path, ...], out: Path | None, opened: bool) -> None:
    """Write the page of the runs, say where, and open it if asked."""
    file = out or (runs[0] / NAME if len(runs) == 1 else Path(NAME))
    if not save(page([read(run) for run in runs]), file):
        raise SystemExit(1)
    click.echo(path_text(file))
    if opened and not webbrowser.open(file.resolve().as_uri()):
        click.echo("loadsim: found no browser to open it in", err=True)


def printed(run: Path, console: Console) -> bool:
    """Print a run's table, of a search what was found before it; whether there is an answer."""
    found = read_found(run)
    if found is not None:
        for text in table(found):
            console.print(text, soft_wrap=not text.startswith(SENTENCES), markup=False)
        for text in ["", *answer(found)]:
            console.print(text, style="bold", markup=False)
    answered = show(run, console)
    return answered if found is None else found.stopped is None
