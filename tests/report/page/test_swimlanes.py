"""Swimlanes as data, of rows made by hand."""

from typing import Any

import pytest

from loadsim.report.lanes import LOOKS
from loadsim.report.page.parts import Lanes, Scene, Section, Shown
from loadsim.report.page.scenes import MOST_SPANS, WINDOW_S, badness, choose, extent
from loadsim.report.page.swimlanes import MEANS, NUMBER, ORDER, note, swimlanes
from loadsim.report.page.voice import voice
from loadsim.report.point import points
from loadsim.report.setting import Setting
from loadsim.results.read import Run
from loadsim.stats.lane import State
from loadsim.types import RequestRow
from tests.report.runs import BOTH, SPEECH, run_of
from tests.stats.rows import alone, cut, playout, reply, spoke

SCENARIO: dict[str, Any] = SPEECH | {"callers": {"warm": {}, "joiner": {"cache": "cold"}}}
NAMES = {number: name for name, number in NUMBER.items()}


def section(run: Run) -> Section | None:
    return swimlanes([Shown(label="", run=run, points=points(run))])


def lanes_of(run: Run) -> Lanes:
    found = section(run)
    assert found is not None
    (part,) = found.parts
    assert isinstance(part, Lanes)
    return part


def named(scene: Scene, lane: str) -> list[tuple[float, float, str]]:
    (found,) = (each for each in scene.lanes if each.name == lane)
    return [(start, end, NAMES[state]) for start, end, state, _ in found.spans]


def test_a_spoken_turn_is_split_where_the_server_tells_its_time() -> None:
    # said from 0 to 2 s, asked at 3, headers at 3, first token at 5 of which the prompt took 1.5 s
    row = reply(
        3.0, 2.0, 5.0, headers_s=3.0, prompt_ms=1500.0, spoke=spoke(0.0, 2.0), playout=playout(6.0, 12.0)
    )  # fmt: skip
    (scene,) = lanes_of(run_of(row, scenario=SCENARIO)).scenes
    assert (scene.label, scene.seconds, scene.start) == ("p, repeat 1", 12.0, 0.0)
    assert named(scene, "warm 0") == [
        (0.0, 2.0, "caller"), (2.0, 3.0, "pause"), (3.0, 3.5, "wait"), (3.5, 5.0, "prefill"), (5.0, 6.0, "comes"),
        (6.0, 8.0, "speaks"), (8.0, 12.0, "buffer"),
    ]  # fmt: skip


def test_what_the_server_does_not_tell_is_a_wait() -> None:
    (scene,) = lanes_of(run_of(reply(3.0, 2.0, 5.0, prompt_ms=None), scenario=SCENARIO)).scenes
    assert named(scene, "warm 0") == [(0.0, 2.0, "wait"), (2.0, 5.0, "speaks")]
    # a time longer than the whole wait leaves no wait before it
    (scene,) = lanes_of(run_of(reply(3.0, 2.0, 5.0, prompt_ms=9000.0), scenario=SCENARIO)).scenes
    assert named(scene, "warm 0") == [(0.0, 2.0, "prefill"), (2.0, 5.0, "speaks")]


def test_a_cold_prompt_is_a_stripe_through_all_lanes() -> None:
    joiner = reply(2.0, 8.0, 10.0, group="joiner", kind="cold", headers_s=4.0, prompt_ms=6500.0)
    (scene,) = lanes_of(run_of(joiner, reply(0.0, 1.0, 2.0), scenario=SCENARIO)).scenes
    assert [lane.name for lane in scene.lanes] == ["warm 0", "joiner 0"]
    assert named(scene, "joiner 0")[0] == (2.0, 10.0, "join")
    (stripe,) = scene.stripes
    assert (stripe.label, stripe.role) == ("joiner 0: cold prompt evaluated", "cold")
    assert (stripe.start, stripe.end) == (4.0, 10.0)


