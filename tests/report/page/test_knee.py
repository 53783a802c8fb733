"""The knee, from runs whose figures can be worked out on paper."""

import pytest
from msgspec.structs import replace

from loadsim.report.page.knee import knee
from loadsim.report.table import first_token
from tests.plan.test_lines import found as search
from tests.report.page.made import chart, counts, heard, section, series, shown_of, table
from tests.report.runs import SPEECH, run_of, text_of
from tests.stats.rows import alone, row


def test_percentiles_and_every_reply_over_callers() -> None:
    found = chart(knee([counts()]), "knee-ttft")
    assert found.x.label == "callers" and found.y.unit == "ms"
    middle = series(found, "warm p50")
    assert (middle.x, middle.y, middle.dashed) == ([1.0, 2.0, 4.0], [100.0, 150.0, 250.0], False)
    assert series(found, "warm p95").dashed
    raw = series(found, "warm, each reply")
    assert raw.draw == "points" and [raw.x.count(n) for n in (1.0, 2.0, 4.0)] == [5, 10, 20]
    assert set(zip(raw.x, raw.y, strict=True)) == {(1.0, 100.0), (2.0, 150.0), (4.0, 250.0)}
    assert found.said == "warm: TTFT p95 100 ms at 1 caller, 250 ms at 4 callers."
    assert series(chart(knee([counts()]), "knee-ttfs"), "warm p50").y == [130.0, 180.0, 280.0]


def test_each_caller_more_costs_the_slope_of_the_line() -> None:
    """Points that lie on a line of 50 ms a caller have that slope, and an interval without width."""
    assert section(knee([counts()])).words[0] == (
        "warm: TTFT grows by 50.0 ms with each caller more (50.0 to 50.0 at 95 %, by least squares over the medians of "
        "15 repeats, 1 to 4 callers, R² 1.000)."
    )


def test_no_slope_over_several_runs_whose_cards_may_differ() -> None:
    runs = [counts((size,), label=f"run {size}") for size in (1, 2, 4)]
    found = knee(runs)
    assert series(chart(found, "knee-ttft"), "warm p50").y == [100.0, 150.0, 250.0]
    assert section(found).words == ["warm: no slope is told over several runs, whose cards may differ."]


def test_sweeps_of_several_runs_have_a_line_each() -> None:
    found = chart(knee([counts(label="a"), counts(per=0.1, label="b")]), "knee-ttft")
    assert series(found, "a p50").y == [100.0, 150.0, 250.0]
    assert series(found, "b p50").y == [100.0, 200.0, 400.0]


