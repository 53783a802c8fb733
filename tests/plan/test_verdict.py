"""Verdicts: clear of noise, or not; how often that is wrong; and what counted replies show."""

import math
import random
from collections import Counter

import pytest

from loadsim.plan.slo import Sample, parse
from loadsim.plan.steps import Edges, edges, next_count
from loadsim.plan.verdict import LEAST, Verdict, confidence, judge, judge_replies, needed, overall
from tests.stats.rows import playout, reply, row

TTFT = parse("ttft p95 <= 800 ms")
DRY = parse("underruns < 1 %")


def samples(*values: float) -> list[Sample]:
    return [Sample(value) for value in values]


def test_an_interval_on_one_side_of_the_limit_decides() -> None:
    assert judge(TTFT, samples(0.5, 0.51, 0.49), 12).verdict == "meets"
    assert judge(TTFT, samples(1.5, 1.51, 1.49), 12).verdict == "misses"
    near = judge(TTFT, samples(0.75, 0.85, 0.79, 0.81), 12)
    assert near.verdict == "unclear"
    assert near.value == pytest.approx(0.8)
    # Ten looks at 5 % in all: t of 3 degrees of freedom at 99.5 % is 5.8409.
    assert near.high == pytest.approx(0.8 + 5.8409 * math.sqrt(0.0052 / 3) / 2, rel=1e-4)


def test_two_repeats_decide_nothing() -> None:
    assert judge(TTFT, samples(0.5, 0.5), 12).verdict == "unclear"
    assert judge(TTFT, samples(0.5), 12).low is None
    assert judge(TTFT, samples(*[0.5] * LEAST), 12).verdict == "meets"


def test_more_repeats_are_given_up_only_where_they_hardly_tell() -> None:
    """Most points whose mean is the limit are given up after half of the repeats; nearly none would become clear."""
    chance = random.Random(3)
    given_up = clear = at_the_limit = 0
    for off in (0.0, 0.25, 0.5, 0.75, 1.0, 1.25):
        for _ in range(200):
            values = samples(*(chance.gauss(0.8 + 0.01 * off, 0.01) for _ in range(12)))
            looks = [judge(TTFT, values[:n], 12) for n in range(LEAST, 13)]
            if looks[3].near and all(look.verdict == "unclear" for look in looks[:4]):  # after six
                given_up += 1
                at_the_limit += not off
                clear += any(look.verdict != "unclear" for look in looks)
    assert at_the_limit > 100
    assert clear / given_up < 0.03


def test_every_look_is_surer_the_more_there_are() -> None:
    assert confidence(12) == pytest.approx(0.99)
    assert confidence(3) == pytest.approx(0.9)


def test_counted_replies_have_the_wider_interval() -> None:
    # every third reply of each burst: the repeats are alike, and 9 replies are few
    alike = judge(DRY, [Sample(1 / 3, 1, 3)] * 3, 12)
    assert alike.verdict == "misses"
    assert alike.low is not None
    assert alike.low < 0.1
    # all in one burst of ten: many replies, and one event
    burst = judge(DRY, [Sample(1.0, 12, 12), *[Sample(0.0, 0, 12)] * 9], 12)
    assert burst.verdict == "unclear"
    assert (burst.hits, burst.of, burst.value) == (12, 120, 0.1)


def test_none_at_all_is_met_and_how_rare_it_is_is_told() -> None:
    clean = judge(DRY, [Sample(0.0, 0, 12)] * 5, 12)
    assert clean.verdict == "meets"
    assert clean.shown == pytest.approx(1 - 0.05 ** (1 / 60))  # 4.9 %


def test_a_point_misses_with_one_target_and_meets_with_all() -> None:
    def figures(*verdicts: Verdict) -> Verdict:
        values = {"meets": 0.1, "misses": 2.0}
        return overall([
            judge(TTFT, samples(*[values[v]] * 3) if v in values else samples(0.1, 2.0, 0.3), 12) for v in verdicts
        ])  # fmt: skip

    assert figures("meets", "meets") == "meets"
    assert figures("meets", "unclear") == "unclear"
    assert figures("unclear", "misses") == "misses"


@pytest.mark.parametrize(
    ("texts", "replies"),
    [
        (["underruns < 1 %"], 300),
        (["ttft p95 <= 800 ms"], 60),
        (["ttft p95 <= 800 ms", "underruns < 2 %"], 150),
        (["stall max <= 1 s"], 1),
        (["underruns <= 0 %"], 300),
        (["share >= 10 %"], 1),
    ],
)
def test_how_many_replies_show_a_target(texts: list[str], replies: int) -> None:
    assert needed([parse(text) for text in texts]) == replies


