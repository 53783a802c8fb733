"""A cold join: what a caller whose prompt shares nothing with any slot costs the others while it is evaluated."""

import math
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from statistics import median

import msgspec

from ..types import RequestRow
from .headline import Call, call_of
from .spread import known, middle, since

Window = tuple[float, float]


class Stall(msgspec.Struct, frozen=True, kw_only=True):
    """What one warm caller met while a cold prompt was evaluated.

    steps: tokens that arrived. whole: it was generating from the beginning to the end. wait: the longest wait for a
    first token, and gap: the largest gap inside a reply, of those that overlap that time, each in its whole length.
    tokens, seconds: what it got, and for how long it was generating, inside that time.
    """

    steps: int
    whole: bool
    wait: float | None
    gap: float | None
    tokens: int
    seconds: float

    @property
    def before(self) -> bool:
        """Whether it was hit before the first token more than inside a reply."""
        return self.wait is not None and self.wait >= (self.gap or 0.0)

    @property
    def decode(self) -> float | None:
        return self.tokens / self.seconds if self.seconds > 0 else None


class Join(msgspec.Struct, frozen=True, kw_only=True):
    """One cold prompt of `prompt` tokens, first token after `ttft`, evaluated for `seconds`, and what others met.

    generating: warm callers who got tokens meanwhile; whole: those who did so all the time; steps: the median over
    these (None: nobody did), most: of all callers. wait and `before`, gap and `inside`: the longest wait for a first
    token and the largest gap in a reply, and how many callers each of them hit most. decode, slowest: tokens/s while
    generating, of callers who did so for half of the time or longer.
    """

    repeat: int
    group: str
    caller: int
    prompt: int | None
    ttft: float | None
    seconds: float
    generating: int
    whole: int
    steps: float | None
    most: int
    wait: float | None
    before: int
    gap: float | None
    inside: int
    decode: float | None
    slowest: float | None


class Place(msgspec.Struct, frozen=True):
    """Where the stalls lay: how many callers they hit before the first token, and how many inside a reply."""

    before: int
    inside: int


def place(joins: Iterable[Join]) -> Place:
    """Over several joins: a caller who met two of them counts twice."""
    found = list(joins)
    return Place(sum(join.before for join in found), sum(join.inside for join in found))


def joins(rows: Iterable[RequestRow], cold: Collection[str]) -> list[Join]:
    """The joins of a point, in the order of their requests: cold prompts of the groups named `cold`."""
    load = [row for row in rows if row.row == "load"]
    warm = [row for row in load if row.group not in cold]
    return [_join(row, when, warm) for row, when in cold_prompts(load, cold)]


def cold_prompts(rows: Iterable[RequestRow], cold: Collection[str]) -> Iterator[tuple[RequestRow, Window]]:
    """The requests of a point's joins, in their order, each with the time in which its prompt was evaluated."""
    load = sorted((row for row in rows if row.row == "load"), key=lambda row: (row.repeat, row.sent_s or 0.0))
    first: dict[Call, RequestRow] = {}
    for row in load:
        if row.group in cold:
            opens = first.setdefault(call_of(row), row) is row
            # Later prompts of the same call find it in their slot; where kinds are not told, only the first is cold.
            comes_cold = row.kind == "cold" or (row.kind is None and opens)
            if comes_cold and (when := window(row)) is not None:
                yield row, when


class Met(msgspec.Struct, frozen=True):
    """What a caller met: a wait for a first token or a gap inside a reply, that ended `at` seconds after the beginning
    of a cold prompt's evaluation and took `seconds`."""

    at: float
    seconds: float
    row: RequestRow


def around(joiner: RequestRow, when: Window, warm: Iterable[RequestRow], reach: float) -> tuple[list[Met], list[Met]]:
    """Waits and gaps of other callers that ended within `reach` seconds before and after a cold prompt's evaluation.
    Tokens that came at once have no gap between them."""
    start, end = when
    waits, gaps = list[Met](), list[Met]()
    for row in warm:
        if row.repeat != joiner.repeat or row.sent_s is None or row.outcome == "superseded":
            continue
        times = [row.sent_s + t for t in row.token_s]
        if row.first_token_s is not None and start - reach <= row.first_token_s <= end + reach:
            waits.append(Met(row.first_token_s - start, row.first_token_s - row.sent_s, row))
        gaps += [Met(b - start, b - a, row) for a, b in pairwise(times) if b > a and start - reach <= b <= end + reach]
    return waits, gaps


