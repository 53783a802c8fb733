"""What one caller hears of one reply, and when they act, in virtual time: 4 tokens/s, an eighth of a second's delay."""

import asyncio
from typing import Any

import pytest

from loadsim.caller.listener import Listener, heard_share, silent_at
from loadsim.server.api import Reply
from loadsim.types import Cut, Outcome, Playout, RequestRow
from tests.calls import any_text
from tests.virtual import run

ORIGIN = 100.0  # the reply is opened and sent at 0 of the run's clock
NOTICED = 0.001  # the loop's timers may be early by so much; the caller acts no later


def row(**fields: Any) -> RequestRow:
    return RequestRow(point="p", repeat=1, row="load", group="g", caller=0, turn=1, outcome="ok", **fields)


def hear(
    tokens: list[float], ends: float | None = None, outcome: Outcome = "ok", thought: int = 0, **listens: Any
) -> tuple[RequestRow, Reply]:
    """A reply whose tokens come at these times, of which the first `thought` are not spoken, heard to its end."""
    listener = Listener(**{"rate": 4.0, "delay": 0.125} | listens)

    def token(reply: Reply, number: int) -> None:
        now = asyncio.get_running_loop().time()
        reply.output(now, None)
        if number >= thought:
            reply.say(now, "so ")

    async def main() -> tuple[RequestRow, Reply]:
        loop = asyncio.get_running_loop()
        reply = Reply(loop.time(), any_text)
        reply.sent = loop.time()
        for number, at in enumerate(tokens):
            loop.call_at(ORIGIN + at, token, reply, number)
        if ends is not None:
            loop.call_at(ORIGIN + ends, reply.end, ORIGIN + ends, outcome)
        async with asyncio.timeout(60):
            await listener.listen(reply)
        found = row()
        listener.finish(found, reply, ORIGIN)
        return found, reply

    return run(main(), start=ORIGIN)


def ended(reply: Reply) -> float:
    assert reply.ended.t is not None
    return reply.ended.t - ORIGIN


AT_ONCE = [1.0] * 12  # heard from 1.125 on, for 3 s
SLOW = [1.0 + 0.375 * k for k in range(12)]  # each token after the first is waited for, and heard as it comes


def test_a_reply_that_nobody_disturbs_is_heard_whole() -> None:
    found, reply = hear(AT_ONCE, ends=1.5)
    assert (reply.outcome, found.cut, found.abandoned) == ("ok", None, False)
    assert found.playout is not None
    assert (found.playout.start_s, found.playout.end_s, found.playout.tokens) == (1.125, 4.125, 12)


def test_the_voice_does_not_begin_before_its_floor() -> None:
    found, _ = hear(AT_ONCE, ends=1.5, floor=ORIGIN + 5.0)
    assert found.playout is not None
    assert (found.playout.start_s, found.playout.end_s) == (5.0, 8.0)


def test_tokens_before_the_first_text_are_not_heard() -> None:
    found, _ = hear(AT_ONCE, ends=1.5, thought=4)
    assert found.playout is not None
    assert (found.playout.tokens, found.playout.end_s) == (8, 3.125)


# -- cutting in


def test_a_cut_into_a_reply_that_has_come_whole() -> None:
    found, reply = hear(AT_ONCE, ends=1.5, cut=1.0, trigger=0.5)
    # the caller speaks after 1 s of speech; the agent after 1.5 s, six tokens, no more
    assert found.cut == Cut(at_s=2.125, after=1.0, heard=6, unheard=6, closed=False)
    assert found.playout is not None
    assert (found.playout.tokens, found.playout.end_s) == (6, 2.625)
    assert (reply.outcome, ended(reply)) == ("ok", 1.5)


def test_a_cut_into_a_reply_that_still_comes_closes_it() -> None:
    found, reply = hear(SLOW, ends=9.0, cut=1.0, trigger=0.5)
    # the fourth token sounds from 2.25 to 2.5 s, the sixth from 3 to 3.25; by then the seventh is not there
    assert found.cut == Cut(at_s=2.5, after=1.0, heard=6, unheard=1, closed=True)
    assert reply.outcome == "cut"
    assert ended(reply) == pytest.approx(3.25, abs=NOTICED)
    assert len(reply.token_s) == 7  # which came at 3.25


def test_a_cut_waits_until_so_much_has_been_heard() -> None:
    # a second of silence after the fourth token, which is spoken until 2.125; the rest comes at 5 s
    found, reply = hear([1.0] * 4 + [5.0] * 8, cut=1.25, trigger=0.25)
    assert found.cut == Cut(at_s=5.375, after=1.25, heard=6, unheard=6, closed=True)
    assert ended(reply) == pytest.approx(5.625, abs=NOTICED)


def test_a_stream_that_brings_no_more_than_was_heard_is_closed_too() -> None:
    found, reply = hear([1.0] * 6, cut=1.0, trigger=0.5)
    assert found.cut == Cut(at_s=2.125, after=1.0, heard=6, unheard=0, closed=True)
    assert ended(reply) == pytest.approx(2.625, abs=NOTICED)


def test_a_reply_that_ends_the_moment_the_agent_notices_was_not_closed() -> None:
    found, reply = hear(AT_ONCE, ends=2.625, cut=1.0, trigger=0.5)
    assert reply.outcome == "ok"
    assert found.cut == Cut(at_s=2.125, after=1.0, heard=6, unheard=6, closed=False)


