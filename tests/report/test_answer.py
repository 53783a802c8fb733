"""The answer in a sentence, and what must be known before believing it."""

from loadsim.report.table import holds
from loadsim.types import RequestRow
from tests.report.runs import LOAD, SPEECH, run_of, words
from tests.stats.rows import alone, call, reply, row


def test_one_late_repeat_of_many_is_not_the_client() -> None:
    late = [{"event": "client", "point": "p", "repeat": r, "lag_p99_ms": lag} for r, lag in ((2, 90.0), (3, 2.0))]
    text = words(run_of(*LOAD, events=tuple(late)))
    assert "bottleneck" not in text
    assert "event loop 2.00 ms late at p99 (90.0 in the worst repeat)" in text
    late[1]["lag_p99_ms"] = 40.0
    text = words(run_of(*LOAD, events=tuple(late)))
    assert "at p: its event loop came 40.0 ms late at p99, 90.0 in the worst repeat. Its" in text


def test_a_core_that_is_busy_in_most_repeats_is_the_client() -> None:
    busy = [{"event": "client", "point": "p", "repeat": r, "cpu_share": 0.97} for r in (2, 3)]
    assert "bottleneck" not in words(run_of(*LOAD, events=(busy[0], {**busy[1], "cpu_share": 0.2})))
    assert "it took 97.0 % of a core" in words(run_of(*LOAD, events=tuple(busy)))


def test_half_a_line_is_told() -> None:
    assert "1 file ends in half a line, which is left out." in words(run_of(*LOAD, torn=1))
    assert "2 files end in half a line, which is left out." in words(run_of(*LOAD, torn=2))
    assert "half a line" not in words(run_of(*LOAD))


def test_errors_of_turns_are_told_as_such() -> None:
    text = words(run_of(*LOAD, events=(call(10, 10, "ended"), call(10, 8, "failed"))))
    assert "no answer: 10.0 % of the load's turns failed." in text
    assert "calls: 1 to the end and 1 failed; 18 of 20 turns answered" in text
    assert not holds(run_of(*LOAD, events=(call(10, 10, "ended"), call(10, 8, "failed"))))
    calm = run_of(*LOAD, row(caller=12, outcome="error", error="boom"), events=(call(10, 10, "ended"),))
    assert holds(calm)
    assert "calls:" not in words(calm)
    assert "calls: 1 to the end; 10 of 10 turns answered" in words(
        run_of(*LOAD, scenario=SPEECH, events=(call(10, 10, "ended"),))
    )


def test_who_hung_up_stands_beside_the_first_tokens_and_in_the_answer() -> None:
    gone = [reply(10.0, outcome="cut", abandoned=True, end_s=18.0, caller=i) for i in (12, 13)]
    text = words(run_of(*LOAD, *gone))
    assert "warm: in 2 of 26 calls the caller hung up, after 8.00 s at p50; their wait is in none of these" in text
    assert text.index("in 2 of 26 calls the caller hung up, after") < text.index("gap, ms")
    assert "voice's 4.5. In 2 of 26 calls of warm the caller hung up, and is in none of these figures." in text
    assert "hung up" not in words(run_of(*LOAD))
    text = words(run_of(row(), *gone))
    assert "(1 of 3 warm). In 2 of 3 calls of warm the caller hung up" in text


def test_time_that_runs_faster_is_no_real_load() -> None:
    fast = SPEECH | {"pace": SPEECH["pace"] | {"time_scale": 20.0}}
    said = "This is not real load: time runs 20 times faster."
    assert said in words(run_of(*LOAD, scenario=fast))
    assert said in words(run_of(*LOAD, row(outcome="error"), row(outcome="error"), scenario=fast))  # no answer either
    assert "not real load" not in words(run_of(*LOAD, scenario=SPEECH))
    swept = SPEECH | {"sweep": {"pace.time_scale": [1, 20]}}
    rows = [row(point=point) for point in ("time_scale=1", "time_scale=20")]
    text = words(run_of(*rows, scenario=swept, points={"time_scale=1": {}, "time_scale=20": {}}))
    assert text.count("not real load") == 1
    assert text.index("time_scale=20: 1 warm caller hears") < text.index("not real load")


