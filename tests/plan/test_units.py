"""What the planner's flags are written in."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadsim.plan.units import (
    Price,
    parse_blocking,
    parse_data,
    parse_network,
    parse_number,
    parse_percent,
    parse_price,
    parse_time,
)

ALL: list[Callable[[str], object]] = [
    parse_number, parse_time, parse_percent, parse_blocking, parse_price, parse_network, parse_data,
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "seconds"), [("4.5m", 270.0), ("4.5 m", 270.0), ("4.5 min", 270.0), ("1.7s", 1.7), ("800ms", 0.8)]
)
def test_a_time_may_be_in_m(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("4.5", "give a unit: 800 ms, 6 s, 5 min, 4 h; got 4.5"),
        ("0 s", "expected a time longer than 0; got '0 s'"),
        ("0", "expected a time longer than 0; got '0'"),
        ("-4m", "expected a time with its unit: 800 ms, 6 s, 5 min, 4 h; got '-4m'; a time is never negative"),
    ],
)
def test_no_time(text: str, error: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_time(text)
    assert str(raised.value) == error


def test_percentages() -> None:
    assert [parse_percent(text) for text in ("1%", "1 %", "55 %", "0.5%", "100%")] == [0.01, 0.01, 0.55, 0.005, 1.0]
    assert parse_blocking("99%") == 0.99


@pytest.mark.parametrize("text", ["1", "0.01", "0 %", "101 %", "-1%", "one %", "1e1%", "%", "nan%"])
def test_no_percentage(text: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_percent(text)
    said = "expected a percentage, more than 0 % and at most 100 %, such as 1 %; got"
    assert str(raised.value) == f"{said} {text!r}"


def test_everything_refused_is_no_target() -> None:
    with pytest.raises(ValueError, match=r"^expected a percentage less than 100 %, such as 1 %; got '100%'$"):
        parse_blocking("100%")


@pytest.mark.parametrize(
    ("text", "sign", "hour"),
    [
        ("0.26/h", "", 0.26), ("$0.26/h", "$", 0.26), ("$ 0.26 / hour", "$", 0.26), ("€6.24/day", "€", 0.26),
        ("£190/mo", "£", 190 / 730), ("0/h", "", 0.0),
    ],
)  # fmt: skip
def test_prices(text: str, sign: str, hour: float) -> None:
    price = parse_price(text)
    assert (price.sign, price.byte) == (sign, 0.0)
    assert price.hour == pytest.approx(hour)


@pytest.mark.parametrize("text", ["0.26", "$/h", "0.26/min", "-1/h", "0.26 h", "0.02/GB", "1e3/h", "9" * 400 + "/h"])
def test_no_price(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a price and its time: 0.26/h, \$0.26/h, 6.20/day, 190/mo; got '"):
        parse_price(text)


def test_a_network_is_paid_by_time_or_by_data() -> None:
    assert parse_network("$0.01/h") == Price(sign="$", hour=0.01)
    assert parse_network("10/TB") == Price(sign="", byte=1e-11)
    assert parse_network("0.02/GB").byte == pytest.approx(2e-11)
    with pytest.raises(
        ValueError, match=r"^expected a price by time or by data: 0.01/h, 5/mo, 0.02/GB, 10/TB; got '1/gb'"
    ):
        parse_network("1/gb")


def test_data() -> None:
    assert [parse_data(text) for text in ("400 kB/min", "0.4MB/min", ".0004 GB/min")] == pytest.approx([4e5] * 3)
    with pytest.raises(ValueError, match=r"^expected data a voice minute: 400 kB/min, 0.4 MB/min; got '1 MB/s'$"):
        parse_data("1 MB/s")


@given(st.text() | st.from_regex(r"[$€]?[0-9.]{1,5} ?(%|/h|/GB|MB/min|m|s)", fullmatch=True))
@example("٦%")
@example("9" * 400)
@example("1%\n")
def test_no_text_raises_anything_but_valueerror(text: str) -> None:
    for parse in ALL:
        try:
            assert parse(text) is not None
        except ValueError as error:
            assert "\n" not in str(error)
            assert len(str(error)) < 250
