"""The command line. A command reads its flags, calls one function and prints; it is imported when it is used."""

import os
import sys

import click

from .. import __version__
from ..types import BadInput, RunInterrupted, RunStopped
from .lazy import lazy

COMMANDS = {
    "scenario": "Run a scenario and print what its callers met.",
    "doctor": "Say whether a server is ready for a load, and what it lacks.",
    "recording": "Look at a recorded call, check one, or import your own.",
    "server": "Run the embedded server alone.",
    "card": "Log this machine's cards, a line of JSON per sample.",
    "plan": "Say what a card will hold, before you rent it.",
    "report": "Print a finished run's table again.",
    "export": "Write a run as CSV, Parquet, JSON, percentiles or Markdown.",
    "compare": "Say what differs between two runs, and how sure that is.",
}


@click.group(cls=lazy(COMMANDS, __name__), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """How many callers does your voice agent's card hold, and what does each of them hear?

    Start with: loadsim scenario twelve_callers
    """


def main() -> None:
    """Run the command line.

    Exit code 0: done; 1: a run did not complete, or has no answer; 2: bad input; 130: Ctrl-C.
    """
    _open_standard_streams()
    try:
        cli(prog_name="loadsim", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BadInput as error:
        fail(error, 2)
    except RunStopped as error:
        fail(error, 1)
    except OSError as error:
        fail(f"cannot go on: {error.strerror or error}", 1)
    except (KeyboardInterrupt, RunInterrupted, click.Abort):
        sys.exit(130)


def _open_standard_streams() -> None:
    """Who starts us may have closed them; the event loop must not get their numbers for files of its own."""
    while (lowest := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(lowest)


def fail(error: object, code: int) -> None:
    """Say `error` in one line on standard error, and exit with `code`."""
    click.echo(f"loadsim: {error}", err=True)
    sys.exit(code)
