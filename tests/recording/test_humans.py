"""How people talk, beside the numbers it was taken from."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.recording import humans
from loadsim.recording.humans import Percentiles

from .primock import SHARED

FILE = SHARED / "primock57" / "pacing_percentiles.json"
MEASURED = {
    "caller_utterance_s": humans.UTTERANCE_S,
    "caller_words_per_s": humans.WORDS_PER_S,
    "gap_agent_end_to_caller_start_s": humans.GAP_S,
    "caller_pause_within_turn_s": humans.PAUSE_S,
    "agent_words_per_s": humans.AGENT_WORDS_PER_S,
    "gap_caller_end_to_agent_start_s": humans.REPLY_GAP_S,
}
TWO = Percentiles(((0.2, 1.0), (0.6, 3.0)))


def quantile(draws: list[float], share: float) -> float:
    return sorted(draws)[int(share * len(draws))]


@pytest.mark.parametrize("name", MEASURED)
def test_draws_have_the_measured_percentiles(name: str) -> None:
    if not FILE.exists():
        pytest.skip("the shared data is not here")
    measured = msgspec.json.decode(FILE.read_bytes())[name]
    chance = random.Random(57)
    draws = [MEASURED[name].at(chance.random()) for _ in range(100_000)]
    assert quantile(draws, 0.5) == pytest.approx(measured["p50"], rel=0.05, abs=0.005)
    assert quantile(draws, 0.9) == pytest.approx(measured["p90"], rel=0.05)
    assert dict(MEASURED[name].points) == {int(key[1:]) / 100: value for key, value in measured.items()}


def test_cuts_come_when_people_cut() -> None:
    chance = random.Random(57)
    draws = [humans.CUT_AFTER_S.at(chance.random()) for _ in range(100_000)]
    assert quantile(draws, 0.5) == pytest.approx(3.2, rel=0.05)
    assert (min(draws), max(draws)) == (0.3, 9.0)


def test_between_two_points_is_a_line_and_outside_it_is_held() -> None:
    assert [TWO.at(u) for u in (0.0, 0.2, 0.3, 0.4, 0.6, 1.0)] == pytest.approx([1.0, 1.0, 1.5, 2.0, 3.0, 3.0])


@given(st.sampled_from(sorted(MEASURED)), st.floats(0, 1), st.floats(0, 1))
def test_more_share_is_no_less(name: str, one: float, other: float) -> None:
    spread = MEASURED[name]
    assert spread.at(min(one, other)) <= spread.at(max(one, other))
