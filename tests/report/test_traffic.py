"""What calls meet, as a person reads it."""

import io

import pytest
from rich.console import Console

from loadsim.plan.cost import cost
from loadsim.plan.fact import given
from loadsim.plan.traffic import traffic
from loadsim.plan.units import Price
from loadsim.report.traffic import answers, render
from loadsim.stats.busy import Busy


def lines(calls: float, slots: int, busy: float = 1.7, run: Busy | None = None) -> list[str]:
    found = traffic(given(calls), given(270), slots, 0.01, given(busy), given(12.4), run)
    console = Console(file=io.StringIO(), width=80, highlight=False, markup=False)
    console.print(render(found, cost(slots, Price(sign="$", hour=0.26), load=found)))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


def table(of: list[str]) -> dict[int, list[str]]:
    """The rows under `served at once`."""
    start = next(i for i, line in enumerate(of) if "at once, or more" in line) + 2
    rows = [line.replace("under ", "<").replace(" %", "%").split() for line in of[start : of.index("", start)]]
    return {int(row[0].replace(",", "")): row[1:] for row in rows}


def test_served_at_once_by_number() -> None:
    """The binomial of 12 and 1.7 / 12.4, worked out beside: 1 or more 83.0 %, 4 or more 7.03 %."""
    rows = table(lines(180, 12))
    assert list(rows) == [1, 2, 3, 4, 5, 6, 7]
    assert (rows[1][0], rows[4][0]) == ("83.0%", "7.03%")
    assert all(float(full.rstrip("%")) > float(offered.rstrip("%")) for full, offered in rows.values())


@pytest.mark.parametrize("calls", [1e-9, 1, 60_000])
def test_no_line_is_cut_at_80_columns(calls: float) -> None:
    assert not any("…" in line for line in lines(calls, 1))


def test_one_call_is_one() -> None:
    said = " ".join(lines(1, 12))
    assert "1 call an hour" in said
    assert "1 calls" not in said


def test_large_numbers_are_a_window_of_a_few_rows() -> None:
    rows = table(lines(20_000, 2000))
    assert len(rows) <= 21
    assert all(1500 * 1.7 / 12.4 * 0.7 < k < 2000 * 1.7 / 12.4 * 1.3 for k in rows)
    tail = [float(row[0].strip("<%")) for row in rows.values()]
    assert tail == sorted(tail, reverse=True)
    assert tail[0] > 90
    assert tail[-1] < 5


def test_what_was_measured_stands_beside_the_formula() -> None:
    run = Busy(call=None, ended=0, planned=None, busy=1.7, turn=12.4, turns=9, callers=2, at_once=[0.7, 0.2, 0.1])
    of = lines(180, 12, run=run)
    assert any(line.endswith("measured") for line in of)
    rows = table(of)
    assert rows[1][2:] == [f"{(1 - (1 - 1.7 / 12.4) ** 2) * 100:.1f}%", "30.0%"]
    assert rows[2][3] == "10.0%"
    assert rows[3][2:] == ["0%", "0%"]
    said = " ".join(" ".join(of).split())
    assert "In the run, with 2 callers on the line, 2 or fewer were, where of callers who know nothing" in said
    assert "of each other 1 or fewer would be." in said  # two at once: 1.88 %


@pytest.mark.parametrize(("calls", "slots"), [(180, 12), (3, 1), (60, 12), (30_000, 2_500), (0.5, 12)])
def test_everything_fits_80_columns(calls: float, slots: int) -> None:
    assert max(map(len, lines(calls, slots))) <= 80


def test_the_answer_in_sentences() -> None:
    few = traffic(given(60), given(270), 12, 0.01)
    assert list(answers(few, None)) == [
        "12 slots refuse 0.160 % of 60 calls an hour, where 1 % is allowed; 11 slots would do."
    ]
    one = traffic(given(3), given(270), 1, 0.01)
    said = next(answers(one, None))
    assert said == "1 slot refuses 18.4 % of 3 calls an hour; 3 slots keep it at 1 % or less, on 3 cards of 1."