def test_a_reply_shorter_than_the_cut_is_heard_whole() -> None:
    found, _ = hear([1.0] * 6, ends=1.5, cut=1.0, trigger=0.75)
    assert found.cut is None
    assert found.playout is not None
    assert found.playout.tokens == 6


def test_a_halt_delays_the_cut() -> None:
    found, reply = hear(AT_ONCE, cut=1.0, trigger=0.5, halts=((0.5, 2.0),))
    assert found.cut == Cut(at_s=4.125, after=1.0, heard=6, unheard=6, closed=True)
    assert ended(reply) == pytest.approx(4.625, abs=NOTICED)


def test_all_of_a_cut_is_faster_by_the_scale() -> None:
    found, reply = hear(AT_ONCE, cut=1.0, trigger=0.5, scale=10.0)
    assert found.cut == Cut(at_s=1.225, after=1.0, heard=6, unheard=6, closed=True)
    assert found.playout is not None
    assert (found.playout.start_s, found.playout.end_s) == (1.125, 1.275)
    assert ended(reply) == pytest.approx(1.275, abs=NOTICED)


def test_what_lay_ready_at_the_end_tells_of_a_reply_that_had_more_to_come() -> None:
    whole, _ = hear([1.0] * 6, ends=1.5)
    assert whole.playout is not None
    assert whole.playout.least_s is None  # it had come whole before the voice began
    broken, _ = hear([1.0] * 6, ends=1.5, outcome="error")
    assert broken.playout is not None
    assert broken.playout.least_s == 0.0  # the voice came to the end of what there was


# -- patience


def test_who_hears_nothing_hangs_up_when_their_patience_ends() -> None:
    found, reply = hear([], since=ORIGIN - 0.5, patience=2.0)
    assert (reply.outcome, found.abandoned, found.playout) == ("cut", True, None)
    assert ended(reply) == pytest.approx(1.5, abs=NOTICED)


def test_who_never_fell_silent_waits_from_the_requests_start() -> None:
    assert ended(hear([], patience=2.0)[1]) == pytest.approx(2.0, abs=NOTICED)


def test_patience_counts_from_the_last_word_that_was_heard() -> None:
    found, reply = hear([1.0] * 4, patience=2.0)
    assert found.abandoned
    assert ended(reply) == pytest.approx(2.125 + 2.0, abs=NOTICED)
    faster, reply = hear([1.0] * 4, patience=2.0, scale=10.0)
    assert faster.abandoned
    assert ended(reply) == pytest.approx(1.225 + 2.0, abs=NOTICED)


def test_words_that_come_in_time_are_waited_for() -> None:
    found, reply = hear([1.0] * 4 + [4.0] * 4, ends=5.0, patience=2.0)
    assert (reply.outcome, found.abandoned) == ("ok", False)


def test_who_is_answered_the_moment_their_patience_ends_has_not_hung_up() -> None:
    found, reply = hear([1.5], ends=2.0, floor=ORIGIN + 9.0, patience=2.0)
    assert (reply.outcome, found.abandoned) == ("ok", False)
    found, reply = hear([], ends=2.0, outcome="empty", patience=2.0)
    assert (reply.outcome, found.abandoned) == ("empty", False)


# -- the agent's client


def test_the_client_gives_up_before_the_first_token() -> None:
    found, reply = hear([], limit=3.0, limit_name="pipecat")
    assert (reply.outcome, found.abandoned) == ("timeout", False)
    assert reply.error == "no first token within 3 s, as pipecat waits"
    assert ended(reply) == pytest.approx(3.0, abs=NOTICED)


def test_a_first_token_in_time_ends_the_clients_limit() -> None:
    _, reply = hear([1.0] * 4, ends=9.0, limit=3.0)
    assert (reply.outcome, ended(reply)) == ("ok", 9.0)
    # also while no word of it can be spoken
    _, reply = hear([1.0], ends=9.0, thought=1, limit=3.0)
    assert (reply.outcome, ended(reply)) == ("ok", 9.0)


@pytest.mark.parametrize(("limit", "patience", "outcome"), [(2.0, 3.0, "timeout"), (3.0, 2.0, "cut")])
def test_what_ends_first_ends_the_wait(limit: float, patience: float, outcome: Outcome) -> None:
    _, reply = hear([], limit=limit, patience=patience)
    assert reply.outcome == outcome
    assert ended(reply) == pytest.approx(2.0, abs=NOTICED)


# -- what follows


def test_the_share_that_was_heard() -> None:
    assert heard_share(row(), 8) == 1.0
    cut = row(cut=Cut(at_s=1.0, after=1.0, heard=6, unheard=2))
    assert [heard_share(cut, tokens) for tokens in (8, 6, 3, 0)] == [0.75, 1.0, 1.0, 1.0]


def test_the_caller_may_speak_when_they_cut_in_or_the_voice_ends() -> None:
    heard = Playout(start_s=1.0, end_s=4.0, rate=4.0, tokens=12)
    assert silent_at(row(), ORIGIN, 102.0) == 102.0
    assert silent_at(row(playout=heard), ORIGIN, 102.0) == 104.0
    cut = Cut(at_s=2.5, after=1.0, heard=6, unheard=2)
    assert silent_at(row(playout=heard, cut=cut), ORIGIN, 102.0) == 102.5
