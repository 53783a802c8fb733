from typing import Any

import msgspec
import pytest
from rich.console import RenderableType

from loadsim.report.compare import markdown, text, to_json
from loadsim.stats.compare import compare
from loadsim.stats.comparison import Comparison
from loadsim.stats.metrics import METRICS, ONE_CALLER, Sample
from loadsim.stats.rule import judge, parse
from loadsim.stats.state import State
from tests.report.runs import text_of
from tests.stats.sides import STEADY, both, crowd, point, side


def words(shown: RenderableType) -> str:
    return " ".join(text_of(shown).split())


def lines(found: Comparison, width: int = 80) -> list[str]:
    return text_of(text(found), width).splitlines()


def line(found: Comparison, label: str, at: int = -1) -> list[str]:
    """The cells of a table's line."""
    return [each for each in lines(found) if each.startswith(label)][at].split()


def test_a_difference_stands_with_its_interval_and_its_verdict() -> None:
    """110 ms beside 100: Welch's interval of the logarithms, by scipy 8.74 % to 11.27 %."""
    first = line(compare(*both(times=1.1)), "ttft p50, ms")

    assert first == ["ttft", "p50,", "ms", "100", "110", "+10.0", "+8.7", "to", "+11.3", "worse"]


def test_the_sentence_names_what_is_sure() -> None:
    told = words(text(compare(*both(times=1.1))))

    assert "12 warm: worse" in told
    assert (
        "B is worse than A: warm ttft p50 +10.0 % (+8.7 to +11.3 %); warm decode p50 -9.1 % (-10.1 to -8.0 %)." in told
    )
    assert "One caller alone decodes as before, as far as can be seen: one caller's decode rate 0.0 %" in told
    assert "after Holm's adjustment for so many looks" in told


def test_a_machine_that_moved_is_said() -> None:
    told = words(text(compare(*both(times=1.1, alone=1.1))))

    assert "The server or its machine as a whole is 9.1 % slower: one caller's decode rate -9.1 %" in told
    assert "What the load does to it is not seen to differ: share 0.0 %" in told
    assert "run A again to tell whether its machine has changed" in told


def test_nothing_seen_says_what_may_be_there_all_the_same() -> None:
    told = words(text(compare(*both())))

    assert "No difference seen: what differs may be chance, or is under 3 % (warm ttft p50 -1.1 to +1.2 %" in told
    assert line(compare(*both()), "ttft p50, ms")[-2:] == ["none", "seen"]


def test_of_too_few_repeats_there_are_ranges_and_no_change() -> None:
    found = compare(side(point(crowd(noise=(1.0, 1.2)))), side(point(crowd(times=2, noise=(1.0, 1.1)))))
    told = words(text(found))

    assert "12 warm: too few repeats (2 of 5)" in told
    assert "ttft p50, ms 100 to 120 200 to 220" in told
    assert "Too few repeats (2 of 5 on a side): only ranges are shown, and nothing is decided." in told
    assert "%" not in told.partition("only ranges")[0].replace("50.0 %", "")
    assert "Holm" not in told


def test_counts_change_in_points_and_are_left_out_where_there_are_none() -> None:
    failing = [Sample(figures={}, counts={"errors": (4, 12)}) for _ in STEADY]
    found = compare(side(point(), path="a"), side(point(crowd(samples=failing)), path="b"))

    assert line(found, "errors")[:6] == ["errors", "0", "%", "33.3", "%", "+33.3"]
    assert "pt" in line(found, "errors")
    assert not [each for each in lines(compare(*both())) if each.startswith("errors")]


def test_why_it_is_not_comparable() -> None:
    told = words(text(compare(side(point(), path="a"), side(point(crowd(reply=90.0)), path="b"))))

    assert "12 warm: not comparable" in told
    assert told.endswith("Not comparable: warm: 45 tokens a reply in A, 90 in B.")


def test_a_point_among_others_that_is_not_comparable_is_named() -> None:
    a = side(point(name="x"), point(name="y"), path="a")
    told = words(text(compare(a, side(point(name="x"), point(crowd(reply=90.0), name="y"), path="b"))))

    assert "No difference seen:" in told
    assert told.endswith("Not comparable: y.")


def test_what_is_different_around_the_runs_is_listed() -> None:
    a = side(point(name="x"), point(name="z"), facts={"build": "b1"}, scenario={"server.ubatch": 2048}, path="a")
    b = side(point(name="x"), facts={"build": "b2"}, scenario={"server.ubatch": 512}, notes=["it rained"], path="b")
    told = text_of(text(compare(a, b))).splitlines()

    assert told[0] == "A  a, 2026-11-30 12:34 UTC"
    assert told[2:6] == [
        "build: b1 in A, b2 in B",
        "other settings:",
        "  server.ubatch: 2048 in A, 512 in B",
        "only in A: z",
    ]
    assert "B: it rained." in told


