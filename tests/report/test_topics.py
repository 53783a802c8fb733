"""A section per topic, where there is something to say."""

import msgspec

from tests.report.runs import BOTH, LOAD, SPEECH, printed, run_of, words
from tests.stats.rows import alone, cut, playout, reply, row, spoke


def test_runs_of_old_have_no_topics() -> None:
    text = words(run_of(*BOTH, *LOAD))
    assert not any(word in text for word in ("what is heard", "barge-in", "cold join", "requests per turn", "calls:"))


def test_what_is_heard() -> None:
    rows = [
        row(caller=i, first_speech_s=10.3, spoke=spoke(7.0, 9.5), playout=playout(10.56, 14.0, least_s=0.3 + i))
        for i in range(3)
    ]
    text = words(run_of(*rows, scenario=SPEECH))
    assert (
        "what is heard, warm: TTFS 300 ms at p50, 300 at p95 (first clause); voice to voice 1.06 s at p50, 1.06 at p95 "
        "(measured, of which assumed: 0.5 s endpointing + 0.15 s TTS + 0.11 s network); underruns in 0 of 3 replies, "
        "0.300 s of speech lay ready at the least" in text
    )
    assert "200 at most, and the voice 1.06 s after their last word; each reply" in text
    rows[0].playout = playout(10.56, 14.0, underruns=2, silent_s=0.75, first_underrun_s=1.5, paused_s=2.0)
    for r in rows:
        r.spoke = None
    text = words(run_of(*rows, scenario=SPEECH))
    assert "(estimated: 0.5 s endpointing + TTFS + 0.15 s TTS + 0.11 s network)" in text
    assert (
        "underruns in 1 of 3 replies: 2 in all, 0.750 s of silence, the soonest 1.50 s into a reply; 1 reply stopped "
        "by false interruptions, for 2.00 s in all" in text
    )
    assert "; 1 of 3 replies fell silent for want of tokens; each reply" in text
    text = words(run_of(*rows))  # of a run that keeps no scenario
    assert "what is heard, warm: TTFS 300 ms at p50, 300 at p95; underruns in 1 of 3" in text
    at_once = SPEECH | {"pace": SPEECH["pace"] | {"by": "at_once"}}
    text = words(run_of(*rows, scenario=at_once))
    assert "voice to voice 1.06 s" in text
    assert "after their last word" not in text  # they said none
    assert "what is heard, warm: nothing that counts" in words(run_of(row(), scenario={"pace": {"by": "speech"}}))


def test_barge_ins() -> None:
    rows = [
        row(turn=1, outcome="cut", cut=cut(12.0, 1.5, 40, closed=True)),
        row(turn=2, cut_tokens=40, kind="rewind", cache_n=9_000, prompt_n=500, prompt_ms=420.0),
        row(turn=3),
    ]
    released = [{"event": "released", "point": "p", "group": "warm", "after_s": after} for after in (0.05, None)]
    text = words(run_of(*rows, events=tuple(released)))
    assert (
        "barge-in, warm: 1 reply cut in 3 turns, 1.50 s into the speech at p50; 1 stream closed while running; 40 "
        "tokens generated for nothing; slots free 50.0 ms after a hang-up at p50, 50.0 at most, 1 not seen free; next "
        "prompts: 1 rewind" in text
    )
    assert "after a cut 1 9,000 500 60 420 others 2 10,369 60 60 140" in text
    assert "after a cut the next prompt has 500 tokens to evaluate, 420 ms, after a whole reply 60, 140 ms" in text
    only = words(run_of(row(), events=tuple(released)))
    assert "warm: slots free 50.0 ms after a hang-up" in only
    assert "barge-in" not in only


def test_a_cold_join() -> None:
    scenario = SPEECH | {
        "callers": {"warm": {}, "joiner": {"cache": "cold"}},
        "server": {"batch": 2048, "ubatch": 2048},
    }
    cold = reply(9.5, 2.5, 2.6, group="joiner", kind="cold", prompt_n=10_369, headers_s=10.0, prompt_ms=2000.0)
    speaks = reply(8.0, 1.0, 1.5, 2.5, 3.25, 4.0, 4.5)
    waits = reply(11.0, 5.0, 5.1, caller=1)
    run = run_of(speaks, waits, cold, scenario=scenario, embedded=True)
    text = words(run)
    # three tokens in two seconds; steps(10,369, 2048, 2048, one who speaks) is 7
    assert "joiner 0, repeat 1 2.50 3 3 7 5,000 1 1,000 1 1.50 while the cold prompt is evaluated" in text
    assert "of those who speak (a voice takes 4.5)" in text
    assert (
        "1 joiner caller waits 2.50 s for the first token at p50, 2.50 at most; meanwhile others wait up to 5,000 ms "
        "for their first token, and replies stall for up to 1,000 ms, and the slowest gets 1.50 tokens/s, 0.33 times a "
        "voice's 4.5." in text
    )
    assert max(map(len, printed(run).splitlines())) <= 80
    strange = words(run_of(speaks, waits, cold, scenario=scenario))
    assert "repeat 1 2.50 3 3 - 5,000" in strange  # of a server that is not ours the batch is not known
    alone = words(run_of(cold, scenario=scenario))
    assert "2.50 at most; nobody else waited or was spoken to meanwhile, so it cost nobody anything." in alone
    # T less 100 is 10,269: 103.7 steps of 99, beside one who speaks, and two more
    small = scenario | {"server": {"batch": 100, "ubatch": 100}}
    assert "repeat 1 2.50 3 3 106 5,000" in words(run_of(speaks, waits, cold, scenario=small, embedded=True))
    slow = msgspec.structs.replace(speaks, playout=playout(9.5, 12.0, rate=3.25))
    assert "(a voice takes 3.25)" in words(run_of(slow, cold, scenario=scenario))
    many = [msgspec.structs.replace(cold, caller=i, sent_s=9.5 - i) for i in range(14)]
    text = words(run_of(speaks, *many, scenario=scenario))
    assert text.count(", repeat 1 ") == 12
    assert "joiner 13, repeat 1 15.5" in text
    assert "joiner 1, repeat 1" not in text
    assert "these are the 12 slowest of 14 cold joins" in text


