"""A comparison for the terminal and as Markdown; both from the same rows and sentences."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..stats.comparison import Changed, Comparison, Difference, Named, PointDifference, Verdict
from ..stats.metrics import ENOUGH, OF_ONE, ONE_CALLER, SHARE
from ..stats.rule import Ruling
from ..stats.spread import Range
from .grid import grid
from .words import exact, ms, number, percent, several

FORMAT = "loadsim comparison 1"
STYLES: dict[Verdict, str] = {"worse": "red", "better": "green", "mixed": "yellow", "not comparable": "yellow"}
WORDS: dict[Verdict, str] = {"no difference seen": "none seen", "unknown": "-"}
MOST = 4  # differences that a sentence names
UNITS = {"s": "ms", "tokens/s": "tok/s", "ratio": "", "replies": ""}


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a point's table: the metric in its unit, A's and B's figure, the change and its interval; a group's
    name has a line of its own, without cells."""

    name: str
    cells: tuple[str, ...] = ()
    verdict: Verdict | None = None


def to_json(found: Comparison, rulings: Sequence[Ruling]) -> bytes:
    """Everything that is known, under the structs' own names; what is missing is null."""
    told: dict[str, Any] = {"format": FORMAT} | msgspec.to_builtins(found) | {"rules": msgspec.to_builtins(rulings)}
    return msgspec.json.format(msgspec.json.encode(told), indent=2)


def text(found: Comparison, rulings: Sequence[Ruling] = ()) -> RenderableType:
    """For the terminal, 80 columns."""
    parts: list[RenderableType] = [Text(run_line("A", found.a)), Text(run_line("B", found.b))]
    parts += [Text(line) for line in between(found)]
    for point in found.points:
        parts += [Text(f"\n{title(point)}\n", style="bold"), _table(point)]
        parts += [Text(line) for line in under(point)]
    if how := list(method(found)):
        parts += [Text(), *map(Text, how)]
    parts += [Text(), *(Text(line, style="bold") for line in sentences(found))]
    if rulings:
        parts.append(Text())
    for ruling in rulings:
        parts.append(Text(ruling_line(ruling), style="bold red" if ruling.verdict == "broken" else ""))
    return Group(*parts)


def markdown(found: Comparison, rulings: Sequence[Ruling] = ()) -> str:
    """For an issue or a pull request: what counts first."""
    lines = ["\n\n".join(f"**{_plain(line)}**" for line in sentences(found))]
    lines += ["", *(f"- {_plain(ruling_line(ruling))}" for ruling in rulings)] if rulings else []
    lines += ["", f"- {_plain(run_line('A', found.a))}", f"- {_plain(run_line('B', found.b))}"]
    lines += [f"- {_plain(line)}" for line in between(found)]
    for point in found.points:
        heads = column_heads(point)
        right = len(heads) - (2 if is_judged(point) else 1)
        lines += ["", f"### {_plain(title(point))}", "", f"| {' | '.join(heads)} |"]
        lines.append(f"|---|{'---:|' * right}{'---|' if is_judged(point) else ''}")
        for row in rows(point):
            cells = row.cells or ("",) * (len(heads) - 1)
            name = _plain(row.name) if row.cells else f"**{_plain(row.name)}**"
            lines.append(f"| {name} | {' | '.join(map(_plain, cells))} |")
        if below := list(under(point)):
            lines += ["", *(f"- {_plain(line)}" for line in below)]
    lines += ["", *(_plain(line) for line in method(found))]
    return "\n".join(lines) + "\n"


def rows(point: PointDifference) -> Iterator[Row]:
    """A point's table; of counts that are nought in both runs nothing is said."""
    who = None
    for each in point.differences:
        if each.counted and each.a and each.b and not each.a.high and not each.b.high and not _sure(each):
            continue
        if each.who != who:
            who = each.who
            yield Row(name=who)
        figures = (_figure(each, each.a), _figure(each, each.b))
        ranges = (_range(each, each.a), _range(each, each.b))
        judged = (*figures, _points(each), interval_said(each, ""), WORDS.get(each.verdict, each.verdict))
        yield Row(name=metric_label(each), cells=judged if is_judged(point) else ranges, verdict=each.verdict)


def column_heads(point: PointDifference) -> tuple[str, ...]:
    """The heads of its table; of too few repeats only ranges are shown."""
    if is_judged(point):
        return "", "A", "B", "change, %", "95 % interval", "difference"
    return "", "A, over repeats", "B, over repeats"