def window(row: RequestRow) -> Window | None:
    """When a prompt was evaluated, on the run's clock. None: the row does not tell.

    Headers come when its slot begins, or with the first token from old builds; the server's own time does not hold the
    waiting before it. The later of both is right.
    """
    if row.first_token_s is None:
        return None
    prompt = None if row.prompt_ms is None else row.first_token_s - row.prompt_ms / 1e3
    starts = known((row.headers_s, prompt))
    return (max(starts), row.first_token_s) if starts else None


def stall(rows: list[RequestRow], when: Window) -> Stall:
    """What a caller with these rows met within `when`."""
    start, end = when
    waits, gaps, steps, tokens, seconds, whole = [], list[float](), 0, 0, 0.0, False
    for row in rows:
        if row.sent_s is None:
            continue
        times = [row.sent_s + t for t in row.token_s]
        # Who hung up, or was never answered, waited at least until then.
        waited = row.end_s if row.first_token_s is None else row.first_token_s
        heard = row.outcome != "superseded"  # nobody waits for a reply that was asked for too early
        if heard and waited is not None and row.sent_s < end and waited > start:
            waits.append(waited - row.sent_s)
        gaps += [b - a for a, b in pairwise(times) if a < end and b > start]
        steps += sum(start <= t <= end for t in times)
        if not times:
            continue
        begun, until = max(times[0], start), min(times[-1], end)
        if until > begun:
            tokens += sum(begun < t <= until for t in times)
            seconds += until - begun
        whole = whole or (times[0] <= start and times[-1] >= end)
    return Stall(
        steps=steps,
        whole=whole,
        wait=max(waits, default=None),
        gap=max(gaps, default=None),
        tokens=tokens,
        seconds=seconds,
    )


def steps(prompt: int, batch: int, ubatch: int, generating: int) -> int:
    """How many steps a cold prompt takes, and so how many tokens a neighbour gets meanwhile.

    A step takes `batch` tokens, of which one goes to each generating slot. The batches break where the server saves its
    checkpoints, at `4 + ubatch` tokens before the prompt's end and at 4, so the last two steps are its edges'.
    """
    room = max(batch - generating, 1)
    return math.ceil(max(prompt - min(batch, 4 + ubatch), 0) / room) + 2


def _join(joiner: RequestRow, when: Window, warm: list[RequestRow]) -> Join:
    others: dict[tuple[str, int], list[RequestRow]] = {}
    for row in warm:
        if row.repeat == joiner.repeat:
            others.setdefault((row.group, row.caller), []).append(row)
    stalls = [stall(rows, when) for rows in others.values()]
    hit = [one for one in stalls if one.wait is not None or one.gap is not None]
    whole = [one.steps for one in stalls if one.whole]
    # Of a reply that only touches the time there is a token or none: no rate.
    rates = known(one.decode for one in stalls if one.seconds * 2 >= when[1] - when[0])
    return Join(
        repeat=joiner.repeat,
        group=joiner.group,
        caller=joiner.caller,
        prompt=joiner.prompt_n,
        ttft=since(joiner.sent_s, joiner.first_token_s),
        seconds=when[1] - when[0],
        generating=sum(one.seconds > 0 for one in stalls),
        whole=len(whole),
        steps=median(whole) if whole else None,
        most=max((one.steps for one in stalls), default=0),
        wait=max((one.wait for one in stalls if one.wait is not None), default=None),
        before=sum(one.before for one in hit),
        gap=max((one.gap for one in stalls if one.gap is not None), default=None),
        inside=sum(not one.before for one in hit),
        decode=middle(rates),
        slowest=min(rates, default=None),
    )
