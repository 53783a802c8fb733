"""What state the machine was in while a load point was measured: where it was another one, no speed can be compared."""

from collections.abc import Iterator, Sequence
from statistics import median

import msgspec

from ..types import HostSample
from .cards import CardSummary

HOTTER_C = 10.0
CLOCK = 0.03  # relative, of clocks and of the power limit
OTHERS = 0.25  # cores that other programs took: so much of a small machine is no noise


FULL = 0.95  # of this machine: beside others, the server then waits for a core, and nobody logs for how long


class State(msgspec.Struct, frozen=True, kw_only=True):
    """`cards`: by number, with their names. Of a server that loadsim started, which computes on this machine: `cpu` and
    `cores` of it, `busy`, how much of all cores was in use, and `others`, how many cores other programs took; None: not
    known, or the server is elsewhere."""

    cards: list[CardSummary] = []
    names: list[str] = []
    cpu: str | None = None
    cores: int | None = None
    busy: float | None = None
    others: float | None = None


def others(samples: Sequence[HostSample]) -> float | None:
    """Cores that neither the server nor loadsim took, the median; None: not told."""
    found = [
        sample.cpu * len(sample.cores) - sample.server_cpu - (sample.own_cpu or 0.0)
        for sample in samples
        if sample.cpu is not None and sample.cores and sample.server_cpu is not None
    ]
    return max(median(found), 0.0) if found else None


def moved(a: State, b: State) -> list[str]:
    """Why speeds of A and of B are those of different machines, as far as logs tell: none is comparable."""
    return [*_cards(a, b), *_machine(a, b)]


def disturbed(a: State, b: State) -> list[str]:
    """What else this machine did while its server was measured. Where a difference is seen, it may come from that."""
    if a.others is None or b.others is None:
        return []
    told = f"other programs took {a.others:.2f} cores of this machine in A, {b.others:.2f} in B"
    if abs(a.others - b.others) > OTHERS:
        return [told]
    full = any(state.busy is not None and state.busy > FULL and (state.others or 0.0) > OTHERS for state in (a, b))
    return [f"{told}, and it was full"] if full else []


def _cards(a: State, b: State) -> Iterator[str]:
    if a.names and b.names and sorted(a.names) != sorted(b.names):
        yield f"another card: {', '.join(a.names)} in A, {', '.join(b.names)} in B"
        return
    if len(a.cards) != len(b.cards):
        if a.cards and b.cards:
            yield f"{len(a.cards)} cards in A, {len(b.cards)} in B"
        return
    for one, other in zip(a.cards, b.cards, strict=True):
        which = "card" if len(a.cards) == 1 else f"card {one.card}"
        if one.core and other.core and abs(one.core[1] - other.core[1]) > HOTTER_C:
            yield f"{which}: up to {one.core[1]:.0f} C in A, {other.core[1]:.0f} C in B"
        for what, unit, mine, theirs in (
            ("SM clock", "MHz", one.sm, other.sm),
            ("memory clock", "MHz", one.memory_clock, other.memory_clock),
            ("power limit", "W", one.limit, other.limit),
        ):
            if mine and theirs and abs(mine - theirs) > CLOCK * max(mine, theirs):
                yield f"{which}: {what} {mine:,.0f} {unit} in A, {theirs:,.0f} {unit} in B"


def _machine(a: State, b: State) -> Iterator[str]:
    if a.cpu and b.cpu and (a.cpu, a.cores) != (b.cpu, b.cores):
        yield f"another machine: {a.cpu}, {a.cores} cores in A, {b.cpu}, {b.cores} cores in B"
