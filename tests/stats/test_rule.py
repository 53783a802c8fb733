import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.stats.compare import compare
from loadsim.stats.comparison import Comparison
from loadsim.stats.metrics import METRICS, Sample
from loadsim.stats.rule import Rule, Ruling, judge, parse, rules
from loadsim.stats.state import State
from loadsim.types import BadInput
from tests.stats.sides import STEADY, both, crowd, point, side


def one(text: str, comparison: Comparison) -> Ruling:
    (ruling,) = judge([parse(text)], comparison)
    return ruling


@pytest.mark.parametrize(
    ("text", "name", "relation", "limit"),
    [
        ("ttft p95 > +10 %", "ttft p95", ">", 0.1),
        ("  TTFT   p95>10%", "ttft p95", ">", 0.1),
        ("decode < -5 %", "decode slowest", "<", -0.05),
        ("decode p50 ≤ −5 %", "decode p50", "<=", -0.05),
        ("errors >= 0.5 %", "errors", ">=", 0.005),
        ("other kind > 1 %", "other kind", ">", 0.01),
        ("one caller ttft p50 > 3%", "one caller ttft p50", ">", 0.03),
        ("gap p50 > -5 %", "gap p50", ">", -0.05),
    ],
)
def test_rules_as_people_write_them(text: str, name: str, relation: str, limit: float) -> None:
    found = parse(text)

    assert (found.name, found.relation) == (name, relation)
    assert found.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a measure, its relation and a limit in %"),
        ("> 10 %", "expected a measure"),
        ("ttft p95", "expected a measure"),
        ("tftt p95 > 10 %", "did you mean ttft p95?"),
        ("ttft > 10 %", "no measure 'ttft'"),
        ("ttft p99 > 10 %", "did you mean ttft p95?"),
        ("one caller share < -5 %", "no measure 'share' of one caller"),
        ("ttft p95 < 10 %", "ttft p95 is worse the larger it is: > or >="),
        ("share > 10 %", "share is worse the smaller it is: < or <="),
        ("ttft p95 == 10 %", "> or >="),
        ("ttft p95 > 10", "expected a limit in %, of A's figure; got '10'"),
        ("ttft p95 > 10 ms", "got '10 ms'"),
        ("ttft p95 > 10 %%", "got '10 %%'"),
        ("ttft p95 > -101 %", "-100 % or more"),
        ("errors > 101 %", "-100 to 100 %"),
        (f"ttft p95 > {'9' * 400} %", "expected a limit"),
        ("ttft\x1b[31m > 1 %", "'ttft?[31m > 1 %'"),
    ],
)
def test_what_is_no_rule(text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text)

    assert said in str(caught.value)
    assert str(caught.value).startswith("--fail-if ")
    assert str(caught.value).isprintable()


@given(st.text(max_size=20))
def test_any_text_is_a_rule_or_bad_input(text: str) -> None:
    try:
        found = parse(text)
    except BadInput as error:
        assert "\n" not in str(error)
    else:
        assert found.metric in METRICS


@given(st.sampled_from(sorted(METRICS)), st.integers(-9999, 10_000))
def test_a_rule_is_read_back_as_it_is_written(metric: str, hundredths: int) -> None:
    rule = Rule(metric=metric, relation=">" if METRICS[metric].less_is_better else "<", limit=hundredths / 10_000)

    again = parse(rule.text)

    assert (again.metric, again.relation) == (rule.metric, rule.relation)
    assert again.limit == pytest.approx(rule.limit)


def test_one_limit_is_enough() -> None:
    with pytest.raises(BadInput, match="decode slowest stands twice"):
        rules(["decode < -5 %", "decode slowest < -10 %"])
    assert len(rules(["ttft p50 > 5 %", "one caller ttft p50 > 5 %"])) == 2


