"""Flags whose values have units."""

from collections.abc import Callable
from typing import Any

import click

from ...types import BadInput


class In(click.ParamType[Any]):
    """A flag's value as `parse` reads it; what it refuses is told in one line, with the flag's name."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value.strip())
        except ValueError as error:
            raise BadInput(f"{param.opts[0] if param else 'value'}: {error}") from None
