"""What a caller does in one turn, by hand: every time comes from the small call, or from people's percentiles."""

import random
from typing import Any

import msgspec
import pytest

from loadsim.caller.history import lines
from loadsim.caller.pace import Length, Manner, Part, manner
from loadsim.recording.model import Pause, Recording, Reply, Utterance
from loadsim.scenario.model import BargeIn, Pace, Speculation
from loadsim.scenario.units import Duration
from tests.calls import CALL

DRAWN = Pace(by="speech", times="drawn")
FRESH = 5  # "One more, it is", which the recording has no times for
# A turn's random numbers, in the order in which they are drawn.
ORDER = ("gap", "utterance", "pauses", "after", "pause", "cuts", "cut", "murmurs", "murmur", "halts")


class Fixed(random.Random):
    """Random numbers that are 0.5 but for those named."""

    def __init__(self, named: dict[str, float]) -> None:
        super().__init__()
        self._values = iter([named.get(name, 0.5) for name in ORDER])

    def random(self) -> float:
        return next(self._values)


def turn(number: int, recording: Recording = CALL, heard: float | None = None, **named: Any) -> Manner:
    """Turn `number`, whose reply sounds for 8 s; a name of ORDER gives its random number, others the settings."""
    return manner(
        named.pop("pace", Pace(by="speech")),
        named.pop("barge_in", BargeIn()),
        named.pop("speculation", Speculation()),
        recording,
        lines(recording, number),
        Length(reply=8.0, heard=heard),
        Fixed(named),
    )


def near(value: float) -> Any:
    return pytest.approx(value)


def changed(number: int, **fields: Any) -> Recording:
    """The small call with another turn `number`."""
    turns = list(CALL.turns)
    turns[number - 1] = msgspec.structs.replace(turns[number - 1], **fields)
    return msgspec.structs.replace(CALL, turns=tuple(turns))


def pausing(*pauses: Pause) -> Recording:
    """The small call with silences in "Tell me more.", from 8 to 9 s."""
    return changed(3, caller=msgspec.structs.replace(CALL.turns[2].caller, pauses=pauses))


# -- the gap before a turn


def test_a_recorded_gap_is_from_the_agents_end_to_the_callers_start() -> None:
    assert [turn(number).gap for number in (1, 2, 3, 4)] == [0.0, 1.0, 1.0, 0.0]


def test_the_first_gap_is_from_the_greetings_end() -> None:
    greeted = msgspec.structs.replace(CALL, greeting=Reply("Welcome.", -3.0, -1.25))
    assert turn(1, greeted).gap == 1.25
    assert turn(2, greeted).gap == 1.0


def test_who_spoke_before_the_agents_end_has_a_gap_below_zero() -> None:
    assert turn(4, changed(3, agent=Reply("It is a long story.", 10.0, 11.75))).gap == -0.75


@pytest.mark.parametrize(("u", "gap"), [(0.1, -0.567), (0.5, 0.41), (0.9, 1.274)])
def test_a_drawn_gap_is_one_of_peoples(u: float, gap: float) -> None:
    assert turn(3, pace=DRAWN, gap=u).gap == pytest.approx(gap)


@pytest.mark.parametrize("u", [0.1, 0.9])
def test_the_fresh_message_has_the_middle_gap_and_rate_of_people(u: float) -> None:
    found = turn(FRESH, gap=u, utterance=u)
    assert found.gap == pytest.approx(0.41)
    assert found.parts == (Part(4, near(4 / 2.772)),)


@pytest.mark.parametrize("times", ["recorded", "drawn"])
@pytest.mark.parametrize("number", [1, 3, FRESH])
def test_a_gap_that_is_set_is_everybodys(times: Any, number: int) -> None:
    assert turn(number, pace=Pace(by="speech", times=times, gap=Duration(0.0)), gap=0.9).gap == 0.0


# -- the utterance


def test_a_recorded_utterance_takes_its_own_time() -> None:
    assert turn(3).parts == (Part(3, 1.0),)


