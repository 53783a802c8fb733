"""`loadsim export`: a run for other programs, and for a page or an issue."""

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import click
import msgspec

from ..report.export import markdown as prose
from ..report.export import parquet, percentiles, sheet, summary
from ..report.export.tables import TABLES
from ..results.read import read
from ..results.stream import Stream, remarks
from ..scenario.secret import masked
from ..types import BadInput
from . import target

SHOWN = 6  # names of histograms in an error
FORMATS = ("csv", "parquet", "json", "hgrm", "markdown")


def _schema(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())
        ctx.exit()


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--format", "form", required=True, type=click.Choice(FORMATS), help="What to make of the run.")
@click.option(
    "--table", type=click.Choice(list(TABLES)), help="csv: this one, else requests; parquet: this one, else all."
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="The file to write, or the folder for several; else stdout."
)
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@click.option("--point", help="hgrm: of this load point only.")
@click.option("--row", type=click.Choice(("baseline", "load", "probe")), help="hgrm: of these rows only.")
@click.option("--metric", type=click.Choice(percentiles.METRICS), help="hgrm: of this time only.")
@click.option(
    "--schema", is_flag=True, is_eager=True, expose_value=False, callback=_schema,
    help="Print every table's columns, and the JSON Schema of json.",
)  # fmt: skip
def export(
    run: Path,
    form: str,
    table: str | None,
    out: Path | None,
    force: bool,
    point: str | None,
    row: str | None,
    metric: str | None,
) -> None:
    """Write the run in the folder RUN as another format, also of one that broke off or still goes on.

    csv: a table. A text that begins like a spreadsheet's formula gets an apostrophe before it.

    parquet: a table into the file --out, or without --table each into the folder --out; needs pyarrow.

    json: all that `loadsim report` prints, with the figures; markdown: the same for an issue or an article.

    hgrm: HdrHistogram's percentiles, in milliseconds; one to stdout or into the file --out, whose name ends in .hgrm,
    several into the folder --out.

    A file that is there is kept, unless --force is given.

    Exit code 0: written; 1: the disk takes no more; 2: bad input.
    """
    chosen = percentiles.Chosen(point=point, row=row, metric=metric)
    if form != "hgrm" and chosen != percentiles.Chosen():
        raise click.UsageError("--point, --row and --metric choose what hgrm is of")
    if table is not None and form not in ("csv", "parquet"):
        raise click.UsageError(f"--table chooses what csv or parquet is of; {form} has one content")
    if out is not None and (form in ("csv", "json", "markdown") or out.suffix == ".hgrm"):
        target.check(out, force, run)
    match form:
        case "csv":
            name, stream = table or "requests", Stream(run)
            with _output(out) as file:
                rows = sheet.write(TABLES[name].columns, TABLES[name].rows(stream), file)
            _tell(stream, name, rows, out)
        case "parquet":
            _parquet(run, table, out, force)
        case "hgrm":
            _hgrm(run, chosen, out, force)
        case "json":
            _text(summary.text(summary.summary(read(run))).decode(), out)
        case "markdown":
            _text(prose.markdown(read(run)), out)


def schema() -> dict[str, Any]:
    """What is in every format: the tables' columns, and the JSON Schema of json."""
    tables = {
        name: {
            "about": " ".join(table.about.split()),
            "columns": {column.name: column.kind for column in table.columns},
        }
        for name, table in TABLES.items()
    }
    return {"tables": tables, "json": summary.schema()}


def _parquet(run: Path, table: str | None, out: Path | None, force: bool) -> None:
    if out is None:
        raise click.UsageError("parquet needs --out: a file for one --table, or a folder for all of them")
    parquet.check()
    if table is None and out.suffix == ".parquet":
        raise click.UsageError(f"{out} is one file: choose its --table, or name a folder for all of them")
    stream = Stream(run)
    wanted = {name: out / f"{name}.parquet" for name in TABLES} if table is None else {table: out}
    for file in wanted.values():
        target.check(file, force, run)
    if table is None:
        target.folder(out)
    for name, file in wanted.items():
        with target.written(file) as part:
            rows = parquet.write(TABLES[name].columns, TABLES[name].rows(stream), part)
        _tell(stream, name, rows, file, quiet=table is None)
    _remark(remarks(stream))


def _hgrm(run: Path, chosen: percentiles.Chosen, out: Path | None, force: bool) -> None:
    stream = Stream(run)
    if chosen.point is not None and chosen.point not in (known := _points(stream)):
        raise BadInput(f"--point {chosen.point}: no such load point; the run has: {masked(', '.join(known)) or 'none'}")
    found = percentiles.histograms(stream, chosen)
    if out is None or out.suffix == ".hgrm":
        if not found:
            raise BadInput(f"{run}: no time that such a histogram could be of")
        if len(found) > 1:
            few = ", ".join(masked("/".join(key)) for key in list(found)[:SHOWN])
            more = "" if len(found) <= SHOWN else ", ..."
            raise BadInput(
                f"{len(found)} histograms, not one ({few}{more}): choose by --point, --row and --metric, or give a "
                "folder with --out"
            )
        (only,) = found.values()
        _text(percentiles.text(only), out)
    else:
        wanted = {key: out / name for key, name in percentiles.file_names(found).items()}
        for file in wanted.values():
            target.check(file, force, run)
        target.folder(out)
        for key, file in wanted.items():
            with target.written(file) as part:
                part.write_text(percentiles.text(found[key]))
        click.echo(f"{out}: {len(found)} histograms")
    _remark(remarks(stream))


def _points(stream: Stream) -> list[str]:
    return list(dict.fromkeys([*(stream.facts.get("points") or {}), *(row.point for _, row in stream.rows())]))


def _text(text: str, out: Path | None) -> None:
    with _output(out) as file:
        file.write(text)
    if out is not None and not target.device(out):
        click.echo(f"{out}: written")


def _tell(stream: Stream, name: str, rows: int, out: Path | None, quiet: bool = False) -> None:
    """How much there was; on standard error what to know of it."""
    table = TABLES[name]
    if out is not None and not target.device(out):
        click.echo(f"{out}: {rows:,} rows of {name}")
    if quiet:
        return
    if not rows:
        why = f"the run has no {table.file}" if not stream.has(table.file) else f"{table.file} has nothing for it"
        _remark([f"{name} is empty: {why}"])
    _remark(remarks(stream))


def _remark(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(f"loadsim: {masked(line)}", err=True)


@contextlib.contextmanager
def _output(out: Path | None) -> Iterator[TextIO]:
    """Where text goes, in UTF-8 and with the line ends that it has."""
    if out is not None:
        with target.written(out) as part, part.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    if sys.stdout is None:  # whoever started us has closed it
        yield io.StringIO()
        return
    file = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    try:
        yield file
        file.flush()
    except BrokenPipeError:
        # Who read has seen enough, as `head` does. What Python would still flush at its end goes nowhere.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
        raise SystemExit(0) from None
    finally:
        with contextlib.suppress(OSError):
            file.detach()
