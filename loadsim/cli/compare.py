"""`loadsim compare`: what differs between two runs, and how sure that is."""

from pathlib import Path

import click
from rich.console import Console

from ..plan.units import parse_percent
from ..report.compare import markdown, text, to_json
from ..report.page.compared import compared
from ..report.sides import side
from ..results.read import read
from ..stats.compare import compare as compare_sides
from ..stats.compare import other_recording
from ..stats.rule import judge, rules
from ..types import BadInput
from .pages import save


@click.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option(
    "--fail-if",
    "fail_if",
    multiple=True,
    metavar="RULE",
    help="Exit with 1 where B surely is so: 'ttft p95 > +10 %', 'decode p50 < -5 %', 'errors > +1 %' (points).",
)
@click.option("--least", default="3 %", metavar="SHARE", help="The smallest difference that counts as one.  [3 %]")
@click.option(
    "--format",
    "shape",
    type=click.Choice(("text", "json", "markdown")),
    default="text",
    help="What is printed.  [text]",
)
@click.option("--html", is_flag=True, help="Also write a page.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="The page's file; else compare.html, here."
)
def compare(a: Path, b: Path, fail_if: tuple[str, ...], least: str, shape: str, html: bool, out: Path | None) -> None:
    """Compare the run in the folder B with the one in A, load point by load point.

    Each repeat is one sample; five on each side are needed. Measures of --fail-if: ttft, ttfs and gap at p50 and p95,
    decode at p50 and slowest, share, total, errors, underruns, other kind, hung up; with `one caller` before it, ttft
    p50 and decode p50. A rule whose limit lies within the interval cannot be told, and fails nothing.

    Exit code 0: compared; 1: a rule is broken; 2: bad input, or not comparable.
    """
    if out is not None and not html:
        raise click.UsageError("--out is the file of the page; give --html too")
    wanted = rules(fail_if)
    smallest = _least(least)
    one, other = side(read(a)), side(read(b))
    if why := other_recording(one, other):
        raise BadInput(f"not comparable: {a} and {b} replay {why}")
    found = compare_sides(one, other, smallest)
    if not found.points:
        names = [", ".join(point.name for point in each.points) for each in (one, other)]
        raise BadInput(f"not comparable: no load point is in both runs; A has {names[0]}; B has {names[1]}")
    rulings = judge(wanted, found)
    if shape == "json":
        click.echo(to_json(found, rulings))
    elif shape == "markdown":
        click.echo(markdown(found, rulings), nl=False)
    else:
        Console(highlight=False, markup=False).print(text(found, rulings))
    if html:
        file = out or Path("compare.html")
        if not save(compared(found, rulings), file):
            raise SystemExit(1)
        click.echo(f"loadsim: the page is {file}", err=True)
    verdicts = [ruling.verdict for ruling in rulings]
    if "missing" in verdicts or (found.verdict == "not comparable" and "broken" not in verdicts):
        raise SystemExit(2)
    if "broken" in verdicts:
        raise SystemExit(1)


def _least(text: str) -> float:
    try:
        return 0.0 if text.strip() in ("0", "0%", "0 %") else parse_percent(text.strip())
    except ValueError as error:
        raise BadInput(f"--least: {error}") from None
