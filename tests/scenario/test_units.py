import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadsim.scenario.units import Duration, Start, format_duration, parse_duration, parse_start


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


def test_a_start_may_be_together() -> None:
    assert (parse_start("together"), parse_start("6 s")) == (Start(0), Start(6))
    with pytest.raises(ValueError, match="expected together, or a time with its unit"):
        parse_start("togther")


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
        (Start(0), "together"),
        (Start(6), "6 s"),
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


@given(st.integers(0, 10**6), st.sampled_from(["ms", "s", "min", "h"]))
def test_every_text_survives_its_float(number: int, unit: str) -> None:
    value = parse_duration(f"{number} {unit}")
    scale = {"ms": 0.001, "s": 1, "min": 60, "h": 3600}[unit]
    assert math.isclose(value, number * scale)
    assert parse_duration(format_duration(value)) == value


@given(st.text())
def test_no_text_raises_anything_but_valueerror(text: str) -> None:
    try:
        assert parse_duration(text) >= 0
    except ValueError as error:
        assert "\n" not in str(error)
