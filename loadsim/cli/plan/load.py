"""The flags of an offered load and its price, and what they say."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from ...plan import units
from ...plan.cost import Cost, cost
from ...plan.fact import Fact, given
from ...plan.traffic import Traffic, measured, traffic
from ...types import BadInput
from .flags import In
from .paced import paced

F = TypeVar("F", bound=Callable[..., Any])


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What the flags said; None: nothing."""

    calls: float | None
    call: float | None
    blocking: float
    busy: float | None
    turn: float | None
    run: Path | None
    point: str | None
    price: units.Price | None
    network: units.Price | None
    data: float | None
    occupancy: float | None


_FLAGS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("--calls-per-hour", "calls"), {"type": In(units.parse_number), "metavar": "N", "help": "In the busy hour."}),
    (("--call",), {"type": In(units.parse_time), "metavar": "TIME", "help": "A call's mean length: 4.5m."}),
    (
        ("--blocking",),
        {"type": In(units.parse_blocking), "default": "1%", "metavar": "%", "help": "Calls that may be refused; 1%."},
    ),
    (
        ("--busy",),
        {"type": In(units.parse_time), "metavar": "TIME", "help": "A request is with the server so long: 1.7s."},
    ),
    (("--turn",), {"type": In(units.parse_time), "metavar": "TIME", "help": "Of each turn of a call: 12.4s."}),
    (
        ("--run",),
        {"type": click.Path(path_type=Path), "help": "A paced run's folder, for the times that are not given."},
    ),
    (("--point",), {"help": "Its load point, where it has several."}),
    (("--price",), {"type": In(units.parse_price), "metavar": "PRICE", "help": "Of a card: 0.26/h, $190/mo."}),
    (
        ("--network",),
        {"type": In(units.parse_network), "metavar": "PRICE", "help": "Beside it: 0.01/h, or 0.02/GB with --data."},
    ),
    (("--data",), {"type": In(units.parse_data), "metavar": "DATA", "help": "What a call moves: 0.4MB/min."}),
    (
        ("--occupancy",),
        {"type": In(units.parse_percent), "metavar": "%", "help": "The cost with so much of the slots taken too: 55%."},
    ),
]


def load_flags(command: F) -> F:
    """Adds the flags that `Load` is made of."""
    for names, settings in reversed(_FLAGS):
        command = click.option(*names, **settings)(command)
    return command


def work_out(load: Load, slots: int) -> tuple[Traffic | None, Cost | None]:
    """What the load meets on so many slots, and what it costs; None: not asked for.

    Raises BadInput where flags lack others, and as `paced`, `traffic` and `cost` do."""
    if load.point is not None and load.run is None:
        raise BadInput("--point names a load point of --run: give that too")
    if load.price is None and (load.network or load.data or load.occupancy):
        raise BadInput("--network, --data and --occupancy are worth nothing without --price")
    found = None
    if load.calls is not None:
        found = _offered(load, load.calls, slots)
    elif load.call is not None or load.busy is not None or load.turn is not None or load.run is not None:
        raise BadInput("how many calls? Give --calls-per-hour")
    paid = cost(slots, load.price, load.network, load.data, found, load.occupancy) if load.price else None
    return found, paid


def _offered(load: Load, calls: float, slots: int) -> Traffic:
    seen = paced(load.run, load.point) if load.run else None
    of = measured(seen, load.run.resolve().name) if seen and load.run else (None, None, None)
    own = (load.call, load.busy, load.turn)
    call, busy, turn = (given(said) if said else got for said, got in zip(own, of, strict=True))
    if call is None:
        raise BadInput("how long is a call? Give --call, or a paced run with --run")
    if seen is not None and busy is None and turn is None:
        raise BadInput(f"{load.run} has no caller with two turns: it tells nothing of them; give --busy and --turn")
    if (busy is None) != (turn is None):
        raise BadInput("--busy and --turn go together: a request is with the server for so much of so long a turn")
    return traffic(Fact(calls, "given"), call, slots, load.blocking, busy, turn, seen)
