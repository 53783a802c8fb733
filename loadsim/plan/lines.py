"""A search in words: a line per load point as it ends, and the answer in a sentence or two."""

from collections.abc import Iterator, Sequence

from ..report.words import TINY, listed, percent, several
from .ahead import Ahead
from .found import Found, Measured, Paced
from .slo import Target, parse
from .verdict import Figure, Verdict

GAP = 2
SENTENCES = ("The ", "Now ")  # how lines begin that are no rows of the table, and may be wrapped
SIGNS: dict[Verdict, str] = {"meets": "holds", "misses": "fails", "unclear": "unclear"}
MARKS: dict[Verdict, str] = {"meets": " ", "misses": "!", "unclear": "?"}


def heading(group: str, targets: Sequence[Target], default: bool) -> Iterator[str]:
    """What is searched, and the columns' names."""
    said = ", ".join(target.text for target in targets)
    yield f"The most {group} callers who, all talking at once, have {said}{' (default)' if default else ''}:"
    yield ""
    for first, cells in (
        ("callers", [target.title for target in targets]),
        ("", [target.bound for target in targets]),
    ):
        yield _row([f"{first:>7}", f"{'n' if first else '':>9}"], [f"{cell} " for cell in cells], targets).rstrip()


def line(point: Measured, targets: Sequence[Target]) -> str:
    """A load point: callers, n, each target's figure (`!` where it misses, `?` where that is not clear), verdict."""
    n = size(point)
    also = f", {point.load}" if point.load != "together" else ""
    return f"{_row([f'{point.count:>7}', f'{n:>9}'], cells(point, targets), targets)}  {sign(point)}{also}"


def cells(point: Measured, targets: Sequence[Target]) -> list[str]:
    """Each target's figure with its mark, which is a blank where it meets; dashes where none was measured."""
    figures = [f"{_cell(figure, target)}{MARKS[figure.verdict]}" for figure, target in _pairs(point, targets)]
    return figures or ["- " for _ in targets]


def sign(point: Measured) -> str:
    """What became of a load point, in a word."""
    return "stopped" if point.why and point.verdict == "unclear" else SIGNS[point.verdict]


def size(point: Measured) -> str:
    """Its n: repeats times replies."""
    return f"{point.repeats} x {point.replies // point.repeats}" if point.repeats else "-"


def ahead(found: Ahead) -> str:
    """What is left to be measured, once a number fails."""
    left = several(found.points, "load point") if found.points else ""
    parts = [left, "the confirmation"] if found.confirmation else [left]
    between = f"{found.low} to {found.high}" if found.high > found.low else f"{found.low}"
    return f"        ({between}: {listed([part for part in parts if part])} left, about {duration(found.seconds)})"


def before_paced(paced: Paced) -> str:
    """How long the confirmation with the pace of people takes."""
    return (
        f"Now {several(paced.callers, 'caller')} with the pace of people, until {paced.needed} replies are heard: "
        f"about {duration(paced.seconds)} (--together-only leaves it out)"
    )


def table(found: Found) -> Iterator[str]:
    """What was searched, and the load points, as they were told; the answer comes after them."""
    targets = [parse(text) for text in found.targets]
    yield from heading(found.group, targets, found.default)
    for point in found.points:
        if point.load == "paced" and found.paced is not None:
            yield from ("", before_paced(found.paced), "")
        yield line(point, targets)


def answer(found: Found) -> Iterator[str]:
    """The answer, a sentence or two; then how far it may be trusted."""
    if said := f"{_callers(found)} {_why(found)}".strip():
        yield said
    if found.stopped:
        how = f"was {found.stopped}" if found.limit == "interrupted" else f"stopped: {found.stopped}"
        yield f"The search {how}.{_open(found)}"
    if found.callers and not found.stopped:
        yield from _sure(found)
    if found.paced is not None and found.paced.measured is not None:
        yield _paced(found.paced.measured, found)
    if found.embedded:
        yield TINY


def why_fails(point: Measured, targets: Sequence[Target]) -> str:
    """Why a load point fails: `13 fails: TTFT p95 842 ms of 800`."""
    if not point.figures:
        return f"{point.count} fails: {point.why}"
    missed = [t.beside(f.value) for f, t in _pairs(point, targets) if f.verdict == "misses"]
    return f"{point.count} fails: {listed(missed) or point.why}"


def duration(seconds: float) -> str:
    """As people say it: 45 s, 5 min 10 s, 1 h 2 min."""
    whole = max(round(seconds), 1)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    parts = [f"{hours} h"] * (hours > 0) + [f"{minutes} min"] * (minutes > 0) + [f"{rest} s"] * (rest > 0 and not hours)
    return " ".join(parts)


