import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loadsim import shipped
from loadsim.scenario.load import dump, load, restore
from loadsim.scenario.model import (
    BargeIn,
    Baseline,
    Group,
    Pace,
    ReplyLength,
    Scenario,
    Server,
    Speculation,
    Timeouts,
    Voice,
)
from loadsim.scenario.units import Duration, Start, VoiceRate
from loadsim.types import BadInput

BASE = """\
# a comment, so that lines and keys differ
recording: a.json
callers:
  warm:
    count: 4
    cache: warm
server:
  slots: 8
"""
COUNT = "x.yaml:5: callers.warm.count: expected a whole number, 1 or more; got"
GROUP_KEYS = "(allowed: again, cache, count, every, recordings, slots, start, turns)"
PACE = "expected one of at_once, speech, or keys (by, endpointing, gap, time_scale, times, words_per_s); got"
BARGE_IN = "expected one of drawn, none, recorded, or keys (backchannels, by, false_interruption, heard, probability, "
BARGE_IN += "resume, trigger); got"
TIMES = "a time with its unit: 800 ms, 6 s, 5 min, 4 h"
START = f"x.yaml:6: callers.warm.start: expected together, call, at 5 s, every 10 s, poisson 10 s, or {TIMES}; got"
SLOTS = "expected one of high, low, neighbours, server, spread; got"
URLS = "http://host[:port][/path], https://... or embedded"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str | bytes, sets: tuple[str, ...] = (), url: str | None = None) -> Scenario:
    Path("x.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    return load("x.yaml", sets, url)


def error(text: str | bytes, sets: tuple[str, ...] = (), url: str | None = None) -> str:
    with pytest.raises(BadInput) as raised:
        read(text, sets, url)
    assert str(raised.value).isprintable()
    return str(raised.value)


def test_a_bare_file_has_the_defaults() -> None:
    assert read("recording: a.json\ncallers: {warm: {count: 4}}") == Scenario(
        recording="a.json",
        callers={"warm": Group(count=4, start=Start("together"), every=Duration(0), cache="warm", turns="last")},
        server=Server(url="embedded", slots=12, context=393216),
        baseline=Baseline(replies=6, slot=None),
        repeat=5,
        reply="recorded",
        timeout=Timeouts(loading=Duration(300), connect=Duration(10), first_token=Duration(120), silence=Duration(30)),
        pace=Pace(by="at_once", times="recorded", gap=None, words_per_s=None, endpointing=Duration(0.5), time_scale=1),
        voice=Voice(rate=VoiceRate(4.5, "tokens/s"), chunk="clause", tts=Duration(0.15), network=Duration(0.11)),
        barge_in=BargeIn(by="none", heard="spoken_words", backchannels="none", false_interruption=0),
        speculation=Speculation(by="none"),
        retry="none",
        patience=None,
        history="replay",
        duration=None,
    )


def test_every_key_is_read() -> None:
    text = """\
recording: calls/b.json
fit: 2_000
server: {url: "http://gpu-box:8080/v1", slots: 64, context: 16384, cache_idle_slots: true, similarity: 1, threads: 2}
callers:
  warm: {count: 4, start: 6 s, every: 1.5s, cache: cold, turns: 40-42, slots: spread}
  again: {count: 1, start: every 800 ms, again: true, recordings: [a, 1, calls/c.json], slots: high}
  1: {count: +1, start: together, every: 0, turns: 40}
baseline: {replies: 0, slot: 3}
repeat: 2
seed: -7
reply: {exactly: 120}
retry: pipecat
patience: 20 s
history: conversation
duration: 5 min
voice: {rate: 150 wpm, chunk: livekit, tts: 0, network: 50 ms}
barge_in: {by: drawn, probability: 0, trigger: 0.5 s, heard: retranscribed, backchannels: recorded,
  false_interruption: 1, resume: 1 s}
request: {temperature: 1e-3, stop: ["no", "1", x], seed: 1, cached: true, min_p: .5,
  grammar: null, logit_bias: {15: -1}}
timeout: {silence: 800 ms}
"""
    assert read(text) == Scenario(
        recording="calls/b.json",
        fit=2000,
        server=Server(
            url="http://gpu-box:8080/v1", slots=64, context=16384, cache_idle_slots=True, similarity=1.0, threads=2
        ),
        callers={
            "warm": Group(
                count=4, start=Start("spread", 6), every=Duration(1.5), cache="cold", turns="40-42", slots="spread"
            ),
            "again": Group(
                count=1, start=Start("every", 0.8), again=True, recordings=["a", "1", "calls/c.json"], slots="high"
            ),
            "1": Group(count=1, turns="40"),
        },
        baseline=Baseline(replies=0, slot=3),
        repeat=2,
        seed=-7,
        reply=ReplyLength(exactly=120),
        retry="pipecat",
        patience=Duration(20),
        history="conversation",
        duration=Duration(300),
        voice=Voice(rate=VoiceRate(150, "words/min"), chunk="livekit", tts=Duration(0), network=Duration(0.05)),
        barge_in=BargeIn(
            by="drawn",
            probability=0.0,
            trigger=Duration(0.5),
            heard="retranscribed",
            backchannels="recorded",
            false_interruption=1.0,
            resume=Duration(1),
        ),
        request={
            "temperature": 0.001,
            "stop": ["no", "1", "x"],
            "seed": 1,
            "cached": True,
            "min_p": 0.5,
            "grammar": None,
            "logit_bias": {"15": -1},
        },
        timeout=Timeouts(silence=Duration(0.8)),
    )


def test_every_key_of_speech_is_read() -> None:
    text = """\
pace: {by: speech, times: drawn, gap: 250 ms, words_per_s: 3, endpointing: 1 s, time_scale: 20}
speculation: {by: recorded, probability: 1, eager: 1 s, tries: 1}
callers: {warm: {count: 4, start: call, slots: low}}
recording: a
"""
    assert read(text) == Scenario(
        recording="a",
        callers={"warm": Group(count=4, start=Start("call"), slots="low")},
        pace=Pace(
            by="speech",
            times="drawn",
            gap=Duration(0.25),
            words_per_s=3.0,
            endpointing=Duration(1),
            time_scale=20.0,
        ),
        speculation=Speculation(by="recorded", probability=1.0, eager=Duration(1), tries=1),
    )


def test_one_word_may_stand_for_the_keys() -> None:
    short = read(f"{BASE}pace: speech\nbarge_in: none\nspeculation: 'recorded'\n")
    assert short == read(f"{BASE}pace: {{by: speech}}\nspeculation: {{by: recorded}}\n")
    assert (short.pace, short.speculation) == (Pace(by="speech"), Speculation(by="recorded"))
    assert read(BASE, ("pace=speech", "barge_in=drawn")) == read(f"{BASE}pace: speech\nbarge_in: drawn\n")


def test_a_set_keeps_the_word_that_the_file_says() -> None:
    spoken = f"{BASE}pace: speech\n"
    assert read(spoken, ("pace.time_scale=20",)).pace == Pace(by="speech", time_scale=20)
    assert read(BASE, ("pace=speech", "pace.gap=1 s", "pace.gap=2 s")).pace == Pace(by="speech", gap=Duration(2))
    assert read(spoken, ("pace.by=at_once",)).pace == Pace()
    assert read(spoken, ("pace.gap=1 s", "pace=speech")).pace == Pace(by="speech")
    assert read(BASE, ("barge_in.by=drawn",)).barge_in == BargeIn(by="drawn")
    wanted = "x.yaml:9: pace.by: expected one of at_once, speech; got 'talk'"
    assert error(f"{BASE}pace: talk\n", ("pace.time_scale=20",)) == wanted


@pytest.mark.parametrize("name", shipped.names("scenarios"))
def test_shipped_scenarios_load_by_bare_name(name: str) -> None:
    scenario = load(name)
    raw = yaml.safe_load(shipped.find("scenarios", name).read_text())
    assert scenario.recording == raw["recording"]
    assert {key: group.count for key, group in scenario.callers.items()} == {
        key: group["count"] for key, group in raw.get("callers", {}).items()
    }


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        # unknown and missing keys
        ("count:", "cuont:", f"x.yaml:5: callers.warm.cuont: unknown key; did you mean count? {GROUP_KEYS}"),
        ("cache: warm", "on: 4", f"x.yaml:6: callers.warm.on: unknown key {GROUP_KEYS}"),
        ("    count: 4\n", "", "x.yaml:4: callers.warm: count is missing (a whole number, 1 or more)"),
        ("recording: a.json\n", "", "x.yaml:2: recording is missing (text)"),
        ("  warm:\n    count: 4\n    cache: warm\n", "",
         "x.yaml:3: callers: expected keys and their values; got nothing"),
        ("server:", "timeout: {conect: 1 s}\nserver:", "x.yaml:7: timeout.conect: unknown key; did you mean connect? "
         "(allowed: connect, first_token, loading, outage, silence)"),
        ("server:", "reply: {fre: 3}\nserver:", "x.yaml:7: reply.fre: unknown key; did you mean free? "
         "(allowed: exactly, free)"),
        # whole numbers
        ("count: 4", "count: four", f"{COUNT} 'four'"),
        ("count: 4", "count: 0", f"{COUNT} 0"),
        ("count: 4", "count: -3", f"{COUNT} -3"),
        ("count: 4", "count:", f"{COUNT} nothing"),
        ("count: 4", "count: true", f"{COUNT} true"),
        ("count: 4", "count: on", f"{COUNT} on"),
        ("count: 4", "count: [4]", f"{COUNT} a list"),
        ("count: 4", "count: {a: 4}", f"{COUNT} keys and values"),
        ("count: 4", "count: '4'", f"{COUNT} '4'; take the quotes off"),
        ("count: 4", "count: 1e3", f"{COUNT} 1e3; write plain digits"),
        ("count: 4", "count: 4.0", f"{COUNT} 4.0; write plain digits"),
        ("count: 4", "count: 010", f"{COUNT} 010; write plain digits"),
        ("count: 4", "count: 12:30", f"{COUNT} 12:30; write plain digits"),
        ("count: 4", "count: 9223372036854775808",
         "x.yaml:5: callers.warm.count: too large a number; got 9223372036854775808"),
        ("count: 4", "count: " + "9" * 5000, "x.yaml:5: callers.warm.count: too large a number; got " + "9" * 60),
        ("server:", "fit: long\nserver:", "x.yaml:7: fit: expected a whole number, 1 or more, or null; got 'long'"),
        ("server:", "baseline: {replies: 1}\nserver:",
         "x.yaml:7: baseline.replies: expected 2 or more, since the first is dropped, or 0 for no baseline; got 1"),
        ("server:", "baseline: {replies: -1}\nserver:",
         "x.yaml:7: baseline.replies: expected a whole number, 0 or more; got -1"),
        # times
        ("cache: warm", "start: 6", "x.yaml:6: callers.warm.start: give a unit: 800 ms, 6 s, 5 min, 4 h; got 6"),
        ("cache: warm", "every: 6 m", "x.yaml:6: callers.warm.every: no unit 'm': give ms, s, min or h; got '6 m'"),
        ("cache: warm", "every: 12:30", f"x.yaml:6: callers.warm.every: expected {TIMES}; got '12:30'"),
        ("cache: warm", "start: togehter", f"{START} 'togehter'"),
        ("cache: warm", "start: on", f"{START} 'on'"),
        ("cache: warm", "every: .inf", f"x.yaml:6: callers.warm.every: expected {TIMES}; got '.inf'"),
        ("cache: warm", "every: [6 s]", f"x.yaml:6: callers.warm.every: expected {TIMES}; got a list"),
        ("server:", "timeout: {silence: 0}\nserver:", "x.yaml:7: timeout.silence: expected a time longer than 0"),
        # choices, text, true or false, lists, keys
        ("cache: warm", "cache: hot", "x.yaml:6: callers.warm.cache: expected one of cold, warm; got 'hot'"),
        ("cache: warm", "slots: on", f"x.yaml:6: callers.warm.slots: {SLOTS} on"),
        ("server:", "reply: full\nserver:", "x.yaml:7: reply: expected recorded, "
         "or keys (exactly, free); got 'full'"),
        ("server:", "reply: {free: 0}\nserver:",
         "x.yaml:7: reply.free: expected a whole number, 1 or more, or null; got 0"),
        ("server:", "reply: {free: 9, exactly: 9}\nserver:",
         "x.yaml:7: reply: expected one of exactly, free; got both"),
        ("server:", "reply: {free: null}\nserver:", "x.yaml:7: reply: expected one of exactly, free; got neither"),
        ("server:", "reply: {}\nserver:", "x.yaml:7: reply: expected one of exactly, free; got neither"),
        # one word for the keys
        ("server:", "pace: talk\nserver:", f"x.yaml:7: pace: {PACE} 'talk'"),
        ("server:", "pace: {by: talk}\nserver:", "x.yaml:7: pace.by: expected one of at_once, speech; got 'talk'"),
        ("server:", "barge_in: null\nserver:", f"x.yaml:7: barge_in: {BARGE_IN} null"),
        ("server:", "barge_in: on\nserver:", f"x.yaml:7: barge_in: {BARGE_IN} on"),
        ("server:", "barge_in: [none]\nserver:", f"x.yaml:7: barge_in: {BARGE_IN} a list"),
        ("server:", "pace: {SHORT: by}\nserver:",
         "x.yaml:7: pace.SHORT: unknown key (allowed: by, endpointing, gap, time_scale, times, words_per_s)"),
        # how callers talk
        ("cache: warm", "again: true",
         "x.yaml:6: callers.warm.again: the calls would never end; give a duration, such as 10 min"),
        ("cache: warm", "again: on", "x.yaml:6: callers.warm.again: expected true or false; got on"),
        ("cache: warm", "start: call",
         "x.yaml:6: callers.warm.start: call is only for pace: speech, where a recorded call takes its time"),
        ("cache: warm", "start: every 0",
         "x.yaml:6: callers.warm.start: expected a time longer than 0 after every; got 'every 0'"),
        ("cache: warm", "every: 6 s\npace: speech", "x.yaml:6: callers.warm.every: "
         "not used where pace is speech, which times the turns; leave it out"),
        ("cache: warm", "recordings: [a, ' ']",
         "x.yaml:6: callers.warm.recordings: expected files of recordings/, or paths; one has no name"),
        ("cache: warm", "recordings: a", "x.yaml:6: callers.warm.recordings: expected a list; got 'a'"),
        ("cache: warm", "recordings: [a, [b]]", "x.yaml:6: callers.warm.recordings: expected text; got a list"),
        ("server:", "pace:\n  gap: 0\nserver:", "x.yaml:8: pace.gap: has no effect unless pace.by is speech"),
        ("server:", "pace: {words_per_s: 3}\nserver:",
         "x.yaml:7: pace.words_per_s: has no effect unless pace.by is speech"),
        ("server:", "pace: {times: drawn}\nserver:", "x.yaml:7: pace.times: has no effect unless pace.by is speech"),
        ("server:", "pace: {time_scale: 1.5}\nserver:",
         "x.yaml:7: pace.time_scale: has no effect unless pace.by is speech"),
        ("server:", "pace: {time_scale: 0.5}\nserver:",
         "x.yaml:7: pace.time_scale: expected a number, 1 or more; got 0.5"),
        ("server:", "pace: {words_per_s: 0}\nserver:",
         "x.yaml:7: pace.words_per_s: expected a number, 0.1 or more, or null; got 0"),
        ("server:", "voice: {rate: 150}\nserver:", "x.yaml:7: voice.rate: "
         "expected a rate with its unit, more than 0: 4.5 tokens/s, or 150 words/min; got '150'"),
        ("server:", "voice: {rate: [150 wpm]}\nserver:",
         "x.yaml:7: voice.rate: expected a rate with its unit, more than 0: 4.5 tokens/s, or 150 words/min; "
         "got a list"),
        ("server:", "barge_in: {probability: 2}\nserver:",
         "x.yaml:7: barge_in.probability: expected a number, 0 to 1; got 2"),
        ("server:", "barge_in: {by: drawn, false_interruption: 0.1}\nserver:", "x.yaml:7: "
         "barge_in.false_interruption: has no effect unless barge_in.backchannels is recorded or drawn"),
        ("server:", "speculation: drawn\nserver:",
         "x.yaml:7: speculation.by: drawn needs pace.by: speech, where a caller's words take time"),
        ("server:", "pace: speech\nspeculation: {by: drawn, eager: 600 ms}\nserver:", "x.yaml:8: "
         "speculation.eager: expected pace.endpointing, which is 500 ms, at the most; got 600 ms"),
        ("server:", "retry: twice\nserver:", "x.yaml:7: retry: expected one of livekit, none, pipecat; got 'twice'"),
        ("server:", "retry: null\nserver:", "x.yaml:7: retry: expected one of livekit, none, pipecat; got null"),
        ("server:", "retry: livekit\ntimeout: {first_token: 9.9 s}\nserver:", "x.yaml:8: timeout.first_token: "
         "expected 10 s or more, since livekit retries only then; got 9.9 s"),
        ("server:", "retry: pipecat\ntimeout: {first_token: 4 s}\nserver:", "x.yaml:8: timeout.first_token: "
         "expected 5 s or more, since pipecat retries only then; got 4 s"),
        ("server:", "patience: 0\nserver:", "x.yaml:7: patience: expected a time longer than 0"),
        ("server:", "duration: 0 s\nserver:", "x.yaml:7: duration: expected a time longer than 0"),
        ("server:", "duration: long\nserver:", f"x.yaml:7: duration: expected {TIMES}; got 'long'"),
        ("a.json", "true", "x.yaml:2: recording: expected text; got true; quote it if it is a name"),
        ("a.json", "[a.json]", "x.yaml:2: recording: expected text; got a list"),
        ("a.json", "' '", "x.yaml:2: recording: expected a file of recordings/, or a path; got ' '"),
        ("  slots: 8", "  kv_unified: on", "x.yaml:8: server.kv_unified: expected true or false; got on"),
        ("  slots: 8", "  similarity: a", "x.yaml:8: server.similarity: expected a number, 0 to 1, or null; got 'a'"),
        ("  slots: 8", "  similarity: 1.5", "x.yaml:8: server.similarity: expected a number, 0 to 1, or null; got 1.5"),
        ("  slots: 8", "  similarity: 1e999", "x.yaml:8: server.similarity: too large a number; got 1e999"),
        ("\n  slots: 8", " 8", "x.yaml:7: server: expected keys (batch, cache_idle_slots, cache_ram, cache_type_k, "
         "cache_type_v, checkpoint_min_step, checkpoints, context, kv_unified, launch, restart, similarity, slots, "
         "threads, ubatch, url); got 8"),
        ("server:", "sweep: {fit: 4}\nserver:", "x.yaml:7: sweep.fit: expected a list; got 4"),
        # turns
        ("cache: warm", "turns: first", "x.yaml:6: callers.warm.turns: "
         "expected last, last 3, all, a turn such as 40, or turns such as 40-42; got 'first'"),
        ("cache: warm", "turns: 1-4", "x.yaml:6: callers.warm.turns: "
         "turn 1 has no history to be warm with: start at turn 2, or take cache: cold; got '1-4'"),
        # the server's limits, and what has to fit in it
        ("slots: 8", "slots: 0", "x.yaml:8: server.slots: expected a whole number, 1 or more; got 0"),
        ("slots: 8", "ubatch: 0", "x.yaml:8: server.ubatch: expected a whole number, 1 or more; got 0"),
        ("slots: 8", "cache_ram: -2", "x.yaml:8: server.cache_ram: expected a whole number, -1 or more; got -2"),
        ("slots: 8", "cache_type_k: q3", "x.yaml:8: server.cache_type_k: expected one of "
         "bf16, f16, f32, q4_0, q4_1, q5_0, q5_1, q8_0; got 'q3'"),
        ("slots: 8", "context: 2147483648", "x.yaml:8: server.context: expected a whole number, 1 to 2147483647; "
         "got 2147483648"),
        ("slots: 8", "slots: 257", "x.yaml:8: server.slots: expected 256 at the most; got 257"),
        ("slots: 8", "slots: 3", "x.yaml:5: callers.warm.count: "
         "4 callers need 4 slots; the server has 3: lower callers.warm.count or raise server.slots"),
        ("  warm:\n", "  cold: {count: 5}\n  warm:\n", "x.yaml:4: callers.cold.count: "
         "9 callers need 9 slots; the server has 8: lower callers.cold.count or callers.warm.count "
         "or raise server.slots"),
        ("slots: 8", "context: 3000",
         "x.yaml:8: server.context: 12 slots need 3072 tokens, 256 each; the context has 3000"),
        ("server:", "baseline: {slot: 8}\nserver:",
         "x.yaml:7: baseline.slot: expected a slot of the server, 0 to 7; got 8"),
        # names and urls
        ("  warm:", "  a.b:", "x.yaml:4: callers.a.b: a group's name is letters, digits, - and _"),
        ("slots: 8", "url: ftp://gpu", f"x.yaml:8: server.url: expected {URLS}; got 'ftp://gpu'"),
        ("slots: 8", "url: gpu:8080",
         f"x.yaml:8: server.url: expected {URLS}; got 'gpu:8080'; did you mean http://gpu:8080?"),
        ("slots: 8", "url: http://gpu:99999", f"x.yaml:8: server.url: expected {URLS}; got 'http://gpu:99999'"),
        ("slots: 8", "url: http://", f"x.yaml:8: server.url: expected {URLS}; got 'http://'"),
        ("slots: 8", "url: embeded",
         f"x.yaml:8: server.url: expected {URLS}; got 'embeded'; did you mean http://embeded?"),
    ],
)  # fmt: skip
def test_a_bad_value_is_one_line_with_its_place(old: str, new: str, wanted: str) -> None:
    assert BASE.count(old) == 1
    assert error(BASE.replace(old, new)) == wanted


