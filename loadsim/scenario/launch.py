"""Command templates of the user's: of a server that we are to start, and of a card log."""

import re
import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

SETTINGS = (
    "slots",
    "context",
    "batch",
    "ubatch",
    "checkpoints",
    "cache_ram",
    "cache_type_k",
    "cache_type_v",
    "threads",
)
ALLOWED = ("port", *SETTINGS)

# Only words in braces: a server's options may hold JSON, such as {"enable_thinking": false}.
_NAME = re.compile(r"\{(\w+)\}")


def names(
    template: str, allowed: Sequence[str] = ALLOWED, example: str = "llama-server -m model.gguf --port {port}"
) -> list[str]:
    """The placeholders of a template. Raises ValueError for one that is not known, and for quotes that do not close."""
    if not words(template):
        raise ValueError(f"expected a command, such as {example}")
    found = list(dict.fromkeys(_NAME.findall(template)))
    for name in found:
        if name not in allowed:
            near = get_close_matches(name, allowed, n=1)
            hint = f"; did you mean {{{near[0]}}}?" if near else ""
            known = ", ".join(f"{{{each}}}" for each in allowed)
            raise ValueError(f"unknown placeholder {{{name}}}{hint} (allowed: {known})")
    return found


def words(template: str) -> list[str]:
    """A template's words as a shell would part them; there is no shell. Raises ValueError."""
    try:
        return shlex.split(template)
    except ValueError as error:
        raise ValueError(f"not a command: {str(error).lower()}") from None


def fill(template: str, values: Mapping[str, object]) -> list[str]:
    """The command with its placeholders filled in; a value never becomes two words."""
    return [_NAME.sub(lambda match: str(values[match[1]]), word) for word in words(template)]
