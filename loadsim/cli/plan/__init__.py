"""`loadsim plan`: what a card will hold, before it is rented. A command is imported when it is used."""

import click

from ..lazy import lazy

COMMANDS = {
    "memory": "What a model and its slots take, from its header alone.",
    "callers": "Find how many callers a server holds, by measuring.",
    "traffic": "What so many calls an hour meet on a card's slots, and what they cost.",
    "answer": "All that was found on one page, with the command to start.",
}


@click.group(cls=lazy(COMMANDS, __name__))
def plan() -> None:
    """Say what a card will hold, before you rent it."""
