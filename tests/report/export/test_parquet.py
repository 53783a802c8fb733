"""Parquet, read back by DuckDB."""

import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from loadsim.report.export import parquet
from loadsim.report.export.columns import Cell, Column
from loadsim.report.export.tables import TABLES
from loadsim.results.stream import Stream
from loadsim.types import BadInput
from tests.stats.rows import alone, cut, playout, row

from .folders import NASTY, make

COLUMNS = (Column("text", "text"), Column("n", "integer"), Column("rate", "real"), Column("fine", "boolean"))
TYPES = {"integer": "BIGINT", "real": "DOUBLE", "boolean": "BOOLEAN", "text": "VARCHAR"}


def query(sql: str) -> list[tuple[Any, ...]]:
    return duckdb.connect().execute(sql).fetchall()


def test_values_and_types_come_back_and_missing_is_null(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    rows: list[tuple[Cell, ...]] = [(NASTY, 2**53 + 1, 0.1, True), (None, None, None, None), ("", 0, 0.0, False)]
    assert parquet.write(COLUMNS, rows, file) == 3
    assert query(f"select * from '{file}'") == rows
    assert [found[:2] for found in query(f"describe select * from '{file}'")] == [
        ("text", "VARCHAR"), ("n", "BIGINT"), ("rate", "DOUBLE"), ("fine", "BOOLEAN"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_rows_keeps_its_columns(tmp_path: Path, name: str) -> None:
    file, of = tmp_path / "a.parquet", TABLES[name]
    assert parquet.write(of.columns, [], file) == 0
    assert [found[:2] for found in query(f"describe select * from '{file}'")] == [
        (column.name, TYPES[column.kind]) for column in of.columns
    ]


def test_rows_and_sums_are_those_of_the_run(tmp_path: Path) -> None:
    whole = row(cut=cut(11.0, 0.5, 7), playout=playout(10.5, 12.5))
    rows = [*(row(caller=i, prompt_n=60 + i) for i in range(12)), whole, row(prompt_n=None), alone(1, "before", 0.01)]
    stream = Stream(make(tmp_path / "run", *rows))
    for name in ("requests", "tokens"):
        parquet.write(TABLES[name].columns, TABLES[name].rows(stream), tmp_path / f"{name}.parquet")
    requests, tokens = (f"'{tmp_path}/{name}.parquet'" for name in ("requests", "tokens"))
    sums = "count(*), count(prompt_n), sum(prompt_n), sum(cut_unheard), count(playout_start_s), sum(tokens)"
    assert query(f"select {sums} from {requests}") == [(15, 14, 14 * 60 + 66, 7, 1, 75)]
    assert query(f"select count(*), count(distinct request), sum(token) from {tokens}") == [(75, 15, 15 * 10)]
    # Fourteen replies with a token every 20 ms, one with a token every 10 ms.
    ((gaps,),) = query(f"select sum(gap_s) from {tokens}")
    assert gaps == pytest.approx(14 * 4 * 0.02 + 4 * 0.01)
    joined = f"{tokens} join {requests} r using (request) where token = 0 and abs(t_s - first_token_s) < 1e-6"
    assert query(f"select count(*) from {joined}") == [(14,)]  # one caller's first token is at another time


def test_rows_pass_in_groups_and_none_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP", 1000)
    held: list[int] = []

    def rows() -> Any:
        for i in range(2500):
            held.append(i)
            yield (str(i), i, float(i), True)

    file = tmp_path / "a.parquet"
    assert parquet.write(COLUMNS, rows(), file) == 2500
    assert query(f"select count(*), sum(n), min(n), max(n) from '{file}'") == [(2500, 2500 * 2499 // 2, 0, 2499)]
    assert query(f"select distinct row_group_num_rows from parquet_metadata('{file}') order by 1") == [(500,), (1000,)]


def test_a_number_beyond_64_bits_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="64 bits"):
        parquet.write(COLUMNS, [("a", 2**70, 0.0, True)], tmp_path / "a.parquet")


def test_without_pyarrow_the_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(BadInput, match=r"pip install 'loadsim\[parquet\]'"):
        parquet.check()
