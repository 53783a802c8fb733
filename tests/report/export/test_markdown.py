"""Markdown, as a CommonMark parser with GitHub's tables reads it."""

from collections.abc import Iterator
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.table import Table

from loadsim.report.export.markdown import markdown, plain, table
from loadsim.report.grid import grid
from loadsim.report.table import render
from loadsim.results.read import read
from tests.report.runs import BOTH, LOAD, text_of
from tests.stats.rows import row

from .folders import NASTY, make

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
NO_MENTION = "<!-- -->"
INLINE = {"text", "text_special", "softbreak", "html_inline", "inline"}


def inlines(text: str) -> Iterator[Token]:
    yield from (token for token in READER.parse(text) if token.type == "inline")


def shown(token: Token) -> str:
    """What a reader sees of a line."""
    return "".join(each.content for each in token.children or [] if each.content != NO_MENTION)


def cells(text: str) -> list[str]:
    return [shown(token) for token in inlines(text)]


def of(*rows: tuple[str, ...]) -> Table:
    made = grid(*rows[0])
    for each in rows[1:]:
        made.add_row(*each)
    return made


def test_a_table_is_drawn_as_github_reads_it() -> None:
    text = table(of(("first\ntoken, ms", "p50"), ("one caller", "95.7"), ("a|b", "-")))
    assert text.splitlines() == [
        "| first token, ms | p50 |",
        "| :-- | --: |",
        "| one caller | 95.7 |",
        "| a\\|b | - |",
    ]
    assert cells(text) == ["first token, ms", "p50", "one caller", "95.7", "a|b", "-"]


@given(st.text(max_size=40))
@example(NASTY)
@example("@team #12 a_b _c_ **d** ~~e~~ `f` <b>g</b> &lt; $x$ \\| ![i](j)")
def test_any_name_is_only_shown(name: str) -> None:
    text = table(of(("x", name), (name, "1")))
    found = list(inlines(text))
    assert len(found) == 4  # no pipe and no line end breaks a row
    wanted = " ".join(name.split()).replace("\0", "\ufffd")
    assert [shown(found[place]) for place in (1, 2)] == [wanted, wanted]
    for token in found:
        assert {each.type for each in token.children or []} <= INLINE
        assert {each.content for each in token.children or [] if each.type == "html_inline"} <= {NO_MENTION}


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=20))
@example("# x")
@example("- x")
@example("1. x")
@example("+ x")
@example("=====")
@example("> x")
@example("12) x")
@example("---")
def test_any_line_is_a_paragraph(line: str) -> None:
    tokens = READER.parse(plain(line))
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert shown(tokens[1]) == " ".join(line.split())


def test_nobody_is_mentioned() -> None:
    assert plain("@anna fixed #12") == f"@{NO_MENTION}anna fixed #{NO_MENTION}12"
    assert plain("5 @ 3 # 4") == "5 @ 3 # 4"


def test_a_run_has_the_words_of_the_terminal(tmp_path: Path) -> None:
    run = read(make(tmp_path, *BOTH, *LOAD, points={"p": {"slots": [0, 1, 2, 5]}}))
    text = markdown(run)
    assert text.startswith("**12 warm callers hear the first token after 200 ms at p50, 200 at most")
    assert "### p, slots 0-2, 5\n\n| first token, ms |" in text
    # Every word that the terminal prints is here, and nothing else is.
    printed = text_of(render(run), 500)
    said = "".join(cells(text)).replace(" ", "")
    for line in printed.splitlines():
        for word in line.replace("─", "").split():
            assert word in said or word in "first token, ms before headers"


def test_a_page_as_a_name_is_shown_as_text(tmp_path: Path) -> None:
    text = markdown(read(make(tmp_path, row(group=NASTY, point=NASTY), row(outcome="error", error=NASTY, group=NASTY))))
    assert "<script" not in text
    assert not [token for token in READER.parse(text) if token.type == "html_block"]
    assert any("<script>alert(1)</script> שלום 🙂 `x` *y* [z](http://w) \\" in cell for cell in cells(text))


def test_an_empty_run_says_so(tmp_path: Path) -> None:
    assert markdown(read(make(tmp_path))) == "**The run has no row that was measured.**\n"
