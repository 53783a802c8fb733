"""A soak's log made small: `python -m tests.analysis.thin RUN` puts it into tests/analysis/soak.

Kept are one caller's rows, every sixth of the load's, and every fifteenth sample of this machine; of a row the server's
own clock for each token goes. So times, kinds and counts of what is kept are as they were recorded.
"""

import sys
from pathlib import Path
from typing import Any

import msgspec

SOAK = Path(__file__).parent / "soak"
LOAD, HOST = 6, 15


def main(run: Path) -> None:
    SOAK.mkdir(exist_ok=True)
    for file in ("run.json", "events.jsonl"):
        (SOAK / file).write_bytes((run / file).read_bytes())
    alone = [row for row in _lines(run / "requests.jsonl") if row["row"] == "baseline"]
    load = [row for row in _lines(run / "requests.jsonl") if row["row"] == "load"][::LOAD]
    for row in (rows := [*alone, *load]):
        row.pop("token_server_ms", None)
    _write(SOAK / "requests.jsonl", sorted(rows, key=lambda row: row["end_s"]))
    _write(SOAK / "host.jsonl", _lines(run / "host.jsonl")[::HOST])


def _lines(file: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line, type=dict[str, Any]) for line in file.read_bytes().splitlines()]


def _write(file: Path, records: list[dict[str, Any]]) -> None:
    file.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
