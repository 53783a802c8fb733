"""The knee: how the first token and the first speech come later with more callers."""

from collections.abc import Iterator, Sequence

from ...plan.slo import DEFAULT, Target, parse
from ...stats.slope import CONFIDENCE, medians, slope
from ...stats.tokens import percentile
from ..table import first_token, n
from ..words import ms, whole
from .copied import copied
from .crowd import Figure, Line, Mark, lines, p99, refused, ttfs, ttft, values
from .parts import Axis, Chart, Rule, Section, Shown, Table
from .scatter import AXES, Along, alone, along, ends, percentiles, replies

NEAR = 0.4  # of a target that nobody set: it is drawn where figures come as near
ROWS = 12  # more are shown when asked for

MEASURES: tuple[tuple[str, str, Figure], ...] = (
    ("ttft", "TTFT: from the request to the first token", ttft),
    ("ttfs", "TTFS: from the request to the first speakable chunk", ttfs),
)


def knee(shown: list[Shown]) -> Section | None:
    """None: no load point has an answer."""
    found = lines(shown)
    if not found:
        return None
    by = along(found)
    charts = [chart for name, title, of in MEASURES if (chart := _chart(name, title, of, found, shown, by))]
    tables = [table for table in (_table(found), _first_token(shown)) if table is not None]
    words = [*_words(found), *refused(shown)]
    titles = {"callers": "The knee: waiting, by callers", "repeats": "First token and first speech"}
    return Section(id="knee", title=titles.get(by, titles["repeats"]), words=words, parts=[*charts, *tables])


def _chart(name: str, title: str, of: Figure, found: list[Line], shown: list[Shown], by: Along) -> Chart | None:
    drawn = replies(found, of, by, 1e3)
    if not drawn:
        return None
    figures = percentiles(found, of, 1e3) if by == "callers" else []
    highest = max(value for series in (*drawn, *figures) for value in series.y if value is not None)
    short = name.upper()
    said = "; ".join(f"{line.label}: {short} p95 {text}" for line in found if (text := ends(line, of, 95, "ms")))
    return Chart(
        id=f"knee-{name}",
        title=title,
        said=f"{said}.",
        x=AXES[by],
        y=Axis(label=short, unit="ms", low=0),
        series=[*drawn, *figures, *alone(found, of, by, 1e3)],
        rules=[*_rules(name, shown, highest)],
        height=340,
    )


def _rules(measure: str, shown: Sequence[Shown], highest: float) -> Iterator[Rule]:
    """The targets of a search; where none was set, loadsim's own, if figures come near."""
    searches = [one.search for one in shown if one.search is not None]
    wanted: dict[str, Target] = {}
    for search in searches:
        wanted |= {text: parse(text) for text in search.targets}
    for text, target in wanted.items():
        if target.measure == measure:
            yield Rule(label=text, at=target.limit * 1e3, role="warn")
    for target in map(parse, () if searches else DEFAULT):
        if target.measure == measure and highest >= NEAR * target.limit * 1e3:
            yield Rule(label=f"{target.text} (default)", at=target.limit * 1e3)


def _words(found: list[Line]) -> Iterator[str]:
    """By how much each caller more delays the others."""
    for line in found:
        if line.paced or not line.grows:
            continue
        if not line.one:
            yield f"{line.label}: no slope is told over several runs, whose cards may differ."
            continue
        marks = line.marks
        rows = [row for mark in marks for row in mark.rows]
        callers = {mark.point.name: mark.callers for mark in marks}
        for name, _, of in MEASURES:
            # `medians` counts the callers of the rows that it is given, which here are one group's.
            samples = [
                (callers[point], middle)
                for point in callers
                for _, middle in medians((row for row in rows if row.point == point), of)
            ]
            if (fitted := slope(samples)) is None:
                continue
            about = f"by least squares over the medians of {fitted.n} repeats"
            if fitted.low is not None and fitted.high is not None:
                about = f"{ms(fitted.low)} to {ms(fitted.high)} at {CONFIDENCE:.0%}, {about}".replace("%", " %")
            fit = f", R² {fitted.fit:.3f}" if fitted.fit is not None else ""
            first, last = line.last[0].callers, line.last[-1].callers
            yield (
                f"{line.label}: {name.upper()} grows by {ms(fitted.per)} ms with each caller more ({about}, {first} to "
                f"{last} callers{fit})."
            )


def _table(found: list[Line]) -> Table | None:
    """The figures of the picture, as they are read."""
    each = [f"{name} {figure}" for name in ("TTFT", "TTFS") for figure in ("p50, ms", "p95", "p99", "max")]
    columns = ["load", "callers", "n", *each]
    rows = [
        [line.label, whole(mark.callers), n(mark.who), *_cells(mark, ttft), *_cells(mark, ttfs)]
        for line in found
        for mark in line.marks
    ]
    caption = "First token and first speech; p99 from 100 replies on"
    return Table(caption=caption, columns=columns, rows=rows, open=len(rows) <= ROWS)


def _cells(mark: Mark, of: Figure) -> list[str]:
    pool = values(mark.rows, of)
    return [ms(percentile(pool, 50)), ms(percentile(pool, 95)), ms(p99(pool)), ms(percentile(pool, 100))]


def _first_token(shown: list[Shown]) -> Table | None:
    """What the terminal prints of each load point."""
    of = [(one.name(point.name), first_token(point)) for one in shown for point in one.points]
    return copied("What a first token is made of, beside one caller alone", of)
