"""A table as a Parquet file, by pyarrow: int64, double, boolean and string columns, each of which may be NULL."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from ...types import BadInput
from .columns import Column
from .tables import Row

GROUP = 122_880  # rows that are held at a time and make a row group, DuckDB's own number
NEEDED = "parquet needs pyarrow: pip install 'loadsim[parquet]'"


def check() -> None:
    """Raises BadInput, with what to install, where pyarrow is not there."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise BadInput(NEEDED) from None


def write(columns: Iterable[Column], rows: Iterable[Row], path: Path) -> int:
    """Write a table to a file; how many rows it has. Raises BadInput for a number that no column can hold."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds: dict[str, Any] = {"integer": pa.int64(), "real": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
    schema = pa.schema([(column.name, kinds[column.kind]) for column in columns])
    rows, written = iter(rows), 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while chunk := list(islice(rows, GROUP)):
            cells = zip(*chunk, strict=True)
            try:
                arrays = [pa.array(column, field.type) for column, field in zip(cells, schema, strict=True)]
            except (pa.ArrowInvalid, OverflowError) as error:
                raise BadInput(f"a number that Parquet's 64 bits cannot hold: {error}") from error
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=GROUP)
            written += len(chunk)
    return written
