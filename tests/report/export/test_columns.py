"""Structs as columns, against one made by hand and, for all rows there can be, against what JSON says of them."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given

from loadsim.report.export.columns import Column, record
from loadsim.report.export.tables import TABLES
from loadsim.types import RequestRow
from tests.results.rows import rows


class Inner(msgspec.Struct):
    at_s: float
    n: int | None = None


class Outer(msgspec.Struct):
    name: str
    count: int
    rate: float | None
    fine: bool
    cut: Inner | None
    span: tuple[int, int] | None
    reasons: tuple[str, ...] | None
    probe: dict[str, int]


OF = record(Outer)


def test_columns_have_the_names_and_kinds_of_the_fields() -> None:
    assert [(column.name, column.kind) for column in OF.columns] == [
        ("name", "text"),
        ("count", "integer"),
        ("rate", "real"),
        ("fine", "boolean"),
        ("cut_at_s", "real"),
        ("cut_n", "integer"),
        ("span_low", "integer"),
        ("span_high", "integer"),
        ("reasons", "text"),
        ("probe", "text"),
    ]


def test_cells_are_the_values_and_lists_are_json() -> None:
    whole = Outer("é", 2, 0.5, True, Inner(1.5, 3), (4, 5), ("hot", "capped"), {"replaced": 516})
    assert OF.cells(whole) == ("é", 2, 0.5, True, 1.5, 3, 4, 5, '["hot","capped"]', '{"replaced":516}')


def test_what_is_missing_is_none_and_never_zero() -> None:
    assert OF.cells(Outer("", 0, None, False, None, None, None, {})) == (
        "", 0, None, False, None, None, None, None, None, None,
    )  # fmt: skip


def test_a_list_that_can_be_missing_is_not_when_it_is_empty() -> None:
    assert OF.cells(Outer("a", 0, None, False, None, None, (), {}))[8] == "[]"


@pytest.mark.parametrize("name", TABLES)
def test_no_table_has_two_columns_of_a_name(name: str) -> None:
    assert Counter(column.name for column in TABLES[name].columns).most_common(1)[0][1] == 1


@given(rows())
def test_any_row_has_the_values_that_its_json_has(row: RequestRow) -> None:
    leave = ("token_s", "token_server_ms", "probe")
    of = record(RequestRow, leave=leave)
    cells = dict(zip([column.name for column in of.columns], of.cells(row), strict=True))
    for field in RequestRow.__struct_fields__:
        value = getattr(row, field)
        if isinstance(value, msgspec.Struct):
            inner = {f"{field}_{name}": getattr(value, name) for name in value.__struct_fields__}
            assert {name: cells[name] for name in inner} == inner
        elif field not in (*leave, "spoke", "playout", "cut", "error", "finish", "point", "group", "phase"):
            assert cells[field] == value


def test_columns_know_what_a_cell_may_be() -> None:
    assert Column("cache_n", "integer") in record(RequestRow).columns
