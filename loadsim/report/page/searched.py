"""A search: the numbers of callers that `plan callers` measured one after the other, and its answer."""

from collections.abc import Iterator

from ...plan.found import Found
from ...plan.lines import answer, before_paced, cells, sign, size
from ...plan.slo import parse
from .parts import Axis, Chart, Role, Section, Series, Shown, Table

SIGNS: tuple[tuple[str, Role], ...] = (("holds", "good"), ("unclear", "warn"), ("fails", "bad"), ("stopped", "quiet"))


def searched(shown: list[Shown]) -> Section | None:
    """None: no run is a search."""
    found = [(one, one.search) for one in shown if one.search is not None]
    if not found:
        return None
    words = [text for one, search in found for text in _words(one, search)]
    charts = [chart for i, (one, search) in enumerate(found) if (chart := _chart(one, search, i)) is not None]
    tables = [_table(one, search) for one, search in found]
    return Section(id="search", title="The search for the most callers", words=words, parts=[*charts, *tables])


def _words(one: Shown, search: Found) -> Iterator[str]:
    at = f"{one.label}: " if one.label else ""
    yield f"{at}{' '.join(answer(search))}"
    if search.paced is not None and search.paced.measured is not None:
        yield f"{at}{before_paced(search.paced)}"


def _chart(one: Shown, search: Found, number: int) -> Chart | None:
    """Each load point in the order of its measurement, by what became of it."""
    steps = [(float(i), point) for i, point in enumerate(search.points, 1)]
    if not steps:
        return None
    series = []
    for name, role in SIGNS:
        of = [(i, point) for i, point in steps if sign(point) == name]
        if of:
            x, y, notes = [i for i, _ in of], [float(point.count) for _, point in of], [p.point for _, p in of]
            series.append(Series(label=name, x=x, y=list(y), draw="points", role=role, notes=notes))
    path = Series(
        label="in order", x=[i for i, _ in steps], y=[float(p.count) for _, p in steps], role="quiet", dashed=True
    )
    told = "; ".join(f"{name} at {', '.join(str(p.count) for _, p in steps if sign(p) == name)}" for name, _ in SIGNS
                     if any(sign(p) == name for _, p in steps))  # fmt: skip
    return Chart(
        id=f"search-{number}",
        title=f"{one.label}: callers tried" if one.label else "Callers tried, one after the other",
        said=f"Callers by what became of them: {told}.",
        x=Axis(label="load point", low=0),
        y=Axis(label="callers", low=0),
        series=[path, *series],
    )


def _table(one: Shown, search: Found) -> Table:
    targets = [parse(text) for text in search.targets]
    rows = [
        [f"{point.count}, {point.load}", size(point), *(cell.strip() for cell in cells(point, targets)), sign(point)]
        for point in search.points
    ]
    caption = f"The {search.group} callers that were tried; ? not clear of noise yet, ! missed"
    columns = ["callers", "n", *(f"{target.title} {target.bound}" for target in targets), ""]
    return Table(caption=f"{one.label}: {caption}" if one.label else caption, columns=columns, rows=rows)
