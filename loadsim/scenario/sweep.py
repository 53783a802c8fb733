"""A sweep's grid: one scenario per combination of the swept values."""

import math
from itertools import product

from . import tree
from .build import build, dump, put, suggestion
from .check import check
from .model import Scenario
from .tree import Listing, Mapping, Node, Scalar, bad

MOST_POINTS = 1000

FIXED = {
    "server": "a server key needs a restart, which this version does not do between points",
    "recording": "one recording for all points, so that they compare",
    "repeat": "every point is measured equally often",
    "seed": "every point draws in the same order",
    "sweep": "a sweep has no sweep in it",
}
"""Keys that cannot be swept, and why."""

SWEPT = tuple(key for key in Scenario.__struct_fields__ if key not in FIXED)


def points(scenario: Scenario) -> list[tuple[str, Scenario]]:
    """Label and scenario of each load point, the first key's values outermost; without a sweep, the scenario itself.

    Labels are `slots=server` or, without a sweep, `12 warm + 1 cold_caller`, or the probe's kind. Raises BadInput with
    the sweep's key.
    """
    return grid(tree.plain(dump(scenario), "scenario"))


def grid(node: Node) -> list[tuple[str, Scenario]]:
    """`points` of a scenario's tree, so that errors name the place where a swept value was written."""
    base = build(node)
    if not base.sweep:
        check(base, node)
        label = base.probe.kind if base.probe else _crowd(base)
        return [(label, base)]
    swept = _swept(node, base)
    names = _names(list(swept))
    bare = tree.put(node, ["sweep"], Mapping("", {}))
    found = []
    for values in product(*swept.values()):
        point = bare
        for key, value in zip(swept, values, strict=True):
            point = put(point, tree.keys(key), tree.moved(value, f"{value.where}: sweep"))
        scenario = build(point)
        check(scenario, point)
        label = ", ".join(f"{names[key]}={_text(value)}" for key, value in zip(swept, values, strict=True))
        found.append((label, scenario))
    return found


def _crowd(scenario: Scenario) -> str:
    return " + ".join(f"{group.count} {name}" for name, group in scenario.callers.items())


def _swept(node: Node, base: Scenario) -> dict[str, list[Node]]:
    """Each swept key's values. Raises BadInput for keys that cannot be swept and values that make no grid."""
    swept: dict[str, list[Node]] = {}
    for key in base.sweep:
        listing = tree.find(node, f"sweep.{key}")
        assert isinstance(listing, Listing)
        refusal = _refusal(key, base) or _repetition(listing) or _overlap(key, list(swept))
        if refusal:
            raise bad(listing.where, f"sweep.{key}", refusal)
        swept[key] = listing.items
    if (count := math.prod(map(len, swept.values()))) > MOST_POINTS:
        raise bad(tree.find(node, "sweep").where, "sweep", f"{count:,} load points; the most is {MOST_POINTS:,}")
    return swept


def _refusal(key: str, base: Scenario) -> str | None:
    """Why a key cannot be swept, if so."""
    first, *rest = key.split(".")
    if first not in SWEPT:
        why = FIXED.get(first) or f"no such key{suggestion(first, list(SWEPT))}"
        return f"{why}; keys that can be swept: {', '.join(SWEPT)}"
    if first == "callers" and rest and rest[0] not in base.callers:
        groups = list(base.callers)
        return f"no group {rest[0]!r}{suggestion(rest[0], groups)} (groups: {', '.join(groups)})"
    return None


def _repetition(listing: Listing) -> str | None:
    texts = [_text(item) for item in listing.items]
    twice = next((text for text in texts if texts.count(text) > 1), None)
    return None if twice is None else f"{twice} stands twice; repeat measures a point more than once"


def _overlap(key: str, others: list[str]) -> str | None:
    for other in others:
        if f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}."):
            return f"sets the same as sweep.{other}"
    return None


def _names(paths: list[str]) -> dict[str, str]:
    """Each dotted path's shortest ending that no other one has."""

    def ending(path: str, length: int) -> str:
        return ".".join(path.split(".")[-length:])

    def unique(path: str, length: int) -> bool:
        return all(other == path or ending(other, length) != ending(path, length) for other in paths)

    return {path: next(ending(path, n) for n in range(1, path.count(".") + 2) if unique(path, n)) for path in paths}


def _text(node: Node) -> str:
    match node:
        case Scalar(text=text):
            return text
        case Listing(items=items):
            return f"[{', '.join(map(_text, items))}]"
    return f"{{{', '.join(f'{key}: {_text(value)}' for key, value in node.items.items())}}}"
