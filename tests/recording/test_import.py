"""Calls of other products' files, beside what a person reads in them. The files are invented, in documented forms."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadsim.recording.check import check
from loadsim.recording.importers import FORMATS, Imported, read
from loadsim.recording.load import decode
from loadsim.recording.model import Pause, Recording, Reply, ToolCall, Turn, Utterance
from loadsim.types import BadInput

from . import primock

FILES = Path(__file__).parent / "imports"
TAU = ("airline_65", "airline_75")


def imported(name: str, form: str | None = None) -> Imported:
    path = FILES / f"{name}.json"
    return read(path.read_bytes(), path, form or name.partition("_")[0])


def refused(data: Any, form: str) -> str:
    with pytest.raises(BadInput) as error:
        read(data if isinstance(data, bytes) else json.dumps(data).encode(), Path("f.json"), form)
    return str(error.value).removeprefix("f.json: ")


def words(recording: Recording) -> list[str]:
    return [text for turn in recording.turns for text in (turn.caller.text, turn.agent.text)]


def errors(recording: Recording) -> list[str]:
    return [str(finding) for finding in check(recording) if not finding.warning]


def test_openai_has_texts_and_tools() -> None:
    made = imported("openai").recording
    assert (made.title, made.source, made.system) == (
        "openai",
        "imported from openai.json (openai)",
        "You mend clocks.",
    )
    assert made.greeting and made.greeting.text == "Clock shop."
    assert words(made) == ["My clock stopped.", "Let me look. We can come by."]
    one = ToolCall("a", "find", {"make": "Oru", "year": 1990}, "one")
    other = ToolCall("b", "find", {"make": "Oru", "year": "old"}, "two")
    assert made.turns[0].tools == ((one, other),)
    properties = {"make": {"type": "string"}, "year": {}}
    function = {"name": "find", "parameters": {"type": "object", "properties": properties}}
    assert made.tools == ({"type": "function", "function": function},)
    assert made.fresh == "Please do."
    assert made.greeting.drawn and made.turns[0].caller.drawn and made.turns[0].agent.drawn
    assert errors(made) == []


def test_what_openai_has_and_a_call_has_not_is_told_with_counts() -> None:
    assert sorted(imported("openai").notes) == [
        "a last caller message without a reply, now `fresh` (1)",
        "left out: empty messages (1)",
        "left out: messages of the role function (1)",
        "left out: results of no known call (1)",
        "left out: system messages in mid-call (1)",
        "texts whose line breaks or control characters are now spaces (1)",
        "tool calls after the reply had begun, now before it (2)",
        "tools that the file does not declare, declared from their calls: find (1)",
        "utterances whose times are drawn from how people talk (5)",
    ]


def test_pipecats_events_tell_when_turns_start() -> None:
    found = imported("pipecat")
    made = found.recording
    assert made.greeting and made.greeting.start == 0
    assert [(turn.caller.start, turn.agent.start) for turn in made.turns] == [(3.5, 7.0), (8.25, 11.0)]
    assert words(made)[1:3] == ["Sure. Which day would", "Friday, please."]
    # Who is cut stops when the other starts; that end is the file's.
    assert (made.turns[0].agent.end, made.turns[0].agent.drawn, made.turns[0].agent.heard) == (8.25, False, None)
    assert made.turns[0].caller.drawn and 3.5 < made.turns[0].caller.end <= 7.0
    assert made.fresh == "Thanks, bye."
    assert "cut replies of which the file has only what was heard, kept as whole ones (1)" in found.notes
    assert errors(made) == []


def test_pipecats_context_has_tools() -> None:
    found = imported("pipecat_context")
    assert found.recording.system == "You book tables."
    assert found.recording.tools[0]["function"]["description"] == "Book a table."
    assert found.recording.turns[0].tools == ((ToolCall("t1", "book", {"people": 2}, None),),)
    assert words(found.recording) == ["Table for two tonight?", "I am on it.", "Good.", "Booked."]
    assert sorted(found.notes) == [
        "left out: images and other parts that are no text (1)",
        "left out: messages that only one LLM understands (1)",
        "left out: system messages in mid-call (1)",
        "left out: tool results that were not there yet (1)",
        "no times and no cuts: a transcript of Pipecat's turn events would have them (1)",
        "tool calls without a result, now null (1)",
        "utterances whose times are drawn from how people talk (4)",
    ]
    assert errors(found.recording) == []


def test_livekit_has_times_pauses_murmurs_and_tools() -> None:
    found = imported("livekit")
    made = found.recording
    assert made.system == "You answer for Tern Cycles."
    assert made.greeting == Reply("Tern Cycles, how can I help?", 0.0, 2.0)
    steps = (
        (
            ToolCall("c1", "find_bike", {"colour": "blue"}, '{"left": 2}'),
            ToolCall("c2", "find_bike", {"colour": "navy"}, "none"),
        ),
    )
    assert made.turns == (
        Turn(
            Utterance("Is the blue one still there?", 2.5, 6.0, (Pause(4, 3.5, 5.0),)),
            Reply("Yes, two of them are", 7.0, 9.5),
            steps,
            (Utterance("Mm-hmm.", 8.0, 8.4),),
        ),
        Turn(Utterance("Keep one for me.", 9.1, 10.5), Reply("I will.", 11.5, 12.25)),
    )
    assert sorted(found.notes) == [
        "cut replies of which the file has only what was heard, kept as whole ones (1)",
        "left out: images and other parts that are no text (1)",
        "left out: items of the type agent_handoff (1)",
        "left out: system messages in mid-call (1)",
        "tools that the file does not declare, declared from their calls: find_bike (1)",
    ]
    assert check(made) == []


def test_livekits_audio_has_a_transcript_and_its_prompt_a_spoken_form() -> None:
    heard = [{"type": "audio_content", "frame": [], "transcript": "Is it open?"}]
    items = [
        {"type": "agent_config_update", "instructions": {"type": "instructions", "audio": "Speak.", "text": "Write."}},
        {"type": "message", "role": "user", "content": heard},
        {"type": "message", "role": "assistant", "content": ["It is."]},
    ]
    made = read(json.dumps({"items": items}).encode(), Path("f.json"), "livekit").recording
    assert (made.system, words(made)) == ("Speak.", ["Is it open?", "It is."])


def test_vapi_has_times_prompt_and_tools() -> None:
    found = imported("vapi")
    made = found.recording
    assert made.system == "You take orders for a bakery."
    assert [tool["function"]["name"] for tool in made.tools] == ["order"]
    assert made.greeting == Reply("Crumb bakery, hello.", 1.0, 2.5)
    assert made.turns[0] == Turn(
        Utterance("Two rye loaves.", 3.0, 4.2),
        Reply("Two rye loaves, ready at noon.", 6.0, 8.0),
        ((ToolCall("o1", "order", {"bread": "rye"}, "ok"),),),
        (Utterance("Yeah.", 7.0, 7.3),),
    )
    assert (made.turns[1].caller.start, made.turns[1].caller.drawn) == (9.0, True)
    assert made.turns[1].agent == Reply("Bye.", 10.5, 11.0)
    assert "left out: tools that are not in OpenAI's form, or stand twice (1)" in found.notes
    assert "Vapi does not say which replies were cut: all count as heard whole (1)" in found.notes
    assert check(made) == []


def test_a_server_gets_vapis_report_in_a_message() -> None:
    call = json.loads((FILES / "vapi.json").read_bytes())
    report = {"message": {"type": "end-of-call-report", "assistant": call["assistant"], "artifact": call["artifact"]}}
    made = read(json.dumps(report).encode(), FILES / "vapi.json", "vapi").recording
    again = imported("vapi").recording
    assert (words(made), made.tools) == (words(again), again.tools)


def test_retell_has_word_times_and_so_pauses() -> None:
    found = imported("retell")
    made = found.recording
    assert made.greeting == Reply("Hi, Lark taxis.", 0.5, 1.4)
    assert made.turns == (
        Turn(
            Utterance("A cab to the station.", 2.0, 4.0, (Pause(2, 2.4, 3.4),)),
            Reply("Five minutes.", 5.5, 6.2),
            (
                (ToolCall("k1", "send_cab", {"to": "station", "seats": 1}, '{"minutes": 5}'),),
                (ToolCall("k1-2", "log", {}, None),),
            ),
        ),
    )
    assert "left out: entries of the role node_transition (1)" in found.notes
    assert "left out: arguments of tool calls that are not keys and values (1)" in found.notes
    assert errors(made) == []


@pytest.mark.parametrize("name", TAU)
def test_tau_bench_imports_as_openai(name: str) -> None:
    path = primock.SHARED / "tau_bench" / f"{name}.json"
    if not path.exists():
        pytest.skip("the shared data is not here")
    messages = json.loads(path.read_bytes())["messages"]
    made = read(path.read_bytes(), path, "openai").recording
    calls = [call for turn in made.turns for step in turn.tools for call in step]
    asked = [call for message in messages for call in message.get("tool_calls") or ()]
    assert [(call.id, call.name, call.arguments) for call in calls] == [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in asked
    ]
    assert [call.result for call in calls] == [one["content"] for one in messages if one["role"] == "tool"]
    assert made.system == messages[0]["content"]
    assert len(made.turns) == sum(one["role"] == "user" for one in messages) - 1  # the last one is never answered
    assert made.fresh.endswith("###STOP###")
    assert errors(made) == []
    assert decode(msgspec.json.encode(made), path) == made


@pytest.mark.parametrize("name", primock.CALLS)
def test_primock_makes_a_call(name: str) -> None:
    made = primock.call(name)
    said = primock.said(name)
    assert errors(made) == []
    spoken = [one for one in said if one.by == "caller"]
    kept = [turn.caller.text for turn in made.turns] + [m.text for turn in made.turns for m in turn.backchannels]
    assert sorted(" ".join(kept).split()) == sorted(" ".join(one.text for one in spoken).split())
    assert sum(len(turn.backchannels) for turn in made.turns) >= 2
    cut = [turn.agent for turn in made.turns if turn.agent.heard is not None]
    assert len(cut) >= 3
    for reply in cut:
        whole = next(one for one in said if one.by == "agent" and reply.text.endswith(" ".join(one.text.split())))
        assert whole.end and whole.start and whole.start < reply.end < whole.end
        share = (reply.end - whole.start) / (whole.end - whole.start)
        unheard = len(reply.text.split()) - len((reply.heard or "").split())
        assert unheard == pytest.approx((1 - share) * len(whole.text.split()), abs=1)


def test_primock_has_pauses() -> None:
    pauses = [pause for turn in primock.call("day3_consultation09").turns for pause in turn.caller.pauses]
    assert len(pauses) >= 5
    assert all(pause.end - pause.start >= 0.3 for pause in pauses)


def test_the_same_file_makes_the_same_call_and_another_one_another() -> None:
    path = FILES / "openai.json"
    raw = path.read_bytes()
    assert read(raw, path, "openai") == read(raw, path, "openai")
    other = read(raw.replace(b"We can come by.", b"We can drop by."), path, "openai").recording
    assert other.turns[0].caller.end != imported("openai").recording.turns[0].caller.end


SAID = [{"role": "user", "content": "Hello there."}, {"role": "assistant", "content": "Good day."}]


def test_another_products_file_is_recognised() -> None:
    for name in ("openai", "pipecat", "livekit", "vapi", "retell"):
        raw = (FILES / f"{name}.json").read_bytes()
        for form in FORMATS:
            if form != name and {form, name} != {"openai", "pipecat"}:
                assert refused(raw, form) == f"looks like {name}: --from {name}"
    told = "the messages have timestamps, which --from pipecat takes (1)"
    assert told in imported("pipecat", "openai").notes


@pytest.mark.parametrize(
    ("data", "form", "said"),
    [
        (b"", "openai", "the file is empty; expected a call as openai writes it"),
        (b"{\n\n x", "openai", "line 3: not JSON: object keys must be strings"),
        (b"[1e400]", "openai", "a number out of range"),
        (b"[" * 100_000, "vapi", "nested too deeply"),
        ([], "openai", "no turns: nobody speaks and is answered"),
        (SAID[:1], "openai", "no turns: nobody speaks and is answered"),
        (SAID[1:], "openai", "no turns: nobody speaks and is answered"),
        (3, "openai", "not as openai writes it: expected keys and values, got a whole number"),
        ({}, "openai", "not as openai writes it: messages is missing"),
        ([*SAID, 7], "openai", "not as openai writes it: [2]: expected keys and values, got a whole number"),
        (
            {"messages": [*SAID, {"role": "user", "content": 5}]},
            "openai",
            "not as openai writes it: messages[2].content: expected text or a list, or null, got a whole number",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": 3}}]}]},
            "openai",
            "not as openai writes it: messages[0].tool_calls[0].function.name: expected text, got a whole number",
        ),
        (
            [{**SAID[0], "timestamp": "noon"}],
            "pipecat",
            "not as pipecat writes it: [0].timestamp: expected a time such as 2026-01-31T12:00:00.000Z",
        ),
        ({}, "pipecat", "not as pipecat writes it: messages is missing (needed: messages, or transcript)"),
        (
            {"chat_history": 1},
            "livekit",
            "not as livekit writes it: chat_history: expected keys and values, got a whole number",
        ),
        (
            {"items": [{"type": "message", "role": "user", "metrics": {"started_speaking_at": "x"}}]},
            "livekit",
            "not as livekit writes it: items[0].metrics.started_speaking_at: expected a number, or null, got text",
        ),
        ({"artifact": {}}, "vapi", "not as vapi writes it: artifact.messages is missing"),
        (
            {"artifact": {"messages": [{"role": "bot", "secondsFromStart": []}]}},
            "vapi",
            "not as vapi writes it: artifact.messages[0].secondsFromStart: expected a number, or null, got a list",
        ),
        ({}, "retell", "not as retell writes it: transcript_with_tool_calls or transcript_object is missing"),
        (
            {"transcript_object": [{"role": "user", "words": [{"start": "a"}]}]},
            "retell",
            "not as retell writes it: transcript_object[0].words[0].start: expected a number, or null, got text",
        ),
    ],
)
def test_what_cannot_be_used_is_told_in_a_line_with_its_place(data: Any, form: str, said: str) -> None:
    assert refused(data, form) == said


KEYS = st.sampled_from(
    re.findall(
        r"\w+",
        """messages role content tool_calls id function name arguments chat_history items type artifact message
        transcript_object words start end timestamp interrupted call metrics""",
    )
)
TEXTS = st.sampled_from(["user", "assistant", "bot", "agent", "tool", "system", "message", "function_call", "mhm"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | TEXTS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(KEYS, inner, max_size=6),
)


@settings(max_examples=150)
@given(JSON, st.sampled_from(sorted(FORMATS)))
def test_any_json_is_a_call_or_bad_input(data: Any, form: str) -> None:
    try:
        made = read(json.dumps(data).encode(), Path("f.json"), form)
    except BadInput as error:
        assert str(error).startswith("f.json: ") and str(error).isprintable()
    else:
        assert decode(msgspec.json.encode(made.recording), Path("f.json")) == made.recording


TIMES = st.none() | st.floats(-5, 60) | st.sampled_from([1e300, -1e300])
ENTRY = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant"]),
        "content": st.sampled_from(["mhm", "one", "one two three four five"]),
    },
    optional={
        "interrupted": st.booleans(),
        "metrics": st.fixed_dictionaries({}, optional={"started_speaking_at": TIMES, "stopped_speaking_at": TIMES}),
    },
)


@settings(max_examples=400)
@given(st.lists(ENTRY, min_size=2, max_size=12))
def test_whatever_times_a_file_has_the_call_is_in_order(entries: list[dict[str, Any]]) -> None:
    try:
        made = read(json.dumps({"items": entries}).encode(), Path("f.json"), "livekit").recording
    except BadInput as error:
        assert "no turns" in str(error)
    else:
        assert errors(made) == []