def test_what_goes_wrong_is_there() -> None:
    rows = [
        reply(0.0, outcome="superseded", end_s=1.0),
        reply(1.0, 1.0, 2.0, attempt=1, cut=cut(3.0, 0.5, 4), playout=playout(2.5, 3.2, tokens=1)),
        reply(4.0, outcome="error", end_s=5.0, error="boom", caller=1),
        reply(4.0, outcome="cut", abandoned=True, end_s=6.0, caller=2),
    ]
    (scene,) = lanes_of(run_of(*rows, scenario=SCENARIO)).scenes
    assert (0.0, 1.0, "superseded") in named(scene, "warm 0")
    assert (3.0, 3.0, "barge_in") in named(scene, "warm 0")
    assert (5.0, 5.0, "error") in named(scene, "warm 1")
    assert (6.0, 6.0, "hung_up") in named(scene, "warm 2")


def test_silences_stand_where_they_were() -> None:
    # The voice of 2 tokens/s begins at 1.5 s; the third and the fifth token come too late, by 0.3 and 0.4 s.
    heard = playout(1.5, 4.7, rate=2.0, tokens=5, underruns=2, silent_s=0.7, first_underrun_s=1.0)
    row = reply(0.0, 1.0, 1.2, 2.54, 2.6, 3.94, playout=heard, prompt_ms=None)
    (scene,) = lanes_of(run_of(row, scenario=SCENARIO)).scenes  # sound comes 0.26 s after its token
    assert [span for span in named(scene, "warm 0") if span[2] == "underrun"] == [
        (2.5, 2.8, "underrun"), (3.8, 4.2, "underrun")
    ]  # fmt: skip
    # where the row does not tell, all silence stands where the first was
    unclear = reply(0.0, 1.0, 1.2, 1.3, 1.4, 1.5, playout=heard)
    (scene,) = lanes_of(run_of(unclear, scenario=SCENARIO)).scenes
    assert [span for span in named(scene, "warm 0") if span[2] == "underrun"] == [(2.5, 3.2, "underrun")]


def test_silences_where_callers_time_runs_faster() -> None:
    # The same at ten times the pace: sound comes 0.026 s after its token, and is heard in a tenth of the time.
    heard = playout(1.5, 3.94, rate=2.0, tokens=5, underruns=1, silent_s=0.3, first_underrun_s=1.0)
    row = reply(0.0, 1.0, 1.2, 2.774, 2.8, 2.9, playout=heard, prompt_ms=None)
    fast = SCENARIO | {"pace": SPEECH["pace"] | {"time_scale": 10.0}}
    (scene,) = lanes_of(run_of(row, scenario=fast)).scenes
    assert [span for span in named(scene, "warm 0") if span[2] == "underrun"] == [(1.6, 1.63, "underrun")]
    told = voice(row, Setting(fast, False))
    assert told is not None
    assert told.silences == [pytest.approx((2.5, 2.8))]


def test_words_are_the_terminals() -> None:
    assert set(ORDER) == {state.name.lower() for state in State if state} | {"prefill"}
    for state, (_, _, means) in LOOKS.items():
        assert MEANS[state.name.lower()] == means
    # what went wrong is drawn over what is usual
    assert ORDER.index("join") < min(ORDER.index(name) for name in ("error", "hung_up", "underrun", "barge_in"))
    assert ORDER.index("wait") + 1 == ORDER.index("prefill") < ORDER.index("join")


def test_a_note_tells_the_request() -> None:
    row = reply(1.0, 0.095, 1.0, 2.0, turn=74, cache_n=10_369, prompt_n=60)
    assert note(row, "Hello,\n  how are you?") == (
        "turn 74; first token after 95.0 ms; 10,369 prompt tokens found, 60 evaluated (extension); 3 tokens; "
        "“Hello, how are you?”"
    )
    bare = reply(1.0, outcome="error", error="it\nbroke", step=1, attempt=2, kind=None, prompt_n=None, cache_n=None)
    assert note(bare) == "turn 5, step 1, attempt 3; no token came; it broke"
    assert note(reply(1.0, outcome="superseded", kind="full_hit", cache_n=9, prompt_n=None)) == (
        "turn 5; taken back; 9 prompt tokens found, - evaluated (full hit)"
    )
    assert note(reply(1.0, 1.0, cut=cut(2.0, 1.0, 1)), "x" * 99).endswith(f"; cut: 1 token unheard; “{'x' * 59}…”")