@pytest.mark.parametrize(
    "more",
    [
        "pace: {by: at_once, gap: null, words_per_s: null, times: recorded, time_scale: 1, endpointing: 0}",
        "pace: {by: speech, gap: 0, words_per_s: 0.1, times: drawn, time_scale: 1.5, endpointing: 0}",
        "pace: {by: speech, endpointing: 200 ms}\nspeculation: drawn",
        "speculation: {eager: 600 ms}",
        "barge_in: {backchannels: drawn, false_interruption: 0.1}",
        "barge_in: {heard: retranscribed}",
        "retry: livekit\ntimeout: {first_token: 10 s}",
        "retry: pipecat\ntimeout: {first_token: 5 s}",
        "timeout: {first_token: 1 s}",
        "history: conversation\nreply: recorded",
        "patience: null\nduration: null",
    ],
)
def test_what_goes_together_loads(more: str) -> None:
    assert isinstance(read(f"{BASE}{more}\n"), Scenario)


@pytest.mark.parametrize("pace", ["at_once", "speech"])
@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("together", Start("together")),
        ("6 s", Start("spread", 6)),
        ("at 0", Start("at", 0)),
        ("every 10 s", Start("every", 10)),
        ("poisson 10 s", Start("poisson", 10)),
    ],
)
def test_calls_may_begin_in_many_ways_at_every_pace(pace: str, text: str, start: Start) -> None:
    assert read(BASE, (f"pace={pace}", f"callers.warm.start={text}")).callers["warm"].start == start


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("messages", "the recording gives them"),
        ("tools", "the recording gives them"),
        ("stream", "replies are always streamed"),
        ("stream_options", "replies are always streamed"),
        ("max_tokens", "write reply: recorded, {free: 120} or {exactly: 120}"),
        ("n_predict", "write reply: recorded, {free: 120} or {exactly: 120}"),
        ("ignore_eos", "write reply: recorded, {free: 120} or {exactly: 120}"),
        ("id_slot", "write callers.<group>.slots"),
        ("cache_prompt", "write callers.<group>.cache"),
        ("timings_per_token", "timings are always asked for"),
        ("return_progress", "loadsim decides whether to ask for progress"),
    ],
)
def test_a_request_field_that_loadsim_sets_is_refused(key: str, instead: str) -> None:
    wanted = f"x.yaml:9: request.{key}: loadsim sets this itself; {instead}"
    assert error(f"{BASE}request: {{{key}: 1}}\n") == wanted