def sentences(found: Comparison) -> Iterator[str]:
    """What came of it, the most important first."""
    for note in found.notes:
        yield f"{note[0].upper()}{note[1:]}{'' if note.endswith('.') else '.'}"
    named = len(found.points) > 1
    match found.verdict:
        case "better" | "worse":
            yield f"B is {found.verdict} than A: {_differences(found, named)}."
        case "mixed":
            yield f"B is better and worse than A: {_differences(found, named)}."
        case "no difference seen":
            yield f"No difference seen: {_unseen(found)}."
        case "too few repeats":
            few = [each for each in _all(found) if each.verdict == "too few repeats"]
            n = min((side.n for each in few for side in (each.a, each.b) if side), default=0)
            yield f"Too few repeats ({n} of {ENOUGH} on a side): only ranges are shown, and nothing is decided."
        case "not comparable":
            why = list(dict.fromkeys(reason for point in found.points for reason in _reasons(point)))
            more = f"; and {several(len(why) - 2, 'reason')} more" if len(why) > 2 else ""
            yield f"Not comparable: {'; '.join(why[:2])}{more}."
        case "unknown":
            yield "No figure is known in both runs."
    if found.verdict != "not comparable":
        unlike = [point_name(point) for point in found.points if point.verdict == "not comparable"]
        yield from [f"Not comparable: {', '.join(unlike)}."] if unlike else []
    for point in found.points:
        yield from _machine(point, named, bool(found.changed))


def _reasons(point: PointDifference) -> list[str]:
    """Why a point is not comparable, if it is not."""
    return [*point.reasons, *point.disturbed] if point.verdict == "not comparable" else []


def _machine(point: PointDifference, named: bool, changed: bool) -> Iterator[str]:
    """What one caller alone tells: whether it is the load that differs, or the server and its machine as a whole."""
    alone = point.alone
    if alone is None or alone.change is None or alone.low is None:
        return
    at = f"{point_name(point)}: " if named else ""
    rate = f"one caller's decode rate {change_said(alone)} ({interval_said(alone)})"
    if alone.verdict == "no difference seen" and point.verdict in ("better", "worse", "mixed"):
        yield f"{at}One caller alone decodes as before, as far as can be seen: {rate}."
    if alone.verdict not in ("better", "worse"):
        return
    how = f"{_bare(abs(alone.change)).lstrip('+')} % {'faster' if alone.change > 0 else 'slower'}"
    yield f"{at}The server or its machine as a whole is {how}: {rate}."
    share = next((each for each in point.differences if each.metric == SHARE), None)
    if share is not None and share.verdict == "no difference seen":
        moved = f"{change_said(share)} ({interval_said(share)})"
        yield f"{at}What the load does to it is not seen to differ: share {moved}."
    if not changed:
        yield f"{at}Nothing that is known of the server differs: run A again to tell whether its machine has changed."


def _differences(found: Comparison, named: bool) -> str:
    """Those that are sure: what is worse first, and the load's before one caller's."""
    sure = [(point, each) for point in found.points for each in point.differences if _sure(each)]
    sure.sort(key=lambda pair: (pair[1].verdict != "worse", pair[1].who == ONE_CALLER))
    said = [
        f"{f'{point_name(point)}, ' if named else ''}{each.who} {each.metric} "
        f"{change_said(each)} ({interval_said(each)})"
        for point, each in sure[:MOST]
    ]
    return "; ".join(said) + (f"; and {len(sure) - MOST} more" if len(sure) > MOST else "")


def _unseen(found: Comparison) -> str:
    """How large a difference may be all the same, by the intervals of the first token and of decoding."""
    wide = [
        f"{each.who} {each.metric} {interval_said(each)}"
        for point in found.points[:1]
        for each in point.differences
        if each.metric in OF_ONE and each.low is not None and each.who != ONE_CALLER
    ]
    within = f" ({'; '.join(wide)})" if wide else ""
    return f"what differs may be chance, or is under {exact(found.least)}{within}"


def between(found: Comparison) -> Iterator[str]:
    """What the runs do not have in common."""
    for each in found.changed:
        yield _changed(each)
    if found.settings:
        yield "other settings:"
        yield from (f"  {_changed(each)}" for each in found.settings)
    for name, only in (("A", found.only_a), ("B", found.only_b)):
        if only:
            yield f"only in {name}: {', '.join(only)}"


def under(point: PointDifference) -> Iterator[str]:
    """What the reader must know of a load point's figures."""
    yield from (f"not comparable: {reason}" for reason in point.reasons)
    yield from (f"{reason}: a difference of speed may come from that" for reason in point.disturbed)
    yield from point.notes
    unknown = [each for each in point.differences if each.verdict == "unknown"]
    yield from (f"{each.who}, {each.metric}: {each.why}" for each in unknown)


