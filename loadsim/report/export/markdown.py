"""A run as Markdown, to paste into an issue or an article: the terminal's words and tables, as GitHub draws them."""

import re
from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...results.read import Run
from ...scenario.secret import masked
from .. import decay, probe
from ..answer import answers
from ..point import points
from ..remarks import remarks
from ..soak import over_time
from ..table import first_token, speech, waits
from ..topics import topics
from ..words import runs

_SPECIAL = re.compile(r"[\\`*\[\]|$]|~(?=~)|(?<=~)~|(?<![^\W_])_|_(?![^\W_])")
_MENTION = re.compile(r"([@#])(?=\w)")
_START = re.compile(r"^(\d*)([-+=#.)])")


def markdown(run: Run) -> str:
    """The whole of a run's tables, the answer first."""
    found = points(run)
    blocks = [f"**{plain(line)}**" for line in answers(found, run)]
    blocks += _blocks(probe.tables(run))
    for point in found:
        slots = f", slots {runs(point.slots)}" if point.slots else ""
        blocks.append(f"### {plain(point.name + slots)}")
        blocks += _blocks([first_token(point)])
        blocks += _list(waits(point))
        blocks += _blocks([speech(point)])
        blocks += _list(remarks(point))
        blocks += _blocks([*over_time(point.course), *topics(point)])
    blocks += _blocks(decay.shown(run))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _blocks(parts: Iterable[RenderableType]) -> Iterator[str]:
    """Paragraphs and tables; a bold line of its own is a heading."""
    for part in parts:
        match part:
            case Table():
                yield table(part)
            case Group():
                yield from _blocks(part.renderables)
            case Text() if str(part.style) == "bold":
                yield f"### {plain(part.plain.strip())}"
            case Text():
                yield "\n\n".join(plain(line) for line in part.plain.splitlines() if line.strip())


def _list(lines: Iterable[str]) -> list[str]:
    found = [f"{'  ' if line.startswith('  ') else ''}- {plain(line.strip())}" for line in lines]
    return ["\n".join(found)] if found else []


def table(drawn: Table) -> str:
    """A terminal's table; the first column is names."""
    heads = [cell(str(column.header)) for column in drawn.columns]
    marks = [" :-- " if place == 0 else " --: " for place in range(len(heads))]
    rows = zip(*(column.cells for column in drawn.columns), strict=True)
    lines = [_row(heads), f"|{'|'.join(marks)}|"]
    lines += [_row([cell(_text(each)) for each in row]) for row in rows]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(part: RenderableType) -> str:
    return part.plain if isinstance(part, Text) else str(part)


def plain(text: str) -> str:
    """A text as a line that Markdown takes for no heading, list, quotation or rule."""
    return _START.sub(r"\1\\\2", cell(text))


def cell(text: str) -> str:
    """A text in a table's cell. Names come from files: HTML, Markdown's own marks and line ends are only shown, and
    nobody is mentioned."""
    text = " ".join(masked(text).split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _SPECIAL.sub(lambda found: f"\\{found[0]}", text)
    return _MENTION.sub(r"\1<!-- -->", text)
