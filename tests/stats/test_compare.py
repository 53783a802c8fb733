from typing import Any

import pytest

from loadsim.stats.cards import CardSummary
from loadsim.stats.compare import compare, of_point, other_recording, overall, paired, unlike_rows
from loadsim.stats.comparison import Comparison, Difference, Verdict
from loadsim.stats.metrics import ONE_CALLER, Sample
from loadsim.stats.state import State
from tests.stats.sides import STEADY, both, crowd, point, side

NOISY = (0.7, 1.3, 1.0, 0.8, 1.25)


def found(comparison: Comparison, metric: str, who: str = "warm", at: int = 0) -> Difference:
    return next(d for d in comparison.points[at].differences if d.metric == metric and d.who == who)


def test_a_slower_run_is_worse_in_what_is_slower_and_in_all() -> None:
    told = compare(*both(times=1.1))

    assert told.verdict == told.points[0].verdict == "worse"
    first, decode = found(told, "ttft p50"), found(told, "decode p50")
    assert (first.verdict, decode.verdict) == ("worse", "worse")
    assert first.change == pytest.approx(0.1)
    assert decode.change == pytest.approx(1 / 1.1 - 1)
    assert first.low is not None and first.high is not None and first.low < 0.1 < first.high
    assert found(told, "share").verdict == found(told, "errors").verdict == "no difference seen"


def test_the_other_way_round_it_is_better() -> None:
    a, b = both(times=1.1)

    assert compare(b, a).verdict == "better"


def test_a_figure_is_the_geometric_mean_of_the_repeats_so_that_the_change_is_their_ratio() -> None:
    a, b = side(point(crowd(noise=[1.0, 4.0] * 3))), side(point(crowd(noise=[2.0, 8.0] * 3)))
    first = found(compare(a, b), "ttft p50")

    assert first.a is not None and first.b is not None
    assert first.a.mid == pytest.approx(0.2)
    assert (first.a.low, first.a.high, first.a.n) == pytest.approx((0.1, 0.4, 6))
    assert first.change == pytest.approx(1.0)
    assert first.repeats_b == pytest.approx([0.2, 0.8] * 3)


def test_a_difference_within_noise_is_none() -> None:
    a, b = side(point(crowd(noise=NOISY))), side(point(crowd(times=1.1, noise=NOISY)))

    assert compare(a, b).verdict == "no difference seen"


def test_a_sure_difference_under_the_least_that_counts_is_none() -> None:
    tight = [1.0, 1.0001, 0.9999, 1.0, 1.0]
    a, b = side(point(crowd(noise=tight))), side(point(crowd(times=1.02, noise=tight)))

    assert compare(a, b).verdict == "no difference seen"
    assert compare(a, b, least=0.0).verdict == "worse"


def test_with_more_looks_the_same_difference_is_less_sure() -> None:
    """p is 0.0088 by scipy's Welch of the logarithms; of three looks that is surely one, of 33 it is chance."""
    noise = (0.96, 1.04, 1.0, 0.97, 1.03)
    a, b = point(crowd(noise=noise)), point(crowd(times=1.08, noise=noise))
    others = [point(name=f"{n} warm") for n in range(10)]

    few, many = compare(side(a), side(b), 0.0), compare(side(a, *others), side(b, *others), 0.0)

    assert (few.looks, many.looks) == (3, 33)
    assert found(few, "ttft p50").p == found(many, "ttft p50").p == pytest.approx(0.008822, abs=1e-6)
    assert (found(few, "ttft p50").verdict, found(many, "ttft p50").verdict) == ("worse", "no difference seen")


def test_under_five_repeats_there_are_ranges_alone() -> None:
    a, b = side(point(crowd(noise=STEADY[:4]))), side(point(crowd(times=3)))
    told = compare(a, b)
    first = found(told, "ttft p50")

    assert told.verdict == told.points[0].verdict == first.verdict == "too few repeats"
    assert first.why == "4 of 5"
    assert (first.low, first.high, first.p) == (None, None, None)
    assert first.a is not None and first.a.low == pytest.approx(0.099)
    assert told.looks == 0


def test_better_and_worse_is_mixed() -> None:
    slow_first = [Sample(figures={"ttft p50": 0.2 * x, "decode p50": 60 * x}) for x in STEADY]
    told = compare(side(point()), side(point(crowd(samples=slow_first))))

    assert told.verdict == "mixed"
    assert found(told, "decode p50").verdict == "better"


