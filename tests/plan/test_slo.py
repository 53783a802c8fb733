"""Targets: how they are written, what is refused, and what they measure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.plan.slo import DEFAULT, Sample, parse, replies, sample, targets
from loadsim.types import BadInput
from tests.stats.rows import alone, playout, reply, row


@pytest.mark.parametrize(
    ("text", "told", "limit"),
    [
        ("ttft p95 <= 800 ms", "ttft p95 <= 800 ms", 0.8),
        ("TTFS  p95<=1.2s", "ttfs p95 <= 1.2 s", 1.2),
        ("ttft max < 9 ms", "ttft max < 9 ms", 0.009),
        ("ttft p50 ≤ .5 s", "ttft p50 <= 0.5 s", 0.5),
        ("underruns < 1 %", "underruns < 1 %", 0.01),
        ("underruns <= 0%", "underruns <= 0 %", 0.0),
        ("errors<0.5%", "errors < 0.5 %", 0.005),
        ("decode >= 1.5 x voice", "decode >= 1.5 x voice", 1.5),
        ("decode >= 1.5x voice", "decode >= 1.5 x voice", 1.5),
        ("decode p5 > 2 × voice", "decode p5 > 2 x voice", 2.0),
        ("decode slowest >= 30 tokens/s", "decode >= 30 tokens/s", 30.0),
        ("decode p50 ≥ 30 tokens/s", "decode p50 >= 30 tokens/s", 30.0),
        ("stall max <= 1 s", "stall max <= 1 s", 1.0),
        ("share >= 10 %", "share >= 10 %", 0.1),
    ],
)
def test_a_target_is_read_and_written_again(text: str, told: str, limit: float) -> None:
    target = parse(text)
    assert target.text == told
    assert target.limit == limit
    assert parse(target.text) == target


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected a measure, its relation and a limit with its unit: ttft p95 <= 800 ms, "),
        ("fast", "expected a measure, its relation and a limit"),
        ("ttft p95 800 ms", "expected a measure, its relation and a limit"),
        ("tfft p95 <= 800 ms", "no measure 'tfft'; did you mean ttft? (measures: ttft, ttfs, stall, underruns, "),
        ("latency p95 <= 800 ms", "no measure 'latency' (measures: "),
        ("ttft <= 800 ms", "ttft is taken at p50 or p90 or p95 or max, over a repeat's replies; got neither"),
        ("ttft p99 <= 800 ms", "ttft is taken at p50 or p90 or p95 or max, over a repeat's replies; got p99"),
        ("underruns p95 < 1 %", "underruns is one figure, without p95: underruns < ..."),
        ("ttft p95 >= 800 ms", "ttft is to be <= or < its limit; got >="),
        ("decode <= 30 tokens/s", "decode is to be >= or > its limit; got <="),
        ("underruns = 1 %", "underruns is to be <= or < its limit; got ="),
        ("ttft p95 <= 800", "expected a limit in ms or s; got '800'"),
        ("ttft p95 <= 800 %", "expected a limit in ms or s; got '800 %'"),
        ("ttft p95 <= 1 min", "expected a limit in ms or s; got '1 min'"),
        ("underruns < 1", "expected a limit in %; got '1'"),
        ("decode >= 30 t/s", "expected a limit in x voice or tokens/s; got '30 t/s'"),
        ("share >= 10 tokens/s", "expected a limit in %; got '10 tokens/s'"),
        ("ttft p95 <= 0 ms", "expected a limit over 0; got 0 ms"),
        ("ttft p95 <= -8 ms", "expected a limit over 0; got -8 ms"),
        ("underruns < 0 %", "expected a limit over 0; got 0 %"),
        ("errors < 101 %", "expected 100 % at the most; got 101 %"),
        (f"ttft p95 <= {'9' * 400} s", "too large a limit"),
    ],
)
def test_bad_targets_say_what_is_allowed(text: str, why: str) -> None:
    with pytest.raises(BadInput) as bad:
        parse(text)
    said = str(bad.value)
    assert said.startswith(f"--slo {text[:60]!r}: {why}")
    assert "\n" not in said


@given(st.text(max_size=40) | st.from_regex(r"(ttft|decode|share|errors) ?(p95|max)? ?(<=|>=|<) ?-?[0-9.]{1,8} ?\w*"))
def test_any_text_is_a_target_or_one_line(text: str) -> None:
    try:
        target = parse(text)
    except BadInput as error:
        assert str(error).isprintable()
    else:
        assert parse(target.text) == target


def test_without_targets_the_default_ones_stand() -> None:
    assert [target.text for target in targets(())] == list(DEFAULT)
    assert [target.text for target in targets(("stall max <= 1 s",))] == ["stall max <= 1 s"]


def test_a_target_stands_once() -> None:
    with pytest.raises(BadInput, match="TTFT p95 stands twice; one limit is enough"):
        targets(("ttft p95 <= 800 ms", "ttft p95 <= 0.9 s".replace("0.9 s", "900 ms")))
    with pytest.raises(BadInput, match="TTFT p95 stands twice"):
        targets(("ttft p95 <= 800 ms", "ttft p95 < 1 s"))
    assert len(targets(("decode >= 30 tokens/s", "decode >= 2 x voice", "decode p50 >= 40 tokens/s"))) == 3


BURST = [reply(10.0, wait, wait + 0.02, caller=i) for i, wait in enumerate([0.1, 0.3, 0.2, 0.4])]


@pytest.mark.parametrize(
    ("text", "value"),
    [("ttft p50 <= 1 s", 0.2), ("ttft p90 <= 1 s", 0.4), ("ttft p95 <= 1 s", 0.4), ("ttft max <= 1 s", 0.4)],
)
def test_first_tokens_are_taken_at_a_percentile_of_the_burst(text: str, value: float) -> None:
    found = sample(parse(text), BURST, [], 4.5)
    assert found is not None
    assert found.value == pytest.approx(value)


def test_speech_counts_from_the_request() -> None:
    rows = [row(first_speech_s=10.35), row(first_speech_s=None)]
    assert replies(parse("ttfs p95 <= 1 s"), rows, 4.5) == pytest.approx([0.35])
    assert sample(parse("ttfs p95 <= 1 s"), rows[1:], [], 4.5) is None


def test_who_hung_up_has_waited_so_long() -> None:
    gone = row(outcome="cut", abandoned=True, first_token_s=None, token_s=[], end_s=18.0)
    assert replies(parse("ttft p95 <= 1 s"), [gone], 4.5) == [8.0]


def test_rows_that_are_not_as_planned_are_left_out_and_so_are_superseded_and_earlier_tries() -> None:
    target = parse("ttft p95 <= 1 s")
    odd = [
        row(planned=False),
        row(outcome="superseded"),
        row(outcome="error"),
        row(outcome="timeout", attempt=0, turn=6),
    ]
    assert replies(target, odd, 4.5) == []
    assert len(replies(target, [*odd, row(turn=6, attempt=1)], 4.5)) == 1


def test_a_stall_is_a_replys_largest_gap() -> None:
    rows = [row(token_s=[0.1, 0.2, 0.5]), row(token_s=[0.1, 0.15]), row(token_s=[0.1])]
    assert replies(parse("stall max <= 1 s"), rows, 4.5) == pytest.approx([0.3, 0.05])
    found = sample(parse("stall p50 <= 1 s"), rows, [], 4.5)
    assert found is not None
    assert found.value == pytest.approx(0.05)


def test_decode_is_the_slowest_replys_or_a_percentile() -> None:
    rows = [row(token_s=[0.0, 1 / rate], caller=i) for i, rate in enumerate([10, 40, 20, 30])]
    values = {
        text: found.value
        for text in ("decode >= 5 tokens/s", "decode p5 >= 5 tokens/s", "decode p50 >= 5 tokens/s")
        if (found := sample(parse(text), rows, [], 4.5))
    }
    assert list(values.values()) == pytest.approx([10, 10, 20])


def test_decode_times_the_voice_is_by_what_the_voice_spoke() -> None:
    rows = [row(token_s=[0.0, 0.1], playout=playout(0, 1, rate=2.5)), row(token_s=[0.0, 0.1], playout=None)]
    assert replies(parse("decode >= 1 x voice"), rows, 5.0) == pytest.approx([4.0, 2.0])


def test_underruns_are_replies_that_fell_silent_or_dragged() -> None:
    heard = [playout(0, 1), playout(0, 1, underruns=2), playout(0, 1, silent_s=0.25), playout(0, 1, silent_s=0.1)]
    rows = [*(row(playout=each) for each in heard), row(playout=None)]
    assert sample(parse("underruns < 1 %"), rows, [], 4.5) == Sample(0.5, 2, 4)
    assert sample(parse("underruns < 1 %"), rows[-1:], [], 4.5) is None


def test_errors_are_requests_whose_last_try_failed() -> None:
    rows = [row(), row(outcome="error", turn=6), row(turn=6, attempt=1), row(outcome="timeout", turn=7), row(turn=8)]
    assert sample(parse("errors < 1 %"), rows, [], 4.5) == Sample(0.25, 1, 4)


def test_the_share_is_of_one_callers_rate_in_the_same_repeat() -> None:
    one = [alone(i, side, 0.01) for side in ("before", "after") for i in range(3)]
    found = sample(parse("share >= 10 %"), [row(token_s=[0.1, 0.15, 0.2])], one, 4.5)
    assert found is not None
    assert found.value == pytest.approx(0.2)
    assert sample(parse("share >= 10 %"), [row()], [], 4.5) is None


def test_a_figure_in_words() -> None:
    assert parse("ttft p95 <= 800 ms").beside(0.8421) == "TTFT p95 842 ms of 800"
    assert parse("ttfs p95 <= 1.2 s").beside(1.25) == "TTFS p95 1.25 s of 1.2"
    assert parse("decode >= 1.5 x voice").beside(1.42) == "slowest decode 1.42 x voice of 1.5"
    assert parse("decode p50 >= 30 tokens/s").beside(28.1) == "decode p50 28.1 tokens/s of 30"
    assert parse("underruns < 1 %").beside(0.021) == "underruns 2.10 % of 1"
    assert parse("underruns < 1 %").figure(None) == "-"


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("ttft p95 <= 1 s", 0.05),
        ("ttft p50 <= 1 s", 0.5),
        ("stall max <= 1 s", 0.0),
        ("decode >= 2 x voice", 0.0),
        ("decode p5 >= 2 x voice", 0.05),
        ("underruns < 1 %", 0.01),
        ("share >= 10 %", None),
    ],
)
def test_how_many_replies_may_be_beyond_the_limit(text: str, allowed: float | None) -> None:
    assert parse(text).allowed == (None if allowed is None else pytest.approx(allowed))


@pytest.mark.parametrize(("relation", "met"), [("<=", True), ("<", False)])
def test_the_limit_itself_is_met_or_not(relation: str, met: bool) -> None:
    assert parse(f"ttft max {relation} 800 ms").met(0.8) is met
    assert parse(f"decode {relation.replace('<', '>')} 2 x voice").met(2.0) is met
