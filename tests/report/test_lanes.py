"""The swimlane of runs made by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.report.lanes import LOOKS, View, _step, lanes
from loadsim.results.read import Run
from loadsim.stats.lane import State
from loadsim.types import BadInput
from tests.report.runs import BOTH, SPEECH, run_of, text_of
from tests.stats.rows import cut, playout, reply, spoke

SAID = spoke(0.0, 2.0)
RUN = run_of(
    *BOTH,
    reply(2.0, 8.0, 10.0, group="joiner", kind="cold"),
    # asks at 3 s, first token at 5 s, last at 8 s; heard from 6 to 12 s, dry from 9 to 10 s
    reply(3.0, 2.0, 5.0, spoke=SAID, playout=playout(6.0, 12.0, underruns=1, first_underrun_s=3.0, silent_s=1.0)),
    # taken back from 3 to 4 s, then asked at 5 s; cut at 11 s while it is heard from 8 to 12 s
    reply(3.0, outcome="superseded", end_s=4.0, caller=1, spoke=SAID),
    reply(5.0, 2.0, 4.0, caller=1, attempt=1, cut=cut(11.0, 3.0, 4), playout=playout(8.0, 12.0), spoke=spoke(0.0, 4.5)),
    reply(4.0, outcome="error", end_s=9.0, caller=10, error="boom"),
    reply(4.0, outcome="cut", abandoned=True, end_s=8.0, caller=9),
    reply(0.0, 2.0, 4.0, repeat=3),
    reply(50.0, 2.0, 4.0, point="q", repeat=2),
    scenario=SPEECH | {"callers": {"warm": {}, "joiner": {"cache": "cold"}}},
)


def drawn(run: Run, width: int = 80, **view: object) -> list[str]:
    return text_of(lanes(run, width, View(**view)), width).splitlines()  # type: ignore[arg-type]


def test_a_line_per_caller_and_a_character_per_step() -> None:
    lines = drawn(RUN, 24, point="p", repeat=1)
    assert " ".join(lines[:2]).split()[:4] == ["p,", "repeat", "1:", "seconds"]
    top = next(i for i, line in enumerate(lines) if line.startswith("         0"))
    assert [line.rstrip() for line in lines[top : top + 6]] == [
        "         0         10",
        "warm 0   ==·ww:██▄!▄▄",
        "warm 1   ==·s·ww:█▄▄X",
        "warm 9       wwwwH",
        "warm 10      wwwwwE",
        "joiner 0   JJJJJJJJ██",
    ]
    told = " ".join(" ".join(lines).split())
    assert "J waits for it as a cold join" in told
    assert "X caller cuts in" in told
    assert all(len(line) <= 24 for line in lines[top : top + 6])


def test_a_part_of_the_time() -> None:
    lines = drawn(RUN, 49, start=4.0, end=8.0)
    # 40 characters for 4 s
    assert "one character is 0.1 s" in " ".join(" ".join(lines[:2]).split())
    (warm,) = (line for line in lines if line.startswith("warm 0"))
    assert warm == "warm 0   " + "w" * 10 + ":" * 10 + "█" * 20
    assert any(line.split() == ["4", "5", "6", "7"] for line in lines)
    assert not any("cuts in" in line for line in lines)  # only what is seen is explained


def test_the_first_point_and_repeat_are_drawn_unless_another_is_named() -> None:
    assert "p, repeat 1:" in drawn(RUN)[0]
    assert "p, repeat 3:" in drawn(RUN, repeat=3)[0]
    lines = drawn(RUN, point="q")
    assert "q, repeat 2:" in lines[0]
    # 4 s on 73 characters: two seconds each of waiting and of speech
    assert lines[3] == f"warm 0 {'w' * 20}{'█' * 20}"


def test_callers_that_ask_at_once_need_no_words() -> None:
    bare = run_of(reply(10.0, 1.0, 3.0), reply(13.0, 1.0, 2.0, turn=6))
    assert next(line for line in drawn(bare, 17) if line.startswith("warm")) == "warm 0 ww████ww██"


def test_speech_that_runs_faster_runs_dry_sooner() -> None:
    dry = playout(6.0, 10.0, underruns=1, first_underrun_s=4.0, silent_s=2.0)
    fast = SPEECH | {"pace": SPEECH["pace"] | {"time_scale": 2.0}}
    lines = drawn(run_of(reply(0.0, 5.0, 6.0, playout=dry), scenario=fast), 17)
    assert (
        next(line for line in lines if line.startswith("warm")) == "warm 0 wwwww:▄▄!▄"
    )  # a second of silence, two seconds after the voice began


def test_forty_callers_fill_the_view() -> None:
    many = run_of(*(reply(0.0, 1.0, 2.0, caller=i) for i in range(41)))
    lines = drawn(many)
    assert sum(line.startswith("warm") for line in lines) == 40
    assert "these are the first 40 of 41 callers" in lines
    fits = run_of(*(reply(0.0, 1.0, 2.0, caller=i) for i in range(40)))
    assert not any("these are the first" in line for line in drawn(fits))


@pytest.mark.parametrize("width", [40, 80, 133])
def test_nothing_is_wider_than_the_terminal(width: int) -> None:
    wide = run_of(*(reply(i * 7.0, 1.3, 2.9, group="a group with a very long name", turn=i) for i in range(50)))
    lines = drawn(wide, width)
    assert max(map(len, lines)) <= width
    # some long time is drawn to its end
    assert any((line.startswith("a group with a very… 0") and line[-1] == "w") or "█" in line for line in lines)


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ({"point": "r"}, "--point r: no such load point; the run has: p; q"),
        ({"repeat": 2}, "--repeat 2: no such repeat; p has: 1, 3"),
        ({"point": "q", "repeat": 1}, "--repeat 1: no such repeat; q has: 2"),
        ({"start": 12.0}, "--from 12: the load lasts from 0 to 12.000 s"),
        ({"start": -1.0}, "--from -1: the load lasts from 0 to 12.000 s"),
        ({"start": 5.0, "end": 5.0}, "--to 5: not after --from 5"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(view: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        drawn(RUN, **view)  # type: ignore[arg-type]
    assert str(caught.value) == said


def test_a_run_without_a_load_cannot_be_drawn() -> None:
    with pytest.raises(BadInput, match="run has no request of a load"):
        drawn(run_of(*BOTH))
    with pytest.raises(BadInput, match="p, repeat 1: no request was sent"):
        drawn(run_of(reply(1.0, sent_s=None, end_s=None, outcome="error")))


def test_every_state_has_a_character_of_its_own() -> None:
    assert set(LOOKS) == set(State) - {State.NOTHING}
    marks = [mark for mark, _, _ in LOOKS.values()]
    assert len({*marks, " "}) == len(State)
    assert all(len(mark) == 1 for mark in marks)


@given(st.floats(1e-5, 1e6))
def test_a_step_is_round_and_no_larger_than_needed(least: float) -> None:
    step = _step(least)
    assert least <= step * (1 + 1e-6) and step < least * 2.6
    assert round(step / 10 ** math.floor(math.log10(step) + 1e-6), 6) in (1, 2, 5)
