"""`loadsim plan`: what to pass to -np, before renting the card."""

import click

from ..lazy import Lazy

COMMANDS = {
    "traffic": "Say what so many calls an hour meet on so many slots, and what they cost.",
}


@click.group(cls=Lazy, lines=COMMANDS, package=__name__)
def plan() -> None:
    """Say what a card holds, what calls meet on it, and what a minute costs."""
