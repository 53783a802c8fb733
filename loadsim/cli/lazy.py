"""Groups of commands that are known by name, and imported when they are used."""

import importlib

import click


def lazy(commands: dict[str, str], package: str) -> type[click.Group]:
    """A group of the `commands` (name to help line), each the function of that name in `package`'s module so named."""

    class Lazy(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            return list(commands)

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            if cmd_name not in commands:
                return None
            command: click.Command = getattr(importlib.import_module(f".{cmd_name}", package), cmd_name)
            return command

        def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            with formatter.section("Commands"):
                formatter.write_dl(list(commands.items()))

    return Lazy
