"""Tables as the terminal prints them, with the same figures."""

from collections.abc import Sequence

from rich.table import Table as Printed

from .parts import Table


def copied(caption: str, of: Sequence[tuple[str, Printed]], shown: bool = False) -> Table | None:
    """Tables of the same columns as one, each with its load point's name where there are several; None: there are no
    rows. `shown`: at once."""
    rows = [
        [*([name] if len(of) > 1 else []), *(str(cell) for cell in row)]
        for name, table in of
        for row in zip(*(column.cells for column in table.columns), strict=True)
    ]
    if not rows:
        return None
    columns = [_plain(str(column.header)) for column in of[0][1].columns]
    return Table(caption=caption, columns=["load point", *columns] if len(of) > 1 else columns, rows=rows, open=shown)


def _plain(header: str) -> str:
    """A heading that the terminal breaks into lines, also within a word."""
    return header.replace("-\n", "").replace("\n", " ")
