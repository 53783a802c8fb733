"""Offered load: what so many calls an hour meet on so many slots, and how many callers the card serves at once.

A slot is a trunk: a call holds it for its whole length. The card works for a call only while a request is with the
server, which is a small part of it; so many callers who are up are few who are served at the same time.
"""

import math

import msgspec

from ..report.words import several
from ..stats.busy import Busy
from ..stats.erlang import (
    at_once,
    erlang_b,
    erlang_c,
    erlangs_for,
    fixed,
    mean_wait,
    on_the_line,
    or_more,
    slots_for,
    usual,
)
from ..types import BadInput
from .fact import Fact

RARE = 0.001  # of the time
MOST_ERLANGS = 100_000
MOST_SLOTS = 10_000


class Talking(msgspec.Struct, frozen=True, kw_only=True):
    """How many callers are served at once. `busy` seconds of every `turn` seconds a request is with the server, `share`
    of a call.

    full, offered: how likely 0, 1, ... callers are served with every slot taken, and at the offered load, with `_usual`
    the number that is not exceeded for 95 % of the time. measured: the same of a run with `callers` on the line, and
    beside it what the formula gives for as many (`expected`); empty without a run.
    """

    busy: Fact
    turn: Fact
    share: float
    full: list[float]
    full_usual: int
    offered: list[float]
    offered_usual: int
    callers: int = 0
    measured: list[float] = []
    expected: list[float] = []


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Calls an hour of `call` seconds, on `slots` slots of a card. Figures that do not say where they come from are
    computed.

    erlangs: calls that would be up at a time, were none refused. blocked: the share that finds no slot, if those calls
    go away (Erlang B); waits, wait: the share that waits if they do not, and the mean wait of all in seconds, None
    without end (Erlang C). line: calls that are up at a time; occupancy: of the slots.
    needed: slots that keep `blocked` at most `target`; carries: calls an hour that `slots` take at that. cards: how
    many are needed if a call goes to any that has a free slot; apart: if it does not know which has, and calls are
    spread evenly; cards_line: calls that are up at a time on `cards`.
    """

    calls_per_hour: Fact
    call: Fact
    slots: int
    target: float
    erlangs: float
    blocked: float
    waits: float
    wait: float | None
    line: float
    occupancy: float
    needed: int
    carries: float
    cards: int
    apart: int
    cards_line: float
    talking: Talking | None = None


def traffic(
    calls_per_hour: Fact,
    call: Fact,
    slots: int,
    target: float,
    busy: Fact | None = None,
    turn: Fact | None = None,
    run: Busy | None = None,
) -> Traffic:
    """What the calls meet. `run`: what was measured, for its `at_once`. Raises BadInput for what cannot be."""
    erlangs = calls_per_hour.value * call.value / 3600
    if erlangs > MOST_ERLANGS:
        raise BadInput(f"{erlangs:,.0f} calls at a time are over {MOST_ERLANGS:,}: check --calls-per-hour and --call")
    blocked, needed, most = erlang_b(slots, erlangs), slots_for(erlangs, target), erlangs_for(slots, target)
    cards = max(math.ceil(needed / slots), 1)
    line = erlangs * (1 - blocked)
    return Traffic(
        calls_per_hour=calls_per_hour,
        call=call,
        slots=slots,
        target=target,
        erlangs=erlangs,
        blocked=blocked,
        waits=erlang_c(slots, erlangs),
        wait=mean_wait(slots, erlangs, call.value),
        line=line,
        occupancy=line / slots,
        needed=needed,
        carries=most * 3600 / call.value,
        cards=cards,
        apart=max(math.ceil(erlangs / most), 1),
        cards_line=erlangs * (1 - erlang_b(slots * cards, erlangs)),
        talking=None if busy is None or turn is None else _talking(slots, erlangs, busy, turn, run),
    )


def _talking(slots: int, erlangs: float, busy: Fact, turn: Fact, run: Busy | None) -> Talking:
    if busy.value > turn.value:
        raise BadInput(f"--busy {busy.value:g} s is longer than --turn {turn.value:g} s, of which it is a part")
    share = busy.value / turn.value
    full, offered = at_once(fixed(slots), share), at_once(on_the_line(slots, erlangs), share)
    seen = run.at_once if run else []
    return Talking(
        busy=busy,
        turn=turn,
        share=share,
        full=full.tolist(),
        full_usual=usual(full),
        offered=offered.tolist(),
        offered_usual=usual(offered),
        callers=run.callers if run and seen else 0,
        measured=seen,
        expected=at_once(fixed(run.callers), share).tolist() if run and seen else [],
    )


def measured(run: Busy, name: str) -> tuple[Fact | None, Fact | None, Fact | None]:
    """A call's length, and busy time and spacing of its turns, of the run `name`; None: the run does not tell.

    Where no call came to its end, its length is that of as many turns as it was to have.
    """
    call = None
    if run.call is not None:
        call = Fact(run.call, "measured", f"{name}, {several(run.ended, 'whole call')}")
    elif run.planned is not None and run.turn is not None:
        call = Fact(run.planned * run.turn, "computed", f"{run.planned:.0f} turns, none of {name}'s calls ended")
    if run.busy is None or run.turn is None:
        return call, None, None
    of = f"{name}, {several(run.turns, 'turn')} of {several(run.callers, 'caller')}"
    return call, Fact(run.busy, "measured", of), Fact(run.turn, "measured", of)


def unlikely(chances: list[float], less: float = RARE) -> int:
    """The least number that is reached for less than `less` of the time; one past the last where there is none."""
    return next((k for k, chance in enumerate(or_more(chances)) if chance < less), len(chances))
