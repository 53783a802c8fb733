import copy
import math
import pickle
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadsim.scenario.units import (
    Duration,
    Start,
    VoiceRate,
    format_duration,
    format_rate,
    format_start,
    parse_duration,
    parse_rate,
    parse_start,
)

TIMES = "a time with its unit: 800 ms, 6 s, 5 min, 4 h"
STARTS = f"expected together, call, at 5 s, every 10 s, poisson 10 s, or {TIMES}; got"
RATES = "expected a rate with its unit, more than 0: 4.5 tokens/s, or 150 words/min; got"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("800 ms", 0.8),
        ("6 s", 6.0),
        ("1.5s", 1.5),
        (".5 s", 0.5),
        ("5 min", 300.0),
        ("4 h", 14400.0),
        ("0.25 h", 900.0),
        ("1 ms", 0.001),
        ("9 ms", 0.009),
        ("0 s", 0.0),
        ("0", 0.0),
    ],
)
def test_a_time_is_seconds(text: str, seconds: float) -> None:
    parsed = parse_duration(text)
    assert type(parsed) is Duration
    assert parsed == seconds


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("6", "give a unit: 800 ms, 6 s, 5 min, 4 h; got 6"),
        ("0.5", "give a unit: 800 ms, 6 s, 5 min, 4 h; got 0.5"),
        ("6 m", "no unit 'm': give ms, s, min or h; got '6 m'"),
        ("6 S", "no unit 'S': give ms, s, min or h; got '6 S'"),
        ("2 days", "no unit 'days': give ms, s, min or h; got '2 days'"),
        ("-6 s", "expected a time with its unit: 800 ms, 6 s, 5 min, 4 h; got '-6 s'; a time is never negative"),
        ("", "expected a time with its unit: 800 ms, 6 s, 5 min, 4 h; got ''"),
        ("nan s", "expected a time with its unit: 800 ms, 6 s, 5 min, 4 h; got 'nan s'"),
        ("inf", "expected a time with its unit: 800 ms, 6 s, 5 min, 4 h; got 'inf'"),
        ("1e3 s", "expected a time with its unit: 800 ms, 6 s, 5 min, 4 h; got '1e3 s'"),
        ("1,5 s", "expected a time with its unit: 800 ms, 6 s, 5 min, 4 h; got '1,5 s'"),
        ("6 s 3 ms", "expected a time with its unit: 800 ms, 6 s, 5 min, 4 h; got '6 s 3 ms'"),
        ("٦ s", "expected a time with its unit: 800 ms, 6 s, 5 min, 4 h; got '٦ s'"),
        ("together", "expected a time with its unit: 800 ms, 6 s, 5 min, 4 h; got 'together'"),
        ("9" * 400 + " h", "too long a time; got 99999999999999999999..."),
    ],
)
def test_anything_else_says_what_is_allowed(text: str, error: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_duration(text)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("text", "how", "seconds", "written"),
    [
        ("together", "together", 0.0, "together"),
        ("0", "together", 0.0, "together"),
        ("0 s", "together", 0.0, "together"),
        ("6 s", "spread", 6.0, "6 s"),
        (".5s", "spread", 0.5, "500 ms"),
        ("call", "call", 0.0, "call"),
        ("at 5 s", "at", 5.0, "at 5 s"),
        ("at 0", "at", 0.0, "at 0 s"),
        ("at  60s", "at", 60.0, "at 1 min"),
        ("every 10 s", "every", 10.0, "every 10 s"),
        ("every 800 ms", "every", 0.8, "every 800 ms"),
        ("poisson 10 s", "poisson", 10.0, "poisson 10 s"),
        ("poisson 1.5 min", "poisson", 90.0, "poisson 90 s"),
    ],
)
def test_a_start_says_how_and_when(text: str, how: str, seconds: float, written: str) -> None:
    start = parse_start(text)
    assert (start.how, start.seconds, format_start(start)) == (how, seconds, written)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("togther", f"{STARTS} 'togther'"),
        ("every", f"{STARTS} 'every'"),
        ("every10 s", f"{STARTS} 'every10 s'"),
        ("Poisson 10 s", f"{STARTS} 'Poisson 10 s'"),
        ("together 5 s", f"{STARTS} 'together 5 s'"),
        ("6", "give a unit: 800 ms, 6 s, 5 min, 4 h; got 6"),
        ("at 5", "give a unit: 800 ms, 6 s, 5 min, 4 h; got 5"),
        ("at noon", f"expected {TIMES}; got 'noon'"),
        ("every 10 m", "no unit 'm': give ms, s, min or h; got '10 m'"),
        ("every 0", "expected a time longer than 0 after every; got 'every 0'"),
        ("poisson 0 s", "expected a time longer than 0 after poisson; got 'poisson 0 s'"),
    ],
)
def test_anything_else_is_no_start(text: str, error: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_start(text)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("text", "value", "unit", "written"),
    [
        ("4.5 tokens/s", 4.5, "tokens/s", "4.5 tokens/s"),
        ("150 words/min", 150.0, "words/min", "150 words/min"),
        ("150 wpm", 150.0, "words/min", "150 words/min"),
        (".5tokens/s", 0.5, "tokens/s", "0.5 tokens/s"),
        ("0.0000001 tokens/s", 1e-7, "tokens/s", "0.0000001 tokens/s"),
    ],
)
def test_a_rate_is_a_number_and_its_unit(text: str, value: float, unit: str, written: str) -> None:
    rate = parse_rate(text)
    assert (rate.value, rate.unit, format_rate(rate)) == (value, unit, written)


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("150", "'150'"),
        ("fast", "'fast'"),
        ("150 words/s", "'150 words/s'"),
        ("4.5 tokens/min", "'4.5 tokens/min'"),
        ("0 tokens/s", "'0 tokens/s'"),
        ("0.0 wpm", "'0.0 wpm'"),
        ("-1 wpm", "'-1 wpm'"),
        (f"0.{'0' * 400}1 wpm", f"'0.{'0' * 58}...'"),  # less than the smallest float
        ("9" * 400 + " wpm", f"'{'9' * 60}...'"),
    ],
)
def test_anything_else_is_no_rate(text: str, got: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_rate(text)
    assert str(raised.value) == f"{RATES} {got}"


def test_starts_and_rates_are_values() -> None:
    assert len({Start("at", 5), Start("at", 5.0), Start("every", 5), Start("at", 6)}) == 3
    assert len({VoiceRate(150, "words/min"), VoiceRate(150.0, "words/min"), VoiceRate(150, "tokens/s")}) == 2
    assert Start("at", 5) != ("at", 5)
    for value in (Start("at", 5), VoiceRate(4.5, "tokens/s")):
        assert copy.deepcopy(value) == value == pickle.loads(pickle.dumps(value))
        for name in vars(value):
            with pytest.raises(AttributeError):
                setattr(value, name, 1)
    assert (repr(Start("at", 5)), repr(VoiceRate(150, "words/min"))) == (
        "Start('at', 5)",
        "VoiceRate(150, 'words/min')",
    )


@pytest.mark.parametrize(
    ("how", "seconds"), [("together", 1), ("call", 1), ("spread", 0), ("every", 0), ("poisson", 0), ("every", -1)]
)
def test_a_start_that_has_no_text_is_not_made(how: Any, seconds: float) -> None:
    with pytest.raises(ValueError, match=f"^no start '{how}' with {seconds} s$"):
        Start(how, seconds)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Duration(0.8), "800 ms"),
        (Duration(6), "6 s"),
        (Duration(1.5), "1.5 s"),
        (Duration(90), "90 s"),
        (Duration(300), "5 min"),
        (Duration(14400), "4 h"),
        (Duration(0), "0 s"),
        (Duration(1e-7), "0.0000001 s"),
    ],
)
def test_the_text_has_the_largest_whole_unit(value: Duration, text: str) -> None:
    assert format_duration(value) == text


