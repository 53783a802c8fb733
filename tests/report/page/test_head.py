"""The head: which load point the answer is of, its figures, and what one must know before believing them."""

from typing import Any

from msgspec.structs import replace

from loadsim.plan.lines import answer as search_answer
from loadsim.report.answer import answers
from loadsim.report.page.delivered import delivered
from loadsim.report.page.head import head, main
from loadsim.report.page.parts import Head
from loadsim.report.words import TINY
from loadsim.results.read import Run
from loadsim.types import CardSample
from tests.plan.test_lines import found as search
from tests.plan.test_lines import point
from tests.report.page.made import counts, heard, shown_of, table
from tests.report.runs import SPEECH, run_of
from tests.stats.rows import alone, playout, row, spoke


def of(run: Run) -> Head:
    return head(shown_of(run))


def figures(found: Head) -> dict[str, tuple[str, str]]:
    return {figure.label: (figure.value, figure.of) for figure in found.figures}


def test_the_figures_of_a_run_by_hand() -> None:
    """Three repeats of two callers: 100, 200 and 300 ms to the first token, 100 tokens/s, one caller 50 tokens/s;
    all of them at one time."""
    rows = [heard(0.1 * r, caller=i, repeat=r, playout=playout(11.0, 12.0)) for r in (1, 2, 3) for i in range(2)]
    quiet = [alone(i, side, 0.02, repeat=r, first_token_s=10.05) for r in (1, 2, 3) for side in ("before", "after")
             for i in range(3)]  # fmt: skip
    assert figures(of(run_of(*rows, *quiet))) == {
        "callers": ("2 warm", "3 repeats; 6 requests in flight at most"),
        "TTFT p50": ("200 ms", "3 x 2; 100 to 300 over 3 repeats; one caller alone 50.0"),
        "TTFT p95": (
            "300 ms",
            "met: ttft p95 <= 800 ms (default); 3 x 2; 100 to 300 over 3 repeats; one caller alone 50.0",
        ),
        "TTFS p50": ("230 ms", "130 to 330 over 3 repeats; p95 330; met: ttfs p95 <= 1.2 s (default)"),
        "decode of each": ("100 tokens/s", "share of one caller's 200 % (200 % to 200 % over 3 repeats)"),
        "slowest reply": ("100 tokens/s", "22 times a voice's 4.5"),
        "underruns": ("0 of 6", "replies"),
        "errors": ("0 %", "of the load's requests"),
    }


def test_a_target_that_is_missed_is_told() -> None:
    """A search's own targets; loadsim's where there is none."""
    late = run_of(*(heard(0.9, caller=i) for i in range(2)))
    assert figures(of(late))["TTFT p95"][1].startswith("missed: ttft p95 <= 800 ms (default); ")
    mine = replace(search(2, 2), targets=("ttft p95 <= 1 s",))
    assert figures(head(replace(shown_of(late), search=mine)))["TTFT p95"][1].startswith("met: ttft p95 <= 1 s; ")


def test_many_load_points_have_their_answers_below() -> None:
    rows = [heard(0.1, caller=i, point=f"count={n}") for n in range(1, 6) for i in range(n)]
    points = {f"count={n}": {"slots": [0]} for n in range(1, 6)}
    answers = of(run_of(*rows, points=points)).answers
    assert [said.partition(":")[0] for said in answers] == ["count=5"]


def test_voice_to_voice_where_callers_have_the_pace_of_people() -> None:
    rows = [heard(0.1, caller=i, spoke=spoke(8.0, 9.5), playout=playout(10.4, 12.0)) for i in range(2)]
    assert figures(of(run_of(*rows, scenario=SPEECH)))["voice to voice p50"] == ("0.900 s", "measured; p95 0.900")


def test_the_answer_of_the_most_callers_stands_first() -> None:
    shown = counts()
    assert [said.partition(":")[0] for said in head(shown).answers] == ["count=4", "count=1", "count=2"]
    lost = [row(point="count=4", caller=i, outcome="error", error="x") for i in range(9)]
    worse = shown_of(replace(shown.run, rows=[*shown.run.rows, *lost]))
    found = main(worse)
    assert found is not None and found.name == "count=2"  # of count=4 too many failed


