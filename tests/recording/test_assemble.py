"""Drafts to recordings: turns, cuts, murmurs, and times that a call can have."""

from random import Random
from typing import Any

import pytest

from loadsim.recording.assemble import assemble, spoken_system
from loadsim.recording.check import check
from loadsim.recording.draft import Call, Draft, Item, Result, Said, Step, Word
from loadsim.recording.model import Pause, Recording, Reply, Turn, Utterance
from loadsim.recording.settle import settled
from loadsim.recording.spoken import apart, heard_of, is_murmur, spoken

from .calls import LOOK_UP


def caller(text: str, start: float | None = None, end: float | None = None, **more: Any) -> Said:
    return Said(by="caller", text=text, start=start, end=end, **more)


def agent(text: str, start: float | None = None, end: float | None = None, **more: Any) -> Said:
    return Said(by="agent", text=text, start=start, end=end, **more)


def made(*items: Item, tools: tuple[Any, ...] = ()) -> tuple[Recording, list[str]]:
    """The recording of a draft, which has no errors, and its notes."""
    recording, notes = assemble(Draft(items=list(items), tools=list(tools), system="x"), "t", "s", Random(1))
    assert [str(finding) for finding in check(recording) if not finding.warning] == []
    return recording, notes


def test_a_cut_reply_ends_where_the_caller_starts_and_is_heard_by_its_share() -> None:
    cut = agent("one two three four five six seven eight", 4, 8, interrupted=True, whole=True)
    reply = made(caller("hello", 1, 2), cut, caller("wait please", 6, 7), agent("yes", 9, 10))[0].turns[0].agent
    assert reply == Reply("one two three four five six seven eight", 4, 6, heard="one two three four")


def test_what_was_heard_is_known_better_from_the_times_of_words() -> None:
    words = (Word(4, 4.1), Word(4.1, 4.2), Word(4.2, 4.3), Word(7, 8))
    cut = agent("one two three four", 4, 8, interrupted=True, whole=True, words=words)
    reply = made(caller("hello", 1, 2), cut, caller("wait please", 4.25, 7), agent("yes", 9, 10))[0].turns[0].agent
    assert reply.heard == "one two"


def test_before_the_first_word_and_behind_the_last_nothing_is_cut() -> None:
    said = agent("one two three four", 4, 8)
    assert heard_of(said, 4, 8, 6) == "one two"
    for cut in (3, 4, 4.1, 7.9, 8, 9):
        assert heard_of(said, 4, 8, cut) is None


def test_several_utterances_make_one_reply_and_the_last_is_cut() -> None:
    cut = agent("three four five six", 6, 10, interrupted=True, whole=True)
    items = (caller("hello", 1, 2), agent("one two", 3, 4), cut, caller("wait please", 8, 9), agent("yes", 10, 11))
    reply = made(*items)[0].turns[0].agent
    assert reply == Reply("one two three four five six", 3, 8, heard="one two three four")


def test_murmurs_of_the_caller_are_kept_those_of_the_agent_are_told() -> None:
    recording, notes = made(
        caller("so I was walking along", 1, 5),
        agent("Mm-hmm.", 2, 2.5),
        caller("and fell", 6, 7),
        agent("Oh no. Are you hurt?", 8, 11),
        caller("Uh, yeah.", 9, 10),
        caller("My arm.", 12, 13),
        agent("I see.", 14, 15),
    )
    first, second = recording.turns
    assert first.caller == Utterance("so I was walking along and fell", 1, 7, (Pause(5, 5, 6),))
    assert first.backchannels == (Utterance("Uh, yeah.", 9, 10),)
    assert second.caller.text == "My arm."
    assert notes == ["left out: murmurs of the agent while the caller speaks (1)"]


def test_what_is_murmured_behind_the_cut_is_nothing_to_the_reply() -> None:
    cut = agent("one two three four five six", 4, 10, interrupted=True, whole=True)
    said = (caller("hello", 1, 2), cut, caller("yes", 5, 5.5), caller("yeah", 7.4, 8.2), caller("but wait", 7.5, 9))
    turn = made(*said, agent("fine", 9.5, 10.5))[0].turns[0]
    assert (turn.agent.end, [murmur.text for murmur in turn.backchannels]) == (7.5, ["yes"])


