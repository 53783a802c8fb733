"""A search in words."""

from typing import Any

import msgspec
import pytest

from loadsim.plan.ahead import Ahead
from loadsim.plan.found import Found, Limit, Measured, Paced
from loadsim.plan.lines import ahead, answer, before_paced, duration, heading, line, table
from loadsim.plan.slo import parse, targets
from loadsim.plan.verdict import Figure, Verdict

TARGETS = targets(("ttft p95 <= 800 ms", "underruns < 1 %"))


def point(count: int, ttft: float, verdict: Verdict, repeats: int = 5, **fields: Any) -> Measured:
    of = count * repeats
    plain: dict[str, Any] = {
        "point": f"{count} warm", "count": count, "slots": 16, "repeats": repeats, "replies": of, "verdict": verdict,
        "figures": [
            Figure(target=TARGETS[0].text, value=ttft, low=ttft - 0.02, high=ttft + 0.02, verdict=verdict),
            Figure(target=TARGETS[1].text, value=0.0, low=0.0, high=0.1, verdict="meets", hits=0, of=of, shown=0.049),
        ],
    }  # fmt: skip
    return Measured(**plain | fields)


def found(callers: int, high: int | None, limit: Limit = "target", **fields: Any) -> Found:
    plain: dict[str, Any] = {
        "callers": callers, "high": high, "group": "warm", "others": 0, "limit": limit, "default": False,
        "targets": [target.text for target in TARGETS], "confidence": 0.995,
    }  # fmt: skip
    return Found(**plain | fields)


def test_the_answer_has_its_reason_and_what_so_few_replies_show() -> None:
    twelve = point(12, 0.77, "meets", point="12 warm, slots=12", slots=12)
    told = found(12, 12, reason="13 fails: TTFT p95 842 ms of 800", slots=12, confirmed=twelve.point, points=[twelve])
    assert list(answer(told)) == [
        "12 warm callers meet every target. 13 fails: TTFT p95 842 ms of 800.",
        "Confirmed on a server with 12 slots (-np 12) and no more.",
        "underruns: 0 of 60 replies shows under 4.90 % only; callers with the pace of people show more "
        "(leave out --together-only).",
    ]


def test_nearer_than_the_noise() -> None:
    near = point(12, 0.806, "unclear", repeats=12)
    said = list(answer(found(11, 12, reason="13 fails: TTFT p95 842 ms of 800", points=[near])))
    assert said[0] == (
        "11 or 12 warm callers: nearer than the noise. At 12 TTFT p95 806 ms of 800 (786 to 826 ms) over 12 repeats. "
        "13 fails: TTFT p95 842 ms of 800."
    )
    assert next(answer(found(9, 12))) == "9 to 12 warm callers: nearer than the noise."


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (found(1, 1, reason="2 fails: it"), "1 warm caller meets every target. 2 fails: it."),
        (found(0, 0, reason="1 fails: TTFT p95 1,240 ms of 800"), "Even one caller misses: TTFT p95 1,240 ms of 800."),
        (
            found(12, None, "slots"),
            "At least 12 warm callers meet every target. The server's slots end the search there: start it with a "
            "larger -np.",
        ),
        (found(256, None, "most"), "At least 256 warm callers meet every target. The search ends there (--most)."),
        (found(3, 3, others=1, reason="4 fails: it"), "3 warm callers beside 1 other meet every target. 4 fails: it."),
    ],
)
def test_the_first_sentence(told: Found, said: str) -> None:
    assert next(answer(told)) == said


@pytest.mark.parametrize(
    ("callers", "high", "said"),
    [
        (4, None, ["At least 4 warm callers meet every target.", "Whether 5 or more hold is not known."]),
        (4, 7, ["At least 4 warm callers meet every target.", "Whether 5 to 7 hold is not known."]),
        (4, 5, ["At least 4 warm callers meet every target.", "Whether 5 hold is not known."]),
        (4, 4, ["4 warm callers meet every target.", ""]),
        (0, None, ["Whether 1 or more hold is not known."]),
    ],
)
def test_a_search_that_stopped_says_what_is_not_known(callers: int, high: int | None, said: list[str]) -> None:
    told = list(answer(found(callers, high, "heat", stopped="it was hot")))
    assert told[-1].startswith("The search stopped: it was hot.")
    assert [*told[:-1], told[-1].removeprefix("The search stopped: it was hot.").strip()] == said


@pytest.mark.parametrize("how", ["stopped by hand", "killed, or still goes on"])
def test_a_search_that_was_interrupted_says_what_is_known(how: str) -> None:
    told = list(answer(found(4, 7, "interrupted", stopped=how)))
    assert told == [
        "At least 4 warm callers meet every target.",
        f"The search was {how}. Whether 5 to 7 hold is not known.",
    ]


