"""`loadsim plan traffic`: what calls meet on a card's slots, and what a voice minute costs."""

from pathlib import Path

import click
import msgspec
from rich.console import Console

from ...plan import units
from ...plan.cost import cost
from ...plan.figure import Figure, given
from ...plan.traffic import MOST_SLOTS, measured
from ...plan.traffic import traffic as offered
from ...report.traffic import render
from ...types import BadInput
from .flags import In
from .paced import paced


@click.command()
@click.option(
    "--calls-per-hour", "calls", type=In(units.parse_number), required=True, metavar="N", help="In the busy hour."
)
@click.option("--slots", type=click.IntRange(1, MOST_SLOTS), required=True, help="Slots of a card, -np.")
@click.option("--call", type=In(units.parse_time), metavar="TIME", help="A call's mean length: 4.5m.")
@click.option(
    "--blocking",
    type=In(units.parse_blocking),
    default="1%",
    show_default=True,
    metavar="%",
    help="Calls that may be refused.",
)
@click.option(
    "--busy",
    type=In(units.parse_time),
    metavar="TIME",
    help="Of each turn, how long a request is with the server: 1.7s.",
)
@click.option(
    "--turn", type=In(units.parse_time), metavar="TIME", help="From one request of a caller to the next: 12.4s."
)
@click.option(
    "--run", type=click.Path(path_type=Path), help="A paced run's folder: its times, for those that are not given."
)
@click.option("--point", help="Its load point, where it has several.")
@click.option("--price", type=In(units.parse_price), metavar="PRICE", help="Of a card: 0.26/h, $190/mo.")
@click.option(
    "--network", type=In(units.parse_network), metavar="PRICE", help="Beside it: 0.01/h, or 0.02/GB with --data."
)
@click.option("--data", type=In(units.parse_data), metavar="DATA", help="What a call moves: 0.4MB/min.")
@click.option(
    "--occupancy", type=In(units.parse_percent), metavar="%", help="Also the cost with so much of the slots taken: 55%."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def traffic(
    calls: float,
    slots: int,
    call: float | None,
    blocking: float,
    busy: float | None,
    turn: float | None,
    run: Path | None,
    point: str | None,
    price: units.Price | None,
    network: units.Price | None,
    data: float | None,
    occupancy: float | None,
    as_json: bool,
) -> None:
    """Say what so many calls an hour meet on a card's slots, how many callers it serves at once, and what they cost.

    loadsim plan traffic --calls-per-hour 180 --call 4.5m --slots 12 --price 0.26/h
    """
    if point is not None and run is None:
        raise click.UsageError("--point names a load point of --run")
    if price is None and (network or data or occupancy):
        raise click.UsageError("--network, --data and --occupancy need --price")
    seen = paced(run, point) if run else None
    of = measured(seen, run.resolve().name) if seen and run else (None, None, None)
    length, held, step = (given(own) if own else got for own, got in zip((call, busy, turn), of, strict=True))
    if length is None:
        raise BadInput("how long is a call? Give --call, or --run with a paced run")
    if (held is None) != (step is None):
        raise BadInput("--busy and --turn go together: so much of so long a request is with the server")
    found = offered(Figure(calls, "given"), length, slots, blocking, held, step, seen)
    paid = cost(slots, price, network, data, found, occupancy) if price else None
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode({"traffic": found, "cost": paid}), indent=2).decode())
    else:
        Console(highlight=False, markup=False).print(render(found, paid))