@given(st.floats(0, allow_infinity=False, allow_nan=False))
@example(0.1 + 0.2)
@example(1e300)
@example(5e-324)
def test_every_float_survives_its_text(seconds: float) -> None:
    assert parse_duration(format_duration(Duration(seconds))) == seconds


@given(st.floats(0, exclude_min=True, allow_infinity=False), st.sampled_from(["spread", "at", "every", "poisson"]))
@example(5e-324, "poisson")
def test_every_start_survives_its_text(seconds: float, how: Any) -> None:
    assert parse_start(format_start(Start(how, seconds))) == Start(how, seconds)


@given(st.floats(0, exclude_min=True, allow_infinity=False), st.sampled_from(["tokens/s", "words/min"]))
@example(5e-324, "tokens/s")
@example(1e300, "words/min")
def test_every_rate_survives_its_text(value: float, unit: Any) -> None:
    assert parse_rate(format_rate(VoiceRate(value, unit))) == VoiceRate(value, unit)


@given(st.integers(0, 10**6), st.sampled_from(["ms", "s", "min", "h"]))
def test_every_text_survives_its_float(number: int, unit: str) -> None:
    value = parse_duration(f"{number} {unit}")
    scale = {"ms": 0.001, "s": 1, "min": 60, "h": 3600}[unit]
    assert math.isclose(value, number * scale)
    assert parse_duration(format_duration(value)) == value


@given(st.text() | st.builds("{} {}".format, st.sampled_from(["at", "every", "1", "0"]), st.text()))
def test_no_text_raises_anything_but_valueerror(text: str) -> None:
    for parse in (parse_duration, parse_start, parse_rate):
        try:
            assert parse(text) is not None
        except ValueError as error:
            assert "\n" not in str(error)
