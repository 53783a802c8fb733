"""CSV, read back by Python's own reader and, for all that a text may hold, told apart from what it is not."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.report.export.columns import Cell, Column
from loadsim.report.export.sheet import write

from .folders import NASTY

COLUMNS = (Column("text", "text"), Column("n", "integer"), Column("rate", "real"), Column("fine", "boolean"))


def written(*rows: tuple[Cell, ...]) -> str:
    out = io.StringIO(newline="")
    assert write(COLUMNS, rows, out) == len(rows)
    return out.getvalue()


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def test_lines_are_those_of_rfc_4180() -> None:
    assert written(('say "hi", you', 3, 0.5, True), (None, None, None, None), ("a\nb", -3, -1e-6, False)) == (
        'text,n,rate,fine\r\n"say ""hi"", you",3,0.5,true\r\n,,,\r\n"a\nb",-3,-1e-06,false\r\n'
    )


def test_nasty_texts_come_back() -> None:
    assert read(written((NASTY, 1, 1.0, True)))[1][0] == NASTY


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\tx", "\rx", "＝1"])
def test_a_text_that_begins_like_a_formula_gets_an_apostrophe(text: str) -> None:
    assert read(written((text, 1, 1.0, True)))[1][0] == f"'{text}"


def test_negative_numbers_are_no_formulas() -> None:
    assert read(written(("a=1", -1, -2.5, True)))[1] == ["a=1", "-1", "-2.5", "true"]


@given(
    st.lists(st.tuples(st.text(st.characters(codec="utf-8")), st.integers(), st.floats(allow_nan=False)), max_size=5)
)
def test_any_rows_come_back(rows: list[tuple[str, int, float]]) -> None:
    back = read(written(*((text, n, rate, True) for text, n, rate in rows)))[1:]
    assert [(text.removeprefix("'") if not given[0].startswith("'") else text, int(n), float(rate))
            for (text, n, rate, _), given in zip(back, rows, strict=True)] == rows  # fmt: skip
