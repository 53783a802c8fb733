"""What is printed of a probe."""

from typing import Any

import pytest

from loadsim.report.table import holds
from loadsim.types import RequestRow
from tests.report.runs import printed, run_of, words
from tests.stats.test_probe import ask, edit

OURS = {"server": {"batch": 2048, "ubatch": 512, "checkpoints": 32}}
REACH = (edit(60, 17_362), edit(516, 17_362), edit(517, 10_367))


def test_reach_names_the_restore_point_the_edge_and_what_lies_past_it() -> None:
    run = run_of(*REACH, scenario=OURS, embedded=True)
    said = words(run)
    assert "p, -b 2048 -ub 512, 32 checkpoints" in said
    assert "517 1 10,367 7,511 100 no" in said
    assert (
        "The reach is 516 tokens: in a prompt of 17,878 tokens, an edit within it restores 17,362, 516 before the end; "
        "past it 10,367 are reused." in said
    )
    assert "no row that was measured" not in said
    assert "first token" not in said  # no table of a load
    assert max(map(len, printed(run).splitlines())) <= 80
    assert holds(run)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((edit(300, 17_362), edit(800, 10_367)), "The reach is 300 to 799 tokens: "),
        ((edit(300, 17_362),), "An edit of up to 300 tokens restores 17,362, 516 before the end: "),
        ((edit(60, 0),), "No edit keeps the tail: in a prompt of 17,878 tokens, 0 tokens are reused whatever is "),
        ((edit(60, 17_818),), "An edit costs what it replaces and no more: "),
        ((edit(60, None, outcome="error", error="boom"),), "no answer: boom."),
        ((edit(60, 17_362), edit(61, None, outcome="error", error="boom")), "(1 of 2 requests answered)"),
    ],
)
def test_reaches_of_other_kinds(rows: tuple[RequestRow, ...], said: str) -> None:
    assert said in words(run_of(*rows))
    assert holds(run_of(*rows)) == ("answered)" not in said and "no answer" not in said)


def test_a_probe_that_was_broken_off_has_no_answer() -> None:
    broken = run_of(edit(60, 0), ended="interrupted")
    assert "no answer: broken off after 1 request." in words(broken)
    assert "No edit keeps the tail" not in words(broken)
    whole = run_of(edit(60, 0), ended="interrupted", events=({"event": "finished", "point": "p"},))
    assert "No edit keeps the tail" in words(whole)  # another point of its sweep was not


def case(case: str, tokens: int, shared: int, cache_n: int) -> RequestRow:
    said = {"case": case, "tokens": tokens, "shared": shared}
    return ask("checkpoints", said, cache_n=cache_n, prompt_n=tokens - cache_n)


def test_without_checkpoints_the_article_saw_nothing_reused() -> None:
    run = run_of(case("extension", 3024, 3000, 3000), case("repeat", 3024, 3024, 0), case("edit", 3024, 3000, 0))
    said = "Of a cached prompt a pure extension is reused (3,000 of 3,024), an identical repeat is not (0 of 3,024) and"
    assert f"{said} an edit is not (0 of 3,024)." in words(run)


def test_prefill_and_floor_and_tools() -> None:
    run = run_of(ask("prefill", {"length": 10_394}, prompt_n=10_394, cache_n=0, prompt_ms=2892.0))
    assert "Cold prompts are evaluated at 3,594 tokens/s at 10,394 tokens." in words(run)  # the article's sample

    def chat(tools: int, **said: Any) -> RequestRow:
        return ask("floor", {"messages": 54, "tools": tools, "render_ms": 40.0} | said, prompt_n=4, prompt_ms=54.0)

    new = [ask("floor", {"new": n}, prompt_n=n, prompt_ms=50.0 + n) for n in (4, 24)]
    run = run_of(*new, chat(5), chat(0), scenario=OURS, embedded=True)
    assert "24 1 24 2 50 74 200" in words(run).replace("50.0 74.0", "50 74")
    assert "54 5 1 4 40.0 50.0 54.0 200" in words(run)
    assert (
        "A warm turn's floor: the prompt eval takes 54.0 ms at 4 new tokens, 74.0 at 24; 54 messages with 5 tools "
        "reach the first token after 200 ms (40.0 to render, 50.0 before the headers, 54.0 of prompt eval)."
    ) in words(run)
    assert max(map(len, printed(run).splitlines())) <= 80

    tools = [
        ask("tools", {"step": n, "wanted": ["find"], "called": called}, turn=3)
        for n, called in enumerate((["find"], []))
    ]
    assert "1 of 2 tool cases came back as tool calls, 1 with the recorded tools; no fixture misses." in words(
        run_of(*tools)
    )


def test_several_points_are_named() -> None:
    said = words(run_of(*REACH, *(edit(60, 0, point="ubatch=2048") for _ in range(1))))
    assert "p: The reach is 516" in said
    assert "ubatch=2048: No edit keeps" in said


def test_a_run_that_broke_off_does_not_hold() -> None:
    assert not holds(run_of(*REACH, ended=None))
    assert not holds(run_of())
