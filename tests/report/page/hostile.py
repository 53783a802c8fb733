"""Text that tries to be more than text, in every field that holds words."""

from typing import Any

import msgspec

from loadsim.report.page.parts import Head, Section
from tests.report.page.samples import HEAD, SECTIONS

HOSTILE = (
    '<script>window.ran = 1</script></script><!-- <img src=x onerror="window.ran = 2"> \' " ` ${window.ran = 3} '
    "{{ 7 * 7 }} {% if %} &lt;b&gt; ]]> \u2028\u2029 "
    "\u202eesrever\u202c \U0001f408\u200d\u2b1b \u0645\u0631\u062d\u0628\u0627 \\u003c \\ javascript:ran(4) "
    + "W"
    * 300
)
# What is not words but a name of the page's own, or one of a few that the contract lists.
OWN = {"id", "type", "draw", "role", "scale", "along", "sync", "state"}


def poisoned(value: Any, n: list[int], key: str = "") -> Any:
    """A copy with all words hostile; each has a number, for no two are to be alike."""
    if isinstance(value, dict):
        return {name: poisoned(of, n, name) for name, of in value.items()}
    if isinstance(value, list | tuple):
        return [poisoned(of, n, key) for of in value]
    if isinstance(value, str) and value and key not in OWN:
        n[0] += 1
        return f"{n[0]} {HOSTILE}"
    return value


def hostile_parts() -> tuple[Head, list[Section]]:
    n = [0]
    made = [poisoned(msgspec.to_builtins(of), n) for of in (HEAD, SECTIONS)]
    return msgspec.convert(made[0], Head), msgspec.convert(made[1], list[Section])