def test_a_search_answers_with_what_it_confirmed() -> None:
    confirmed = search(2, 2, points=[point(2, 0.2, "meets", point="count=2"), point(4, 0.9, "misses", point="count=4")],
                       confirmed="count=2", embedded=True)  # fmt: skip
    found = head(replace(counts(), search=confirmed))
    said = [text for text in search_answer(confirmed) if text != TINY]
    assert found.answers[: len(said)] == said and TINY not in found.answers
    assert found.answers[-1].startswith("count=2: ")
    assert figures(found)["callers"][0] == "2 warm"


def test_answers_and_warnings_are_what_the_terminal_says() -> None:
    run = run_of(*(heard(0.1, caller=i) for i in range(2)), embedded=True, ended="stopped", torn=1, lag_p99_ms=50.0)
    shown = shown_of(run)
    found = head(shown)
    assert set(answers(shown.points, run)) <= {*found.answers, *found.warnings}
    assert found.warnings[:3] == [
        "The run did not complete (stopped): it rained.",
        "1 file ends in half a line, which is left out.",
        "The client was a bottleneck at p: its event loop came 50.0 ms late at p99. Its figures are partly the "
        "client's own.",
    ]
    assert found.warnings[-1] == TINY


def warnings(*rows: Any, **facts: Any) -> list[str]:
    return of(run_of(*rows, **facts)).warnings


def test_what_is_unknown_or_moved_or_few() -> None:
    moved = [alone(i, side, step) for side, step in (("before", 0.01), ("after", 0.02)) for i in range(3)]
    wrong = heard(0.1, caller=2, kind="cold", planned=False)
    found = warnings(heard(0.1, caller=0), heard(0.1, caller=1), wrong, *moved)
    assert "one caller's rate went from 100 before the load to 50.0 after it: no share can be told" in found
    assert "no card log: unknown temperature" in found
    assert "1 repeat: with fewer than 5 only their range is told, and no interval" in found
    assert "no p99 is told: that takes 100 replies" in found
    assert any(text.startswith("1 x cold and not counted: the slot held nothing") for text in found)


def test_enough_repeats_and_replies_have_no_such_warning() -> None:
    rows = [heard(0.1, caller=i, repeat=r) for r in range(1, 6) for i in range(20)]
    assert warnings(*rows, embedded=True) == [TINY]


def test_no_answer_over_five_per_cent_of_errors() -> None:
    rows = [heard(0.1, caller=i) for i in range(9)] + [row(caller=9, outcome="error", error="HTTP 500")]
    found = of(run_of(*rows))
    assert found.answers == ["no answer: 10.0 % of the load's requests failed."]
    assert figures(found) == {"errors": ("10.0 %", "of the load's requests")}


def test_time_that_runs_faster_is_no_real_load() -> None:
    fast = SPEECH | {"pace": SPEECH["pace"] | {"time_scale": 10.0}}
    assert "This is not real load: time runs 10 times faster." in warnings(heard(0.1), scenario=fast)


def test_a_warning_of_some_load_points_names_them() -> None:
    rows = [heard(0.1, "a", caller=i, repeat=r) for r in range(1, 6) for i in range(20)]
    rows += [heard(0.1, "b", caller=i) for i in range(20)]
    found = warnings(*rows, points={"a": {}, "b": {}}, embedded=True)
    assert found == [
        "b: 1 repeat: with fewer than 5 only their range is told, and no interval",
        "b: no p99 is told: that takes 100 replies",
        TINY,
    ]


def test_warnings_of_other_load_points_are_counted_and_stand_in_a_table() -> None:
    rows = [heard(0.1, "a", caller=i) for i in range(19)]
    rows += [heard(0.1, "b", caller=i, repeat=r) for r in range(1, 6) for i in range(20)]
    run = run_of(*rows, points={"a": {}, "b": {}}, embedded=True)
    assert of(run).warnings == ["2 warnings of other load points: see the table under The load as it was", TINY]
    assert table(delivered([shown_of(run)]), "Warnings").rows == [
        ["a", "1 repeat: with fewer than 5 only their range is told, and no interval"],
        ["a", "no p99 is told: that takes 100 replies"],
    ]


def test_a_run_without_a_measured_row() -> None:
    found = of(run_of())
    assert found.answers == ["The run has no row that was measured."]
    assert found.figures == []


def test_a_card_without_a_temperature_is_told() -> None:
    run = replace(run_of(heard(0.1)), card=[CardSample(t_s=10.1, card=1, sm_mhz=1500.0)])
    assert "card 1: unknown temperature" in of(run).warnings
