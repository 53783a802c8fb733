"""A sweep: one scenario per combination of the swept values, and the order in which they are measured."""

import math
import random
from collections.abc import Iterable
from itertools import product
from typing import Any

from ..types import ServerSettings
from . import tree
from .build import build, dump, put, suggestion
from .check import MOST_LABEL, check, settable, started
from .model import Scenario
from .tree import Listing, Mapping, Node, Scalar, bad

MOST_POINTS = 1000
ONCE = "repeat measures a point more than once"

FIXED = {
    "recording": "one recording for all points, so that they compare",
    "repeat": "every point is measured equally often",
    "seed": "every point draws in the same order",
    "telemetry": "a run has one log",
    "sweep": "a sweep has no sweep in it",
    "sweep_by": "all keys are combined in one way",
    "order": "the points have one order",
}
"""Keys that cannot be swept, and why."""

SWEPT = tuple(key for key in Scenario.__struct_fields__ if key not in FIXED)

Points = list[tuple[str, Scenario]]
"""Label and scenario of load points."""


def points(scenario: Scenario) -> Points:
    """Each load point, the first key's values outermost; without a sweep, the scenario itself.

    Labels are `slots=server` or, without a sweep, `12 warm + 1 cold_caller`, or the probe's kind. Raises BadInput with
    the sweep's key.
    """
    return grid(tree.plain(dump(scenario), "scenario"))


def in_order(found: Points, scenario: Scenario) -> Points:
    """The points as they are measured: as they stand, or in a random order that the seed decides."""
    if scenario.order == "file":
        return found
    return random.Random(repr((scenario.seed, "order"))).sample(found, len(found))


def values(scenario: Scenario) -> dict[str, dict[str, Any]]:
    """What each load point sets, by its label: dotted keys and their values, as plain data. Nothing without a sweep."""
    combined = combine(scenario.sweep.values(), scenario.sweep_by) if scenario.sweep else [()]
    labels = [label for label, _ in points(scenario)]
    return {label: dict(zip(scenario.sweep, each, strict=True)) for label, each in zip(labels, combined, strict=True)}


def combine(values: Iterable[Iterable[Any]], by: Any) -> Iterable[tuple[Any, ...]]:
    """The combinations of each key's values, in the order of the file; `by`: the scenario's `sweep_by`."""
    return zip(*values, strict=False) if by == "zip" else product(*values)


def grid(node: Node) -> Points:
    """`points` of a scenario's tree, so that errors name the place where a swept value was written."""
    base = build(node)
    if not base.sweep:
        check(base, node)
        label = base.probe.kind if base.probe else _crowd(base)
        return [(label, base)]
    swept = _swept(node, base)
    names = _names(list(swept))
    bare = tree.put(node, ["sweep"], Mapping("", {}))
    found: Points = []
    for values in combine(swept.values(), base.sweep_by):
        point = bare
        for key, value in zip(swept, values, strict=True):
            point = put(point, tree.keys(key), tree.moved(value, f"{value.where}: sweep"))
        scenario = build(point)
        check(scenario, point)
        label = ", ".join(f"{names[key]}={_text(value)}" for key, value in zip(swept, values, strict=True))
        if not label.isprintable() or len(label) > MOST_LABEL:
            allowed = f"a load point is named after its values: expected {MOST_LABEL} printable characters at the most"
            raise bad(tree.find(node, "sweep").where, "sweep", f"{allowed}; got {len(label)}, {label[:60]!r}")
        if any(label == other for other, _ in found):
            raise bad(tree.find(node, "sweep").where, "sweep", f"{label} stands twice; {ONCE}")
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
        # In a zip a value may stand again, beside another one of the other key.
        twice = _repetition(listing) if base.sweep_by == "grid" else None
        refusal = _refusal(key, base) or twice or _overlap(key, list(swept))
        if refusal:
            raise bad(listing.where, f"sweep.{key}", refusal)
        swept[key] = listing.items
    lengths = {key: len(values) for key, values in swept.items()}
    if base.sweep_by == "zip" and len(set(lengths.values())) > 1:
        found = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise bad(tree.find(node, "sweep").where, "sweep", f"sweep_by: zip needs as many values of each key; {found}")
    if (count := max(lengths.values()) if base.sweep_by == "zip" else math.prod(lengths.values())) > MOST_POINTS:
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
    return _server_refusal(rest, base) if first == "server" else None


def _server_refusal(rest: list[str], base: Scenario) -> str | None:
    """Why a key of the server cannot be swept, if so."""
    if not rest or rest[0] in ("url", "launch"):
        return f"one server for all points; sweep its settings: {', '.join(ServerSettings.__struct_fields__)}"
    if not started(base.server):
        return f"a server key needs a restart, and loadsim did not start the server at {base.server.url}"
    found = settable(base.server)
    if rest[0] in ServerSettings.__struct_fields__ and rest[0] not in found:
        known = f"those that are: {', '.join(f'{{{name}}}' for name in found)}" if found else "no setting is"
        return f"{{{rest[0]}}} is not in server.launch, so the server would not hear of it; {known}"
    return None


def _repetition(listing: Listing) -> str | None:
    texts = [_text(item) for item in listing.items]
    twice = next((text for text in texts if texts.count(text) > 1), None)
    return None if twice is None else f"{twice} stands twice; {ONCE}"


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
