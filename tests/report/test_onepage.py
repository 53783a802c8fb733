"""A plan's page in the terminal and as Markdown."""

import io
import re
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from rich.console import Console

from loadsim.plan.answer import Line, Page, page
from loadsim.plan.cost import cost
from loadsim.plan.fact import Fact
from loadsim.plan.units import Price
from loadsim.report.onepage import markdown, shown, text
from tests.plan.test_answer import load, memory, searched

WHOLE = page((12, "as given"), memory(), searched(), load(), cost(12, Price(sign="$", hour=0.26), load=load()))
HEADINGS = [
    "start it so", "what limits it: first token", "headroom", "memory", "callers", "offered load",
    "cost of a voice minute", "slot numbers: it holds only if the agent sends id_slot", "before you believe it",
]  # fmt: skip


def printed(of: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    console.print(of, crop=False)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_the_page_reads_at_80_columns() -> None:
    lines = printed(text(WHOLE)).splitlines()
    assert lines[0] == "hybrid-IQ4_XS: 12 slots"
    assert [line for line in lines if line in HEADINGS] == HEADINGS
    assert max(map(len, lines)) <= 80
    assert len(lines) < 90


def test_the_command_and_the_request_can_be_copied() -> None:
    narrow = printed(text(WHOLE), 40)
    assert '{"messages":[{"role":"user","content":"..."}],"stream":true,"id_slot":11}\n' in narrow
    joined = re.sub(r" \\\n *", " ", printed(text(WHOLE)))
    assert " ".join(WHOLE.command) in joined


def test_markdown_has_the_same_sections_and_whole_tables() -> None:
    lines = markdown(WHOLE).splitlines()
    assert [line[3:].lower() for line in lines if line.startswith("## ")] == HEADINGS
    assert "| every slot taken | $0.00036 | computed | the price given |" in lines
    assert "| ttft p95 <= 800 ms | 23.5 % | measured | 612 ms of 800 ms |" in lines
    for before, line in pairwise(lines):
        if before.startswith("|") and line.startswith("|"):
            assert before.count("|") - before.count("\\|") == line.count("|") - line.count("\\|")
    assert lines.count("```json") == 1
    assert sum(line.startswith("```") for line in lines) == 4


def test_a_name_cannot_break_the_page() -> None:
    odd = page((12, "x"), memory(model="a|b\x1b[31m\nc", file="a b'c.gguf", card="d|e"))
    assert "| of d\\|e, less what is kept free |" in markdown(odd)
    assert markdown(odd).splitlines()[0] == "# a|b?[31m?c: 12 slots"
    assert "\x1b" not in printed(text(odd))
    assert "-m 'a b'\"'\"'c.gguf' " in markdown(odd)


@pytest.mark.parametrize("which", range(1, 16))
def test_any_part_may_be_missing(which: int) -> None:
    paid = cost(12, Price(sign="$", hour=0.26), load=load())
    parts: list[Any] = [part if which >> i & 1 else None for i, part in enumerate((memory(), searched(), load(), paid))]
    for slots in (None, (12, "as given")):
        found = page(slots, *parts)
        assert msgspec.json.decode(msgspec.json.encode(found), type=Page) == found
        assert max(map(len, printed(text(found)).splitlines())) <= 80
        assert markdown(found).startswith("# ")
        assert bool(found.command) == bool(slots)


def test_without_pins_no_request_is_shown() -> None:
    said = markdown(page((12, "x"), None, searched(pinned=False)))
    assert "## Slot numbers: no id_slot is needed" in said
    assert "```json" not in said


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (240 * 1024**2, "bytes", "240 MiB"), (3.5 * 1024**3, "bytes", "3.50 GiB"), (1.7, "s", "1.7 s"),
        (-3.5 * 1024**3, "bytes", "-3.50 GiB"), (0.25, "share", "25.0 %"), (12, "slots", "12 slots"),
        (1, "slots", "1 slot"), (1.96, "slots", "1.96 slots"), (1, "cards", "1 card"), (180, "an hour", "180 an hour"),
        (0.26, "money", "$0.26"), (1, "callers", "1 caller"), (0.5, "", "0.500"),
    ],
)  # fmt: skip
def test_figures_in_their_units(value: float, unit: str, said: str) -> None:
    assert shown(Line(name="x", fact=Fact(value, "computed"), unit=unit), "$") == said  # type: ignore[arg-type]
