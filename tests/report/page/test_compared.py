"""A comparison as a page: the same figures as in the terminal."""

import re
import xml.etree.ElementTree as ET

import pytest
from msgspec.structs import replace

from loadsim.report.compare import sentences
from loadsim.report.page.compared import compared
from loadsim.report.page.parts import Change, Changes
from loadsim.report.page.render import bars
from loadsim.stats.compare import compare
from loadsim.stats.rule import judge, rules
from tests.stats.sides import both


def change(low: float | None, mid: float | None, high: float | None) -> Change:
    return Change(label="x", said="", low=low, mid=mid, high=high)


def test_all_changes_lie_on_one_scale() -> None:
    part = Changes(caption="", changes=[change(-0.1, -0.05, 0.0), change(0.1, 0.2, 0.4)], none=0.03)
    found, zero, first, last = bars(part)
    # from -0.1 to 0.4 and a fiftieth more on each side: 0.5 is 100 / 1.04 of the width
    wide = 100 / 1.04
    assert found[0].low == pytest.approx(2 / 1.04, abs=0.01)
    assert zero == found[0].high == pytest.approx(2 / 1.04 + wide * 0.2, abs=0.01)
    assert first == pytest.approx(zero - wide * 0.06, abs=0.02)
    assert last == pytest.approx(zero + wide * 0.06, abs=0.02)
    assert found[1].high == pytest.approx(100 - 2 / 1.04, abs=0.01)


def test_what_is_not_known_has_no_place() -> None:
    found, zero, _, _ = bars(Changes(caption="", changes=[change(None, None, None)]))
    assert (found[0].low, found[0].mid, found[0].high, zero) == (None, None, None, 50.0)


def test_the_page_says_what_the_terminal_says() -> None:
    found = compare(*both(times=1.1))
    html = compared(found, judge(rules(("ttft p50 > +5 %",)), found))
    for said in sentences(found):
        assert said.replace("'", "&#39;") in html
    assert "<h2>12 warm: worse</h2>" in html
    assert "+10.0 % (+8.7 to +11.3 %)" in html  # as in the terminal's table
    assert re.search(r'scope="row">ttft p50 &gt; \+5 %.*</th><td>broken</td>', html)
    drawn = [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html)]
    roles = [line.get("class") for svg in drawn for line in svg if "mid" in (line.get("class") or "")]
    assert {"mid role-bad", "mid role-quiet"} == set(roles)
    assert len(drawn) == sum(each.low is not None and not each.counted for each in found.points[0].differences)


def test_too_few_repeats_have_no_changes_to_draw() -> None:
    a, b = both()
    few = {name: replace(of, samples=of.samples[:3]) for name, of in b.points[0].crowds.items()}
    html = compared(compare(a, replace(b, points=[replace(b.points[0], crowds=few)])))
    assert "<svg" not in html
    assert "Too few repeats (3 of 5 on a side)" in html
    assert "3 of 5 repeats that a verdict takes." in html
