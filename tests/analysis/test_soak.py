"""The log of twenty minutes of soak on the embedded server, thinned: its figures worked out again without loadsim."""

import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from tests.analysis.thin import SOAK

Study = Callable[..., str]


def rows(file: str = "requests.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SOAK / file).read_text().splitlines()]


def rates(rows: list[dict[str, Any]]) -> list[float]:
    """Tokens after the first read over their time; a reply that came in one read has none."""
    told = [row["token_s"] for row in rows if row["token_s"][-1] > row["token_s"][0]]
    return [(len(times) - times.count(times[0])) / (times[-1] - times[0]) for times in told]


def test_one_caller_is_told_before_in_each_pause_and_after(study: Study) -> None:
    alone = sorted((row for row in rows() if row["row"] == "baseline"), key=lambda row: row["sent_s"])
    times = [list(found) for _, found in groupby(alone, key=lambda row: (row["side"], row.get("call", 0)))]
    assert [found[0]["side"] for found in times] == ["before", "during", "during", "during", "after"]
    # The first reply of each is dropped.
    first, last = (median(rates(found[1:])) for found in (times[0], times[-1]))
    said = study("decay", SOAK).splitlines()
    (line,) = [line.split() for line in said if line.startswith("one caller, tokens/s")]
    assert [float(word.replace(",", "")) for word in line[3:5]] == [round(first), round(last)]


def test_loadsims_own_memory_stays_flat() -> None:
    own = [(sample["t_s"], sample["own_rss_bytes"]) for sample in rows("host.jsonl")]
    begin = next(size for t, size in own if t > 120)
    assert own[-1][0] > 1200
    assert own[-1][1] - begin < 5e6


def test_no_path_of_a_machine_is_in_it() -> None:
    assert not any(word in path.read_text() for path in Path(SOAK).iterdir() for word in ("/tmp/", "/home/", "/root/"))
