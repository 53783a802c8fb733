"""What a call as data can be wrong about."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from loadsim.recording.check import Finding, check
from loadsim.recording.model import Pause, Recording, Reply, ToolCall, Turn, Utterance

from .calls import LOOK_UP, call, turn, with_tool


def said(recording: Recording) -> list[str]:
    return [str(finding) for finding in check(recording)]


def agent(number: int, **changes: object) -> Turn:
    """A turn with another reply."""
    sound = turn(number)
    return replace(sound, agent=replace(sound.agent, **changes))


def caller(number: int, **changes: object) -> Turn:
    """A turn with another caller utterance."""
    sound = turn(number)
    return replace(sound, caller=replace(sound.caller, **changes))


def test_a_sound_call_has_no_findings() -> None:
    assert check(call(4, turn_2=with_tool(turn(2), "a", "b"), turn_4=with_tool(turn(4), "c"))) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"turn_2": caller(2, start=13.0)}, ["turn 2: caller: starts at 13 s, ends at 13 s"]),
        ({"turn_2": agent(2, end=13.5)}, ["turn 2: agent: starts at 14 s, ends at 13.5 s"]),
        ({"turn_1": caller(1, start=-0.5)}, ["turn 1: caller: a time before the call: -0.5 s"]),
        ({"turn_3": agent(3, end=math.inf)}, ["turn 3: agent: not a time: inf"]),
        ({"turn_3": agent(3, start=math.nan)}, ["turn 3: agent: not a time: nan"]),
        ({"turn_2": caller(2, text=" ")}, ["turn 2: caller: no text"]),
        ({"turn_2": agent(2, text="")}, ["turn 2: agent: no text"]),
        ({"turn_2": agent(2, text="ring\x07 the bell")}, [r"turn 2: agent: the control character '\x07' in its text"]),
        (
            {"turn_2": caller(2, text="half \ud83d of it")},
            [r"turn 2: caller: the control character '\ud83d' in its text"],
        ),
        (
            {"turn_2": agent(2, start=9.0, end=17.0)},
            ["turn 2: agent: replies before the caller speaks"],
        ),
        (
            {"turn_2": agent(2, start=12.5)},
            ["warning: turn 2: agent: replies 0.50 s before the caller has ended"],
        ),
    ],
)
def test_an_utterance_by_itself(changes: dict[str, Turn], expected: list[str]) -> None:
    assert said(call(3, **changes)) == expected


def test_turns_stand_in_order() -> None:
    assert said(call(3, turn_2=turn(3), turn_3=turn(2))) == [
        "turn 3: out of order: starts at 10 s, turn 2 at 20 s",
    ]
    assert said(call(3, turn_2=caller(2, start=2.0))) == ["turn 2: caller: starts before the caller has ended turn 1"]
    assert said(call(3, turn_2=caller(2, start=3.5))) == ["turn 2: caller: starts before the reply of turn 1 does"]
    assert said(call(3, turn_1=agent(1, end=14.5))) == ["turn 2: agent: starts before the reply of turn 1 ends"]


def test_people_may_talk_over_each_other() -> None:
    assert said(call(3, turn_1=agent(1, end=10.8))) == []


def cut(heard: str, end: float) -> Recording:
    """Two turns; the caller cuts the first reply at `end` seconds and speaks from 10 to 13 s."""
    return call(2, turn_1=agent(1, text="one two three four", heard=heard, end=end))


def test_a_cut_is_heard_in_part_and_close_to_the_callers_voice() -> None:
    assert said(cut("one two", 10.2)) == []
    assert said(cut("one two", 9.2)) == []
    for whole in ("one two three four", "two three"):
        assert said(cut(whole, 10.2)) == ["turn 1: agent.heard: expected a beginning of the text, and not all of it"]
    assert said(cut("", 10.2)) == ["turn 1: agent.heard: no text; leave it out for a reply that was heard whole"]
    assert said(cut("one two", 7.0)) == [
        "turn 1: agent.heard: cut at 7 s, but the caller speaks from 10 to 13 s",
    ]
    assert said(call(1, turn_1=agent(1, heard="answer1"))) == []


def murmurs(*times: tuple[float, float]) -> Recording:
    return call(2, turn_1=replace(turn(1), backchannels=tuple(Utterance("mhm", *span) for span in times)))


def test_backchannels_lie_within_the_agents_speech() -> None:
    assert said(murmurs((4.5, 5.0), (5.5, 6.0))) == []
    assert (
        said(murmurs((3.5, 4.5)))
        == said(murmurs((6.5, 7.5)))
        == [
            "turn 1: backchannel 1: outside the agent's speech",
        ]
    )
    assert said(murmurs((4.5, 5.5), (5.0, 6.0))) == [
        "turn 1: backchannel 2: starts before the one before it ends",
    ]
    assert said(murmurs((5.0, 5.0))) == ["turn 1: backchannel 1: starts at 5 s, ends at 5 s"]
    long = replace(murmurs((9.0, 10.5)).turns[0], agent=replace(turn(1).agent, end=11.0))
    assert said(call(2, turn_1=long)) == ["turn 2: caller: starts before the backchannel of turn 1 ends"]


def test_inhuman_pace_is_a_warning() -> None:
    assert said(call(1, turn_1=turn(1, words=30))) == [
        "warning: turn 1: caller: speaks 10.00 words/s, people 0.5 to 6",
        "warning: turn 1: agent: speaks 10.00 words/s, people 0 to 7",
    ]
    assert said(call(1, turn_1=turn(1, words=1))) == ["warning: turn 1: caller: speaks 0.33 words/s, people 0.5 to 6"]
    heard = replace(turn(1, words=30), agent=Reply("one two " * 20, 4.0, 5.0, heard="one two"))
    assert not any("agent" in line for line in said(call(1, turn_1=heard)))


def called(*calls: ToolCall) -> list[str]:
    return said(call(2, turn_2=replace(turn(2), tools=(calls,))))


def test_tool_calls_are_declared_and_satisfy_their_schema() -> None:
    assert called(ToolCall("a", "look_up", {"part": "valve"}, None)) == []
    assert called(ToolCall("a", "find", {}, None)) == [
        "turn 2: step 1, call 1: the tool find is not declared (declared: look_up)",
    ]
    assert called(ToolCall("a", "look_up", {"shop": "west"}, None)) == [
        "turn 2: step 1, call 1: arguments of look_up: part is missing",
        'turn 2: step 1, call 1: arguments of look_up: shop: expected one of "north", "south"; got "west"',
    ]
    assert called() == ["turn 2: step 1: no calls; leave the step out"]
    one = ToolCall("a", "look_up", {"part": "valve"}, None)
    assert called(one, one) == ["turn 2: step 1, call 2: the id a stands twice"]
    assert said(call(3, turn_1=with_tool(turn(1), "a"), turn_3=with_tool(turn(3), "b", "a"))) == [
        "turn 3: step 2, call 1: the id a stands twice",
    ]
    assert called(replace(one, id="")) == ["turn 2: step 1, call 1: no id"]


def test_tools_have_openais_form_and_one_name() -> None:
    assert said(replace(call(1), tools=(LOOK_UP, LOOK_UP))) == ["tool 2: look_up is declared twice"]
    assert said(replace(call(1), tools=({"name": "look_up"},)))[0].startswith("tool 1: not in OpenAI's form")


def greeted(greeting: Reply) -> list[str]:
    """What is said of a call in which the caller first speaks from 5 to 8 s and is answered at 9 s."""
    first = replace(turn(1), caller=Utterance("a b c d e f g h", 5, 8), agent=Reply("a b c d", 9, 11))
    return said(replace(call(2, turn_1=first), greeting=greeting))


def test_a_greeting_comes_before_the_caller() -> None:
    assert greeted(Reply("Hello, how are you?", 1, 3)) == []
    assert greeted(Reply("Hello, how are you?", 1, 5.5, heard="Hello, how")) == []
    assert greeted(Reply("Hello, how are you?", 3, 5.5)) == []  # people may talk over each other
    assert greeted(Reply("Hello?", 6, 7)) == ["greeting: starts after the caller does in turn 1"]
    assert greeted(Reply("Hello?", 4, 10)) == ["turn 1: agent: starts before the greeting ends"]
    assert greeted(Reply("", 1, 3)) == ["greeting: no text"]
    assert greeted(Reply("Hello?", 3, 1)) == ["greeting: starts at 3 s, ends at 1 s"]
    assert greeted(Reply("one two", 1, 2, heard="two")) == [
        "greeting.heard: expected a beginning of the text, and not all of it",
        "greeting.heard: cut at 2 s, but the caller speaks from 5 to 8 s",
    ]


def paused(*pauses: Pause) -> list[str]:
    """What is said of a caller who says four words from 10 to 15 s with these pauses."""
    return said(call(2, turn_2=replace(turn(2), caller=Utterance("a b c d", 10, 13, pauses))))


def test_pauses_stand_in_order_between_words() -> None:
    assert paused(Pause(1, 10.5, 11), Pause(3, 11.5, 12.5)) == []
    assert paused(Pause(0, 10.5, 11)) == ["turn 2: caller: pause 1: after 0 words; expected 1 to 3"]
    assert paused(Pause(4, 10.5, 11)) == ["turn 2: caller: pause 1: after 4 words; expected 1 to 3"]
    assert paused(Pause(1, 9.5, 11)) == ["turn 2: caller: pause 1: outside the utterance"]
    assert paused(Pause(1, 12, 13)) == ["turn 2: caller: pause 1: outside the utterance"]
    assert paused(Pause(1, 11, 11)) == ["turn 2: caller: pause 1: starts at 11 s, ends at 11 s"]
    between = ["turn 2: caller: pause 2: no words between it and the one before it"]
    assert paused(Pause(1, 10.5, 11), Pause(2, 11, 12)) == between
    assert paused(Pause(2, 10.5, 11), Pause(2, 11.5, 12)) == between


def test_pace_is_that_of_the_words_without_the_pauses() -> None:
    slow = call(2, turn_2=replace(turn(2), caller=Utterance("a b", 10, 13.9, (Pause(1, 10.5, 13.5),))))
    assert said(slow) == []
    fast = call(2, turn_2=replace(turn(2), caller=Utterance("a b c d", 10, 13, (Pause(1, 10.2, 12.8),))))
    assert said(fast) == ["warning: turn 2: caller: speaks 10.00 words/s, people 0.5 to 6"]


def test_what_stands_around_the_turns() -> None:
    assert said(replace(call(1), system="")) == ["warning: system: no text"]
    assert said(replace(call(1), system="Two\n\tlines.")) == []
    assert said(replace(call(1), system="\x00")) == [r"system: the control character '\x00' in its text"]
    assert said(replace(call(1), fresh="")) == ["fresh: no text"]
    assert check(call(0)) == [Finding("turns", "there are none")]


TEXT = st.sampled_from(["", "yes", "one two three", "\x00"])
SECONDS = st.floats(-1, 20) | st.sampled_from([math.nan, math.inf, -math.inf])
PAUSES = st.lists(st.builds(Pause, st.integers(-1, 4), SECONDS, SECONDS), max_size=2).map(tuple)
UTTERANCE = st.builds(Utterance, TEXT, SECONDS, SECONDS, PAUSES)
REPLY = st.builds(Reply, TEXT, SECONDS, SECONDS, st.none() | TEXT)
KEYS = st.sampled_from(["type", "function", "name", "parameters", "properties", "required", "enum"])
JUNK = st.recursive(
    st.none() | st.sampled_from(["object", "function", "a"]), lambda inner: st.dictionaries(KEYS, inner)
)
CALLS = st.lists(st.builds(ToolCall, st.sampled_from("ab"), st.sampled_from("ab"), st.just({"a": 1}), JUNK)).map(tuple)
TURN = st.builds(
    Turn,
    UTTERANCE,
    REPLY,
    st.lists(CALLS, max_size=2).map(tuple),
    st.lists(UTTERANCE, max_size=2).map(tuple),
)
TOOLS = st.lists(st.fixed_dictionaries({"type": st.just("function"), "function": JUNK}), max_size=2).map(tuple)


@settings(max_examples=50, deadline=None)
@given(st.builds(Recording, TEXT, TEXT, TEXT, TOOLS, st.lists(TURN, max_size=4).map(tuple), st.none() | REPLY, TEXT))
def test_nothing_breaks_the_check(recording: Recording) -> None:
    lines = said(recording)
    assert len(set(lines)) == len(lines)
    assert all(line.isprintable() for line in lines)
