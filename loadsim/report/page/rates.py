"""Rates: how fast each reply runs, beside one caller's and the voice's, and how many tokens come in all."""

from collections.abc import Iterator, Sequence

from ..remarks import ratio, unsteady
from ..table import speech
from ..words import number, percent
from .copied import copied
from .crowd import Line, lines, rate
from .parts import Axis, Chart, Rule, Section, Series, Shown, Table
from .scatter import AXES, Along, alone, along, ends, percentiles, replies, summed

TIMES = (1, 2, 4, 8)  # of the voice's rate, where the picture reaches so far


def rates(shown: list[Shown]) -> Section | None:
    """None: no reply of a load point with an answer has a rate."""
    found = lines(shown)
    by = along(found)
    drawn = replies(found, rate, by, 1)
    if not drawn:
        return None
    charts = [_decode(found, drawn, by), *(chart for chart in (_share(found, by), _total(found, by)) if chart)]
    return Section(
        id="rates",
        title="Decode rates",
        words=[*_words(shown)],
        parts=[*charts, *(table for table in (_speech(shown), _alone(shown)) if table)],
    )


def _decode(found: list[Line], drawn: list[Series], by: Along) -> Chart:
    middles = percentiles(found, rate, 1, tail=False) if by == "callers" else []
    slowest = summed(found, "slowest", lambda mark: mark.who.decode_slowest) if by == "callers" else []
    quiet = [series for side in ("before", "during", "after") for series in alone(found, rate, by, 1, side)]
    every = [value for series in (*drawn, *quiet) for value in series.y if value is not None]
    said = "; ".join(f"{line.label}: {text} at p50" for line in found if (text := ends(line, rate, 50, "tokens/s")))
    return Chart(
        id="rates-decode",
        title="Decode rate of each reply",
        said=f"{said}.",
        x=AXES[by],
        y=Axis(label="decode rate", unit="tokens/s", scale="log"),
        series=[*drawn, *middles, *slowest, *quiet],
        rules=[*_rules(found, min(every), max(every))],
        height=340,
    )


def _rules(found: list[Line], low: float, high: float) -> Iterator[Rule]:
    """The voice's rate, and multiples of it up to where the replies are."""
    for voice in sorted({mark.point.voice for line in found for mark in line.marks}):
        for times in TIMES:
            # Below the slowest reply the voice itself is drawn, and one line more to see how far it is.
            if times == 1 or (times * voice <= high and (times == 2 or times * voice >= low / 2)):
                name = "a voice" if times == 1 else f"{times} x a voice"
                yield Rule(
                    label=f"{name}: {number(times * voice)}", at=times * voice, role="warn" if times == 1 else "quiet"
                )


def _share(found: list[Line], by: Along) -> Chart | None:
    """Over callers only: of one load size the words and the table tell it."""
    if by != "callers":
        return None
    series: list[Series] = []
    for line in found:
        for name, dashed in (("", False), ("by gap", True)):
            shares = [mark.point.summary.shares[mark.who.name] for mark in line.last]
            both = [(share.gap if name else share.mean).both for share in shares]
            if not any(both):
                continue
            x = [float(mark.callers) for mark in line.last]
            mid, low, high = (
                [None if of is None else round(getattr(of, side) * 100, 3) for of in both]
                for side in ("mid", "low", "high")
            )
            label = f"{line.label} {name}".strip()
            if not name:
                series.append(Series(label=f"{label}, over repeats", x=x, y=low, top=high, draw="band", role=line.role))
            draw = "line" if len(x) > 1 else "points"
            series.append(Series(label=label, x=x, y=mid, draw=draw, role=line.role, dashed=dashed))  # type: ignore[arg-type]
    if not series:
        return None
    said = []
    for line in found:
        edges = [(mark.callers, mark.point.summary.shares[mark.who.name].mean.both) for mark in line.last]
        told = [f"{percent(of.mid)} at {n}" for n, of in (edges[0], edges[-1]) if of is not None]
        said.append(f"{line.label}: {', '.join(dict.fromkeys(told))}")
    return Chart(
        id="rates-share",
        title="Share of one caller's decode rate",
        said=f"{'; '.join(said)} callers.",
        x=AXES[by],
        y=Axis(label="share", unit="%", low=0),
        series=series,
    )


def _total(found: list[Line], by: Along) -> Chart | None:
    if by != "callers":
        return None
    series = summed(found, "", lambda mark: mark.who.total)
    if not series:
        return None
    said = []
    for line in found:
        told = [(mark.callers, mark.who.total) for mark in line.last if mark.who.total is not None]
        if told:
            n, most = max(told, key=lambda each: each[1])
            said.append(f"{line.label}: {number(most)} tokens/s at {n} callers, the most")
    return Chart(
        id="rates-total",
        title="Tokens of all callers together, while all are speaking",
        said=f"{'; '.join(said)}.",
        x=AXES[by],
        y=Axis(label="all callers", unit="tokens/s", low=0),
        series=series,
    )


def _words(shown: Sequence[Shown]) -> Iterator[str]:
    for one in shown:
        for point in one.points:
            if said := unsteady(point):
                yield f"{one.name(point.name)}: {said}."


def _speech(shown: Sequence[Shown]) -> Table | None:
    of = [(one.name(point.name), speech(point)) for one in shown for point in one.points]
    return copied("How replies ran: gaps, rates and shares", of, shown=len(of) <= 4)


def _alone(shown: Sequence[Shown]) -> Table | None:
    """The one-caller rows, and the share by each side of them."""
    rows = []
    for one in shown:
        for point in one.points:
            if point.summary.baseline is None:
                continue
            for who in point.summary.load:
                share = point.summary.shares[who.name]
                cells = [number(point.summary.before), number(point.summary.after)]
                for of in (share.mean.both, share.mean.before, share.mean.after, share.gap.both):
                    cells.append("-" if of is None else ratio(of))
                rows.append(
                    [
                        f"{one.name(point.name)}, {who.name}" if who.name not in point.name else one.name(point.name),
                        *cells,
                    ]
                )
    columns = ["load point", "one caller before, tokens/s", "after", "share", "by the one before", "by the one after"]
    columns.append("by 1 / median gap")
    return Table(caption="One caller around each load point", columns=columns, rows=rows) if rows else None
