"""The load as it was: whether it was what was planned, what failed, and what the prompts were to their slots."""

from collections.abc import Sequence

from ..answer import answer
from ..point import Point
from ..remarks import WHY
from ..table import n
from ..words import counts, ms, number, percent, span, whole
from .head import warnings
from .parts import Section, Shown, Table

OUTCOMES = ("ok", "cut", "empty", "superseded", "error", "timeout")
MOST = 50  # kinds of errors; of an outage each reply may tell its own number of tokens


def delivered(shown: list[Shown]) -> Section | None:
    """None: there is no load point."""
    every = [(one.name(point.name), point) for one in shown for point in one.points]
    if not every:
        return None
    tables = (_sentences(every), _warnings(shown), _load(every), _outcomes(every), _kinds(every), _errors(every))
    return Section(id="delivered", title="The load as it was", parts=[table for table in tables if table.rows])


def _sentences(every: Sequence[tuple[str, Point]]) -> Table:
    """Of several load points; a single one's answer is the page's."""
    rows = [[name, answer(point, False)] for name, point in every] if len(every) > 1 else []
    return Table(caption="Each load point in a sentence", columns=["load point", "answer"], rows=rows, open=False)


def _warnings(shown: Sequence[Shown]) -> Table:
    """Of several load points; those of a single one stand at the page's head."""
    rows = [
        [", ".join(map(one.name, names)), text]
        for one in shown
        if len(one.points) > 1
        for text, names in warnings(one).items()
    ]
    return Table(
        caption="Warnings, and the load points that they are of", columns=["of", "warning"], rows=rows, open=False
    )


def _load(every: Sequence[tuple[str, Point]]) -> Table:
    columns = [
        "load point", "in flight", "start spread, ms", "sent after due, p99, ms", "event loop late, p99, ms",
        "worst repeat or window, ms", "GC pauses", "longest, ms", "client's CPU, of a core",
    ]  # fmt: skip
    rows = []
    for name, point in every:
        load, client = point.summary.delivered, point.client
        told = (client.lag_p99_ms, client.worst_lag_ms)
        cells = [str(load.in_flight), ms(load.start_spread), ms(load.late), *map(number, told)]
        rows.append([name, *cells, f"{client.gc_pauses:.0f}", number(client.gc_longest_ms), percent(client.cpu_share)])
    return Table(caption="Load delivered, and the client's own delays", columns=columns, rows=rows)


def _outcomes(every: Sequence[tuple[str, Point]]) -> Table:
    rows = []
    for name, point in every:
        for who in point.everyone:
            rest = sum(count for outcome, count in who.outcomes.items() if outcome not in OUTCOMES)
            cells = [str(who.outcomes.get(outcome, 0)) for outcome in OUTCOMES]
            rate = "-" if who is point.summary.baseline else percent(point.summary.error_rate)
            rows.append([f"{name}, {who.name}", n(who), *cells, str(rest), f"{who.hung_up} of {who.calls}", rate])
    columns = ["replies", "n", *OUTCOMES, "other", "calls hung up", "error rate of the load"]
    return Table(caption="How requests ended", columns=columns, rows=rows, open=False)


def _kinds(every: Sequence[tuple[str, Point]]) -> Table:
    """What prompts were to their slots, those that were not as planned, and where callers were served."""
    rows = []
    for name, point in every:
        for who in point.everyone:
            cells = [counts(who.kinds) or "-", counts(who.unplanned) or "none", span(who.prompt), span(who.cache_n)]
            places = (who.evaluated, who.new, who.slots_used, who.moves)
            why = "; ".join(f"{kind.replace('_', ' ')}: {WHY[kind]}" for kind in who.unplanned)
            rows.append([f"{name}, {who.name}", *cells, *map(whole, places), why])
    columns = [
        "replies", "kinds", "not as planned", "prompt tokens", "cache_n", "evaluated", "grew by", "slots used", "moves",
        "why not as planned",
    ]  # fmt: skip
    return Table(caption="What prompts were to their slots", columns=columns, rows=rows, open=False)


def _errors(every: Sequence[tuple[str, Point]]) -> Table:
    found = [(count, error, f"{name}, {who.name}") for name, point in every for who in point.everyone
             for error, count in who.errors.items()]  # fmt: skip
    found.sort(key=lambda each: -each[0])
    rows = [[error, str(count), where] for count, error, where in found[:MOST]]
    if rest := found[MOST:]:
        rows.append([f"{len(rest)} other errors, see requests.jsonl", str(sum(count for count, *_ in rest)), ""])
    return Table(caption="Errors by kind", columns=["error", "n", "replies"], rows=rows, open=len(rows) <= 8)
