"""What is printed after a run, from runs made by hand."""

from typing import Any

import pytest

from loadsim.report.table import holds
from loadsim.report.words import counts, listed, ms, number, percent, runs, several, span, whole
from tests.report.runs import BOTH, LOAD, printed, run_of, words
from tests.stats.rows import row


@pytest.mark.parametrize("width", [80, 100, 200])
def test_nothing_is_cut_at_80_columns(width: int) -> None:
    huge = [row(caller=i, token_s=[12.3456, 12.3999, 99.5], first_token_s=22.3456) for i in range(12)]
    text = printed(run_of(*BOTH, *huge), width)
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert max(map(len, text.splitlines())) <= width


def test_the_rows_and_the_answer() -> None:
    text = " ".join(printed(run_of(*BOTH, *LOAD), 100).split())
    assert "p, slots 0-2, 5" in text
    assert "one caller 1 x 4" in text
    assert "warm 2 x 12" in text
    assert "10,369" in text
    # by hand: 50 tokens/s of 100 alone; the slowest of a voice's 4.5
    assert (
        "12 warm callers hear the first token after 200 ms at p50, 200 at most (one caller alone: 200 ms); each reply "
        "then runs at 50.0 tokens/s, 50.0 % of one caller's rate; the slowest, 50.0, is 11 times a voice's 4.5." in text
    )


def test_rows_of_another_kind_are_explained() -> None:
    text = " ".join(printed(run_of(*LOAD, row(caller=12, kind="cold", planned=False))).split())
    assert "warm 24 of 25 in 2" in text  # 13 rows in one repeat, 12 in the other
    assert "1 x cold and not counted: the slot held nothing of the call" in text
    assert "--no-cache-idle-slots" in text


def test_errors_are_named_and_too_many_take_the_answer_away() -> None:
    broken = [row(caller=i, outcome="error", error="HTTP 500: 500: boom") for i in range(12, 15)]
    text = " ".join(printed(run_of(*LOAD, *broken)).split())
    assert "3 x HTTP 500: 500: boom" in text
    assert "no answer: 11.1 % of the load's requests failed." in text
    assert "hear the first token" not in text


@pytest.mark.parametrize(("ended", "said"), [("interrupted", "interrupted"), (None, "it was killed")])
def test_a_run_that_did_not_complete_says_so(ended: str | None, said: str) -> None:
    text = printed(run_of(*LOAD, ended=ended))
    assert "The run did not complete" in text
    assert said in text
    assert not holds(run_of(*LOAD, ended=ended))


def test_an_answer_from_a_part_says_so_and_one_from_too_little_is_none() -> None:
    part = " ".join(printed(run_of(*LOAD, row(caller=12, kind="cold", planned=False))).split())
    assert "in 24 of 25 replies, the others not counted" in part
    little = [row(caller=i, group="b", kind="cold", planned=False) for i in range(3)]
    text = " ".join(printed(run_of(*LOAD, *little, row(caller=9, group="b"))).split())
    assert "no answer: too few replies were of the kind that was planned (24 of 24 warm, 1 of 4 b)." in text


def test_a_load_that_did_not_begin_says_so() -> None:
    assert "no answer: the load did not begin." in printed(run_of(*BOTH, ended="stopped"))
    load = {"event": "load", "point": "p", "repeat": 1, "start_s": 20.0, "window_s": 60.0}
    assert "no answer: no request of the load had ended." in printed(run_of(*BOTH, ended="stopped", events=(load,)))


def test_a_run_without_rows_is_no_answer() -> None:
    assert not holds(run_of())
    assert "no row that was measured" in printed(run_of())


@pytest.mark.parametrize(
    ("client", "said"),
    [
        ({"lag_p99_ms": 80.0}, "its event loop came 80.0 ms late at p99"),
        ({"cpu_share": 0.97}, "it took 97.0 % of a core"),
    ],
)
def test_a_client_that_was_the_bottleneck_says_so_beside_the_answer(client: Any, said: str) -> None:
    text = " ".join(printed(run_of(*LOAD, **client)).split())
    assert f"The client was a bottleneck at p: {said}." in text
    assert "bottleneck" not in printed(run_of(*LOAD))


def test_a_client_that_stood_still_says_so() -> None:
    """One late tick of thousands is in no percentile, but nobody was served meanwhile."""
    text = words(run_of(*LOAD, lag_max_ms=8886.0))
    said = "(a machine that slept, or a program that was stopped): times around it are its own."
    assert f"The client stood still for 8.89 s at p {said}" in text
    assert "bottleneck" not in text
    assert "stood still" not in words(run_of(*LOAD, lag_max_ms=900.0))


def test_the_embedded_server_is_never_passed_off_as_a_card() -> None:
    assert "not what a card does" in " ".join(printed(run_of(*LOAD, embedded=True)).split())
    assert "not what a card does" not in printed(run_of(*LOAD))


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "-"), (0.0, "0"), (0.00123, "0.001"), (1.0, "1.00"), (42.04, "42.0"), (99.96, "100"), (1234.5, "1,234")],
)
def test_numbers_have_three_figures(value: float | None, said: str) -> None:
    assert number(value) == said


def test_words() -> None:
    assert (ms(0.352), ms(None), percent(0.1094), percent(None)) == ("352", "-", "10.9 %", "-")
    assert (span((5, 5)), span((10_365, 10_369)), span(None)) == ("5", "10,365-10,369", "-")
    assert (runs([0, 1, 2, 5, 7, 8]), runs([])) == ("0-2, 5, 7-8", "none")
    assert (several(1, "slot"), several(0, "slot"), several(12, "slot")) == ("1 slot", "0 slots", "12 slots")
    assert (several(1, "reply"), several(1200, "reply")) == ("1 reply", "1,200 replies")
    assert (whole(None), whole(12.0), whole(10_369.5)) == ("-", "12", "10,369.5")
    assert (listed([]), listed(["a", ""]), listed(["a", "b", "c"])) == ("", "a", "a, b and c")
    assert counts({"full_hit": 1, "extension": 59}) == "59 extension, 1 full hit"


def test_a_part_of_a_repeat_is_counted_in_whole_rows() -> None:
    rows = [row(caller=i, repeat=r) for r in (1, 2) for i in range(12)] + [row(repeat=3)]
    assert "warm 25 in 3 " in words(run_of(*rows, ended="interrupted"))
    assert "warm 24 of 25 in 3 " in words(run_of(*rows[:-1], row(repeat=3, outcome="error", error="x")))