def method(found: Comparison) -> Iterator[str]:
    """How the figures were made, and when a difference is called one."""
    if not found.looks:
        return
    yield (
        "A figure is the geometric mean of the repeats' own, where a run's table pools all replies; intervals are "
        "Welch's, over repeats; what is counted changes in points (pt). One of "
        f"{several(found.looks, 'difference')} is called so where it is surely over {exact(found.least)}, after Holm's "
        "adjustment for so many looks."
    )


def ruling_line(ruling: Ruling) -> str:
    """A rule, and what came of it."""
    at = f" ({ruling.point}, {ruling.who})" if ruling.point else ""
    said = ""
    if ruling.change is not None:
        said = f": {_signed(ruling.change)}"
        if ruling.low is not None and ruling.high is not None and ruling.confidence is not None:
            sure = f"{ruling.confidence * 100:.4g} %"
            said += f", {_bare(ruling.low)} to {_bare(ruling.high)} % at {sure}"
    return f"{ruling.verdict}: {ruling.rule}{at}{said}{f'; {ruling.why}' if ruling.why else ''}"


def _table(point: PointDifference) -> Table:
    table = grid(*column_heads(point))
    table.columns[0].no_wrap = False  # a group's name may be long
    if is_judged(point):
        table.columns[-1].justify = "left"
    for column in table.columns[1:]:
        column.header = Text(f" {column.header}")
    for row in rows(point):
        style = STYLES.get(row.verdict, "") if row.verdict else ""
        name = Text(row.name, style="" if row.cells else "italic")
        table.add_row(name, *(Text(f" {cell}", style=style) for cell in row.cells))
    return table


def run_line(letter: str, run: Named) -> str:
    """A run as it is named."""
    when = f", {run.started[:16].replace('T', ' ')} UTC" if run.started else ""
    return f"{letter}  {run.path}{when}"


def title(point: PointDifference) -> str:
    """A load point, and what came of it."""
    few = next((f" ({each.why})" for each in point.differences if each.verdict == "too few repeats"), "")
    return f"{point_name(point)}: {point.verdict}{few if point.verdict == 'too few repeats' else ''}"


def point_name(point: PointDifference) -> str:
    """Its name, in both runs where they differ."""
    return point.a if point.a == point.b else f"{point.a} / {point.b}"


def is_judged(point: PointDifference) -> bool:
    """Whether anything but ranges can be shown."""
    return any(each.verdict != "too few repeats" and each.verdict != "unknown" for each in point.differences)


def _all(found: Comparison) -> Iterator[Difference]:
    return (each for point in found.points for each in point.differences)


def _sure(each: Difference) -> bool:
    return each.verdict in ("better", "worse")


def metric_label(each: Difference) -> str:
    """A metric and its unit."""
    unit = UNITS[each.unit]
    return f"{each.metric}, {unit}" if unit else each.metric


def _value(each: Difference, value: float) -> str:
    if each.unit == "s":
        return ms(value)
    return number(value) if each.unit == "tokens/s" else percent(value)


def _figure(each: Difference, found: Range | None) -> str:
    return "-" if found is None else _value(each, found.mid)


def _range(each: Difference, found: Range | None) -> str:
    if found is None:
        return "-"
    low, high = _value(each, found.low), _value(each, found.high)
    return low if low == high else f"{low} to {high}"


def _points(each: Difference) -> str:
    """A change in a column of per cents; of counts it is in points."""
    return "-" if each.change is None else f"{_bare(each.change)}{' pt' if each.counted else ''}"


def change_said(each: Difference) -> str:
    """A change with its unit."""
    return "-" if each.change is None else f"{_bare(each.change)} {'points' if each.counted else '%'}"


def interval_said(each: Difference, unit: str = " %") -> str:
    """Its interval."""
    if each.low is None or each.high is None:
        return "-"
    return f"{_bare(each.low)} to {_bare(each.high)}{'' if each.counted else unit}"


def _signed(change: float) -> str:
    return f"{_bare(change)} %"


def _bare(change: float) -> str:
    """In per cent with its sign, to a tenth; large ones whole."""
    value = change * 100
    shown = f"{value:+,.1f}" if abs(value) < 99.95 else f"{value:+,.0f}"
    return "0.0" if shown in ("+0.0", "-0.0") else shown


def _changed(each: Changed) -> str:
    return f"{each.key}: {_told(each.a)} in A, {_told(each.b)} in B"


def _told(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _plain(line: str) -> str:
    """A line in which Markdown finds nothing of its own."""
    return "".join(f"\\{c}" if c in "|*_`<[" else c for c in line)
