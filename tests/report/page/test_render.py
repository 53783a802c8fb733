"""The page's file, without a browser."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.report.page.parts import Axis, Chart, Lanes, Section, Series, Table
from loadsim.report.page.render import aligned, embedded, render
from tests.report.page.hostile import HOSTILE, hostile_parts
from tests.report.page.samples import SECTIONS, sample_page

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(
    ["</script>", "<!--", "<script", "]]>", "\u2028", "\u2029", "&lt;", HOSTILE]
)


def chart(word: str) -> Chart:
    series = [Series(label=word, x=[1.0], y=[None], notes=[word])]
    return Chart(id="c", title=word, said=word, x=Axis(label=word), y=Axis(label=word), series=series)


@given(WORDS)
def test_data_comes_back_as_it_was_and_ends_nothing(word: str) -> None:
    text = embedded([Section(id="s", title="", parts=[chart(word)])])
    assert not set(text) & set("<>&\u2028\u2029")
    read = json.loads(text)["c"]
    assert [read["title"], read["said"], read["series"][0]["label"], read["series"][0]["notes"]] == [word] * 3 + [
        [word]
    ]
    assert read["series"][0]["y"] == [None]


class Elements(HTMLParser):
    """What a reader of HTML makes of a page: elements, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_hostile_words_add_no_element_and_no_attribute() -> None:
    head, sections = hostile_parts()
    usual, hostile = Elements(sample_page()), Elements(render(head.name, [head], sections))
    assert hostile.names == usual.names
    assert {name for name, _ in hostile.attributes} == {name for name, _ in usual.attributes}
    assert head.answers[0] in "".join(hostile.text)


def test_the_file_names_no_address_and_keeps_its_policy() -> None:
    page = sample_page()
    elements = Elements(page)
    places = [value for name, value in elements.attributes if name in ("src", "href", "action", "srcset")]
    assert [place for place in places if place is None or not place.startswith(("#", "data:,"))] == []
    policy = next(value for name, value in elements.attributes if name == "content" and "default-src" in str(value))
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy and "http" not in policy
    assert not [name for name, _ in elements.attributes if name == "style" or name.startswith("on")]


def test_without_sections_there_is_a_page() -> None:
    elements = Elements(render("t", [], []))
    assert "main" in elements.names and "nav" not in elements.names


def test_parts_stand_in_their_order_with_a_table_for_each_picture() -> None:
    page = sample_page()
    found = re.findall(r'<section id="([^"]+)"|data-part="([^"]+)"|data-of="([^"]+)"', page)
    wanted = []
    for section in SECTIONS:
        wanted.append((section.id, "", ""))
        for part in section.parts:
            if isinstance(part, Chart | Lanes):
                wanted += [("", part.id, ""), ("", "", part.id)]
    assert found == wanted


@pytest.mark.parametrize(
    ("cells", "figures"),
    [
        (["95.7", "1,121", "-"], True),
        (["5 x 10", "5 x 12"], True),
        (["7.86 %", "12 ms", "115 tokens/s", "$0.00036", "0:01:30", "961 to 1,004"], True),
        (["-", "-"], True),
        (["12 callers who all talk at once"], False),
        (["warm", "12"], False),
        (["2026-11-30"], False),
        ([], False),
    ],
)
def test_columns_of_figures_end_at_the_right(cells: list[str], figures: bool) -> None:
    rows: list[Any] = [["row", cell] for cell in cells]
    assert aligned(Table(caption="", columns=["a", "b"], rows=rows)) == [False, figures]
