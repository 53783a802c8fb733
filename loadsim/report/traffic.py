"""What calls meet on a card's slots, how many callers it serves at once, and what a voice minute costs."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..plan.cost import Cost
from ..plan.fact import Fact
from ..plan.traffic import RARE, Talking, Traffic, unlikely
from ..stats.erlang import or_more, usual
from .grid import grid
from .words import exact, lasting, money, number, percent, plain, rare, several, whole

ROWS = 20


def render(found: Traffic, cost: Cost | None) -> RenderableType:
    """Everything that `plan traffic` prints."""
    parts: list[RenderableType] = [Text(_offered(found)), Text(), _calls(found)]
    if found.talking is not None:
        parts += [Text(), Text(_busy(found.talking)), Text(), _talking(found, found.talking)]
    if cost is not None:
        parts += [Text(), _cost(found, cost)]
    parts += [Text(), *(Text(line, style="bold") for line in answers(found, cost))]
    return Group(*parts)


def answers(found: Traffic, cost: Cost | None) -> Iterator[str]:
    """The sentences that a reader takes away."""
    held = f"{several(found.slots, 'slot')} {'refuses' if found.slots == 1 else 'refuse'} {rare(found.blocked)}"
    more = f"{several(found.needed, 'slot')} {'keeps' if found.needed == 1 else 'keep'}"
    said = f"{held} of {_calls_an_hour(found)}"
    if found.blocked > found.target:
        cards = f", on {several(found.cards, 'card')} of {found.slots}" if found.cards > 1 else ""
        said += f"; {more} it at {exact(found.target)} or less{cards}"
    else:
        said += f", where {exact(found.target)} is allowed; {several(found.needed, 'slot')} would do"
    yield f"{said}."
    if found.talking is not None:
        talk = found.talking
        yield (
            f"Of {several(found.slots, 'caller')} on the line {_most(talk.full_usual)} are served at the same "
            f"time, for 95 % of the time; at the offered load {_most(talk.offered_usual)}."
        )
        if talk.measured:
            yield (
                f"In the run, with {several(talk.callers, 'caller')} on the line, {_most(usual(talk.measured))} were, "
                f"where of callers who know nothing of each other {_most(usual(talk.expected))} would be."
            )
    if cost is not None and cost.offered is not None:
        yield (
            f"A voice minute costs {money(cost.offered, cost.sign)} at the offered load, {money(cost.full, cost.sign)} "
            "with every slot taken."
        )


def _most(number: int) -> str:
    return f"{number:,} or fewer" if number else "none"


def origin(figure: Fact) -> str:
    """Where a figure comes from, in brackets."""
    return f"({figure.origin}{f': {figure.of}' if figure.of else ''})"


def _calls_an_hour(found: Traffic) -> str:
    calls = found.calls_per_hour.value
    return f"{plain(calls)} {'call' if calls == 1 else 'calls'} an hour"


def _offered(found: Traffic) -> str:
    return (
        f"{_calls_an_hour(found)} {origin(found.calls_per_hour)} of "
        f"{lasting(found.call.value)} {origin(found.call)}: {number(found.erlangs)} calls at a time, were none refused"
    )


def _calls(found: Traffic) -> Table:
    table = grid(several(found.slots, "slot"), "", "")
    refused = found.blocked * found.calls_per_hour.value
    waits = "without end" if found.wait is None else f"{lasting(found.wait)} on average"
    cards = several(found.cards, "card")
    rows = [
        ("refused, if nobody waits (Erlang B)", rare(found.blocked), f"{number(refused)} an hour"),
        ("wait, if all do (Erlang C)", rare(found.waits), waits),
        ("on the line at a time", number(found.line), f"{percent(found.occupancy)} of the slots"),
        (f"slots that refuse {exact(found.target)}", whole(found.needed), ""),
        (f"calls an hour at {exact(found.target)}", number(found.carries), ""),
        (f"cards of {several(found.slots, 'slot')}", cards, "if a call goes to any free slot"),
        ("", several(found.apart, "card"), "if each has its own calls"),
    ]
    for name, value, more in rows:
        table.add_row(name, value, f"  {more}")
    table.columns[2].justify, table.columns[2].no_wrap, table.columns[2].overflow = "left", False, "fold"
    return table


def _busy(talk: Talking) -> str:
    same = talk.busy.of == talk.turn.of and talk.busy.origin == talk.turn.origin
    between = "" if same else f" {origin(talk.busy)}"
    return (
        f"A request is with the server for {lasting(talk.busy.value)}{between} of each turn's "
        f"{lasting(talk.turn.value)} {origin(talk.turn)}: {percent(talk.share)} of a call"
    )


def _talking(found: Traffic, talk: Talking) -> Table:
    """Numbers that hardly ever are exceeded, or hardly ever not, are left out; of many others, some."""
    columns = [(f"{found.slots} on\nthe line", talk.full), ("offered\nload", talk.offered)]
    if talk.measured:
        columns.append((f"{talk.callers} on\nthe line", talk.expected))
        columns.append(("measured", talk.measured))
    table = grid("served at once, or more", *(name for name, _ in columns))
    tails = [or_more(chances) for _, chances in columns]
    last = max(min(unlikely(chances), len(chances) - 1) for _, chances in columns)
    first = max(min(sum(tail > 1 - RARE for tail in of) for of in tails), 1)
    for k in range(first, last + 1, 1 + (last - first) // ROWS):
        table.add_row(f"{k:,}", *(rare(float(tail[k])) if k < len(tail) else rare(0.0) for tail in tails))
    return table


def _cost(found: Traffic, cost: Cost) -> Table:
    table = grid("a voice minute", "of the slots", "cost")
    table.add_row("every slot taken", percent(1.0), money(cost.full, cost.sign))
    table.add_row("offered load, 1 card", percent(cost.occupancy), money(cost.offered, cost.sign))
    if found.cards > 1:
        taken = found.cards_line / (found.slots * found.cards)
        table.add_row(f"offered load, {found.cards} cards", percent(taken), money(cost.cards, cost.sign))
    if cost.given is not None:
        table.add_row("occupancy given", exact(cost.given), money(cost.at, cost.sign))
    return table