@pytest.mark.parametrize(
    "path", ["api_key", "API-Key", "token", "hf_token", "extra_headers.Authorization", "a.client_secret", "password"]
)
def test_a_secret_is_refused_and_not_repeated(path: str) -> None:
    text = "no secrets in a scenario; give the key as LOADSIM_API_KEY"
    assert error(BASE, (f"request.{path}=sk-123",)) == f"--set request.{path}=...: {text}"
    nested = path.replace(".", ": {") + ": sk-123" + "}" * path.count(".")
    assert error(f"{BASE}request:\n  {nested}\n") == f"x.yaml:10: request.{path}: {text}"


@pytest.mark.parametrize(
    "url", ["http://me:sk-123@gpu:8080", "http://sk-123@gpu", "http://gpu/?key=sk-123", "me:sk-123@gpu"]
)
def test_a_password_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    text = "no name, password or query in a url; give the key as LOADSIM_API_KEY"
    assert error(BASE, url=url) == f"--url ...: {text}"
    assert error(BASE, (f"server.url={url}",)) == f"--set server.url=...: {text}"
    assert error(BASE.replace("slots: 8", f"url: {url}")) == f"x.yaml:8: server.url: {text}"


@pytest.mark.parametrize(
    "url", ["embedded", "http://gpu", "https://gpu-box.lan:8080/v1", "http://[::1]:8080", "HTTP://10.0.0.1/"]
)
def test_a_url_may_be(url: str) -> None:
    assert read(BASE, url=url).server == Server(url=url, slots=8)


