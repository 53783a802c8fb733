"""Reads a scenario file, with a command line's changes to it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import shipped
from ..types import BadInput
from . import tree
from .build import build, dump, put
from .model import Scenario, Server
from .sweep import grid
from .tree import Mapping, Node, Scalar, bad

__all__ = ["dump", "load", "restore", "server_of"]

MOST_BYTES = 1_000_000


def load(name: str, sets: Sequence[str] = (), url: str | None = None) -> Scenario:
    """The scenario that `name` means (see `shipped.find`), with `key=value` changes and another server.

    A value of `sets` is YAML; keys are dotted, and make groups that are not there. All points of a sweep are checked.
    Raises BadInput: one line with the place, the key and what is allowed.
    """
    node = _read(_find(name))
    for change in sets:
        node = _changed(node, change)
    if url is not None:
        node = tree.put(node, ["server", "url"], Scalar(f"--url {url}", "text", url))
    return _checked(node)


def server_of(sets: Sequence[str]) -> Server:
    """The embedded server with `key=value` settings, such as `slots=4` or `server.slots=4`. Raises BadInput."""
    node: Node = tree.plain({"recording": "-", "callers": {"any": {"count": 1}}, "server": {}}, "loadsim server")
    for change in sets:
        where = f"--set {change}"
        path, value = _parted(change, where)
        key = path.removeprefix("server.")
        if key in ("url", "launch"):
            raise bad(where, key, "loadsim server runs the embedded server, with its settings only")
        node = put(node, ["server", *key.split(".")], value)
    return _checked(node).server


def restore(data: dict[str, Any], where: str) -> Scenario:
    """The scenario that `dump` made data of; `where` is what errors name as its place. Raises BadInput."""
    if data.get("phases") == []:  # as runs of old have it
        data = {key: value for key, value in data.items() if key != "phases"}
    return _checked(tree.plain(data, where))


def _checked(node: Node) -> Scenario:
    grid(node)  # for its errors: a bad point is told before the first one has run for an hour
    return build(node)


def _find(name: str) -> Path:
    try:
        return shipped.find("scenarios", name)
    except OSError as error:
        if error.strerror:
            raise bad(name, "", f"cannot be read: {error.strerror}") from None
        if Path(name).is_dir():
            raise bad(name, "", "a folder; name a scenario file in it") from None
        raise BadInput(str(error)) from None


def _read(path: Path) -> Node:
    """The file's tree; its places are told from the working directory if the file is below it."""
    name = str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise bad(name, "", f"cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise bad(name, "", "larger than a megabyte; that is no scenario")
    try:
        node = tree.parse(data.decode(), name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise bad(f"{name}:{line}", "", f"not UTF-8 text: byte 0x{data[error.start]:02x}") from None
    if node is None or (isinstance(node, Scalar) and node.kind == "null"):
        raise bad(name, "", "empty; a scenario has at least recording, and callers or a probe")
    if not isinstance(node, Mapping):
        raise bad(node.where, "", "expected keys and their values, such as recording: front_desk.json")
    return node


def _changed(node: Node, change: str) -> Node:
    """The tree with one `key=value` applied. Raises BadInput."""
    path, value = _parted(change, f"--set {change}")
    return put(node, tree.keys(path), value)


def _parted(change: str, where: str) -> tuple[str, Node]:
    """The dotted key and the value of a `key=value`. Raises BadInput."""
    path, equals, text = change.partition("=")
    path = path.strip()
    if not equals or not all(path.split(".")):
        raise bad(where, "", "expected key=value, such as callers.warm.count=4")
    value = tree.parse(text, where, where)
    if value is None:
        raise bad(where, "", "give a value after =, null for none")
    return path, value
