"""Commands that are imported when they are used, so that help is quick."""

import importlib
from typing import Any

import click


class Lazy(click.Group):
    """`lines`: each one's help line by its name, which is also its module's in `package`."""

    def __init__(self, *args: Any, lines: dict[str, str], package: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._lines = lines
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lines:
            return None
        command: click.Command = getattr(importlib.import_module(f"{self._package}.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._lines.items()))
