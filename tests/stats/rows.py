"""Rows made by hand, so that each figure can be worked out on paper."""

from typing import Any

from loadsim.types import Cut, Playout, RequestRow, Spoke


def row(**fields: Any) -> RequestRow:
    """A row of a caller who asked at 10 s, and heard five tokens from 10.2 s on, one every 20 ms."""
    plain: dict[str, Any] = {
        "point": "p", "repeat": 1, "row": "load", "group": "warm", "caller": 0, "turn": 5, "outcome": "ok",
        "kind": "extension", "planned": True, "due_s": 9.99, "sent_s": 10.0, "headers_s": 10.05, "first_token_s": 10.2,
        "last_token_s": 10.28, "end_s": 10.3, "prompt_n": 60, "cache_n": 10_369, "prompt_ms": 140.0, "new_tokens": 60,
        "token_s": [0.2, 0.22, 0.24, 0.26, 0.28], "token_server_ms": [0.0, 20.0, 40.0, 60.0, 80.0], "served": 0,
    }  # fmt: skip
    return RequestRow(**plain | fields)


def alone(number: int, side: str, step: float, repeat: int = 1, **fields: Any) -> RequestRow:
    times = [0.1 + i * step for i in range(5)]
    return row(row="baseline", group="baseline", number=number, side=side, token_s=times, repeat=repeat, **fields)


def reply(sent: float, *token_s: float, **fields: Any) -> RequestRow:
    """A reply sent at `sent`, its tokens at `token_s` after it."""
    times = {"sent_s": sent, "due_s": sent, "headers_s": sent, "token_s": list(token_s)}
    if token_s:
        times |= {"first_token_s": sent + token_s[0], "last_token_s": sent + token_s[-1], "end_s": sent + token_s[-1]}
    else:
        times |= {"first_token_s": None, "last_token_s": None}
    return row(**times | fields)


def spoke(start: float, end: float, **fields: Any) -> Spoke:
    return Spoke(start_s=start, end_s=end, **fields)


def playout(start: float, end: float, **fields: Any) -> Playout:
    return Playout(**{"start_s": start, "end_s": end, "rate": 4.5, "tokens": 5} | fields)


def cut(at: float, after: float, unheard: int, **fields: Any) -> Cut:
    return Cut(**{"at_s": at, "after": after, "heard": 5, "unheard": unheard} | fields)


def call(planned: int, said: int, why: str, **fields: Any) -> dict[str, Any]:
    plain = {"t_s": 0.0, "event": "call", "point": "p", "repeat": 1, "group": "warm", "caller": 0, "call": 0}
    return plain | {"planned": planned, "said": said, "why": why} | fields
