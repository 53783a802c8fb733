"""YAML as a tree whose every value knows where it was written, so that an error can name the line.

Plain scalars keep their text and a kind; what they are is decided where a type is expected. Readers of YAML do not
agree on `on`, `010` or `12:30`; these are `odd`: text where text is expected, refused where anything goes.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import msgspec
import yaml

from ..types import BadInput

MOST_VALUES = 10_000
MOST_LEVELS = 50

Kind = Literal["text", "null", "bool", "whole", "decimal", "odd"]

_KINDS: dict[Kind, str] = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "whole": r"[-+]?(0|[1-9][0-9_]*)",
    "decimal": r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?",
    "odd": r"(?i:yes|no|on|off)|[-+]?(0[0-9_]+|0[xob][0-9a-fA-F_]+|[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?|\.(?i:inf|nan))",
}

_TAGS: dict[str, Kind] = {yaml.SafeLoader.DEFAULT_SCALAR_TAG: "text", " text": "text"}
_TAGS |= {f" {kind}": kind for kind in _KINDS}


class Scalar(msgspec.Struct, frozen=True):
    """One value as written; `text` was quoted or cannot be anything else."""

    where: str
    kind: Kind
    text: str


class Listing(msgspec.Struct, frozen=True):
    """A list."""

    where: str
    items: list["Node"]


class Mapping(msgspec.Struct, frozen=True):
    """Keys and their values."""

    where: str
    items: dict[str, "Node"]


Node = Scalar | Listing | Mapping


def bad(where: str, path: str, text: str) -> BadInput:
    """The error for the value at `path` (dotted) that was written at `where`; always one printable line."""
    told = not path or where.startswith((f"--set {path}=", "--url "))
    line = f"{where}: {text}" if told else f"{where}: {path}: {text}"
    return BadInput("".join(c if c.isprintable() else "?" for c in line))


def parse(text: str, name: str, where: str | None = None) -> Node | None:
    """The tree of a YAML text, None if there is nothing in it.

    Values are where `name:line` tells, or all at `where`. Raises BadInput.
    """
    with _plain_errors(text, name, where):
        root = yaml.compose(text, _Composer)
    return None if root is None else _Reader(name, where).node(root, None, (), 0)


def plain(data: Any, where: str) -> Node:
    """The tree of plain data, such as a resolved scenario from run.json."""
    match data:
        case None:
            return Scalar(where, "null", "null")
        case bool():
            return Scalar(where, "bool", str(data).lower())
        case int():
            return Scalar(where, "whole", str(data))
        case float():
            return Scalar(where, "decimal", repr(data))
        case dict():
            return Mapping(where, {str(key): plain(value, where) for key, value in data.items()})
        case list() | tuple():
            return Listing(where, [plain(value, where) for value in data])
    return Scalar(where, "text", str(data))


def moved(node: Node, where: str) -> Node:
    """The same values, written elsewhere."""
    match node:
        case Scalar():
            return Scalar(where, node.kind, node.text)
        case Listing():
            return Listing(where, [moved(item, where) for item in node.items])
    return Mapping(where, {key: moved(value, where) for key, value in node.items.items()})


def keys(path: str) -> list[str]:
    """A dotted path's keys; the keys of `sweep` have dots themselves."""
    first, dot, rest = path.partition(".")
    return [first, rest] if first == "sweep" and dot else path.split(".")


def put(node: Node | None, path: Sequence[str], value: Node) -> Node:
    """A copy of the tree with `value` at `path`; what is not there, or is no mapping, becomes one."""
    if not path:
        return value
    first, *rest = path
    where, items = (node.where, node.items) if isinstance(node, Mapping) else (value.where, {})
    return Mapping(where, {**items, first: put(items.get(first), rest, value)})


def find(node: Node, path: str) -> Node:
    """What stands at `path`, or the nearest thing around it."""
    while isinstance(node, Mapping):
        # Keys can have dots themselves, so the longest that the path begins with is meant.
        key = max((key for key in node.items if f"{path}.".startswith(f"{key}.")), key=len, default=None)
        if key is None:
            break
        node, path = node.items[key], path[len(key) + 1 :]
    return node


