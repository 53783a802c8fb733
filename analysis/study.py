"""What every study does: take runs, find what it is about in them, print its table and draw it.

A study is a marimo notebook that also runs as a script: `python analysis/reach.py RUN... [--out picture.svg]`, or
`marimo edit analysis/reach.py -- RUN...`. Figures come from loadsim.stats, how they are written from loadsim.report.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import marimo
import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadsim.report.grid import grid
from loadsim.report.point import Point as Load
from loadsim.report.point import points as loads
from loadsim.report.setting import Setting, setting
from loadsim.report.words import ms, number, percent, several, span, whole
from loadsim.results.read import Run, read
from loadsim.stats.probe import Checkpoints, Floor, Prefill, Reach, Tools, probes
from loadsim.stats.spread import Range
from loadsim.types import BadInput

__all__ = [
    "Given", "Load", "Point", "Range", "bars", "drawing", "drawings", "given", "heading", "left_out", "loaded", "mid",
    "ms", "nothing", "number", "percent", "points", "probed", "several", "show", "span", "spread", "spreads", "stacked",
    "table", "whole",
]  # fmt: skip

Found = TypeVar("Found", Reach, Checkpoints, Prefill, Floor, Tools)


class Given(msgspec.Struct, frozen=True):
    """The study's name and what it is about, the runs it was given, and the picture's file."""

    name: str
    about: str
    runs: list[Run]
    out: Path


class Point(msgspec.Struct, frozen=True):
    """A load point of a run. label: what tells it from the other points that were given."""

    label: str
    name: str
    run: Run
    setting: Setting


def given(name: str, about: str, argv: Sequence[str] | None = None) -> Given:
    """What the command line gives the study of that name; `about`: what it says, for --help and the notebook.

    Ends the study with one line, and exit code 2, where that cannot be used.
    """
    parser = _Parser(prog=f"{name}.py", description=about)
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="the folder of a run")
    parser.add_argument("--out", metavar="FILE", type=Path, help=f"the picture, .png, .svg or .pdf; RUN/{name}.png")
    said = parser.parse_args(argv)
    out: Path = said.out or said.runs[0] / f"{name}.png"
    if out.suffix not in (".png", ".svg", ".pdf"):
        parser.error(f"--out takes a file that ends in .png, .svg or .pdf; got {out}")
    try:
        return Given(name, about, [read(path) for path in said.runs], out)
    except BadInput as error:
        parser.error(str(error))


def points(to: Given) -> list[Point]:
    """Every load point of the runs, in their order."""
    found = []
    for run in to.runs:
        names = list(run.facts.get("points") or {})
        for name in names:
            folder = run.path.resolve().name
            label = name if len(to.runs) == 1 else folder if len(names) == 1 else f"{folder}: {name}"
            found.append(Point(label, name, run, setting(run, name)))
    return found


def probed(to: Given, kind: type[Found]) -> list[tuple[Point, Found]]:
    """What a probe found at each load point that had it, of the kind whose struct is `kind`.

    Ends the study where there is none.
    """
    found = [
        (point, probe.found)
        for point in points(to)
        for probe in probes(row for row in point.run.rows if row.point == point.name)
        if isinstance(probe.found, kind) and probe.answered and point.run.measured(point.name)
    ]
    return found or nothing(to, f"no answer of a {to.name} probe", f"lab/{to.name}")


def loaded(to: Given, wanted: Callable[[Load], bool], scenario: str) -> list[tuple[Point, Load]]:
    """What callers met at each load point that is wanted and has an answer.

    Ends the study where there is none; `scenario` makes a run that has one.
    """
    met = {(id(run), load.name): load for run in to.runs for load in loads(run) if load.summary.holds and wanted(load)}
    found = [(point, met[id(point.run), point.name]) for point in points(to) if (id(point.run), point.name) in met]
    return found or nothing(to, "no load point of such callers with an answer", scenario)


def left_out(to: Given, found: Sequence[tuple[Point, Load]]) -> list[str]:
    """A note on the load points that are not in the study."""
    taken = {point.label for point, _ in found}
    gone = [point.label for point in points(to) if point.label not in taken]
    return [f"Left out, since they have no answer or are of another kind: {'; '.join(gone)}."] if gone else []


def nothing(to: Given, lacks: str, scenario: str) -> NoReturn:
    """End the study: the runs lack what it is about, and which scenario makes a run that has it."""
    where = ", ".join(str(run.path) for run in to.runs)
    fail(to.name, f"{where}: {lacks}; loadsim scenario {scenario} makes a run with one")


def heading(point: Point) -> str:
    """A load point with the server's settings that probes hang on, where they are told."""
    if point.setting.batches is None:
        return point.label
    batch, ubatch = point.setting.batches
    checkpoints = point.setting.get("server.checkpoints") if point.setting.embedded else None
    said = "" if checkpoints is None else f", {several(checkpoints, 'checkpoint')}"
    return f"{point.label}, -b {batch} -ub {ubatch}{said}"


