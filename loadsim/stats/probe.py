"""What a probe found, from its rows. Seconds in, milliseconds out; what is not known is None."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import msgspec

from ..types import RequestRow
from .headline import ANSWERED
from .spread import Range, ranged, since

Span = tuple[int, int]
LAST = 4  # tokens: a batch breaks, and a copy is kept, so many before a prompt's end


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What the same question found over `rows` answered requests: the counts' extremes, the times in ms.

    ttft: sent to first token; of it `before` until the headers came, `eval` the server's prompt eval. `rate`: prompt
    tokens/s of that.
    """

    rows: int
    cache_n: Span | None
    prompt_n: Span | None
    eval: Range | None
    before: Range | None
    ttft: Range | None
    rate: Range | None


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """The last `replaced` tokens were replaced; `inside`: more than the history was kept, each time. None: not told."""

    replaced: int
    parts: Parts
    inside: bool | None


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """How far back an edit may be, in a prompt of `tokens` of which `history` come before the tail.

    restored: what edits within the reach, but for one of the last 4 tokens, had back at the least; past: what others
    had; kept, lost: the prompt evals of both, in ms. edge: the most that was replaced within the reach, beyond: the
    fewest past it; None: no such edit. `cut`: the server cuts its cache at the edit itself, and needs no copy.
    """

    route: str
    tokens: int
    history: int
    edits: list[Edit]
    restored: int | None
    past: Span | None
    kept: Range | None
    lost: Range | None
    edge: int | None
    beyond: int | None
    cut: bool


class Reuse(msgspec.Struct, frozen=True, kw_only=True):
    """What was reused of a prompt of `tokens`, of which the slot held the first `shared`."""

    case: str
    tokens: int
    shared: int
    parts: Parts

    @property
    def reused(self) -> bool | None:
        return None if self.parts.cache_n is None else self.parts.cache_n[0] > 0


class Checkpoints(msgspec.Struct, frozen=True):
    """What is reused of a prompt that the slot holds, in the order in which it was asked."""

    cases: list[Reuse]


class Cold(msgspec.Struct, frozen=True, kw_only=True):
    """A cold prompt of `length` tokens."""

    length: int
    parts: Parts


class Prefill(msgspec.Struct, frozen=True):
    """Cold prompts by their length."""

    prompts: list[Cold]


class Grown(msgspec.Struct, frozen=True, kw_only=True):
    """A warm prompt that grew by `new` tokens."""

    new: int
    parts: Parts


class Chat(msgspec.Struct, frozen=True, kw_only=True):
    """A chat of `messages`, with so many `tools`, that its slot holds whole. render: the template's round trip, ms."""

    messages: int
    tools: int
    render: Range | None
    parts: Parts


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """What a warm turn is made of."""

    grown: list[Grown]
    chats: list[Chat]


