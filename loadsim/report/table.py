"""A run's tables for the terminal: what one caller and the load's callers met, then the answer in a sentence.

Two narrow tables per load point rather than one wide one, so that it reads at 80 columns.
"""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..results.read import Run
from ..stats.probe import probes
from ..stats.spread import Range
from ..stats.summary import Who
from . import decay, probe
from .answer import answers
from .grid import grid
from .point import Point, points
from .remarks import remarks, unsteady
from .soak import over_time
from .topics import topics
from .words import ms, number, percent, runs, span


def render(run: Run, found: list[Point] | None = None) -> RenderableType:
    """Everything that is printed after a run; `found`: its `points`, where they are known."""
    found = points(run) if found is None else found
    parts: list[RenderableType] = [*probe.tables(run)]
    for point in found:
        slots = f", slots {runs(point.slots)}" if point.slots else ""
        parts += [Text(f"\n{point.name}{slots}\n", style="bold"), first_token(point)]
        parts += [Text(line) for line in waits(point)]
        parts += [Text(), speech(point), Text()]
        parts += [Text(line) for line in remarks(point)]
        for part in (*over_time(point.course), *topics(point)):
            parts += [Text(), part]
    for part in decay.shown(run):
        parts += [Text(), part]
    parts.append(Text(""))
    parts += [Text(line, style="bold") for line in answers(found, run)]
    return Group(*parts)


def holds(run: Run, found: list[Point] | None = None) -> bool:
    """Whether a run is complete and every load point has an answer; `found`: its `points`, where they are known."""
    well = [point.summary.holds for point in (points(run) if found is None else found)]
    well += [probed.holds for probed in probes(run.rows)]
    return run.facts.get("ended") == "complete" and bool(well) and all(well)


def first_token(point: Point) -> Table:
    """How long callers waited for the first token, and for what."""
    table = grid(
        "first\ntoken, ms", "n", "p50", "p95", "max", "from\ndue", "before\nheaders", "prompt\neval", "cache_n"
    )
    for who in point.everyone:
        table.add_row(
            who.name,
            n(who),
            *map(ms, (who.ttft.p50, who.ttft.p95, who.ttft.max, who.ttft_due.p50)),
            *map(ms, (who.before_headers, who.prompt_eval)),
            span(who.cache_n),
        )
    return table


def speech(point: Point) -> Table:
    """How fast replies came once they had begun; shares are of one caller's rate."""
    table = grid(
        "speech",
        "gap, ms\np50",
        "p95",
        "max",
        "tokens/s\np50",
        "slowest",
        "1 / gap",
        "share",
        "share\nby gap",
        "all\ntok/s",
    )
    for who in point.everyone:
        share = point.summary.shares.get(who.name) if unsteady(point) is None else None
        table.add_row(
            who.name,
            *map(ms, (who.gap.p50, who.gap.p95, who.gap.max)),
            *map(number, (who.decode, who.decode_slowest, who.gap_rate)),
            *(_mid(share.mean.both), _mid(share.gap.both)) if share else ("-", "-"),
            number(who.total),
        )
    return table


def waits(point: Point) -> Iterator[str]:
    """Who did not wait for the first token has none: without them the others look better."""
    for who in point.summary.load:
        if who.hung_up:
            yield (
                f"{who.name}: in {who.hung_up} of {who.calls} calls the caller hung up, after {number(who.gave_up)} s "
                "at p50; their wait is in none of these figures, which would be worse with it"
            )


def _mid(ratio: Range | None) -> str:
    return percent(None if ratio is None else ratio.mid)


def n(who: Who) -> str:
    """Repeats times rows of each, or rows in all where repeats differ; with how many count where some do not."""
    said = f"{who.planned_rows:,} in {who.repeats}" if who.each is None else f"{who.repeats} x {who.each}"
    return said if who.rows == who.planned_rows else f"{who.rows:,} of {said}"
