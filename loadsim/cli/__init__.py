"""The command line. A command reads its flags, calls one function and prints; it is imported when it is used."""

import importlib
import os
import sys

import click

from .. import __version__
from ..types import BadInput, RunInterrupted, RunStopped

COMMANDS = {
    "scenario": "Run a scenario and print what its callers met.",
    "doctor": "Say whether a server is ready for a load, and what it lacks.",
    "recording": "Look at a recorded call, check one, or import your own.",
    "server": "Run the embedded server alone.",
    "card": "Log this machine's cards, a line of JSON per sample.",
    "report": "Print a finished run's table again.",
}


class Commands(click.Group):
    """The commands by name, with their help lines known before they are imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f".{cmd_name}", __package__), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
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