def test_a_difference_surely_beyond_breaks_the_rule() -> None:
    found = one("ttft p50 > +5 %", compare(*both(times=1.1)))

    assert (found.verdict, found.point, found.who) == ("broken", "12 warm", "warm")
    assert found.change == pytest.approx(0.1)
    assert found.low is not None and found.low > 0.05


def test_within_the_limit_it_is_kept() -> None:
    assert one("ttft p50 > +15 %", compare(*both(times=1.1))).verdict == "kept"
    assert one("ttft p50 > +5 %", compare(*both(times=0.9))).verdict == "kept"
    assert one("decode p50 < -5 %", compare(*both(times=0.9))).verdict == "kept"


def test_a_limit_within_the_interval_cannot_be_told() -> None:
    found = one("ttft p50 > +10 %", compare(*both(times=1.1)))

    assert (found.verdict, found.why) == ("cannot be told", "the limit lies within the interval")


def test_a_rate_that_falls_breaks_its_rule() -> None:
    assert one("decode p50 < -5 %", compare(*both(times=1.1))).verdict == "broken"


def test_one_caller_and_the_load_are_told_apart() -> None:
    told = compare(*both(times=1.0, alone=1.2))

    assert one("one caller ttft p50 > +5 %", told).verdict == "broken"
    assert one("ttft p50 > +5 %", told).verdict == "kept"


def test_of_several_points_the_worst_decides() -> None:
    a = side(point(name="x"), point(name="y"), point(name="z"))
    b = side(point(name="x"), point(crowd(times=1.2), name="y"), point(crowd(times=1.3), name="z"))
    found = one("ttft p50 > +10 %", compare(a, b))

    assert (found.verdict, found.point) == ("broken", "z")


def test_the_looks_of_all_rules_make_the_interval_wider() -> None:
    """Bonferroni: at 1 look 95 %, at 4 looks 98.75 %."""
    told = compare(*both(times=1.1))
    alone, of_four = one("ttft p50 > +5 %", told), judge(
        [parse(t) for t in ("ttft p50 > 5 %", "decode p50 < -5 %", "share < -5 %", "one caller ttft p50 > 5 %")], told
    )[0]  # fmt: skip

    assert alone.confidence == 0.95
    assert of_four.confidence == pytest.approx(0.9875)
    assert alone.low is not None and of_four.low is not None and of_four.low < alone.low


def test_a_rule_on_counts_is_in_points() -> None:
    failing = [Sample(figures={}, counts={"errors": (4, 12)}) for _ in STEADY]
    told = compare(side(point()), side(point(crowd(samples=failing))))

    assert one("errors > +10 %", told).verdict == "broken"
    assert one("errors > +80 %", told).verdict == "kept"


def test_what_is_missing_is_missing() -> None:
    blank = [Sample(figures={"decode p50": 50 * x}) for x in STEADY]
    told = compare(side(point()), side(point(crowd(samples=blank))))

    assert one("gap p95 > 5 %", told).verdict == "missing"
    assert (one("ttft p50 > 5 %", told).verdict, one("ttft p50 > 5 %", told).why) == ("missing", "not known in B")


def test_too_few_repeats_and_what_is_not_comparable_cannot_be_told() -> None:
    few = compare(side(point(crowd(noise=STEADY[:3]))), side(point(crowd(times=3))))
    unlike = compare(side(point()), side(point(crowd(times=3, reply=90.0))))

    assert one("ttft p50 > 5 %", few).why == "too few repeats: 3 of 5"
    assert one("ttft p50 > 5 %", unlike).verdict == "cannot be told"


def test_beside_other_programs_a_broken_rule_cannot_be_told() -> None:
    a, b = State(others=0.0), State(others=1.0)
    told = compare(side(point(state=a)), side(point(crowd(times=1.5), state=b)))

    assert one("ttft p50 > 5 %", told).verdict == "cannot be told"
    assert "other programs" in one("ttft p50 > 5 %", told).why
    assert one("share < -5 %", told).verdict == "kept"