def test_a_secret_in_a_list_is_refused_too() -> None:
    wanted = "x.yaml:9: request.headers.token: no secrets in a scenario; give the key as LOADSIM_API_KEY"
    assert error(f"{BASE}request: {{headers: [{{token: sk-123}}]}}\n") == wanted


def test_a_whole_number_is_a_number_too() -> None:
    similarity = read(BASE, ("server.similarity=1",)).server.similarity
    assert (similarity, type(similarity)) == (1.0, float)


def test_a_file_may_begin_with_a_byte_order_mark() -> None:
    assert read(b"\xef\xbb\xbf" + BASE.encode()) == read(BASE)


def test_only_an_embedded_server_is_known_to_be_too_small() -> None:
    assert read(BASE, ("callers.warm.count=400", "baseline.slot=70"), "http://gpu").callers["warm"].count == 400


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"", "x.yaml: empty; a scenario has at least recording, and callers or a probe"),
        (b"# nothing\n", "x.yaml: empty; a scenario has at least recording, and callers or a probe"),
        (b"~", "x.yaml: empty; a scenario has at least recording, and callers or a probe"),
        (b"\n- a\n", "x.yaml:2: expected keys and their values, such as recording: front_desk.json"),
        (b"hello", "x.yaml:1: expected keys and their values, such as recording: front_desk.json"),
        (b"a: 1\nb: \xff\n", "x.yaml:2: not UTF-8 text: byte 0xff"),
        (b"a: 1\nb: \x01\n", "x.yaml:2: the character U+0001 is not allowed in YAML"),
        (b"a: 1\nb: c: d\n", "x.yaml:2: not valid YAML: mapping values are not allowed here"),
        (b"a:\n\tb: 1\n", "x.yaml:2: not valid YAML: while scanning for the next token, "
         r"found character '\t' that cannot start any token; indent with spaces"),
        (b"a: 1\n---\nb: 1\n",
         "x.yaml:2: not valid YAML: expected a single document in the stream, but found another document"),
        (b"a: 1\n\na: 2\n", "x.yaml:3: a: the key stands twice, first in line 1"),
        (b"b:\n  c:\n    a: 1\n    'a': 2\n", "x.yaml:4: b.c.a: the key stands twice, first in line 3"),
        (b"a: 1\n[b]: 2\n", "x.yaml:2: a key must be a name, such as count"),
        (b"a: 1\n? {b: c}\n: 2\n", "x.yaml:2: a key must be a name, such as count"),
        (b"a:\n  ~: 2\n", "x.yaml:2: a: a key must be a name, such as count"),
        (b"a: &x {b: 1}\nc:\n  <<: *x\n", "x.yaml:3: c.<<: merge keys are not supported; write the keys out"),
        (b"a: *x\n", "x.yaml:1: not valid YAML: found undefined alias 'x'"),
        (b"a: !!python/object:os.system x\n",
         "x.yaml:1: a: the tag tag:yaml.org,2002:python/object:os.system is not supported; write the value without it"),
        (b"a: !<whole> x\n", "x.yaml:1: a: the tag whole is not supported; write the value without it"),
        (b"a: '\\ud83d'\nb: \"\\ud83d\"\n", r"x.yaml:2: b: half of a character; \u escapes past U+FFFF come in pairs"),
        (b'a: "\\UFFFFFFFF"\n', "x.yaml: not valid YAML: a number in an escape or a directive is too large"),
        (b"a: " + b"[" * 1500, "x.yaml: nested deeper than 50 levels"),
        (b"a:\n " + b"[" * 60 + b"]" * 60, "x.yaml:2: nested deeper than 50 levels"),
        (b"a: &a\n  b: *a\n", "x.yaml:2: nested deeper than 50 levels"),
        (b"#" * 1_000_001, "x.yaml: larger than a megabyte; that is no scenario"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_scenario_is_one_line(text: bytes, wanted: str) -> None:
    assert error(text) == wanted


def test_an_alias_bomb_is_refused_before_it_expands() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    assert error("\n".join(levels)) == "x.yaml:1: more than 10,000 values, aliases expanded; a scenario has a few dozen"


def test_an_alias_that_stays_small_is_welcome() -> None:
    text = "recording: a.json\ncallers: {one: &group {count: 2, every: 6 s}, two: *group}"
    assert read(text).callers["two"] == Group(count=2, every=Duration(6))
    assert read(text, ("callers.two.count=3",)).callers["one"].count == 2


@pytest.mark.parametrize("word", ["on", "No", "yes", "010", "0x1F", "12:30", ".nan", "-.inf"])
def test_what_yaml_readers_disagree_on_is_refused_where_anything_goes(word: str) -> None:
    hint = "quote it if it is text, else write true, false or plain digits"
    wanted = f"x.yaml:9: request.a: YAML readers do not agree on {word}: {hint}"
    assert error(f"{BASE}request: {{a: {word}}}\n") == wanted
    assert read(f"{BASE}request: {{a: '{word}'}}\n").request == {"a": word}
    assert read(BASE.replace("a.json", word)).recording == word


def test_a_file_that_cannot_be_had_is_one_line(tmp_path: Path) -> None:
    def missing(name: str) -> str:
        with pytest.raises(BadInput) as raised:
            load(name)
        return str(raised.value)

    assert missing("nope").startswith("no scenario 'nope', neither here nor in ")
    assert missing("two\nlines").isprintable()
    assert missing(str(tmp_path)) == f"{tmp_path}: a folder; name a scenario file in it"
    assert missing("x" * 300) == f"{'x' * 300}: cannot be read: File name too long"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_one_line() -> None:
    Path("x.yaml").touch(mode=0)
    with pytest.raises(BadInput, match=r"^x.yaml: cannot be read: Permission denied$"):
        load("x.yaml")


def test_places_are_told_from_the_working_directory(tmp_path: Path) -> None:
    Path("x.yaml").write_text("recording: a.json\n")
    for name in ("x", "x.yaml", "./x.yaml", str(tmp_path / "x.yaml"), str(tmp_path / "x")):
        with pytest.raises(
            BadInput, match=r"^x.yaml:1: callers is missing \(groups of callers\), or a probe in their place$"
        ):
            load(name)


def test_sets_change_any_key() -> None:
    sets = (
        "callers.warm.count=5",
        "callers.cold.count=1",
        "callers.cold.cache=cold",
        "callers.third={count: 1, start: 6 s}",
        "server.slots=9",
        "fit =2000",
        "fit=null",
        "reply.free=20",
        "pace=speech",
        "pace.gap=1 s",
        "callers.cold.recordings=[a, b]",
        "request.temperature=0.5",
        "request.chat_template_kwargs.enable_thinking=false",
        "request.stop=[a, b=c]",
        "timeout.silence=5 s",
        "sweep.callers.warm.slots=[neighbours, server]",
        "recording=other call.json",
    )
    assert read(BASE.replace("a.json", "a.json\nreply: recorded"), sets) == Scenario(
        recording="other call.json",
        callers={
            "warm": Group(count=5),
            "cold": Group(count=1, cache="cold", recordings=["a", "b"]),
            "third": Group(count=1, start=Start("spread", 6)),
        },
        server=Server(slots=9),
        reply=ReplyLength(free=20),
        pace=Pace(by="speech", gap=Duration(1)),
        request={"temperature": 0.5, "chat_template_kwargs": {"enable_thinking": False}, "stop": ["a", "b=c"]},
        timeout=Timeouts(silence=Duration(5)),
        sweep={"callers.warm.slots": ["neighbours", "server"]},
    )
    assert read(BASE, ("callers={only: {count: 1}}",)).callers == {"only": Group(count=1)}


def test_the_url_wins_over_file_and_sets() -> None:
    assert read(BASE, ("server.url=http://a",), "http://b").server == Server(url="http://b", slots=8)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ("callers.warm.cuont=4", f"--set callers.warm.cuont=4: unknown key; did you mean count? {GROUP_KEYS}"),
        ("callers.warm.count=four", "--set callers.warm.count=four: expected a whole number, 1 or more; got 'four'"),
        ("callers.warm.count=null", "--set callers.warm.count=null: expected a whole number, 1 or more; got null"),
        ("callers.warm={cuont: 4}",
         f"--set callers.warm={{cuont: 4}}: callers.warm.cuont: unknown key; did you mean count? {GROUP_KEYS}"),
        ("callers.cold.cache=cold",
         "--set callers.cold.cache=cold: callers.cold: count is missing (a whole number, 1 or more)"),
        ("callers={}", "--set callers={}: expected keys and their values; got no keys"),
        ("reply.cap=20", "--set reply.cap=20: unknown key (allowed: exactly, free)"),
        ("pace=talk", f"--set pace=talk: {PACE} 'talk'"),
        ("barge_in=null", f"--set barge_in=null: {BARGE_IN} null"),
        ("pace.gap=1 s", "--set pace.gap=1 s: has no effect unless pace.by is speech"),
        ("recording.name=a", "--set recording.name=a: recording: expected text; got keys and values"),
        ("fit", "--set fit: expected key=value, such as callers.warm.count=4"),
        ("=4", "--set =4: expected key=value, such as callers.warm.count=4"),
        ("callers..count=4", "--set callers..count=4: expected key=value, such as callers.warm.count=4"),
        ("fit=", "--set fit=: give a value after =, null for none"),
        ("fit=[1",
         "--set fit=[1: not valid YAML: while parsing a flow sequence, expected ',' or ']', but got '<stream end>'"),
        ("request={a: 1, a: 2}", "--set request={a: 1, a: 2}: a: the key stands twice"),
        ("sweep.callers.warm.slots=[server, on]",
         "--set sweep.callers.warm.slots=[server, on]: YAML readers do not agree on on: "
         "quote it if it is text, else write true, false or plain digits"),
        ("sweep.callers.warm.slots=[server, both]",
         "--set sweep.callers.warm.slots=[server, both]: sweep: callers.warm.slots: "
         "expected one of high, low, neighbours, server, spread; got 'both'"),
    ],
)  # fmt: skip
def test_a_bad_set_is_one_line_with_the_flag(change: str, wanted: str) -> None:
    assert error(BASE, (change,)) == wanted


