"""Figures as a person reads them."""

import pytest

from loadsim.report.words import exact, lasting, money, plain, rare


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0575, "57.5 ms"), (0.9, "900 ms"), (1.0, "1 s"), (1.7, "1.7 s"), (12.4, "12.4 s"), (89, "89 s"),
        (90, "1.5 min"), (270, "4.5 min"), (5400, "1.5 h"), (7200, "2 h"), (3.6e7, "10,000 h"), (0.0, "0 ms"),
        (None, "-"),
    ],
)  # fmt: skip
def test_a_time_in_its_unit(seconds: float | None, text: str) -> None:
    assert lasting(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.26 / 720, "$0.00036"), (0.26 / 720 / 0.55, "$0.00066"), (0.26, "$0.26"), (190.0, "$190.00"), (0.0, "$0.00")],
)
def test_money(value: float, text: str) -> None:
    assert money(value, "$") == text
    assert money(None) == "-"


def test_a_rare_thing_is_not_never() -> None:
    assert [rare(ratio) for ratio in (0.25, 1e-5, 9e-6, 0.0)] == ["25.0 %", "0.001 %", "under 0.001 %", "0 %"]
    assert rare(None) == "-"


def test_a_percentage_and_a_number_as_they_were_written() -> None:
    assert [plain(value) for value in (3.0, 0.5, 130000.0)] == ["3", "0.5", "130,000"]
    assert [exact(ratio) for ratio in (0.01, 0.55, 0.005, 1.0, 0.07)] == ["1 %", "55 %", "0.5 %", "100 %", "7 %"]