def table(*columns: str) -> Table:
    """A table whose first column is names, broken where it has to be, and the others figures."""
    made = grid(*columns)
    made.columns[0].no_wrap, made.columns[0].overflow = False, "fold"
    return made


def mid(of: Range | None) -> str:
    """The median of some samples."""
    return number(None if of is None else of.mid)


def spread(of: Range | None) -> tuple[str, str, str]:
    """The median of some samples, the smallest and the largest; a single sample has no spread."""
    return (mid(of), "-", "-") if of is None or of.n < 2 else (mid(of), number(of.low), number(of.high))


def spreads(title: str, of: Iterable[tuple[str, Range | None]]) -> Table:
    """A table of samples by name: how many, their median, the smallest and the largest. Those of no sample are left
    out."""
    made = table(title, "n", "median", "least", "most")
    for name, samples in of:
        if samples is not None:
            made.add_row(name, str(samples.n), *spread(samples))
    return made


def drawing(title: str, x: str, y: str) -> tuple[Figure, Axes]:
    """An empty picture with its axes named."""
    figure, (axes,) = drawings((title, x, y))
    return figure, axes


def drawings(*named: tuple[str, str, str]) -> tuple[Figure, list[Axes]]:
    """A picture with axes side by side; of each its title, x and y."""
    figure = Figure(figsize=(8 if len(named) == 1 else 6 * len(named), 4.5), layout="constrained")
    found = list(figure.subplots(1, len(named), squeeze=False)[0])
    for axes, (title, x, y) in zip(found, named, strict=True):
        axes.set(title=title, xlabel=x, ylabel=y)
        _plain_axes(axes)
    return figure, found


def stacked(title: str, x: str, *y: str) -> tuple[Figure, list[Axes]]:
    """A picture with axes one below the other, on one x."""
    figure = Figure(figsize=(8, 1 + 1.8 * len(y)), layout="constrained")
    found = list(figure.subplots(len(y), 1, sharex=True, squeeze=False)[:, 0])
    for axes, name in zip(found, y, strict=True):
        axes.set_ylabel(name)
        _plain_axes(axes)
    found[0].set_title(title)
    found[-1].set_xlabel(x)
    figure.align_ylabels(found)
    return figure, found


def _plain_axes(axes: Axes) -> None:
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def bars(axes: Axes, of: Sequence[tuple[float, Range]], label: str) -> None:
    """Draw medians over x, with bars from the smallest sample to the largest."""
    reach = [[samples.mid - samples.low for _, samples in of], [samples.high - samples.mid for _, samples in of]]
    axes.errorbar([x for x, _ in of], [samples.mid for _, samples in of], reach, fmt="o-", capsize=3, label=label)


def show(to: Given, said: Iterable[RenderableType], figure: Figure) -> object:
    """Print tables and notes, with a line between them, and save the picture; in a notebook, return all to be seen."""
    whole = Group(*(part for one in said for part in (one, Text())))
    if marimo.running_in_notebook():
        return marimo.vstack([marimo.md(to.about), marimo.plain_text(_plain(whole)), figure])
    console = Console(highlight=False, markup=False)  # it ends quietly where its reader has had enough
    console.print(whole)
    try:
        figure.savefig(to.out, dpi=150)
    except OSError as error:
        fail(to.name, f"cannot write {to.out}: {error.strerror}")
    console.print(f"The picture lies in {to.out}", soft_wrap=True)
    return None


def fail(name: str, why: str) -> NoReturn:
    """End the study with one line: a script with exit code 2, a notebook in the cell."""
    if marimo.running_in_notebook():
        marimo.stop(True, marimo.md(f"**{name}: {why}**"))
    print(f"{name}: {why}", file=sys.stderr)
    sys.exit(2)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as loadsim does."""

    def error(self, message: str) -> NoReturn:
        fail(Path(self.prog).stem, message)


def _plain(what: RenderableType) -> str:
    console = Console(width=100, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(what)
    return captured.get()
