"""Which parts of a run are drawn as swimlanes: all of it where it is small, else what went worst."""

import math
from collections.abc import Iterable, Iterator

import msgspec

from ...stats.headline import failed
from ...stats.spread import since
from ...types import RequestRow
from ..soak import clock
from ..words import listed, runs, several

MOST_SPANS = 20_000  # of all scenes together; a row is counted with as many as it can have
WINDOW_S = 60.0

Placed = tuple[int, RequestRow]
"""A row and its place in the run."""


class Cutout(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one repeat of a load point from `start` to `end` on the run's clock; `origin`: when its load began.
    `why` it was chosen; empty where everything is. `hidden`: callers who are left out."""

    repeat: int
    rows: list[Placed]
    origin: float
    start: float
    end: float
    why: str = ""
    hidden: int = 0


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What is drawn of a load point, and in words what is not."""

    cutouts: list[Cutout]
    left_out: str = ""


def choose(rows: Iterable[Placed], most: int) -> Chosen:
    """What of a load point's rows is drawn with `most` spans or about as many. Of a large one the first, the worst and
    the last repeat; of a long one the worst minutes."""
    repeats: dict[int, list[Placed]] = {}
    for place, row in rows:
        if extent(row) is not None:
            repeats.setdefault(row.repeat, []).append((place, row))
    if sum(map(_size, repeats.values())) <= most:
        return Chosen(cutouts=[_whole(repeat, repeats[repeat]) for repeat in sorted(repeats)])
    worst = max(sorted(repeats), key=lambda repeat: badness(row for _, row in repeats[repeat]))
    stay = sorted({min(repeats), worst, max(repeats)})
    share = most // len(stay)
    if len(repeats) == 1 or _size(repeats[worst]) > share:
        stay, share = [worst], most
    cutouts, parts = [], []
    if len(stay) < len(repeats):
        gone = sorted(set(repeats) - set(stay))
        parts.append(f"{'repeat' if len(gone) == 1 else 'repeats'} {runs(gone)}")
    for repeat in stay:
        mine = repeats[repeat]
        if _size(mine) <= share:
            cutouts.append(_whole(repeat, mine, _why(repeat, worst, repeats)))
            continue
        minutes = list(_minutes(repeat, mine, share))
        cutouts += minutes
        whole = _whole(repeat, mine)
        lasts = math.ceil((whole.end - whole.start) / WINDOW_S)
        if lasts > len(minutes):
            kept = "the worst minute" if len(minutes) == 1 else f"the {len(minutes)} worst minutes"
            parts.append(f"all but {kept} of {lasts:,} of repeat {repeat}")
        if hidden := max(cutout.hidden for cutout in minutes):
            parts.append(several(hidden, "caller"))
    return Chosen(cutouts=cutouts, left_out=listed(parts))


def badness(rows: Iterable[RequestRow]) -> tuple[int, float, float]:
    """Requests that failed or were hung up on; seconds of silence within replies; the longest wait for a token."""
    lost, silent, longest = 0, 0.0, 0.0
    for row in rows:
        lost += failed(row) or row.abandoned
        silent += row.playout.silent_s if row.playout else 0.0
        if row.outcome != "superseded":
            until = row.end_s if row.first_token_s is None else row.first_token_s
            longest = max(longest, since(row.sent_s, until) or 0.0)
    return lost, round(silent, 3), longest


def extent(row: RequestRow) -> tuple[float, float] | None:
    """From the caller's first word to the agent's last, as far as the row has them. None: nothing was sent."""
    if row.sent_s is None:
        return None
    begins = row.sent_s if row.spoke is None else min(row.spoke.start_s, row.sent_s)
    ends = [row.sent_s, row.end_s, row.last_token_s, row.playout.end_s if row.playout else None]
    return begins, max(at for at in ends if at is not None)


def _size(rows: Iterable[Placed]) -> int:
    """How many spans the rows have at the most, but for silences."""
    return sum(2 * (row.spoke is not None) + 2 + 3 * bool(row.token_s) + (row.cut is not None) for _, row in rows)


def _whole(repeat: int, rows: list[Placed], why: str = "") -> Cutout:
    times = [found for _, row in rows if (found := extent(row))]
    start, end = min(begin for begin, _ in times), max(end for _, end in times)
    return Cutout(repeat=repeat, rows=rows, origin=start, start=start, end=end, why=why)


def _why(repeat: int, worst: int, repeats: Iterable[int]) -> str:
    known = list(repeats)
    words = (("the first", min(known)), ("the worst", worst), ("the last", max(known)))
    return " and ".join(word for word, which in words if which == repeat)


def _minutes(repeat: int, rows: list[Placed], most: int) -> Iterator[Cutout]:
    """The worst minutes, by when their requests were sent, in the order of time; the very worst however large."""
    whole = _whole(repeat, rows)
    begun: dict[int, list[RequestRow]] = {}
    seen: dict[int, list[Placed]] = {}
    for place, row in rows:
        begins, ends = extent(row) or (0.0, 0.0)
        begun.setdefault(int(((row.sent_s or 0.0) - whole.start) // WINDOW_S), []).append(row)
        for minute in range(int((begins - whole.start) // WINDOW_S), int((ends - whole.start) // WINDOW_S) + 1):
            seen.setdefault(minute, []).append((place, row))
    chosen: dict[int, tuple[list[Placed], int]] = {}
    for minute in sorted(begun, key=lambda minute: badness(begun[minute]), reverse=True):
        size = _size(seen[minute])
        if size <= most:
            chosen[minute] = (seen[minute], 0)
            most -= size
        elif not chosen:
            chosen[minute] = _fewer(seen[minute], most)
            most = 0
    for minute in sorted(chosen):
        start = whole.start + minute * WINDOW_S
        end = min(start + WINDOW_S, whole.end)
        mine, hidden = chosen[minute]
        since_begin = f"{clock(start - whole.start)} to {clock(end - whole.start)}"
        yield Cutout(repeat=repeat, rows=mine, origin=whole.start, start=start, end=end, why=since_begin, hidden=hidden)


def _fewer(rows: list[Placed], most: int) -> tuple[list[Placed], int]:
    """The worst callers' rows, and how many callers are left out."""
    callers: dict[tuple[str, int], list[Placed]] = {}
    for place, row in rows:
        callers.setdefault((row.group, row.caller), []).append((place, row))
    stay: list[Placed] = []
    hidden = 0
    for mine in sorted(callers.values(), key=lambda of: badness(row for _, row in of), reverse=True):
        if not stay or _size(stay) + _size(mine) <= most:
            stay += mine
        else:
            hidden += 1
    return stay, hidden
