"""A table as CSV: RFC 4180, UTF-8, a line of names first. Missing is an empty cell, booleans are true and false.

A text that a spreadsheet would take for a formula gets an apostrophe before it: what a server says in an error, or a
scenario is called, must not run when somebody opens the file. Numbers stay as they are.
"""

import csv
from collections.abc import Iterable, Iterator
from typing import TextIO

from .columns import Cell, Column
from .tables import Row

FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def write(columns: Iterable[Column], rows: Iterable[Row], out: TextIO) -> int:
    """Write a table; how many rows it has. `out` must not translate line ends."""
    columns = tuple(columns)
    # Real and whole numbers are as they are: only these columns are looked at.
    touched = [place for place, column in enumerate(columns) if column.kind in ("text", "boolean")]
    writer = csv.writer(out)
    writer.writerow(column.name for column in columns)
    written = 0

    def lines() -> Iterator[list[Cell]]:
        nonlocal written
        for row in rows:
            cells = list(row)
            for place in touched:
                cells[place] = _cell(cells[place])
            written += 1
            yield cells

    writer.writerows(lines())
    return written


def _cell(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(FORMULA) else cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell
