"""`loadsim plan`: what a card will hold, before it is rented. A command is imported when it is used."""

import click

from ..lazy import lazy

COMMANDS = {
    "callers": "Find how many callers a server holds, by measuring.",
}


@click.group(cls=lazy(COMMANDS, __name__))
def plan() -> None:
    """Say what a card will hold, before you rent it."""