def test_callers_whom_the_server_places() -> None:
    scenario = {"callers": {"warm": {"slots": "neighbours"}}, "sweep": {"callers.warm.slots": ["neighbours", "server"]}}
    rows = [
        row(point=point, caller=caller, turn=turn, sent_s=10.0 + turn, served=slot, prompt_n=500)
        for point in ("slots=neighbours", "slots=server")
        for caller, slots in enumerate([(0, 3), (0, 0)])
        for turn, slot in enumerate(slots)
    ]
    text = words(run_of(*rows, scenario=scenario, points={"slots=neighbours": {}, "slots=server": {}}))
    assert "slots=neighbours: 2 warm callers hear" in text
    # 4 x 500 evaluated, 4 x 60 new
    assert (
        "slots=server: The server placed 2 warm callers on 2 slots, with 1 move to another one, and evaluated 2,000 "
        "prompt tokens, 1,760 of them again. 2 warm callers hear" in text
    )
    scenario = {"callers": {"warm": {"slots": "server"}}}
    assert "evaluated 60 prompt tokens, none of them again." in words(run_of(row(), scenario=scenario))
    lost = row(cache_n=None, outcome="superseded", turn=4)
    text = words(run_of(row(), lost, scenario=scenario))
    assert "60 prompt tokens evaluated, the prompts grew by 60; 1 request ended before the server told theirs" in text
    assert "and evaluated 60 prompt tokens or more. 1 warm" in text
    assert "server told" not in words(run_of(row(), scenario=scenario))
    dumb = row(served=None, cache_n=None)
    assert "The server placed 1 warm caller, and does not tell where. 1 warm" in words(run_of(dumb, scenario=scenario))


def test_what_cold_joins_cost_is_told_by_the_worst_of_a_groups_own() -> None:
    def cold(group: str, repeat: int) -> RequestRow:
        return reply(9.5, 2.5, group=group, repeat=repeat, kind="cold", headers_s=10.0, prompt_ms=2000.0)

    rows = [
        cold("early", 1), cold("early", 2), cold("late", 3),
        # gaps of 1 and 2 s, at 1 and 0.5 tokens/s; waits of 4 and 3 s
        reply(9.0, 1.0, 2.0, 3.0), reply(9.0, 0.5, 2.5, 3.5, repeat=2), reply(9.0, 0.1, 9.0, repeat=3),
        reply(11.0, 4.0, caller=1), reply(11.0, 3.0, repeat=2, caller=1), reply(11.0, 9.0, repeat=3, caller=1),
    ]  # fmt: skip
    cache = {"cache": "cold"}
    text = words(run_of(*rows, scenario={"callers": {"early": cache, "late": cache, "warm": {}}}))
    assert (
        "1 early caller waits 2.50 s for the first token at p50, 2.50 at most; meanwhile others wait up to 4,000 ms "
        "for their first token, and replies stall for up to 2,000 ms, and the slowest gets 0.500 tokens/s, "
        "0.11 times a voice's 4.5." in text
    )
    assert "1 late caller waits 2.50 s" in text
    assert "2.50 at most; meanwhile others wait up to 9,000 ms" in text


def test_a_baseline_that_moved_gives_no_share() -> None:
    steady = words(run_of(alone(1, "before", 0.01), alone(1, "after", 0.012), row()))
    assert "% of one caller's rate" in steady
    moved = words(run_of(alone(1, "before", 0.01), alone(1, "after", 0.02), row()))
    assert "one caller's rate went from 100 before the load to 50.0 after it: no share can be told" in moved
    assert "% of one caller's rate" not in moved
