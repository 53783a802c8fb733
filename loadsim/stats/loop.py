"""A closed loop: callers who ask again as soon as they are answered. How much comes through while all are in it."""

from collections.abc import Iterable

import msgspec

from ..types import RequestRow
from .headline import in_headline
from .spread import Spread, known, since, spread


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """`seconds` in which all callers were in the loop: from the last one's first request to the first one's last end,
    summed over repeats. `requests` that ended in that time; a second's worth of them, of their replies' tokens as they
    came, and of the prompts' tokens. `in_flight`: requests at once, on average: the callers, if none was ever idle.
    `latency`: from a request to its reply's end, of all replies that count.
    """

    seconds: float
    requests: int
    per_second: float
    tokens_per_second: float
    prompt_per_second: float
    in_flight: float
    latency: Spread


def loop(rows: Iterable[RequestRow]) -> Loop | None:
    """`rows`: of one load point and group. None: they were never all in it."""
    asked = [row for row in rows if row.row == "load" and row.sent_s is not None and row.end_s is not None]
    seconds = busy = 0.0
    requests = tokens = prompt = 0
    for repeat in {row.repeat for row in asked}:
        callers: dict[tuple[str, int], list[RequestRow]] = {}
        for row in asked:
            if row.repeat == repeat:
                callers.setdefault((row.group, row.caller), []).append(row)
        start = max(min(known(row.sent_s for row in found)) for found in callers.values())
        end = min(max(known(row.end_s for row in found)) for found in callers.values())
        if end <= start:
            continue
        seconds += end - start
        for row in (row for found in callers.values() for row in found):
            sent, ended = row.sent_s or 0.0, row.end_s or 0.0
            busy += max(min(ended, end) - max(sent, start), 0.0)
            tokens += sum(start < sent + t <= end for t in row.token_s)
            if start < ended <= end and row.outcome == "ok":
                requests += 1
                prompt += (row.prompt_n or 0) + (row.cache_n or 0)
    if not seconds:
        return None
    return Loop(
        seconds=seconds,
        requests=requests,
        per_second=requests / seconds,
        tokens_per_second=tokens / seconds,
        prompt_per_second=prompt / seconds,
        in_flight=busy / seconds,
        latency=spread(known(since(row.sent_s, row.end_s) for row in asked if in_headline(row))),
    )
