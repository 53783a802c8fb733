"""`loadsim plan traffic`: what calls meet on a card's slots, and what a voice minute costs."""

from typing import Any

import click
import msgspec
from rich.console import Console

from ...plan.traffic import MOST_SLOTS
from ...report.traffic import render
from ...types import BadInput
from .load import Load, load_flags, work_out


@click.command()
@click.option("--slots", type=click.IntRange(1, MOST_SLOTS), required=True, help="Slots of a card, -np.")
@load_flags
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, times in seconds.")
def traffic(slots: int, as_json: bool, **flags: Any) -> None:
    """Say what so many calls an hour meet on a card's slots, how many callers it serves at once, and what they cost.

    Such as: loadsim plan traffic --calls-per-hour 180 --call 4.5m --slots 12
    """
    found, paid = work_out(Load(**flags), slots)
    if found is None:
        raise BadInput("how many calls? Give --calls-per-hour")
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode({"traffic": found, "cost": paid}), indent=2).decode())
    else:
        Console(highlight=False, markup=False).print(render(found, paid))