def test_a_busy_machine_is_said() -> None:
    a, b = State(others=0.0), State(others=1.0)
    told = words(text(compare(side(point(state=a), path="a"), side(point(crowd(times=2), state=b), path="b"))))

    assert "other programs took 0.00 cores of this machine in A, 1.00 in B: a difference of speed may come from" in told
    assert told.endswith("Not comparable: other programs took 0.00 cores of this machine in A, 1.00 in B.")


def test_rules_are_told_each_in_a_line() -> None:
    found = compare(*both(times=1.1))
    rulings = judge([parse("ttft p50 > +5 %"), parse("share < -5 %"), parse("gap p95 > 5 %")], found)
    told = words(text(found, rulings))

    assert "broken: ttft p50 > +5 % (12 warm, warm): +10.0 %, +8.5 to +11.5 % at 97.5 %" in told
    assert "kept: share < -5 % (12 warm, warm): 0.0 %" in told
    assert told.endswith("missing: gap p95 > +5 %; neither run has it")


def wide() -> Comparison:
    """Every metric, large and long figures, and long names."""
    figures = dict.fromkeys(METRICS, 12.345) | {"decode p50": 1234.5, "decode slowest": 1234.5, "total": 12_345.0}
    noise = (0.2, 1.0, 5.0, 1.1, 0.9)
    found = [
        crowd(
            name,
            samples=[
                Sample(
                    figures={
                        metric: value * each * (0.1 if "decode" in metric else 1) for metric, value in figures.items()
                    },
                    counts={"errors": (1, 3), "other kind": (0, 3), "underruns": (int(each), 5), "hung up": (1, 9)},
                )
                for each in noise
            ],
        )
        for name in (ONE_CALLER, "warm callers of the first group")
    ]
    return compare(side(point(*found), path="a" * 30), side(point(*found), path="b" * 30))


@pytest.mark.parametrize("found", [wide(), compare(*both(times=30)), compare(side(), side(path="b"))])
def test_it_reads_at_80_columns_and_nothing_is_cut_off(found: Comparison) -> None:
    assert max(map(len, lines(found))) <= 80
    assert "…" not in text_of(text(found))


def test_markdown_has_the_answer_first_and_a_table() -> None:
    found = compare(*both(times=1.1))
    told = markdown(found, judge([parse("ttft p50 > +5 %")], found)).splitlines()

    assert told[0].startswith("**B is worse than A: warm ttft p50 +10.0 %")
    assert any(each.startswith("- broken: ttft p50 > +5 %") for each in told)
    assert "### 12 warm: worse" in told
    table = [each for each in told if each.startswith("|")]
    assert table[0] == "|  | A | B | change, % | 95 % interval | difference |"
    assert {each.count("|") for each in table} == {7}
    assert "| ttft p50, ms | 100 | 110 | +10.0 | +8.7 to +11.3 | worse |" in table


def test_markdown_finds_nothing_of_its_own_in_names() -> None:
    name = "a|b*_`<x>[y]"
    told = markdown(
        compare(side(point(crowd(name), name=name), path="a"), side(point(crowd(name), name=name), path="b"))
    )

    assert "### a\\|b\\*\\_\\`\\<x>\\[y]: no difference seen" in told


def test_names_are_no_markup_for_the_terminal() -> None:
    name = "[red]x[/red]"

    assert f"{name}: no difference seen" in text_of(text(compare(side(point(name=name)), side(point(name=name)))))


def test_json_holds_everything_and_what_is_missing_is_null() -> None:
    blank = [Sample(figures={"ttft p50": None, "decode p50": 50 * x}) for x in STEADY]
    found = compare(side(point(), path="a"), side(point(crowd(samples=blank)), path="b"))
    told: dict[str, Any] = msgspec.json.decode(to_json(found, judge([parse("decode p50 < -5 %")], found)))

    assert told["format"] == "loadsim comparison 1"
    assert (told["verdict"], told["a"]["path"], told["confidence"]) == ("no difference seen", "a", 0.95)
    first = told["points"][0]["differences"][0]
    assert (first["metric"], first["verdict"], first["b"], first["change"]) == ("ttft p50", "unknown", None, None)
    assert first["a"]["n"] == 5
    assert told["rules"][0]["verdict"] == "kept"
    again = {name: value for name, value in told.items() if name not in ("format", "rules")}
    assert msgspec.convert(again, Comparison) == found