def test_texts_stand_with_their_own_rows() -> None:
    run = run_of(*BOTH, reply(0.0, 1.0, 2.0), reply(4.0, 1.0, 2.0, turn=6), scenario=SCENARIO)
    run.texts[len(BOTH) + 1] = "<script>alert(1)</script>"
    (scene,) = lanes_of(run).scenes
    first, second = scene.lanes[0].notes
    assert "“" not in first
    assert second.endswith("“<script>alert(1)</script>”")


def test_one_caller_alone_within_a_load_has_a_lane() -> None:
    during = alone(0, "during", 0.01)
    outside = alone(1, "before", 0.01)
    pause = {
        "event": "pause", "point": "p", "repeat": 1, "number": 1, "shut_s": 9.0, "quiet_s": 9.5, "open_s": 11.0,
        "why": None,
    }  # fmt: skip
    (scene,) = lanes_of(run_of(during, outside, reply(8.0, 1.0, 2.0), scenario=SCENARIO, events=(pause,))).scenes
    assert [lane.name for lane in scene.lanes] == ["warm 0", "one caller alone"]
    assert len(scene.lanes[1].notes) == 1
    assert [(s.label, s.start, s.end) for s in scene.stripes] == [("pause for one caller alone", 1.0, 2.3)]


def test_times_without_a_token_are_stripes() -> None:
    outage = {"event": "outage", "point": "p", "repeat": 1, "since_s": 1.0, "said": "refused"}
    (scene,) = lanes_of(run_of(reply(0.0, 1.0, 5.0), scenario=SCENARIO, events=(outage,))).scenes
    assert [(s.role, s.start, s.end) for s in scene.stripes] == [("bad", 1.0, 5.0)]  # to the load's end


def test_each_point_and_repeat_is_a_scene() -> None:
    rows = [reply(float(r), 1.0, 2.0, repeat=r, point=p) for p in "pq" for r in (1, 2)]
    found = section(run_of(*rows, scenario=SCENARIO))
    assert found is not None
    (part,) = found.parts
    assert isinstance(part, Lanes)
    assert [scene.label for scene in part.scenes] == ["p, repeat 1", "p, repeat 2", "q, repeat 1", "q, repeat 2"]
    assert not any("not drawn" in line for line in found.words)


def test_the_sentence_tells_the_worst_point() -> None:
    rows = [reply(0.0, 2.0, 3.0), reply(0.0, 1.0, 2.0, point="q"), reply(9.0, outcome="error", end_s=9.1, point="q")]
    assert lanes_of(run_of(*rows)).said == (
        "The worst is q: the longest wait for a first token is 1,000 ms, no reply falls silent and 1 request failed or "
        "had its caller hang up."
    )
    dry = reply(0.0, 1.0, 2.0, playout=playout(1.0, 2.0, silent_s=0.5))
    assert lanes_of(run_of(dry)).said == (
        "The longest wait for a first token is 1,000 ms and replies fall silent for 0.500 s in all."
    )


def test_a_run_without_a_load_has_no_lanes() -> None:
    assert section(run_of(*BOTH)) is None
    assert section(run_of(*BOTH, reply(1.0, sent_s=None, end_s=None, outcome="error"))) is None


def test_badness_orders_by_losses_then_silence_then_waits() -> None:
    lost = badness([reply(0.0, outcome="error", end_s=0.1), reply(0.0, abandoned=True, outcome="cut", end_s=7.0)])
    dry = badness([reply(0.0, 1.0, playout=playout(1.0, 2.0, silent_s=0.5))])
    late = badness([reply(0.0, 4.0), reply(0.0, 9.0, outcome="superseded")])
    assert lost == (2, 0.0, 7.0)
    assert dry == (0, 0.5, 1.0)
    assert late == (0, 0.0, 4.0)
    assert lost > dry > late


def test_an_extent_goes_from_the_first_word_to_the_last() -> None:
    assert extent(reply(3.0, 2.0, 5.0, spoke=spoke(0.0, 2.0), playout=playout(6.0, 12.0))) == (0.0, 12.0)
    assert extent(reply(3.0, 2.0, 5.0)) == (3.0, 8.0)
    assert extent(reply(3.0, sent_s=None)) is None