def waits(bad: int, of: int) -> list[object]:
    return [reply(10.0, 1.0 if i < bad else 0.1, 1.2, caller=i) for i in range(of)]


@pytest.mark.parametrize(
    ("bad", "of", "verdict"),
    [(0, 60, "meets"), (0, 50, "unclear"), (8, 300, "meets"), (9, 300, "unclear"), (30, 300, "misses")],
)
def test_single_replies_are_beyond_the_limit_or_not(bad: int, of: int, verdict: Verdict) -> None:
    # 8 of 300: the one-sided 95 % bound is 4.77 %; 9 of 300: 5.2 %
    found = judge_replies(TTFT, waits(bad, of), [], 4.5)  # type: ignore[arg-type]
    assert found is not None
    assert (found.verdict, found.hits, found.of) == (verdict, bad, of)


@pytest.mark.parametrize(
    ("bad", "of", "verdict"), [(0, 300, "meets"), (0, 290, "unclear"), (1, 300, "unclear"), (9, 300, "misses")]
)
def test_underruns_are_shown_by_three_hundred_clean_replies(bad: int, of: int, verdict: Verdict) -> None:
    rows = [row(playout=playout(0, 1, underruns=int(i < bad)), caller=i) for i in range(of)]
    found = judge_replies(DRY, rows, [], 4.5)
    assert found is not None
    assert found.verdict == verdict


def test_where_nothing_may_be_beyond_one_reply_is_too_many() -> None:
    most = parse("ttft max <= 800 ms")
    verdicts = [judge_replies(most, waits(bad, 5), [], 4.5) for bad in (0, 1)]  # type: ignore[arg-type]
    assert [each.verdict for each in verdicts if each] == ["meets", "misses"]
    assert judge_replies(TTFT, [], [], 4.5) is None


def found(capacity: float, noise: float, seed: int, repeats: int = 12) -> tuple[Edges, int]:
    """Where a first token takes 48 ms a caller, and the limit is that of `capacity` callers; and how many points."""
    chance, known = random.Random(seed), dict[int, Verdict]()
    limit = parse(f"ttft p95 <= {48 * capacity:.6f} ms")
    while (count := next_count(known, 256)) is not None:
        seen: list[Sample] = []
        verdict: Verdict = "unclear"
        while verdict == "unclear" and len(seen) < repeats:
            seen.append(Sample(0.048 * count + chance.gauss(0, noise)))
            verdict = judge(limit, seen, repeats).verdict
        known[count] = verdict
    return edges(known), len(known)


@pytest.mark.parametrize("capacity", [3, 12, 37, 100])
@pytest.mark.parametrize("noise", [0.004, 0.012])
def test_midway_between_two_numbers_the_lower_one_is_found(capacity: int, noise: float) -> None:
    answers = Counter(found(capacity + 0.5, noise, seed)[0] for seed in range(100))
    assert answers[Edges(capacity, capacity)] >= 95
    assert max(answer.low for answer in answers) <= capacity


@pytest.mark.parametrize("noise", [0.018, 0.03, 0.06])
def test_noise_near_half_a_caller_never_promises_more(noise: float) -> None:
    answers = [found(12.5, noise, seed)[0] for seed in range(100)]
    assert sum(answer.low > 12 for answer in answers) <= 2
    assert sum(answer.high is not None and answer.high >= 12 for answer in answers) >= 98


@pytest.mark.parametrize("capacity", [3, 12, 37, 100])
def test_at_a_number_itself_the_answer_is_it_or_the_one_below(capacity: int) -> None:
    answers = Counter(found(capacity, 0.012, seed)[0] for seed in range(100))
    assert answers[Edges(capacity - 1, capacity)] >= 90
    clear = sum(n for answer, n in answers.items() if answer.low == answer.high)
    assert clear <= 10  # 5 % are wrong at the most in the long run


def test_noise_over_several_numbers_is_told_as_such() -> None:
    answers = [found(40.5, 0.2, seed)[0] for seed in range(40)]
    assert all(answer.low <= 40 for answer in answers)
    assert sum(answer.high is not None and answer.high >= 40 for answer in answers) >= 38
    assert sum(answer.high - answer.low >= 2 for answer in answers if answer.high is not None) >= 38
