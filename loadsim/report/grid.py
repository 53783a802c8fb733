"""Tables that stay narrow: 80 columns must do."""

from rich import box
from rich.table import Table


def grid(*columns: str) -> Table:
    """A table whose first column is names, and the others figures."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", no_wrap=True)
    return table