@pytest.mark.parametrize(("replies", "told"), [(99, "-"), (100, "99.0")])
def test_no_p99_under_a_hundred_replies(replies: int, told: str) -> None:
    rows = [heard((i + 1) / 1000, caller=i % 3, repeat=1 + i // 3) for i in range(replies)]
    one = table(knee([shown_of(run_of(*rows))]), "First token and first speech")
    assert one.rows[0][one.columns.index("TTFT p99")] == told


def test_targets_of_a_search_are_lines_and_others_only_where_figures_come_near() -> None:
    asked = chart(knee([replace(counts(), search=search(4, None))]), "knee-ttft")
    assert [(rule.label, rule.at, rule.role) for rule in asked.rules] == [("ttft p95 <= 800 ms", 800.0, "warn")]
    assert chart(knee([counts()]), "knee-ttft").rules == []
    near = chart(knee([counts(per=0.1)]), "knee-ttft")
    assert [(rule.label, rule.at) for rule in near.rules] == [("ttft p95 <= 800 ms (default)", 800.0)]


def test_together_and_paced_are_lines_of_their_own() -> None:
    places = {"2 warm": {"sets": {}}, "2 warm, paced": {"sets": {"pace": SPEECH["pace"]}}}
    rows = [heard(0.2, "2 warm", caller=i) for i in range(2)]
    rows += [heard(0.1, "2 warm, paced", caller=i) for i in range(2)]
    run = run_of(*rows, points=places, scenario={"callers": {"warm": {"count": 2}}})
    found = chart(knee([shown_of(run, search=search(2, None))]), "knee-ttft")
    labels = [(each.label, each.role, each.y[0]) for each in found.series]
    assert labels == [("together, each reply", "load", 200.0), ("paced, each reply", "other", 100.0)]


def test_a_grid_has_a_line_for_each_other_setting() -> None:
    rows, places = [], {}
    for ubatch in (512, 1024):
        for size in (1, 2):
            name = f"ubatch={ubatch}, count={size}"
            places[name] = {"sets": {"server.ubatch": ubatch, "callers.warm.count": size}}
            rows += [heard(ubatch / 1000 * size, name, caller=i) for i in range(size)]
    sweep = {"server.ubatch": [512, 1024], "callers.warm.count": [1, 2]}
    run = run_of(*rows, points=places, scenario={"callers": {"warm": {"count": 1}}, "sweep": sweep, "sweep_by": "grid"})
    found = chart(knee([shown_of(run)]), "knee-ttft")
    assert series(found, "ubatch=512 p50").y == [512.0, 1024.0]
    assert series(found, "ubatch=1024 p50").y == [1024.0, 2048.0]


def test_slots_that_grow_with_the_callers_make_no_other_line() -> None:
    places = {f"{n}": {"sets": {"callers.warm.count": n, "server.slots": n}} for n in (1, 2)}
    rows = [heard(n / 10, f"{n}", caller=i) for n in (1, 2) for i in range(n)]
    sweep = {"callers.warm.count": [1, 2], "server.slots": [1, 2]}
    run = run_of(*rows, points=places, scenario={"callers": {"warm": {"count": 1}}, "sweep": sweep, "sweep_by": "zip"})
    assert series(chart(knee([shown_of(run)]), "knee-ttft"), "warm p50").y == [100.0, 200.0]


def test_of_one_load_size_replies_stand_over_repeats_beside_the_baseline() -> None:
    rows = [heard(0.1 * repeat, caller=i, repeat=repeat) for repeat in (1, 2) for i in range(2)]
    quiet = [alone(i, "before", 0.01, repeat=r, first_token_s=10.05) for r in (1, 2) for i in range(3)]
    found = chart(knee([shown_of(run_of(*rows, *quiet))]), "knee-ttft")
    assert found.x.label == "repeat"
    assert series(found, "warm, each reply").x == [1.0, 1.0, 2.0, 2.0]
    assert series(found, "warm, each reply").y == [100.0, 100.0, 200.0, 200.0]
    assert series(found, "one caller").y == [50.0] * 4  # the first of each side is dropped


def test_of_one_repeat_over_time() -> None:
    rows = [heard(0.1, sent_s=at, first_token_s=at + 0.1, first_speech_s=None, turn=at) for at in (20, 30)]
    found = knee([shown_of(run_of(*rows))])
    assert chart(found, "knee-ttft").x.scale == "clock"
    assert series(chart(found, "knee-ttft"), "warm, each reply").x == [0.0, 10.0]
    assert [part for part in section(found).parts if getattr(part, "id", "") == "knee-ttfs"] == []  # nobody told it


def test_hours_of_replies_become_few_points_with_the_slowest_among_them() -> None:
    rows = [heard(5.0 if i == 7_000 else 0.1, sent_s=10.0 + i, first_token_s=15.0 + i if i == 7_000 else 10.1 + i,
                  turn=i) for i in range(10_000)]  # fmt: skip
    raw = series(chart(knee([shown_of(run_of(*rows))]), "knee-ttft"), "warm, each reply")
    assert len(raw.x) <= 1500
    assert max(value for value in raw.y if value is not None) == 5000.0


def test_a_load_point_without_an_answer_is_left_out_and_told() -> None:
    good = [heard(0.1, "a", caller=i) for i in range(2)]
    lost = [row(point="b", caller=i, outcome="error", error="HTTP 500") for i in range(2)]
    found = knee([shown_of(run_of(*good, *lost, points={"a": {}, "b": {}}))])
    assert section(found).words == ["b is in no picture of this page: no answer: 100 % of the load's requests failed."]
    assert knee([shown_of(run_of(*lost, points={"b": {}}))]) is None


def test_the_table_has_what_the_terminal_prints() -> None:
    shown = counts()
    one = table(knee([shown]), "What a first token is made of")
    printed = text_of(first_token(shown.points[2]), 200).split("\n")[-2].split()
    assert [cell for cell in one.rows[-1][1:] if " " not in cell] == [cell for cell in printed if cell not in "5 x 4"]
    assert one.rows[-1][:3] == ["count=4", "warm", "5 x 4"]
    mine = table(knee([shown]), "First token and first speech").rows[-1]
    assert mine[3] == one.rows[-1][one.columns.index("p50")] == "250"


def test_p95_is_of_all_replies_of_a_load_point() -> None:
    """Of 20 replies the 19th, after a rank of 95 %: 20 ms apart from the first one on."""
    rows = [heard(0.02 * (i + 1), f"count={n}", caller=i % n, repeat=1 + i // n) for n in (1, 2) for i in range(20)]
    places = {f"count={n}": {"sets": {"callers.warm.count": n}} for n in (1, 2)}
    run = run_of(*rows, points=places, scenario={"callers": {"warm": {}}, "sweep": {"callers.warm.count": [1, 2]}})
    found = chart(knee([shown_of(run)]), "knee-ttft")
    assert series(found, "warm p50").y == [200.0, 200.0]
    assert series(found, "warm p95").y == [380.0, 380.0]
