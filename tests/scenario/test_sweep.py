from pathlib import Path

import msgspec
import pytest

from loadsim.scenario.load import load
from loadsim.scenario.model import BargeIn, Group, Pace, ReplyLength, Scenario
from loadsim.scenario.sweep import in_order, points, values
from loadsim.scenario.units import Duration, Start, VoiceRate
from loadsim.types import BadInput

BASE = """\
recording: a.json
callers:
  warm:
    count: 2
  cold:
    count: 1
    cache: cold
"""
CAN = (
    "keys that can be swept: callers, probe, server, fit, baseline, reply, pace, voice, barge_in, speculation, "
    "retry, patience, history, duration, phases, window, abort, request, timeout"
)
SETTINGS = (
    "slots, context, batch, ubatch, checkpoints, checkpoint_min_step, cache_ram, cache_idle_slots, kv_unified, "
    "cache_type_k, cache_type_v, similarity, threads"
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def scenario(sweep: str = "") -> Scenario:
    Path("x.yaml").write_text(BASE + sweep)
    return load("x.yaml")


def error(sweep: str) -> str:
    with pytest.raises(BadInput) as raised:
        scenario(sweep)
    return str(raised.value)


def test_without_a_sweep_the_scenario_is_the_one_point() -> None:
    assert points(scenario()) == [("2 warm + 1 cold", scenario())]


def test_each_value_makes_a_point() -> None:
    base = scenario()
    swept = scenario("sweep:\n  callers.warm.slots: [neighbours, server]\n")
    found = points(swept)
    assert [label for label, _ in found] == ["slots=neighbours", "slots=server"]
    assert found[0][1] == base
    assert found[1][1].callers["warm"] == Group(count=2, slots="server")
    assert found[1][1].callers["cold"] == base.callers["cold"]
    assert [point.sweep for _, point in found] == [{}, {}]


def test_two_keys_make_a_grid_with_the_first_one_outermost() -> None:
    found = points(scenario("sweep:\n  callers.warm.every: [6 s, 800 ms]\n  reply: [recorded, {free: 120}]\n"))
    assert [(label, point.callers["warm"].every, point.reply) for label, point in found] == [
        ("every=6 s, reply=recorded", Duration(6), "recorded"),
        ("every=6 s, reply={free: 120}", Duration(6), ReplyLength(free=120)),
        ("every=800 ms, reply=recorded", Duration(0.8), "recorded"),
        ("every=800 ms, reply={free: 120}", Duration(0.8), ReplyLength(free=120)),
    ]


def test_a_zip_takes_the_values_side_by_side() -> None:
    lists = "sweep_by: zip\nsweep:\n  server.batch: [512, 512, 2048]\n  server.ubatch: [128, 512, 512]\n"
    assert [(label, point.server.batch, point.server.ubatch) for label, point in points(scenario(lists))] == [
        ("batch=512, ubatch=128", 512, 128),
        ("batch=512, ubatch=512", 512, 512),
        ("batch=2048, ubatch=512", 2048, 512),
    ]


def test_a_random_order_is_the_seeds_and_has_every_point_once() -> None:
    def order(more: str) -> list[str]:
        swept = scenario(f"{more}\nsweep:\n  request.top_k: {list(range(8))}\n")
        return [label for label, _ in in_order(points(swept), swept)]

    filed = [f"top_k={k}" for k in range(8)]
    assert order("order: file") == filed
    assert order("order: random") == order("order: random") != filed
    assert sorted(order("order: random")) == filed
    assert order("order: random\nseed: 2") != order("order: random")


def test_labels_tell_keys_of_two_groups_apart() -> None:
    found = points(scenario("sweep: {callers.warm.count: [1, 2], callers.cold.count: [3], request.top_k: [40]}"))
    assert [label for label, _ in found] == [
        "warm.count=1, cold.count=3, top_k=40",
        "warm.count=2, cold.count=3, top_k=40",
    ]


def test_values_may_be_of_any_kind() -> None:
    values = {
        "callers.warm.turns: [40, 40-42, all]": ["40", "40-42", "all"],
        "fit: [null, 2000]": [None, 2000],
        "request.stop: [[a, b], [c]]": [["a", "b"], ["c"]],
        "baseline.replies: [0, 3]": [0, 3],
        "timeout.silence: [5 s, 1 min]": [5.0, 60.0],
        "pace.by: [at_once, speech]": ["at_once", "speech"],
        "voice.rate: [4.5 tokens/s, 150 wpm]": [VoiceRate(4.5, "tokens/s"), VoiceRate(150, "words/min")],
        "barge_in.heard: [generated, spoken_words]": ["generated", "spoken_words"],
        "speculation.tries: [1, 2]": [1, 2],
        "retry: [none, livekit]": ["none", "livekit"],
        "patience: [null, 5 s]": [None, 5.0],
        "history: [replay, conversation]": ["replay", "conversation"],
        "duration: [null, 1 min]": [None, 60.0],
        "callers.warm.start: [0, every 2 s]": [Start("together"), Start("every", 2)],
    }
    for line, wanted in values.items():
        got = []
        for _, point in points(scenario(f"sweep:\n  {line}\n")):
            value = msgspec.structs.asdict(point)
            for key in line.partition(":")[0].split("."):
                value = value[key] if isinstance(value, dict) else getattr(value, key)
            got.append(value)
        assert got == wanted


def test_a_short_form_may_be_swept_and_swept_into() -> None:
    found = points(scenario("pace: speech\nsweep:\n  barge_in: [none, drawn]\n  pace.time_scale: [1, 20]\n"))
    assert [(label, point.barge_in, point.pace) for label, point in found] == [
        ("barge_in=none, time_scale=1", BargeIn(), Pace(by="speech")),
        ("barge_in=none, time_scale=20", BargeIn(), Pace(by="speech", time_scale=20)),
        ("barge_in=drawn, time_scale=1", BargeIn(by="drawn"), Pace(by="speech")),
        ("barge_in=drawn, time_scale=20", BargeIn(by="drawn"), Pace(by="speech", time_scale=20)),
    ]


def test_a_swept_short_form_takes_the_place_of_the_files() -> None:
    found = points(scenario("barge_in: {by: drawn, probability: 0.5}\nsweep: {barge_in: [none, recorded]}\n"))
    assert [point.barge_in for _, point in found] == [BargeIn(), BargeIn(by="recorded")]


@pytest.mark.parametrize(
    ("sweep", "wanted"),
    [
        (
            "sweep:\n  callers.warm.slots: [neighbours, neighbour]\n",
            "x.yaml:9: sweep: callers.warm.slots: expected one of high, low, neighbours, server, spread; "
            "got 'neighbour'",
        ),
        (
            "sweep:\n  pace: [at_once, talk]\n",
            "x.yaml:9: sweep: pace: expected one of at_once, speech, "
            "or keys (by, endpointing, gap, time_scale, times, words_per_s); got 'talk'",
        ),
        (
            "sweep:\n  pace: [speech, at_once]\n  pace.gap: [1 s]\n",
            "x.yaml:10: sweep.pace.gap: sets the same as sweep.pace",
        ),
        (
            "pace: speech\nsweep:\n  callers.warm.every: [0, 6 s]\n",
            "x.yaml:10: sweep: callers.warm.every: not used where pace is speech, which times the turns; leave it out",
        ),
        (
            "sweep:\n  callers.warm.count:\n    - 1\n    - 0\n",
            "x.yaml:11: sweep: callers.warm.count: expected a whole number, 1 or more; got 0",
        ),
        (
            "sweep:\n  callers.warm.count: [1, 16]\n",
            "x.yaml:9: sweep: callers.warm.count: 17 callers need 17 slots; the server has 12: "
            "lower callers.warm.count or callers.cold.count or raise server.slots",
        ),
        (
            "sweep:\n  callers.wram.count: [1, 2]\n",
            "x.yaml:9: sweep.callers.wram.count: no group 'wram'; did you mean warm? (groups: warm, cold)",
        ),
        (
            "sweep:\n  callers.warm.cuont: [1, 2]\n",
            "x.yaml:9: sweep: callers.warm.cuont: unknown key; did you mean count? "
            "(allowed: again, cache, count, every, recordings, slots, start, turns)",
        ),
        (
            "server: {url: 'http://gpu'}\nsweep:\n  server.slots: [4, 8]\n",
            "x.yaml:10: sweep.server.slots: a server key needs a restart, "
            "and loadsim did not start the server at http://gpu",
        ),
        (
            "sweep:\n  server.url: ['http://a', 'http://b']\n",
            f"x.yaml:9: sweep.server.url: one server for all points; sweep its settings: {SETTINGS}",
        ),
        (
            "sweep:\n  server: [{slots: 4}]\n",
            f"x.yaml:9: sweep.server: one server for all points; sweep its settings: {SETTINGS}",
        ),
        (
            "sweep:\n  server.ubtach: [4]\n",
            "x.yaml:9: sweep: server.ubtach: unknown key; did you mean ubatch? (allowed: batch, cache_idle_slots, "
            "cache_ram, cache_type_k, cache_type_v, checkpoint_min_step, checkpoints, context, kv_unified, "
            "launch, restart, similarity, slots, threads, ubatch, url)",
        ),
        (
            "sweep:\n  server.slots: [12, 2]\n",
            "x.yaml:4: callers.warm.count: 3 callers need 3 slots; the server has 2: "
            "lower callers.warm.count or callers.cold.count or raise server.slots",
        ),
        (
            "sweep_by: zip\nsweep:\n  server.ubatch: [1, 2]\n  fit: [1, 2, 3]\n",
            "x.yaml:9: sweep: sweep_by: zip needs as many values of each key; server.ubatch has 2, fit has 3",
        ),
        (
            "sweep_by: zip\nsweep:\n  fit: [1, 2, 1]\n  request.top_k: [4, 4, 4]\n",
            "x.yaml:9: sweep: fit=1, top_k=4 stands twice; repeat measures a point more than once",
        ),
        ("sweep_by: pairs\n", "x.yaml:8: sweep_by: expected one of grid, zip; got 'pairs'"),
        ("sweep:\n  order: [file]\n", f"x.yaml:9: sweep.order: the points have one order; {CAN}"),
        (
            "sweep:\n  recording: [a.json]\n",
            f"x.yaml:9: sweep.recording: one recording for all points, so that they compare; {CAN}",
        ),
        ("sweep:\n  repeat: [1]\n", f"x.yaml:9: sweep.repeat: every point is measured equally often; {CAN}"),
        ("sweep:\n  seed: [1]\n", f"x.yaml:9: sweep.seed: every point draws in the same order; {CAN}"),
        ("sweep:\n  sweep.fit: [1]\n", f"x.yaml:9: sweep.sweep.fit: a sweep has no sweep in it; {CAN}"),
        ("sweep:\n  requst.a: [1]\n", f"x.yaml:9: sweep.requst.a: no such key; did you mean request?; {CAN}"),
        ("sweep:\n  fit: 4\n", "x.yaml:9: sweep.fit: expected a list; got 4"),
        ("sweep:\n  fit: []\n", "x.yaml:9: sweep.fit: expected a list; got an empty list; give it one value or more"),
        (
            "sweep:\n  fit: [1, 2, 1]\n",
            "x.yaml:9: sweep.fit: 1 stands twice; repeat measures a point more than once",
        ),
        (
            "sweep:\n  callers.warm: [{count: 1}]\n  callers.warm.count: [1, 2]\n",
            "x.yaml:10: sweep.callers.warm.count: sets the same as sweep.callers.warm",
        ),
        (
            f"sweep:\n  fit: {list(range(1, 41))}\n  request.top_k: {list(range(40))}\n",
            "x.yaml:8: sweep: 1,600 load points; the most is 1,000",
        ),
        (
            "sweep:\n  request.api_key: [sk-1]\n",
            "x.yaml:9: sweep: request.api_key: no secrets in a scenario; give the key as LOADSIM_API_KEY",
        ),
    ],
)
def test_a_bad_sweep_is_told_when_loaded(sweep: str, wanted: str) -> None:
    assert error(sweep) == wanted


def test_a_value_that_the_sweep_replaces_need_not_fit() -> None:
    assert [label for label, _ in points(scenario("server: {slots: 2}\nsweep: {callers.warm.count: [1]}"))] == [
        "count=1"
    ]


def test_a_scenario_made_in_code_is_checked_too() -> None:
    made = Scenario(
        recording="a.json", callers={"warm": Group(count=2)}, sweep={"callers.warm.turns": ["last", "first"]}
    )
    with pytest.raises(BadInput) as raised:
        points(made)
    assert str(raised.value) == (
        "scenario: sweep: callers.warm.turns: "
        "expected last, last 3, all, a turn such as 40, or turns such as 40-42; got 'first'"
    )


def test_each_points_values_are_told_by_its_label() -> None:
    assert values(scenario()) == {"2 warm + 1 cold": {}}
    swept = scenario("sweep: {callers.warm.count: [1, 2], reply: [recorded, {free: 120}]}")
    assert list(values(swept).items()) == [
        ("count=1, reply=recorded", {"callers.warm.count": 1, "reply": "recorded"}),
        ("count=1, reply={free: 120}", {"callers.warm.count": 1, "reply": {"free": 120}}),
        ("count=2, reply=recorded", {"callers.warm.count": 2, "reply": "recorded"}),
        ("count=2, reply={free: 120}", {"callers.warm.count": 2, "reply": {"free": 120}}),
    ]
    zipped = scenario("sweep_by: zip\nsweep: {request.top_k: [1, 2], request.top_p: [0.5, 0.5]}")
    assert list(values(zipped).values()) == [{"request.top_k": k, "request.top_p": 0.5} for k in (1, 2)]
