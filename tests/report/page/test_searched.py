"""A search on the page has what the terminal printed of it."""

from loadsim.plan.found import Paced
from loadsim.plan.lines import answer, line, table
from loadsim.report.page.searched import searched
from tests.plan.test_lines import TARGETS, found, point
from tests.report.page import made
from tests.report.page.made import chart, section, series, shown_of
from tests.report.runs import run_of

STEPS = [
    point(1, 0.2, "meets"), point(4, 0.9, "misses"), point(2, 0.5, "meets"), point(3, 0.79, "unclear"),
    point(3, 0.0, "unclear", figures=[], repeats=0, replies=0, why="the server died"),
]  # fmt: skip


def test_each_step_has_the_cells_of_its_line() -> None:
    search = found(2, 3, points=STEPS, reason="4 fails: TTFT p95 900 ms of 800")
    one = made.table(searched([shown_of(run_of(), search=search)]), "callers that were tried")
    assert one.columns == ["callers", "n", "TTFT p95 <= 800 ms", "underruns < 1 %", ""]
    assert one.rows[1] == ["4, together", "5 x 4", "900 ms!", "0 of 20", "fails"]
    for step, cells in zip(STEPS, one.rows, strict=True):
        printed = line(step, TARGETS).split()
        assert " ".join([cells[0].partition(",")[0], *cells[1:]]).split() == printed
    assert one.rows[4] == ["3, together", "-", "-", "-", "stopped"]


def test_the_answer_stands_in_its_words() -> None:
    search = found(2, 3, points=STEPS, reason="4 fails: TTFT p95 900 ms of 800")
    words = section(searched([shown_of(run_of(), label="a", search=search)])).words
    assert words == [f"a: {' '.join(answer(search))}"]
    assert "nearer than the noise" in words[0]


def test_the_steps_are_drawn_in_their_order_by_what_became_of_them() -> None:
    picture = chart(searched([shown_of(run_of(), search=found(2, 3, points=STEPS))]), "search-0")
    assert series(picture, "in order").y == [1.0, 4.0, 2.0, 3.0, 3.0]
    assert (series(picture, "holds").x, series(picture, "holds").role) == ([1.0, 3.0], "good")
    assert (series(picture, "fails").x, series(picture, "fails").y) == ([2.0], [4.0])
    assert picture.said == "Callers by what became of them: holds at 1, 2; unclear at 3; fails at 4; stopped at 3."


def test_callers_with_the_pace_of_people_come_last() -> None:
    paced = point(2, 0.4, "meets", load="paced", repeats=1, replies=90)
    confirmed = Paced(callers=2, needed=300, seconds=120.0, measured=paced)
    search = found(2, 3, points=[*STEPS, paced], paced=confirmed)
    here = searched([shown_of(run_of(), search=search)])
    assert made.table(here, "tried").rows[-1][:2] == ["2, paced", "1 x 90"]
    assert "pace of people, until 300 replies are heard: about 2 min" in section(here).words[1]
    assert any("2 callers" in text for text in table(search))


def test_a_run_without_a_search_has_no_such_section() -> None:
    assert searched([shown_of(run_of())]) is None
