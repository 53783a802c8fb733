"""`loadsim card`: what this machine's cards are at, for a run that measures from elsewhere."""

import click

from ..telemetry.card import log
from ..telemetry.ticks import seconds


@click.command()
@click.option("--every", default="2 s", metavar="TIME", help="Time between two samples, such as 2 s.")
@click.option("--card", "numbers", multiple=True, type=int, help="A card's number as nvidia-smi counts them; else all.")
@click.argument("unit", default="", metavar="")
def card(every: str, numbers: tuple[int, ...], unit: str) -> None:
    """Log this machine's cards on standard output, a line of JSON per sample, until standard input ends.

    It is what a scenario's telemetry.card runs on the machine with the card: ssh gpu-box loadsim card --every {every}
    """
    log(seconds(every + unit), numbers)  # a shell may part `2 s`, as ssh's does