class _Composer(yaml.SafeLoader):
    """Tags each scalar with its kind. A file can write out any tag that has no space in it."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        if kind is not yaml.ScalarNode:
            return self.DEFAULT_SEQUENCE_TAG if kind is yaml.SequenceNode else self.DEFAULT_MAPPING_TAG
        kinds = (name for name, pattern in _KINDS.items() if implicit[0] and re.fullmatch(pattern, value))
        return f" {next(kinds, 'text')}"


class _Reader:
    """Turns the YAML library's nodes into ours; counts them, since aliases can expand without end."""

    def __init__(self, name: str, where: str | None) -> None:
        self.name, self.at, self.count = name, where, 0

    def where(self, node: yaml.Node) -> str:
        return self.at or f"{self.name}:{node.start_mark.line + 1}"

    def node(self, node: yaml.Node, where: str | None, path: tuple[str, ...], level: int) -> Node:
        where = where or self.where(node)
        self.count += 1
        if self.count > MOST_VALUES:
            raise bad(where, "", f"more than {MOST_VALUES:,} values, aliases expanded; a scenario has a few dozen")
        if level > MOST_LEVELS:
            raise bad(where, "", f"nested deeper than {MOST_LEVELS} levels")
        dotted = ".".join(path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _Composer.DEFAULT_SEQUENCE_TAG:
            return Listing(where, [self.node(item, None, path, level + 1) for item in node.value])
        if isinstance(node, yaml.MappingNode) and node.tag == _Composer.DEFAULT_MAPPING_TAG:
            return Mapping(where, self.pairs(node, path, level))
        if isinstance(node, yaml.ScalarNode) and node.tag in _TAGS:
            return Scalar(where, _TAGS[node.tag], _whole_characters(node.value, where, dotted))
        raise bad(where, dotted, f"the tag {node.tag} is not supported; write the value without it")

    def pairs(self, node: yaml.MappingNode, path: tuple[str, ...], level: int) -> dict[str, Node]:
        items: dict[str, Node] = {}
        for key, value in node.value:
            where, dotted = self.where(key), ".".join(path)
            if not isinstance(key, yaml.ScalarNode) or key.tag == " null":
                raise bad(where, dotted, "a key must be a name, such as count")
            name = _whole_characters(key.value, where, dotted)
            dotted = ".".join((*path, name))
            if name == "<<":
                raise bad(where, dotted, "merge keys are not supported; write the keys out")
            if name in items:
                first = items[name].where.removeprefix(f"{self.name}:")
                raise bad(where, dotted, "the key stands twice" + ("" if self.at else f", first in line {first}"))
            items[name] = self.node(value, where, (*path, name), level + 1)
        return items


def _whole_characters(text: str, where: str, path: str) -> str:
    """JSON writes a character past U+FFFF as two escapes, which YAML reads as two halves."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise bad(where, path, "half of a character; \\u escapes past U+FFFF come in pairs") from None


@contextmanager
def _plain_errors(text: str, name: str, where: str | None) -> Iterator[None]:
    """Makes BadInput of whatever the YAML library raises, with the line where it tells one."""

    def at(line: int | None) -> str:
        return where or (name if line is None else f"{name}:{line + 1}")

    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        hint = "; indent with spaces" if "'\\t'" in problem else ""
        raise bad(at(mark.line if mark else None), "", f"not valid YAML: {problem}{hint}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position)
        raise bad(at(line), "", f"the character U+{error.character:04X} is not allowed in YAML") from None
    except RecursionError:
        raise bad(at(None), "", f"nested deeper than {MOST_LEVELS} levels") from None
    except (yaml.YAMLError, ValueError, OverflowError):
        # Absurd escapes and version numbers, on which the library lets chr() and int() fail.
        raise bad(at(None), "", "not valid YAML: a number in an escape or a directive is too large") from None