def _callers(found: Found) -> str:
    """How many, where the noise may hide one more or several."""
    high, low = found.high, found.callers
    also = f" beside {several(found.others, 'other')}" if found.others else ""
    if found.stopped or high is None or high <= low:
        if not low:
            return "" if found.stopped else "Even one caller misses:"
        at_least = "" if high == low else "At least "
        verb = "meets" if low == 1 else "meet"
        return f"{at_least}{several(low, f'{found.group} caller')}{also} {verb} every target."
    joint = "or" if high == low + 1 else "to"
    return f"{low} {joint} {several(high, f'{found.group} caller')}{also}: nearer than the noise."


def _open(found: Found) -> str:
    """What is not known, of a search that stopped."""
    first = found.callers + 1
    if found.high is None:
        return f" Whether {first} or more hold is not known."
    if found.high < first:
        return ""
    return f" Whether {first}{f' to {found.high}' if found.high > first else ''} hold is not known."


def _why(found: Found) -> str:
    """What stands in the way of more."""
    said = []
    targets = [parse(text) for text in found.targets]
    if found.high is not None and found.high > found.callers and not found.stopped:
        near = next(
            (p for p in reversed(found.points) if p.count == found.callers + 1 and p.verdict == "unclear"), None
        )
        if near is not None:
            said.append(f"At {near.count} {listed(_near(near, targets))}.")
    if found.reason:
        said.append(f"{found.reason}." if found.callers or found.stopped else f"{found.reason.partition(': ')[2]}.")
    if found.limit == "slots":
        said.append("The server's slots end the search there: start it with a larger -np.")
    if found.limit == "most":
        said.append("The search ends there (--most).")
    return " ".join(said)


def _near(point: Measured, targets: Sequence[Target]) -> list[str]:
    """The figures that are nearer to their limit than the noise."""
    said = []
    for figure, target in _pairs(point, targets):
        if figure.verdict == "unclear":
            span = ""
            if figure.low is not None and figure.high is not None:
                low, high = target.figure(figure.low), target.figure(figure.high)
                span = f" ({low.removesuffix(target.unit).rstrip()} to {high})"
            said.append(f"{target.beside(figure.value)}{span} over {several(point.repeats, 'repeat')}")
    return said


def _sure(found: Found) -> Iterator[str]:
    """Where the answer was confirmed, and what so few replies cannot show."""
    slots = found.slots
    if slots is not None:
        yield f"Confirmed on a server with {several(slots, 'slot')} (-np {slots}) and no more."
    point = next((p for p in reversed(found.points) if p.point == found.confirmed), None)
    point = point or next((p for p in reversed(found.points) if p.count == found.callers and p.figures), None)
    if point is None:
        return
    spare = (point.slots or 0) - found.callers - found.others
    if slots is None and spare > 0:
        yield f"The server has {several(spare, 'slot')} more, and is not ours to start again with fewer."
    if found.paced is not None:
        return
    for figure, target in _pairs(point, [parse(text) for text in found.targets]):
        if target.counted and figure.shown is not None and figure.of and figure.shown > target.limit:
            yield (
                f"{target.title}: {figure.hits} of {several(figure.of, 'reply')} shows under {percent(figure.shown)} "
                "only; callers with the pace of people show more (leave out --together-only)."
            )


def _paced(point: Measured, found: Found) -> str:
    """What callers with the pace of people met."""
    targets = [parse(text) for text in found.targets]
    said = listed(t.beside(f.value) + _counted(f, t) for f, t in _pairs(point, targets))
    who = f"With the pace of people, over {several(point.replies, 'reply')}: {said}"
    if not point.figures:
        return f"With the pace of people: {point.why}."
    unreal = found.paced.time_scale if found.paced is not None else 1.0
    scale = f" This is not real load: time runs {unreal:g} times faster." if unreal > 1 else ""
    return who + {"meets": "; it holds.", "misses": "; it fails.", "unclear": "; not clear yet."}[point.verdict] + scale


def _counted(figure: Figure, target: Target) -> str:
    if not target.counted or figure.shown is None:
        return ""
    return f" ({figure.hits} of {figure.of}: under {percent(figure.shown)} for sure)"


def _cell(figure: Figure, target: Target) -> str:
    if target.counted and figure.of is not None:
        return f"{figure.hits} of {figure.of}"
    return target.figure(figure.value)


def _pairs(point: Measured, targets: Sequence[Target]) -> list[tuple[Figure, Target]]:
    """The figures with their targets; nothing of a point that could not be measured."""
    return list(zip(point.figures, targets, strict=True)) if point.figures else []


def _row(first: Sequence[str], cells: Sequence[str], targets: Sequence[Target]) -> str:
    """A line whose columns are as wide as the targets' names; the last character of a cell is its mark's."""
    widths = [max(len(target.title), len(target.bound), 10) + 1 for target in targets]
    return "".join([*first, *(f"{cell:>{GAP + width}}" for cell, width in zip(cells, widths, strict=True))])
