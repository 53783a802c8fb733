"""A plan's answer on one page, for the terminal and as Markdown; both from the same sections."""

import shlex
from collections.abc import Iterator, Sequence

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..plan.answer import Line, Page
from .words import lasting, money, number, rare, whole


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A heading with what stands under it, in this order: text, code, a table, points."""

    title: str
    text: str = ""
    code: str = ""
    rows: Sequence[tuple[str, ...]] = ()
    points: list[str] = []


def sections(page: Page) -> Iterator[Section]:
    """The page's parts; those that have nothing to say are left out."""
    if page.command:
        reasons = [(f"{flag.name} {flag.value}".strip(), flag.why) for flag in page.flags]
        yield Section(title="start it so", code=_command(page.command), rows=reasons)
    yield Section(title=f"what limits it: {page.limit}", text=page.because)
    if page.headroom:
        yield Section(title="headroom", rows=[_row(line, page.sign) for line in page.headroom])
    for topic, lines in page.figures.items():
        yield Section(title=topic, rows=[_row(line, page.sign) for line in lines])
    yield _pinned(page)
    if page.cautions:
        yield Section(title="before you believe it", points=page.cautions)
    if page.missing:
        yield Section(title="what would tell more", points=page.missing)


def _pinned(page: Page) -> Section:
    """Whether callers need slots of their own, and how the agent asks for them."""
    if page.pin.needed is False:
        return Section(title="slot numbers: no id_slot is needed", text=page.pin.why)
    slots = f", 0 to {page.slots - 1}," if page.slots and page.slots > 1 else ", from 0 on,"
    how = (
        f"each call takes a free number{slots} and keeps it to its end, in every request's JSON body "
        "(OpenAI's Python client: extra_body); a request waits while its slot is busy"
    )
    needed = "it holds only if the agent sends id_slot" if page.pin.needed else "send id_slot"
    body = msgspec.json.encode(page.pin.request).decode()
    return Section(title=f"slot numbers: {needed}", text=page.pin.why, code=body, points=[how])


def text(page: Page) -> RenderableType:
    """For the terminal; printed with `crop=False`, what is to be copied stays whole."""
    parts: list[RenderableType] = [Text(title(page), style="bold")]
    for section in sections(page):
        parts += [Text(), Text(section.title, style="bold")]
        if section.text:
            parts.append(Text(section.text))
        if section.code:
            parts.append(Text(section.code, style="cyan", no_wrap=True, overflow="ignore"))  # whole, to be copied
        if section.rows:
            parts.append(_table(section.rows))
        parts += [_point(point) for point in section.points]
    return Group(*parts)


def markdown(page: Page) -> str:
    """For a wiki or an issue."""
    lines = [f"# {title(page)}"]
    for section in sections(page):
        lines += ["", f"## {section.title[0].upper()}{section.title[1:]}"]
        if section.text:
            lines += ["", f"{section.text}."]
        if section.code:
            lines += ["", "```json" if section.code.startswith("{") else "```", section.code, "```"]
        if section.rows:
            first, *_ = section.rows
            lines += ["", f"|{' |' * len(first)}", f"|{'---|' * len(first)}"]
            lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in section.rows]
        if section.points:
            lines += ["", *(f"- {point}" for point in section.points)]
    return "\n".join(lines) + "\n"


def title(page: Page) -> str:
    """What the page is about, in a line."""
    of = f"{_plain(page.model)}: " if page.model else ""
    return f"{of}{page.slots} {'slot' if page.slots == 1 else 'slots'}" if page.slots else f"{of}a plan"


def shown(line: Line, sign: str) -> str:
    """A figure in its unit."""
    value = line.fact.value
    match line.unit:
        case "bytes":
            size, unit = (value / (1 << 30), "GiB") if abs(value) >= 1 << 30 else (value / (1 << 20), "MiB")
            return f"{number(size)} {unit}"
        case "s":
            return lasting(value)
        case "share":
            return rare(value)
        case "money":
            return money(value, sign)
        case "":
            return number(value)
    count = whole(value) if value == int(value) else number(value)
    one = line.unit.removesuffix("s") if value == 1 and line.unit in ("slots", "cards", "callers") else line.unit
    return f"{count} {one}"


def _row(line: Line, sign: str) -> tuple[str, ...]:
    return line.name, shown(line, sign), line.fact.origin, "; ".join(part for part in (line.more, line.fact.of) if part)


def _table(rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(box=None, show_header=False, show_edge=False, padding=(0, 2, 0, 0))
    for i in range(len(rows[0])):
        table.add_column(no_wrap=i < len(rows[0]) - 1)
    for row in rows:
        table.add_row(*map(_plain, row))
    return table


def _point(point: str) -> Table:
    table = Table.grid(padding=0)
    table.add_column(width=2)
    table.add_column(overflow="fold")
    table.add_row("-", Text(_plain(point)))
    return table


def _command(words: list[str]) -> str:
    """Broken before flags where it is long, as a shell reads it."""
    lines, now = [], shlex.quote(words[0])
    for word in words[1:]:
        if word.startswith("-") and not word[1:2].isdigit() and len(now) > 60:
            lines.append(f"{now} \\")
            now = f"  {shlex.quote(word)}"
        else:
            now += f" {shlex.quote(word)}"
    return "\n".join([*lines, now])


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    """A name out of a file, fit for a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)