def test_what_one_run_does_not_know_is_unknown_and_no_figure_of_0() -> None:
    blank = [Sample(figures={"ttft p50": None, "decode p50": 50 * x}) for x in STEADY]
    told = compare(side(point()), side(point(crowd(samples=blank))))
    first = found(told, "ttft p50")

    assert (first.verdict, first.why, first.b, first.change) == ("unknown", "not known in B", None, None)
    assert told.verdict == "no difference seen"


def test_a_figure_of_0_has_no_ratio_and_is_left_out() -> None:
    stuck = [Sample(figures={"decode p50": 50 * x if x != 1.01 else 0.0}) for x in (*STEADY, 1.0)]
    decode = found(compare(side(point()), side(point(crowd(samples=stuck)))), "decode p50")

    assert decode.b is not None
    assert (decode.b.n, decode.verdict) == (5, "no difference seen")


def test_errors_in_every_repeat_are_worse() -> None:
    failing = [Sample(figures={}, counts={"errors": (4, 12)}) for _ in STEADY]
    told = compare(side(point()), side(point(crowd(samples=failing))))

    errors = found(told, "errors")
    assert errors.verdict == "worse"
    assert errors.change == pytest.approx(1 / 3)
    assert errors.counts_b == [(4, 12)] * 5
    assert errors.b is not None and errors.b.mid == pytest.approx(1 / 3)


def test_counts_that_are_nought_in_both_are_no_look() -> None:
    told = compare(*both())

    assert found(told, "errors").p is None
    assert told.looks == 5  # ttft and decode of both, and the share


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"reply": 60.0}, "45 tokens a reply in A, 60 in B"),
        ({"cap": 60.0}, "45 of max_tokens in A, 60 in B"),
        ({"prompt": 10_369.0}, "6,500 tokens a prompt in A, 10,369 in B"),
        ({"new": 120.0}, "95 new tokens a prompt in A, 120 in B"),
        ({"kinds": {"cold": 60}}, "another kind of rows: 60 extension in A, 60 cold in B (100% differ)"),
        ({"kinds": {"extension": 50, "cold": 10}}, "60 extension in A, 50 extension, 10 cold in B (17% differ)"),
    ],
)
def test_rows_that_are_no_like_for_like(fields: dict[str, Any], said: str) -> None:
    told = compare(side(point()), side(point(crowd(times=2, **fields))))

    assert told.verdict == told.points[0].verdict == "not comparable"
    assert said in told.points[0].reasons[0]
    assert {each.verdict for each in told.points[0].differences} == {"not comparable"}
    assert all(each.low is None and each.p is None for each in told.points[0].differences)


@pytest.mark.parametrize(
    "fields",
    [{"reply": 47.0}, {"new": 97.0}, {"prompt": 6510.0}, {"cap": None}, {"kinds": {}}, {"kinds": {"extension": 61}}],
)
def test_rows_that_are_near_enough(fields: dict[str, Any]) -> None:
    assert list(unlike_rows(crowd(), crowd(**fields))) == []


def test_another_baseline_takes_the_share_alone() -> None:
    a, b = side(point(crowd(ONE_CALLER), crowd())), side(point(crowd(ONE_CALLER, prompt=9000.0), crowd()))
    told = compare(a, b)

    assert found(told, "share").verdict == "not comparable"
    assert found(told, "ttft p50").verdict == "no difference seen"
    assert told.points[0].notes == ["one caller: 6,500 tokens a prompt in A, 9,000 in B"]


def test_time_that_runs_faster_and_a_point_without_an_answer() -> None:
    scaled = compare(side(point()), side(point(time_scale=10.0)))
    broken = compare(side(point()), side(point(refused="no answer: 20 % of the load's requests failed.")))

    assert scaled.verdict == broken.verdict == "not comparable"
    assert scaled.points[0].reasons == ["time runs 1 times faster in A, 10 times in B"]
    assert broken.points[0].reasons == ["B: no answer: 20 % of the load's requests failed."]


def test_a_card_in_another_state_has_no_speed_but_a_share() -> None:
    plain: dict[str, Any] = {
        "samples": 9, "memory": None, "sm_least": None, "memory_clock": None, "power": None, "limit": None,
        "reasons": None, "core": (50.0, 60.0),
    }  # fmt: skip
    a, b = (State(cards=[CardSummary(card=0, sm=clock, **plain)]) for clock in (1695.0, 1200.0))
    told = compare(side(point(state=a)), side(point(crowd(times=1.3), state=b)))

    assert told.points[0].reasons == ["card: SM clock 1,695 MHz in A, 1,200 MHz in B"]
    assert found(told, "ttft p50").verdict == "not comparable"
    assert found(told, "share").verdict == "no difference seen"
    assert told.verdict == "not comparable"


