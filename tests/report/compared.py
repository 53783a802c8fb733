"""Runs on disk to be compared, each written by hand."""

from pathlib import Path
from typing import Any

import msgspec

from loadsim.results.read import FORMAT
from loadsim.types import RequestRow
from tests.stats.rows import alone, reply

STEADY = (1.0, 1.01, 0.99, 1.005, 0.995)


def rows(times: float = 1.0, noise: tuple[float, ...] = STEADY, point: str = "p", **fields: Any) -> list[RequestRow]:
    """Repeats of three callers, whose first tokens come after 100 ms and the others every 20 ms, and of one caller's
    four replies on either side; all of it `times` as long."""
    found = []
    for repeat, each in enumerate(noise, 1):
        first, step = 0.1 * times * each, 0.02 * times * each
        token_s = [first + i * step for i in range(6)]
        plain: dict[str, Any] = {"point": point, "repeat": repeat, "max_tokens": 6, "predicted_n": 6} | fields
        for caller in range(3):
            sent = 10.0 * repeat
            speech = {"first_speech_s": sent + first + step, "group": "warm"}
            found.append(reply(sent, *token_s, caller=caller, token_server_ms=[], **speech | plain))
        times_alone = {"sent_s": 10.0 * repeat, "first_token_s": 10.0 * repeat + first, "token_server_ms": []}
        for side in ("before", "after"):
            found += [
                msgspec.structs.replace(alone(n, side, 0), token_s=token_s, **times_alone | plain) for n in range(4)
            ]
    return found


def write(folder: Path, *found: RequestRow, events: tuple[dict[str, Any], ...] = (), **facts: Any) -> Path:
    """A run's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    points: dict[str, Any] = {row.point: {} for row in found}
    plain: dict[str, Any] = {
        "format": FORMAT, "id": folder.name, "ended": "complete", "why": None, "server": {}, "points": points,
        "started": {"epoch_s": 0.0, "time": "2026-11-30T12:34:56+00:00"}, "digests": {"call.json": "1"},
        "scenario": {"recording": "call.json", "callers": {"warm": {"count": 3}}, "server": {"url": "http://a:b@x:1/"}},
    }  # fmt: skip
    (folder / "run.json").write_bytes(msgspec.json.encode(plain | facts))
    (folder / "requests.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in found))
    (folder / "events.jsonl").write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    return folder