@pytest.mark.parametrize(("u", "seconds"), [(0.1, 0.703), (0.5, 2.369), (0.9, 9.504)])
def test_a_drawn_utterance_is_one_of_peoples(u: float, seconds: float) -> None:
    assert turn(3, pace=DRAWN, utterance=u).parts == (Part(3, near(seconds)),)


@pytest.mark.parametrize("times", ["recorded", "drawn"])
@pytest.mark.parametrize(("number", "words"), [(1, 1), (3, 3), (FRESH, 4)])
def test_words_a_second_that_are_set_are_everybodys(times: Any, number: int, words: int) -> None:
    assert turn(number, pace=Pace(by="speech", times=times, words_per_s=2)).parts == (Part(words, words / 2),)


# -- pauses that the agent takes for the end


def test_recorded_pauses_part_the_words_and_take_from_the_talk() -> None:
    paused = pausing(Pause(1, 8.25, 8.5), Pause(2, 8.75, 8.9))
    found = turn(3, paused, speculation=Speculation(by="recorded")).parts
    talk = near((1 - 0.25 - 0.15) / 3)
    assert found == (Part(1, talk, 0.25), Part(2, talk, near(0.15)), Part(3, talk, 0.0))


def test_recorded_pauses_beside_a_drawn_length_take_nothing_from_it() -> None:
    found = turn(3, pausing(Pause(2, 8.25, 8.75)), pace=DRAWN, speculation=Speculation(by="recorded")).parts
    assert found == (Part(2, near(2.369 * 2 / 3), 0.5), Part(3, near(2.369 / 3)))


@pytest.mark.parametrize(("tries", "parts"), [(1, 1), (2, 2), (3, 3), (9, 3)])
def test_a_turn_has_no_more_parts_than_tries(tries: int, parts: int) -> None:
    paused = pausing(Pause(1, 8.25, 8.5), Pause(2, 8.75, 9.0))
    found = turn(3, paused, speculation=Speculation(by="recorded", tries=tries)).parts
    assert len(found) == parts
    assert found[-1].words == 3
    # a silence that is not used is part of the talk
    assert sum(part.seconds + part.pause for part in found) == pytest.approx(1.0)


def test_a_message_without_times_has_no_recorded_pauses() -> None:
    assert len(turn(FRESH, speculation=Speculation(by="recorded")).parts) == 1


@pytest.mark.parametrize(("u", "first"), [(0.0, 1), (0.49, 1), (0.5, 2), (0.999, 2)])
def test_a_drawn_pause_leaves_a_word_on_each_side(u: float, first: int) -> None:
    found = turn(3, speculation=Speculation(by="drawn", probability=1.0), after=u, pause=0.9).parts
    assert found == (Part(first, near(first / 3), near(7.111)), Part(3, near(1 - first / 3)))


@pytest.mark.parametrize(("u", "parts"), [(0.0, 2), (0.24, 2), (0.25, 1), (0.9, 1)])
def test_a_drawn_pause_comes_as_often_as_it_should(u: float, parts: int) -> None:
    assert len(turn(3, speculation=Speculation(by="drawn"), pauses=u).parts) == parts


def test_one_word_or_one_try_has_no_drawn_pause() -> None:
    assert len(turn(4, speculation=Speculation(by="drawn", probability=1.0)).parts) == 1
    assert len(turn(3, speculation=Speculation(by="drawn", probability=1.0, tries=1)).parts) == 1


# -- cutting in


def test_a_recorded_cut_begins_before_the_last_word_that_was_heard() -> None:
    cut = BargeIn(by="recorded")  # the agent notices after 0.2 s
    assert turn(3, heard=2.5, barge_in=cut).cut == pytest.approx(2.3)
    assert turn(3, heard=0.1, barge_in=cut).cut == 0.0
    assert turn(2, heard=2.5, barge_in=cut).cut is None


def test_a_recorded_cut_whose_tokens_nobody_counts_comes_at_its_recorded_time() -> None:
    assert turn(3, barge_in=BargeIn(by="recorded")).cut == pytest.approx(0.8)  # the agent spoke from 10 to 11 s