def test_beside_a_busy_machine_a_difference_that_is_seen_is_none() -> None:
    a, b = State(cpu="x", cores=2, busy=0.5, others=0.1), State(cpu="x", cores=2, busy=0.8, others=0.9)
    slower = compare(side(point(state=a)), side(point(crowd(times=1.3), state=b)))
    alike = compare(side(point(state=a)), side(point(state=b)))

    said = "other programs took 0.10 cores of this machine in A, 0.90 in B"
    assert slower.points[0].disturbed == alike.points[0].disturbed == [said]
    assert (slower.verdict, found(slower, "ttft p50").why) == ("not comparable", said)
    assert alike.verdict == "no difference seen"


def test_one_caller_alone_tells_how_the_machine_moved() -> None:
    told = compare(*both(times=1.1, alone=1.1))

    assert told.points[0].alone is not None
    assert told.points[0].alone.verdict == "worse"
    assert told.points[0].alone.change == pytest.approx(1 / 1.1 - 1)


def test_points_go_together_by_their_names() -> None:
    a, b = side(point(name="x"), point(name="y")), side(point(name="y"), point(name="z"))
    told = compare(a, b)

    assert [(each.a, each.b) for each in told.points] == [("y", "y")]
    assert (told.only_a, told.only_b) == (["x"], ["z"])


def test_one_point_beside_one_point_of_another_name() -> None:
    told = compare(side(point(name="12 warm"), path="a"), side(point(name="8 warm"), path="b"))

    assert [(each.a, each.b) for each in told.points] == [("12 warm", "8 warm")]
    assert told.notes == ["12 warm in A is compared with 8 warm in B: each run has this one point"]


def test_a_group_of_one_run_alone() -> None:
    told = compare(side(point(crowd(), crowd("cold"))), side(point(crowd(), crowd("hot"))))

    assert told.points[0].notes == ["cold calls in A alone", "hot calls in B alone"]
    assert {each.who for each in told.points[0].differences} == {"warm"}


@pytest.mark.parametrize(
    ("a", "b", "both_", "only_a", "only_b"),
    [
        (["x"], ["y"], [("x", "y")], [], []),
        (["x", "y"], ["y", "x"], [("x", "x"), ("y", "y")], [], []),
        (["x"], ["y", "z"], [], ["x"], ["y", "z"]),
        ([], [], [], [], []),
    ],
)
def test_pairs(a: list[str], b: list[str], both_: list[Any], only_a: list[str], only_b: list[str]) -> None:
    assert paired(a, b) == (both_, only_a, only_b)


def test_what_differs_between_the_runs_is_listed() -> None:
    a = side(facts={"build": "b1", "model": "m"}, scenario={"server.ubatch": 2048, "repeat": 5})
    b = side(facts={"build": "b2", "model": "m"}, scenario={"repeat": 5, "request.seed": 1})
    told = compare(a, b)

    assert [(each.key, each.a, each.b) for each in told.changed] == [("build", "b1", "b2")]
    assert [(c.key, c.a, c.b) for c in told.settings] == [("server.ubatch", 2048, None), ("request.seed", None, 1)]
    assert told.verdict == "no difference seen"


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ({"x.json": "1"}, {"x.json": "1"}, None),
        ({"x.json": "1"}, {"y.json": "1"}, None),
        ({"x.json": "1"}, {}, None),
        ({"x.json": "1"}, {"x.json": "2"}, "another version of the recording x.json"),
        ({"x.json": "1"}, {"y.json": "2"}, "other recordings: x.json in A, y.json in B"),
        ({"x.json": "1"}, {"x.json": "1", "y.json": "2"}, "other recordings: x.json in A, x.json, y.json in B"),
    ],
)
def test_other_recordings_are_told(a: dict[str, str], b: dict[str, str], said: str | None) -> None:
    assert other_recording(side(digests=a), side(digests=b)) == said


def test_the_same_run_twice_says_so() -> None:
    assert compare(side(path="a"), side(path="a")).notes == ["A and B are the same run."]


@pytest.mark.parametrize(
    ("verdicts", "points", "metrics"),
    [
        (["worse", "no difference seen"], "worse", "worse"),
        (["worse", "better"], "mixed", "mixed"),
        (["not comparable", "no difference seen"], "no difference seen", "not comparable"),
        (["not comparable", "worse"], "worse", "worse"),
        (["too few repeats", "no difference seen", "unknown"], "no difference seen", "no difference seen"),
        (["mixed", "not comparable"], "mixed", "mixed"),
        ([], "unknown", "unknown"),
    ],
)
def test_verdicts_of_several(verdicts: list[Verdict], points: Verdict, metrics: Verdict) -> None:
    assert overall(verdicts) == points
    assert of_point(verdicts) == metrics
