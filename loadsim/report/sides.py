"""A run as one side of a comparison."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..results.read import Run
from ..scenario.secret import masked_data
from ..stats.cards import cards, host, within
from ..stats.comparison import Crowd, Measured, Named, Side
from ..stats.headline import in_headline, last_attempts
from ..stats.metrics import ONE_CALLER, Sample, samples
from ..stats.spread import middle
from ..stats.state import State, others
from ..types import BadInput, RequestRow
from .answer import client_limits, refusal, state
from .point import Point, points
from .remarks import unsteady
from .words import path_text


def side(run: Run) -> Side:
    """Raises BadInput for a run without a load point."""
    facts = run.facts
    if (facts.get("scenario") or {}).get("probe") or any(row.row == "probe" for row in run.rows):
        raise BadInput(f"{run.path} is a probe's run: not comparable here, compare takes load points")
    unfinished = {point: _last_repeat(run, point) for point in {row.point for row in run.rows}}
    kept = [row for row in run.rows if row.repeat != unfinished[row.point]]
    lost = [point for point, repeat in unfinished.items() if repeat is not None]
    found = points(msgspec.structs.replace(run, rows=kept))
    measured = [_measured(run, point, kept) for point in found if point.summary.load]
    if not measured:
        raise BadInput(
            f"{run.path} has no load point to compare{': no repeat was measured to its end' if lost else ''}"
        )
    started = (facts.get("started") or {}).get("time")
    return Side(
        run=Named(
            path=path_text(run.path),
            id=facts.get("id", ""),
            ended=facts.get("ended"),
            started=started if isinstance(started, str) else None,
        ),
        points=measured,
        digests=facts.get("digests") or {},
        facts=masked_data(_facts(facts)),
        scenario={
            key: value for key, value in _flat(masked_data(facts.get("scenario") or {}), "") if key != "server.url"
        },
        notes=masked_data(list(_notes(run, lost))),
    )


def _last_repeat(run: Run, point: str) -> int | None:
    """The repeat that a point broke off in; a part of a load is no sample of it. None: it was measured to its end, or
    has a length, so that stretches of it are samples."""
    if run.measured(point) or _lasting(run, point):
        return None
    return max(row.repeat for row in run.rows if row.point == point)


def _lasting(run: Run, point: str) -> bool:
    return any(event.get("event") == "load" and event.get("point") == point for event in run.events)


def _notes(run: Run, lost: Sequence[str]) -> Iterator[str]:
    for told in state(run):
        yield f"{told[0].lower()}{told[1:]}".removesuffix(".")
    for point in lost:
        yield f"{point}: the repeat that was broken off is left out"


def _measured(run: Run, point: Point, kept: Sequence[RequestRow]) -> Measured:
    rows = [row for row in kept if row.point == point.name]
    notes = []
    if limits := client_limits(point.client):
        notes.append(f"the client was a bottleneck at {point.name}: {limits}")
    if moved := unsteady(point):
        notes.append(f"{point.name}: {moved.partition(':')[0]}")  # the share's interval shows it
    if point.outages:
        notes.append(f"nobody was given a token for a part of {point.name}")
    found = samples(rows, _lasting(run, point.name))
    repeats, most = len({row.repeat for row in rows}), max(map(len, found.values()), default=0)
    if most > repeats:
        notes.append(f"{most} stretches of equal time of {point.name} are its samples, for want of repeats")
    return Measured(
        name=point.name,
        crowds={who: _crowd(who, found[who], rows) for who in _ordered(found, point)},
        time_scale=point.setting.around.time_scale,
        state=_state(run, rows),
        refused=refusal(point),
        notes=notes,
    )


def _ordered(found: dict[str, list[Sample]], point: Point) -> list[str]:
    """One caller first, then the groups as the scenario lists them."""
    return [name for name in (ONE_CALLER, *(who.name for who in point.summary.load)) if name in found]


def _crowd(name: str, found: list[Sample], rows: Sequence[RequestRow]) -> Crowd:
    """`rows`: the point's."""
    alone = name == ONE_CALLER
    mine = [row for row in rows if (row.row == "baseline" if alone else row.row == "load" and row.group == name)]
    good = [row for row in last_attempts(row for row in mine if row.outcome != "superseded") if in_headline(row)]
    whole = [row for row in good if row.outcome == "ok"]
    return Crowd(
        name=name,
        samples=found,
        callers=len({row.caller for row in mine}),
        prompt=middle(None if row.prompt_n is None else row.prompt_n + (row.cache_n or 0) for row in good),
        new=middle(row.new_tokens for row in good),
        reply=middle(row.predicted_n if row.predicted_n is not None else len(row.token_s) for row in whole),
        cap=middle(row.max_tokens for row in good),
        kinds=dict(Counter(row.kind for row in good if row.kind is not None)),
    )


def _state(run: Run, rows: Sequence[RequestRow]) -> State:
    starts = [row.sent_s for row in rows if row.sent_s is not None]
    start, end = min(starts, default=0.0), max((row.end_s or 0.0 for row in rows), default=0.0)
    names = [str(card.get("name") or "?") for card in _cards(run.facts)]
    server, machine = _part(run.facts, "server"), _part(run.facts, "host")
    seen = cards(within(run.card, start, end))
    if not (server.get("embedded") or server.get("command")):
        return State(cards=seen, names=names)
    during = within(run.host, start, end)
    found = host(during)
    return State(
        cards=seen,
        names=names,
        cpu=None if machine.get("cpu") is None else str(machine["cpu"]),
        cores=machine["cores"] if isinstance(machine.get("cores"), int) else None,
        busy=None if found is None else found.cpu,
        others=others(during),
    )


def _facts(facts: dict[str, Any]) -> dict[str, str | None]:
    """What people change on purpose, and what bears on the figures. An address without what may be secret in it."""
    server, host, versions = (_part(facts, name) for name in ("server", "host", "versions"))
    ours = server.get("embedded") or server.get("command")
    cards = sorted(str(card.get("name") or "?") for card in _cards(facts))
    told = {
        "server": "one that loadsim started" if ours else _place(str(server.get("url") or "")),
        "build": server.get("build"),
        "model": server.get("model"),
        "slots": server.get("slots"),
        "context a slot": server.get("context"),
        "card": ", ".join(cards) or None,
        "driver": ", ".join(sorted({str(card.get("driver")) for card in _cards(facts)})) or None,
        "client's CPU": host.get("cpu"),
        "client's cores": host.get("cores"),
        "loadsim": versions.get("loadsim"),
        "python": versions.get("python"),
    }
    return {name: None if value is None else str(value) for name, value in told.items()}


def _place(url: str) -> str | None:
    """Host and port alone; a url may hold a password."""
    try:
        found = urlsplit(url)
        return f"{found.hostname}:{found.port}" if found.hostname else None
    except ValueError:
        return None


def _part(facts: dict[str, Any], name: str) -> dict[str, Any]:
    """An object of run.json, of which only a part is checked when it is read."""
    found = facts.get(name)
    return found if isinstance(found, dict) else {}


def _cards(facts: dict[str, Any]) -> list[dict[str, Any]]:
    found = facts.get("cards")
    return [card for card in found if isinstance(card, dict)] if isinstance(found, list) else []


def _flat(tree: Any, above: str) -> Iterator[tuple[str, Any]]:
    """Dotted keys and their values."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _flat(value, f"{above}.{key}" if above else str(key))
    elif above:
        yield above, tree