@pytest.mark.parametrize("text", ["Mm-hmm.", "Yeah, right.", "uh huh", "OK", "I see."])
def test_a_sign_of_listening_is_a_murmur(text: str) -> None:
    assert is_murmur(text)


@pytest.mark.parametrize("text", ["No.", "Wait!", "yes but no", "yes yes yes yes", "", "...", "one"])
def test_an_answer_is_none(text: str) -> None:
    assert not is_murmur(text)


def test_a_text_is_speech() -> None:
    assert spoken(" a\tb\n\x00c  d ") == "a b c d"
    assert spoken_system("a\r\n\tb\x07c\rd") == "a\n\tbc\nd"


def test_word_times_part_an_utterance_at_its_silences_only_where_they_match() -> None:
    words = (Word(0, 1), Word(1.2, 2), Word(3, 4))
    assert [part.text for part in apart(caller("a b c", words=words), 0.5)] == ["a b", "c"]
    assert apart(caller("a b", 0, 4, words=words), 0.5) == [caller("a b", 0, 4, words=words)]


def test_tools_go_to_the_turn_that_they_answer() -> None:
    look_up = Step((Call("a", "look_up", {"part": "valve"}),))
    again = Step((Call("b", "look_up", {"part": "pump"}), Call("a", "look up", {"part": "pump"})))
    recording, notes = made(
        look_up,
        caller("a valve please"),
        look_up,
        Result("a", 1),
        again,
        Result("a", 2),
        Result("b", 3),
        Result("b", 4),
        agent("here"),
        caller("bye"),
        Step((Call("c", "end", {}),)),
        tools=(LOOK_UP, LOOK_UP, 7),
    )
    calls = [[(call.id, call.name, call.result) for call in step] for step in recording.turns[0].tools]
    # Calls of one id get their results in order; the very first one was made before anybody spoke.
    assert calls == [[("a-2", "look_up", 2)], [("b", "look_up", 3), ("a-3", "look_up", None)]]
    assert [tool["function"]["name"] for tool in recording.tools] == ["look_up"]
    assert sorted(notes) == [
        "a last caller message without a reply, now `fresh` (1)",
        "left out: results of no known call (1)",
        "left out: tool calls after the last reply (1)",
        "left out: tool calls before the caller speaks (1)",
        "left out: tools that are not in OpenAI's form, or stand twice (2)",
        "tool calls without a result, now null (2)",
        "utterances whose times are drawn from how people talk (3)",
    ]


def test_nobody_talks_over_themselves() -> None:
    first = Turn(Utterance("a", 1, 4), Reply("b", 5, 9), (), (Utterance("mhm", 6, 8),))
    pauses = (Pause(1, 7.2, 7.6), Pause(2, 8.5, 9.0))
    second = Turn(Utterance("c d e", 7, 10, pauses), Reply("f", 8.5, 8.8))
    found, moved = settled(Reply("hi", 0, 2), [first, second])
    assert found[0] == first
    assert found[1].caller == Utterance("c d e", 8, 10, (Pause(2, 8.5, 9.0),))  # behind the murmur
    assert found[1].agent == Reply("f", 9, 9.3)  # behind the reply before, as long as it was
    assert moved == 1
    greeted, moved = settled(Reply("hi", 2, 6), [first])
    assert (greeted[0].caller.start, greeted[0].agent.start, moved) == (2, 6, 1)
    assert greeted[0].backchannels == (Utterance("mhm", 6, 8),)


def test_of_murmurs_that_overlap_the_first_stays() -> None:
    one, other = Utterance("mhm", 6, 8), Utterance("yes", 7, 8.5)
    found, _ = settled(None, [Turn(Utterance("a", 1, 4), Reply("b", 5, 9), (), (one, other))])
    assert found[0].backchannels == (one,)