def placed(rows: list[RequestRow]) -> list[tuple[int, RequestRow]]:
    return list(enumerate(rows))


def test_of_many_repeats_the_first_the_worst_and_the_last_stay() -> None:
    rows = [reply(100.0 * r, 1.0 + (r == 4), 3.0, repeat=r) for r in range(1, 8)]
    # 5 spans a row at the most: all are 35, three are 15
    assert len(choose(placed(rows), 35).cutouts) == 7
    found = choose(placed(rows), 34)
    assert [(cutout.repeat, cutout.why) for cutout in found.cutouts] == [
        (1, "the first"), (4, "the worst"), (7, "the last")
    ]  # fmt: skip
    assert found.left_out == "repeats 2-3, 5-6"
    twice = choose(placed([reply(0.0, 5.0, repeat=1), *(reply(0.0, 1.0, repeat=r) for r in range(2, 9))]), 34)
    assert [cutout.why for cutout in twice.cutouts] == ["the first and the worst", "the last"]


def test_of_a_long_load_the_worst_minutes_stay_in_their_order() -> None:
    waits = {30: 1.0, 90: 4.0, 150: 2.0, 210: 8.0, 270: 1.5}
    rows = [reply(0.0, 0.1), *(reply(float(at), wait, wait + 1, caller=1) for at, wait in waits.items())]
    found = choose(placed(rows), 14)  # 5 spans a row: two of the minutes
    assert [(c.start, c.end, c.why) for c in found.cutouts] == [
        (60.0, 120.0, "0:01:00 to 0:02:00"), (180.0, 240.0, "0:03:00 to 0:04:00")
    ]  # fmt: skip
    assert found.left_out == "all but the 2 worst minutes of 5 of repeat 1"
    assert [row.caller for _, row in found.cutouts[0].rows] == [1]


def test_a_turn_over_a_minutes_edge_is_in_both(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [reply(0.0, 0.1), reply(58.0, 4.0, 5.0, turn=6), reply(125.0, 0.1, 0.2, turn=7)]
    found = choose(placed(rows), 14)
    assert [[row.turn for _, row in cutout.rows] for cutout in found.cutouts] == [[5, 6]]
    more = [*rows, reply(70.0, 3.0, 3.1, turn=8), reply(310.0, 0.1, turn=9)]
    wider = choose(placed(more), 24)
    assert [[row.turn for _, row in cutout.rows] for cutout in wider.cutouts] == [[5, 6], [6, 8]]
    # drawn, its spans end with the minute
    monkeypatch.setattr("loadsim.report.page.swimlanes.MOST_SPANS", 50)
    big = [reply(58.0, 4.0, 5.0, turn=6, prompt_ms=None), *(reply(0.0, 0.1, caller=i) for i in range(9))]
    part = lanes_of(run_of(*big, reply(500.0, 0.1), scenario=SCENARIO))
    assert (part.scenes[0].start, part.scenes[0].seconds) == (0.0, WINDOW_S)
    assert named(part.scenes[0], "warm 0")[-1] == (58.0, 60.0, "wait")


def test_one_minute_of_too_many_callers_keeps_the_worst() -> None:
    rows = [reply(0.0, 1.0 + i, caller=i) for i in range(10)]
    found = choose(placed(rows), 17)
    (cutout,) = found.cutouts
    assert sorted(row.caller for _, row in cutout.rows) == [7, 8, 9]
    assert cutout.hidden == 7
    assert found.left_out == "7 callers"


@pytest.mark.parametrize("n", [10, 3000])
def test_a_page_never_holds_more_spans_than_said(n: int) -> None:
    rows = [
        reply(t, 1.0, 2.0, caller=int(t) % 12, spoke=spoke(t - 3, t - 1), playout=playout(t + 1.5, t + 5))
        for t in (7.0 * i for i in range(1, n))
    ]
    found = section(run_of(*rows, scenario=SCENARIO))
    assert found is not None
    (part,) = found.parts
    assert isinstance(part, Lanes)
    drawn = sum(len(lane.spans) for scene in part.scenes for lane in scene.lanes)
    assert 0 < drawn <= MOST_SPANS
    assert any("p: not drawn: all but the" in line for line in found.words) == (n == 3000)