def test_a_dump_is_plain_data_with_every_default() -> None:
    assert dump(read(BASE.replace("cache: warm", "every: 800 ms")))["callers"] == {
        "warm": {
            "count": 4,
            "start": "together",
            "every": "800 ms",
            "cache": "warm",
            "turns": "last",
            "slots": "neighbours",
            "again": False,
            "recordings": [],
        }
    }


def test_a_dump_writes_out_what_was_short() -> None:
    data = dump(read(f"{BASE}pace: speech\nvoice: {{rate: 150 wpm}}\nreply: {{exactly: 9}}\nduration: 5 min\n"))
    assert data["pace"] == {
        "by": "speech",
        "times": "recorded",
        "gap": None,
        "words_per_s": None,
        "endpointing": "500 ms",
        "time_scale": 1.0,
    }
    assert (data["voice"]["rate"], data["reply"]) == ("150 words/min", {"free": None, "exactly": 9})
    assert (data["duration"], data["patience"]) == ("5 min", None)


texts = st.text(max_size=8)
times = st.floats(0, allow_infinity=False, allow_nan=False)
free = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(1 - 2**63, 2**63 - 1)
    | st.floats(allow_infinity=False, allow_nan=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts.map("r_{}".format), inner, max_size=3),
    max_leaves=6,
)
longer = st.floats(0, exclude_min=True, allow_infinity=False)
shares = st.floats(0, 1)
pauses = times.map(Duration)
starts = st.builds(Start, st.sampled_from(["spread", "at", "every", "poisson"]), longer) | st.just(Start("together"))
waits = longer.map(Duration)
OTHER = ["none", "recorded", "drawn"]


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """What the checks allow: some keys go only with speech, and calls come again only for a while."""
    speech = draw(st.booleans())
    duration = draw(st.none() | waits)

    def in_time(start: Start) -> bool:
        return duration is None or start.how not in ("at", "every") or start.seconds < duration

    printed = texts.filter(str.isprintable)
    group = st.builds(
        Group,
        count=st.integers(1, 4),
        start=(starts | st.just(Start("call")) if speech else starts).filter(in_time),
        every=st.just(Duration(0)) if speech else pauses,
        cache=st.sampled_from(["warm", "cold"]),
        turns=st.sampled_from(["last", "all", "40", "2-3"]),
        slots=st.sampled_from(["neighbours", "spread", "low", "high", "server"]),
        again=st.just(False) if duration is None else st.booleans(),
        recordings=st.lists(printed.map("r{}".format), max_size=2),
    )
    spoken = st.builds(
        Pace,
        by=st.just("speech"),
        times=st.sampled_from(["recorded", "drawn"]),
        gap=st.none() | pauses,
        words_per_s=st.none() | st.floats(0.1, 1e300),
        endpointing=st.floats(0.2, 1e300).map(Duration),
        time_scale=st.floats(1, 1e300),
    )
    speculation = st.builds(
        Speculation,
        by=st.sampled_from(OTHER if speech else OTHER[:1]),
        probability=shares,
        eager=st.floats(0, 0.2).map(Duration),
        tries=st.integers(1, 9),
    )
    scenario = st.builds(
        Scenario,
        recording=printed.map("r{}".format),
        callers=st.dictionaries(st.from_regex(r"[\w-]{1,20}", fullmatch=True), group, min_size=1, max_size=3),
        server=st.builds(
            Server, slots=st.integers(12, 64), kv_unified=st.booleans(), similarity=st.none() | st.floats(0, 1)
        ),
        fit=st.none() | st.integers(1, 2**63 - 1),
        baseline=st.builds(Baseline, replies=st.sampled_from([0, 2, 3, 9]), slot=st.none() | st.integers(0, 11)),
        seed=st.integers(1 - 2**63, 2**63 - 1),
        reply=st.just("recorded")
        | st.builds(ReplyLength, free=st.integers(1, 999))
        | st.builds(ReplyLength, exactly=st.integers(1, 999)),
        pace=spoken if speech else st.builds(Pace, endpointing=pauses),
        voice=st.builds(
            Voice,
            rate=st.builds(VoiceRate, longer, st.sampled_from(["tokens/s", "words/min"])),
            chunk=st.sampled_from(["clause", "sentence", "livekit"]),
            tts=pauses,
            network=pauses,
        ),
        barge_in=st.builds(
            BargeIn,
            by=st.sampled_from(OTHER),
            probability=shares,
            trigger=pauses,
            heard=st.sampled_from(["spoken_words", "spoken_sentences", "generated", "retranscribed"]),
            backchannels=st.sampled_from(OTHER[1:]),
            false_interruption=shares,
            resume=pauses,
        ),
        speculation=speculation,
        retry=st.sampled_from(["none", "livekit", "pipecat"]),
        patience=st.none() | waits,
        history=st.sampled_from(["replay", "conversation"]),
        duration=st.just(duration),
        request=st.dictionaries(texts.map("r_{}".format), free, max_size=3),
        sweep=st.just({})
        | st.just({"baseline.replies": [0, 2], "reply": ["recorded", {"free": 9}], "barge_in": ["none", "drawn"]}),
    )
    return draw(scenario)


