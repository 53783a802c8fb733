"""Parts of a page without the secrets that errors and commands of old runs may hold."""

from typing import Any, TypeVar

import msgspec

from ...scenario.secret import masked

T = TypeVar("T", bound=msgspec.Struct)


def hidden(part: T) -> T:
    """The part with all its text masked."""
    fields = {name: _hidden(getattr(part, name)) for name in part.__struct_fields__}
    return msgspec.structs.replace(part, **fields)


def _hidden(value: Any) -> Any:
    match value:
        case str():
            return masked(value)
        case list() if any(not isinstance(each, int | float | None) for each in value):  # not a chart's long columns
            return [_hidden(each) for each in value]
        case msgspec.Struct():
            return hidden(value)
    return value