def test_what_is_left_is_told() -> None:
    left = Ahead(low=8, high=15, points=3, confirmation=True, seconds=70.4)
    assert ahead(left) == "        (8 to 15: 3 load points and the confirmation left, about 1 min 10 s)"
    only = msgspec.structs.replace(left, low=8, high=8, points=0, seconds=20)
    assert ahead(only) == "        (8: the confirmation left, about 20 s)"
    assert ahead(msgspec.structs.replace(left, points=1, confirmation=False)) == (
        "        (8 to 15: 1 load point left, about 1 min 10 s)"
    )


def test_the_whole_search_again() -> None:
    measured = point(12, 0.31, "meets", repeats=1, replies=360, load="paced")
    paced = Paced(callers=12, needed=300, seconds=372, measured=measured)
    told = found(12, 12, reason="13 fails: it", points=[point(12, 0.7, "meets"), measured], paced=paced)
    lines = list(table(told))
    assert lines[:5] == [*heading("warm", TARGETS, False), line(told.points[0], TARGETS)]
    assert lines[5:9] == ["", before_paced(paced), "", line(measured, TARGETS)]
    assert len(lines) == 9


def test_a_server_that_is_there_is_not_started_again_with_fewer_slots() -> None:
    said = list(answer(found(12, 12, reason="13 fails: it", points=[point(12, 0.7, "meets")])))
    assert said[1] == "The server has 4 slots more, and is not ours to start again with fewer."


@pytest.mark.parametrize(
    ("verdict", "scale", "end"),
    [
        ("meets", 1.0, "; it holds."),
        ("misses", 1.0, "; it fails."),
        ("unclear", 10.0, "; not clear yet. This is not real load: time runs 10 times faster."),
    ],
)
def test_what_callers_with_the_pace_of_people_met(verdict: Verdict, scale: float, end: str) -> None:
    measured = point(12, 0.31, verdict, repeats=1, replies=360, load="paced")
    paced = Paced(callers=12, needed=300, seconds=372, time_scale=scale, measured=measured)
    assert before_paced(paced) == (
        "Now 12 callers with the pace of people, until 300 replies are heard: about 6 min 12 s "
        "(--together-only leaves it out)"
    )
    said = list(answer(found(12, 12, reason="13 fails: it", points=[measured], paced=paced)))[-1]
    assert said == (
        "With the pace of people, over 360 replies: TTFT p95 310 ms of 800 and underruns 0 % of 1 (0 of 12: under "
        f"4.90 % for sure){end}"
    )


def test_the_tiny_model_is_told() -> None:
    assert list(answer(found(1, 1, reason="2 fails: it", embedded=True)))[-1].startswith("This was a tiny model on ")


def test_a_line_per_load_point() -> None:
    lines = [*heading("warm", TARGETS, True), line(point(8, 0.551, "meets", 3), TARGETS)]
    lines += [line(point(16, 1.102, "misses", 3), TARGETS), line(point(12, 0.806, "unclear", 12), TARGETS)]
    lines += [line(point(32, 0, "misses", figures=[], repeats=0, why="no room"), TARGETS)]
    lines += [line(point(12, 0.7, "unclear", 3, why="it was hot"), TARGETS)]
    assert "\n".join(lines) == (
        "The most warm callers who, all talking at once, have ttft p95 <= 800 ms, underruns < 1 % (default):\n"
        "\n"
        "callers        n    TTFT p95    underruns\n"
        "                   <= 800 ms        < 1 %\n"
        "      8    3 x 8      551 ms      0 of 24   holds\n"
        "     16   3 x 16    1,102 ms!     0 of 48   fails\n"
        "     12  12 x 12      806 ms?    0 of 144   unclear\n"
        "     32        -           -            -   fails\n"
        "     12   3 x 12      700 ms?     0 of 36   stopped"
    )


def test_the_default_targets_fit_eighty_columns() -> None:
    measured = point(256, 12.34, "unclear", 12)
    figures = [*measured.figures, Figure(target="", value=0.0, verdict="meets", hits=0, of=3072, shown=0.1)]
    three = targets(())
    told = line(
        Measured(point="p", count=256, slots=1, repeats=12, replies=3072, verdict="unclear", figures=figures), three
    )
    assert max(len(text) for text in [*list(heading("warm", three, True))[1:], told]) <= 80


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "1 s"), (45, "45 s"), (60, "1 min"), (310, "5 min 10 s"), (3725, "1 h 2 min")]
)
def test_a_duration_as_people_say_it(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_a_decode_target_is_told_in_its_unit() -> None:
    target = parse("decode >= 1.5 x voice")
    figure = Figure(target=target.text, value=1.42, verdict="misses")
    slow = Measured(point="13 warm", count=13, slots=16, repeats=3, replies=39, figures=[figure], verdict="misses")
    assert line(slow, [target]) == "     13   3 x 13    1.42 x voice!  fails"