@settings(max_examples=40)
@given(scenarios())
@example(Scenario(recording="1e3", callers={"no": Group(count=1)}, request={"a": "1e3", "b": 1e-7, "c": "\U0001f600"}))
def test_a_dump_loads_as_the_same_scenario(tmp_path_factory: pytest.TempPathFactory, scenario: Scenario) -> None:
    data = dump(scenario)
    assert restore(data, "run.json") == scenario
    path = tmp_path_factory.getbasetemp() / "dump.yaml"
    path.write_text(json.dumps(data))
    assert load(str(path)) == scenario


def test_a_dump_loads_as_yaml_too() -> None:
    scenario = read(BASE.replace("a.json", "'12:30'"), ("request={stop: ['no', '010', a b], t: 0.5}", "reply.free=3"))
    Path("dump.yaml").write_text(yaml.safe_dump(dump(scenario)))
    assert load("dump.yaml") == scenario


def pieces() -> st.SearchStrategy[str]:
    words = ["recording: a", "callers:", "warm:", "count: 4", "count", "{", "}", "[", "]", ":", ",", "- ", "\n", "\n  ",
             "\n    ", "&a ", "*a", "!!int ", "? ", "|", ">", "'", '"', "<<", "~", "on", "1e3", "0x",
             "sweep: {fit: [1]}", "request: {", "#", "%YAML 9", "---", "\t", "6 s", "\\u", "\\UFFFFFFFF"]  # fmt: skip
    return st.lists(st.sampled_from(words), max_size=20).map("".join)