@pytest.mark.parametrize(("u", "after"), [(0.1, 0.3), (0.5, 3.2), (0.9, 9.0)])
def test_a_drawn_cut_comes_when_peoples_do(u: float, after: float) -> None:
    assert turn(2, barge_in=BargeIn(by="drawn", probability=1.0), cut=u).cut == pytest.approx(after)


@pytest.mark.parametrize(("u", "cuts"), [(0.0, True), (0.06, True), (0.07, False), (0.9, False)])
def test_a_drawn_cut_comes_as_often_as_it_should(u: float, cuts: bool) -> None:
    assert (turn(2, barge_in=BargeIn(by="drawn"), cuts=u).cut is not None) == cuts


def test_nobody_cuts_in_unless_asked() -> None:
    assert turn(3, heard=2.5, cuts=0.0).cut is None


# -- false interruptions


def murmuring(*starts: float) -> Recording:
    """The small call with murmurs of 0.5 s beside "Found you.", from 6 to 7 s."""
    return changed(2, backchannels=tuple(Utterance("Mhm.", start, start + 0.5) for start in starts))


def test_recorded_murmurs_halt_the_voice_at_their_start() -> None:
    halting = BargeIn(backchannels="recorded", false_interruption=1.0, resume=Duration(3.0))
    assert turn(2, murmuring(6.25, 6.75), barge_in=halting).halts == ((0.25, 3.0), (0.75, 3.0))
    assert turn(2, murmuring(5.5), barge_in=halting).halts == ((0.0, 3.0),)  # before the agent's first word
    assert turn(3, murmuring(6.25), barge_in=halting).halts == ()
    assert turn(FRESH, murmuring(6.25), barge_in=halting).halts == ()


@pytest.mark.parametrize(("u", "halts"), [(0.0, ((2.0, 2.0),)), (0.12, ((2.0, 2.0),)), (0.13, ()), (0.9, ())])
def test_a_drawn_murmur_comes_in_13_of_100_replies(u: float, halts: tuple[tuple[float, float], ...]) -> None:
    drawn = BargeIn(backchannels="drawn", false_interruption=1.0)
    assert turn(2, barge_in=drawn, murmurs=u, murmur=0.25).halts == halts  # a quarter into 8 s


@pytest.mark.parametrize("by", ["recorded", "drawn"])
@pytest.mark.parametrize(("share", "u", "count"), [(0.0, 0.0, 0), (0.3, 0.29, 1), (0.3, 0.3, 0), (1.0, 0.999, 1)])
def test_a_murmur_halts_the_voice_as_often_as_it_should(by: Any, share: float, u: float, count: int) -> None:
    halting = BargeIn(backchannels=by, false_interruption=share)
    assert len(turn(2, murmuring(6.25), barge_in=halting, murmurs=0.0, halts=u).halts) == count


def test_without_backchannels_nothing_halts_the_voice() -> None:
    assert turn(2, murmuring(6.25), barge_in=BargeIn(false_interruption=1.0), murmurs=0.0).halts == ()


# -- the person


def test_what_a_person_draws_does_not_depend_on_what_else_is_drawn() -> None:
    def person(**settings: Any) -> Manner:
        return manner(
            settings.get("pace", DRAWN),
            settings.get("barge_in", BargeIn()),
            settings.get("speculation", Speculation()),
            CALL,
            lines(CALL, 3),
            Length(reply=8.0),
            random.Random(7),
        )

    plain = person()
    cutting = person(barge_in=BargeIn(by="drawn", probability=1.0))
    pausing = person(
        speculation=Speculation(by="drawn", probability=1.0), barge_in=BargeIn(by="drawn", probability=1.0)
    )
    assert plain.gap == cutting.gap == pausing.gap
    assert plain.parts == cutting.parts
    assert sum(part.seconds for part in pausing.parts) == pytest.approx(plain.parts[0].seconds)
    assert cutting.cut == pausing.cut
    assert person(pace=Pace(by="speech"), barge_in=BargeIn(by="drawn", probability=1.0)).cut == cutting.cut
