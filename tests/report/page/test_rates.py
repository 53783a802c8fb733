"""Decode rates, from replies whose rate is known: a token every so many milliseconds."""

import pytest

from loadsim.report.page.rates import rates
from loadsim.report.table import speech
from tests.report.page.made import SWEEP, chart, counts, heard, section, series, shown_of, table
from tests.report.runs import run_of, text_of
from tests.stats.rows import alone, row


def paced_at(step: float, point: str, **fields: object) -> object:
    return row(point=point, token_s=[0.2 + step * i for i in range(5)], **fields)


def sweep(sizes: tuple[int, ...] = (1, 2)) -> list[object]:
    """One caller runs at 100 tokens/s, n under load at 100 / n; before and after the load 100 and 50 alone."""
    rows: list[object] = []
    for size in sizes:
        name = f"count={size}"
        rows += [paced_at(0.01 * size, name, caller=i, repeat=r) for r in (1, 2) for i in range(size)]
        rows += [alone(i, "before", 0.01, repeat=r, point=name) for r in (1, 2) for i in range(3)]
        rows += [alone(i, "after", 0.02, repeat=r, point=name) for r in (1, 2) for i in range(3)]
    return rows


def test_rates_fall_with_callers_beside_one_caller_before_and_after() -> None:
    places = {f"count={n}": {"sets": {"callers.warm.count": n}} for n in (1, 2)}
    found = rates([shown_of(run_of(*sweep(), scenario=SWEEP, points=places))])  # type: ignore[arg-type]
    decode = chart(found, "rates-decode")
    assert series(decode, "warm p50").y == pytest.approx([100.0, 50.0])
    assert series(decode, "warm slowest").y == pytest.approx([100.0, 50.0])
    assert series(decode, "one caller before").y == pytest.approx([100.0, 100.0])
    assert series(decode, "one caller after").y == pytest.approx([50.0, 50.0])
    share = chart(found, "rates-share")
    # one caller's median of 100, 100, 50, 50 is 75 tokens/s
    assert series(share, "warm").y == pytest.approx([133.333, 66.667])
    assert series(share, "warm, over repeats").top == pytest.approx([133.333, 66.667])
    assert series(chart(found, "rates-total"), "warm").y == pytest.approx([100.0, 100.0])
    assert "one caller's rate went from 100 before the load to 50.0 after it: no share can be told." in str(
        section(found).words
    )


def test_the_voice_and_its_multiples_are_lines_as_far_as_replies_reach() -> None:
    found = chart(rates([counts()]), "rates-decode")
    assert [(rule.label, rule.at) for rule in found.rules] == [
        ("a voice: 4.50", 4.5), ("2 x a voice: 9.00", 9.0)]  # fmt: skip
    slow = [paced_at(0.1, "p", caller=i) for i in range(2)]  # 10 tokens/s
    found = chart(rates([shown_of(run_of(*slow))]), "rates-decode")  # type: ignore[arg-type]
    assert [rule.at for rule in found.rules] == [4.5, 9.0]
    slow = [paced_at(0.5, "p", caller=i) for i in range(2)]  # 2 tokens/s: slower than the voice
    found = chart(rates([shown_of(run_of(*slow))]), "rates-decode")  # type: ignore[arg-type]
    assert [rule.at for rule in found.rules] == [4.5]


def test_replies_in_one_read_have_no_rate_and_no_picture() -> None:
    run = run_of(*(row(token_s=[0.2, 0.2, 0.2], caller=i) for i in range(2)))
    assert rates([shown_of(run)]) is None


def test_the_table_has_what_the_terminal_prints() -> None:
    shown = shown_of(run_of(*(heard(0.1, caller=i) for i in range(2)), *(alone(i, "before", 0.02) for i in range(3))))
    one = table(rates([shown]), "How replies ran")
    printed = text_of(speech(shown.points[0]), 200).split("\n")[-2]
    assert printed.split() == " ".join(one.rows[1]).split()
    assert one.rows[1][one.columns.index("share")] == "200 %"
    assert one.rows[1][one.columns.index("gap, ms p50")] == "10.0"