@given(pieces() | st.text() | st.binary())
@example("callers:\n  warm:\n    count: &a 4\n  b: {count: *a}\nrecording: x")
def test_no_text_raises_anything_but_badinput(tmp_path_factory: pytest.TempPathFactory, text: str | bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    try:
        load(str(path))
    except BadInput as raised:
        assert str(raised).isprintable()
    else:
        assert b"recording" in path.read_bytes()


KEYS = [
    "fit",
    "sweep.fit",
    "request.a",
    "callers",
    "pace",
    "pace.gap",
    "callers.warm.start",
    "voice.rate",
    "reply.free",
]


@given(st.text() | st.builds("{}={}".format, st.sampled_from(KEYS), st.text()))
def test_no_set_raises_anything_but_badinput(tmp_path_factory: pytest.TempPathFactory, change: str) -> None:
    path = tmp_path_factory.getbasetemp() / "base.yaml"
    path.write_text(BASE)
    try:
        assert isinstance(load(str(path), [change]), Scenario)
    except BadInput as raised:
        assert str(raised).isprintable()


def test_the_helpers_types_are_plain() -> None:
    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(map(plain, value.values()))
        return all(map(plain, value)) if isinstance(value, list) else type(value) in (str, int, float, bool, type(None))

    assert plain(dump(load(shipped.names("scenarios")[0])))
