"""What is said of the server under a point's tables."""

from typing import Any

from tests.report.runs import BOTH, LOAD, printed, run_of, words
from tests.stats.rows import row

START: dict[str, Any] = {"event": "server", "points": ["p", "q"], "started_s": None, "boot": None}


def test_the_round_trip_stands_beside_the_first_token() -> None:
    text = words(run_of(*BOTH, *LOAD, events=(START | {"round_trip_s": 0.0004},)))
    assert "round trip to the server 0.400 ms, in every first token" in text
    assert "after its start" not in text


def test_a_server_that_we_started_tells_how_long_that_took() -> None:
    boots = [{"health_s": 1.5, "first_token_s": 2.25}, {"health_s": 3.5, "first_token_s": 4.25}]
    events = [START | {"round_trip_s": 0.11, "boot": boot} for boot in boots]
    other = START | {"points": ["q"], "round_trip_s": 9.0}
    text = words(run_of(*BOTH, *LOAD, events=(*events, other)))
    # of the last start that served the point
    assert "the server was ready 3.50 s after its start, its first token came after 4.25 s" in text
    assert "round trip to the server 110 ms" in text
    assert "1.50 s" not in text
    assert "9,000" not in text


def test_runs_of_old_do_not_tell() -> None:
    text = words(run_of(*BOTH, *LOAD))
    assert "round trip" not in text
    assert "after its start" not in text


def test_many_kinds_of_errors_are_told_by_the_most_frequent() -> None:
    rows = [row(outcome="error", error=f"broke after {n} tokens") for n in range(11) for _ in range(n + 1)]
    text = printed(run_of(*LOAD, *rows))
    assert [line for line in text.splitlines() if " x broke " in line] == [
        f"  {n + 1} x broke after {n} tokens" for n in range(10, 2, -1)
    ]
    assert "  6 x 3 other errors, see requests.jsonl" in text.splitlines()


def test_a_share_of_prompts_of_another_length_says_so() -> None:
    short = [row(prompt_n=10, cache_n=2990, repeat=n) for n in (1, 2)]
    text = words(run_of(*BOTH, *short))
    assert "warm: their prompts have 3,000 tokens, one caller's" in text
    assert "of one caller's rate on prompts of another length; the slowest" in text
    assert "another length" not in words(run_of(*BOTH, *LOAD))