class ToolCase(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a turn that the recording has tool calls for; `rows` of it were answered.

    called: with tool calls; same: with the recorded ones' names; misses: calls that the recording has no result for.
    """

    turn: int
    step: int
    wanted: list[str]
    rows: int
    called: int
    same: int
    misses: int


class Tools(msgspec.Struct, frozen=True):
    """The recording's tool cases, in its order."""

    cases: list[ToolCase]


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    """A load point's probe: how many requests were answered of all, and what one kind found.

    errors: of those that were not.
    """

    point: str
    kind: str
    rows: int
    answered: int
    errors: list[str]
    found: Reach | Checkpoints | Prefill | Floor | Tools

    @property
    def holds(self) -> bool:
        """Whether all was answered."""
        return 0 < self.rows == self.answered


def probes(rows: Iterable[RequestRow]) -> list[Probed]:
    """Each load point that has a probe's row, in the order of their first ones."""
    points: dict[str, list[RequestRow]] = {}
    for row in rows:
        if row.row == "probe":
            points.setdefault(row.point, []).append(row)
    return [_probed(point, found) for point, found in points.items()]


def batches(new: int, sizes: tuple[int, int] | None) -> int:
    """In how many batches a warm exact prompt is evaluated that grows by `new` tokens; sizes: -b and -ub.

    They break 4 tokens and 4 + -ub tokens before the end, where copies are kept. Without the sizes only the first
    break is known.
    """
    if sizes is None:
        return 1 + (new > LAST)
    batch, ubatch = sizes
    edges = [0, *sorted({min(batch, LAST), min(batch, LAST + ubatch)}), new]
    pieces = [min(high, new) - min(low, new) for low, high in pairwise(edges)]
    return sum(-(-piece // batch) for piece in pieces)


def _probed(point: str, rows: list[RequestRow]) -> Probed:
    good = [row for row in rows if row.outcome in ANSWERED]
    kind = rows[0].group
    return Probed(
        point=point,
        kind=kind,
        rows=len(rows),
        answered=len(good),
        errors=list(dict.fromkeys(row.error or row.outcome for row in rows if row not in good)),
        found=_KINDS[kind](good),
    )


def _reach(rows: list[RequestRow]) -> Reach:
    said = rows[0].probe if rows else {}
    history, tokens = said.get("history", 0), said.get("tokens", 0)
    asked = _by(rows, "replaced")
    edits = []
    for replaced, same in sorted(asked.items()):
        kept = [row.cache_n for row in same]
        inside = None if None in kept else all((n or 0) >= history for n in kept)
        edits.append(Edit(replaced=replaced, parts=_parts(same), inside=inside))
    within = [edit for edit in edits if edit.inside]
    lost = [edit for edit in edits if edit.inside is False]
    # An edit of the last few tokens goes back to the last copy, whatever the reach is.
    deep = [(edit.replaced, edit.parts.cache_n[0]) for edit in within if edit.replaced > LAST and edit.parts.cache_n]
    past = [n for edit in lost for n in edit.parts.cache_n or ()]
    return Reach(
        route=said.get("route", "tokens"),
        tokens=tokens,
        history=history,
        edits=edits,
        restored=min((kept for _, kept in deep), default=None),
        past=(min(past), max(past)) if past else None,
        kept=ranged(row.prompt_ms for edit in within if edit.replaced > LAST for row in asked[edit.replaced]),
        lost=ranged(row.prompt_ms for edit in lost for row in asked[edit.replaced]),
        edge=max((edit.replaced for edit in within), default=None),
        beyond=min((edit.replaced for edit in lost), default=None),
        cut=bool(deep) and not lost and all(kept == tokens - replaced for replaced, kept in deep),
    )


def _checkpoints(rows: list[RequestRow]) -> Checkpoints:
    return Checkpoints(
        [
            Reuse(case=case, tokens=same[0].probe["tokens"], shared=same[0].probe["shared"], parts=_parts(same))
            for case, same in _by(rows, "case").items()
        ]
    )


def _prefill(rows: list[RequestRow]) -> Prefill:
    lengths = sorted(_by(rows, "length").items())
    return Prefill([Cold(length=length, parts=_parts(same)) for length, same in lengths])


def _floor(rows: list[RequestRow]) -> Floor:
    grown = _by([row for row in rows if "new" in row.probe], "new")
    chats: dict[tuple[int, int], list[RequestRow]] = {}
    for row in rows:
        if "messages" in row.probe:
            chats.setdefault((row.probe["messages"], row.probe["tools"]), []).append(row)
    return Floor(
        grown=[Grown(new=new, parts=_parts(same)) for new, same in sorted(grown.items())],
        chats=[
            Chat(
                messages=messages,
                tools=tools,
                render=ranged(row.probe.get("render_ms") for row in same),
                parts=_parts(same),
            )
            for (messages, tools), same in chats.items()
        ],
    )


def _tools(rows: list[RequestRow]) -> Tools:
    cases: dict[tuple[int, int], list[RequestRow]] = {}
    for row in rows:
        cases.setdefault((row.turn, row.probe["step"]), []).append(row)
    found = [
        ToolCase(
            turn=turn,
            step=step,
            wanted=same[0].probe["wanted"],
            rows=len(same),
            called=sum(bool(row.probe.get("called")) for row in same),
            same=sum(sorted(row.probe.get("called") or []) == sorted(row.probe["wanted"]) for row in same),
            misses=sum(row.misses for row in same),
        )
        for (turn, step), same in cases.items()
    ]
    return Tools(found)


_KINDS: dict[str, Callable[[list[RequestRow]], Reach | Checkpoints | Prefill | Floor | Tools]] = {
    "reach": _reach,
    "checkpoints": _checkpoints,
    "prefill": _prefill,
    "floor": _floor,
    "tools": _tools,
}


def _by(rows: list[RequestRow], key: str) -> dict[Any, list[RequestRow]]:
    found: dict[Any, list[RequestRow]] = {}
    for row in rows:
        found.setdefault(row.probe[key], []).append(row)
    return found


def _parts(rows: list[RequestRow]) -> Parts:
    rates = (row.prompt_n / row.prompt_ms * 1e3 if row.prompt_n and row.prompt_ms else None for row in rows)
    return Parts(
        rows=len(rows),
        cache_n=_span(row.cache_n for row in rows),
        prompt_n=_span(row.prompt_n for row in rows),
        eval=ranged(row.prompt_ms for row in rows),
        before=_ms(since(row.sent_s, row.headers_s) for row in rows),
        ttft=_ms(since(row.sent_s, row.first_token_s) for row in rows),
        rate=ranged(rates),
    )


def _ms(seconds: Iterable[float | None]) -> Range | None:
    return ranged(None if value is None else value * 1e3 for value in seconds)


def _span(values: Iterable[int | None]) -> Span | None:
    found = [value for value in values if value is not None]
    return (min(found), max(found)) if found else None