def test_requests_per_turn() -> None:
    rows = [
        row(turn=1, outcome="superseded"), row(turn=1, attempt=1), row(turn=2, outcome="error", error="boom"),
        row(turn=2, attempt=1, misses=1), row(turn=2, step=1), row(turn=3, outcome="empty"),
        *(row(turn=i) for i in range(4, 34)),
    ]  # fmt: skip
    # 36 requests for 33 turns
    assert (
        "requests per turn, warm: 1.09, 36 requests for 33 turns: 1 request sent too early and taken back, 1 retry, 1 "
        "tool step, 1 empty reply, 1 tool call without a recorded result" in words(run_of(*rows))
    )
    assert "requests per turn, warm: 1.00, 2 requests for 2 turns: 1 empty reply" in words(
        run_of(row(), row(turn=6, outcome="empty"))
    )
    assert "requests per turn" not in words(run_of(row(), row(turn=6)))
    assert "requests per turn, warm: 2.00, 2 requests for 1 turn: 1 turn without a reply" in words(
        run_of(row(), row(turn=6, outcome="error"))
    )


def test_where_everybody_is_cold_nobody_is_joined() -> None:
    scenario = SPEECH | {"callers": {"synthetic": {"cache": "cold"}}}
    cold = [
        reply(9.5, 2.5, 2.6, group="synthetic", kind="cold", prompt_n=256, prompt_ms=2000.0, caller=i) for i in range(3)
    ]
    text = words(run_of(*cold, scenario=scenario))
    assert "cold join" not in text
    assert (
        "3 synthetic callers wait 2.50 s for the first token at p50, 2.50 at most; each reply then runs at 10.0 "
        "tokens/s" in text
    )


OUTAGE = {"event": "outage", "point": "p", "repeat": 1, "since_s": 10.1, "said": "cannot connect", "t_s": 10.2}
LOADING = {"event": "phase", "point": "p", "repeat": 1, "phase": "all callers", "t_s": 9.0}


def test_an_outage_without_an_end_lasts_to_the_loads_end_or_until_now() -> None:
    run = run_of(*BOTH, *LOAD, events=(LOADING, OUTAGE))
    assert "no token came from 10.1 s to the end of the load" in words(run)
    assert "From some time on nobody was given a token, to the load's end; see above." in words(run)
    live = msgspec.structs.replace(run, live=True)
    assert "no token came from 10.1 s until now" in words(live)
    assert "From some time on nobody was given a token, until now; see above." in words(live)
    # of a load that is over, in a run that goes on
    later = LOADING | {"phase": "one caller, after", "t_s": 11.0}
    over = msgspec.structs.replace(run_of(*BOTH, *LOAD, events=(LOADING, OUTAGE, later)), live=True)
    assert "no token came from 10.1 s to the end of the load" in words(over)


def test_a_time_when_one_caller_alone_had_asked_is_no_time_when_nobody_had() -> None:
    """All of the outage lies in a pause, in which one caller waits."""
    gone = alone(0, "during", 0.01, sent_s=20.0, first_token_s=None, end_s=26.0, outcome="timeout", call=1)
    over = OUTAGE | {"event": "outage over", "since_s": 20.0, "seconds": 6.0, "failed": 0}
    text = words(run_of(*BOTH, *LOAD, gone, events=(OUTAGE | {"since_s": 20.0}, over)))
    assert "no token came from 20.0 s for 6.00 s: cannot connect" in text


def test_calls_that_a_run_broke_off_are_not_said_to_be_stopped_by_hand() -> None:
    call = {
        "event": "call",
        "point": "p",
        "repeat": 1,
        "group": "warm",
        "caller": 0,
        "call": 0,
        "planned": 9,
        "said": 2,
    }
    text = words(run_of(*BOTH, *LOAD, ended="stopped", scenario=SPEECH, events=(call | {"why": "stopped"},)))
    assert "calls: 1 broken off with the run; 2 of 2 turns answered" in text
