"""Finding a recording's file, and saying in one line what is wrong with it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadsim.recording.load import decode, load
from loadsim.recording.model import Recording
from loadsim.types import BadInput

from .calls import call, turn, with_tool

CALL = call(3, turn_2=with_tool(turn(2), "a", "b"))
RAW = msgspec.json.encode(CALL)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(path: Path, title: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(CALL, title=title)))
    return path


def refused(raw: bytes | str) -> str:
    with pytest.raises(BadInput) as error:
        decode(raw.encode() if isinstance(raw, str) else raw, Path("call.json"))
    return str(error.value)


def test_a_shipped_recording_is_found_by_its_name(here: Path) -> None:
    assert load("front_desk") == load("front_desk.json")


def test_a_file_near_the_scenario_wins_over_one_here_and_a_shipped_one(here: Path) -> None:
    near = written(here / "near" / "front_desk.json", "near").parent
    assert load("front_desk", near).title == "near"
    assert load("front_desk.json", near).title == "near"
    written(here / "front_desk.json", "here")
    assert load("front_desk", near).title == "near"
    assert load("front_desk").title == "here"
    assert load("front_desk", here / "elsewhere").title == "here"
    assert load(str(near / "front_desk.json"), here).title == "near"


def test_a_missing_file_is_told_the_shipped_names(here: Path) -> None:
    with pytest.raises(BadInput, match=r"^no recording 'frontdesk', neither here nor in .*; shipped are: .*front_desk"):
        load("frontdesk", here)


def test_what_is_no_readable_file_is_said_so(here: Path) -> None:
    (here / "calls").mkdir()
    for near in (here, None):
        with pytest.raises(BadInput, match=r"calls: a folder; expected a recording's file$"):
            load("calls", near)
    with pytest.raises(BadInput, match=r"cannot be read \(File name too long\)$"):
        load("x" * 5000)


def test_an_error_names_the_file(here: Path) -> None:
    path = here / "broken.json"
    path.write_text('{"title": 3}')
    with pytest.raises(BadInput) as error:
        load("broken", here)
    assert str(error.value) == f"{path}: title: expected text, got a whole number"


def test_windows_marks_its_files_and_they_are_read() -> None:
    assert decode(b"\xef\xbb\xbf" + RAW, Path("x")) == CALL


def test_what_is_no_json_is_told_the_line() -> None:
    assert refused("") == refused(" \n") == "call.json: the file is empty; expected a recording"
    assert refused("hello") == "call.json: line 1: not JSON: invalid character"
    assert refused('{"title": "a",\n\n "source": x}') == "call.json: line 3: not JSON: invalid character"
    assert refused(RAW[:-10]) == "call.json: line 1: not JSON: ends too early"
    assert refused(b'{"title":\n "caf\xe9"}') == "call.json: line 2: not UTF-8 text"
    assert refused(RAW + b" x") == "call.json: line 1: not JSON: trailing characters"
    deep = RAW.replace(b'"result":{"price":4}', b'"result":' + b"[" * 100_000)
    assert refused(deep) == "call.json: nested too deeply"


def test_a_scenario_given_by_mistake_is_recognised(here: Path) -> None:
    said = "a scenario; expected a recording, such as front_desk.json"
    assert refused("recording: x\ncallers:\n  warm: {count: 1}\n") == f"call.json: {said}"
    assert refused('{"recording": "x", "callers": {}}') == f"call.json: {said}"
    (here / "mine.yaml").write_text("anything: at all")
    with pytest.raises(BadInput, match=f"mine.yaml: {said}"):
        load("mine.yaml")


def test_a_call_without_turns_is_none() -> None:
    empty = msgspec.structs.replace(CALL, turns=())
    assert refused(msgspec.json.encode(empty)) == "call.json: turns: an empty list; expected at least one turn"


GONE = object()


def changed(place: str, value: Any) -> str:
    """What is said of the call with another value at a dotted place, lists by index."""
    data = at = json.loads(RAW)
    *way, last = [int(key) if key.isdigit() else key for key in place.split(".")]
    for key in way:
        at = at[key]
    if value is GONE:
        del at[last]
    else:
        at[last] = value
    return refused(json.dumps(data)).removeprefix("call.json: ")


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("turns.2.agent.start", "soon", "turn 3: agent.start: expected a number, got text"),
        ("turns.0.agent", 3, "turn 1: agent: expected keys and values, got a whole number"),
        ("turns.0.agent.heard", 1, "turn 1: agent.heard: expected text, or null, got a whole number"),
        ("turns.1.tools", [{}], "turn 2: step 1: expected a list, got keys and values"),
        ("turns.1.tools.1.0.id", None, "turn 2: step 2, call 1: id: expected text, got null"),
        ("turns.1.tools.0.0.arguments", [], "turn 2: step 1, call 1: arguments: expected keys and values, got a list"),
        ("turns.0.backchannels", [{"text": True}], "turn 1: backchannel 1: text: expected text, got true or false"),
        ("tools.0", 3, "tool 1: expected keys and values, got a whole number"),
        ("turns.0.caller.pauses", [{"after": "x"}], "turn 1: caller.pause 1: after: expected a whole number, got text"),
        (
            "turns.0.caller.pauses",
            [{"words": 1}],
            "turn 1: caller.pause 1: unknown key words (allowed: after, end, start)",
        ),
        ("greeting", {"text": 1}, "greeting.text: expected text, got a whole number"),
        ("turns.0.agent", GONE, "turn 1: agent is missing (needed: agent, caller)"),
        ("turns.0.caller.end", GONE, "turn 1: caller: end is missing (needed: end, start, text)"),
        ("system", GONE, "system is missing (needed: source, system, title, tools, turns)"),
        ("turns.2.agent.stop", 3, "turn 3: agent: unknown key stop (allowed: drawn, end, heard, start, text)"),
        (
            "turns.1.tools.0.0.output",
            {},
            "turn 2: step 1, call 1: unknown key output (allowed: arguments, id, name, result)",
        ),
        ("notes", 1, "unknown key notes (allowed: fresh, greeting, source, system, title, tools, turns)"),
        ("a\nb\x1b[2J", 1, "unknown key a?b?[2J (allowed: fresh, greeting, source, system, title, tools, turns)"),
    ],
)
def test_the_place_is_told_as_a_person_counts(place: str, value: Any, said: str) -> None:
    assert changed(place, value) == said


def test_odd_values_and_keys_break_nothing() -> None:
    assert refused(RAW.replace(b'"start":24.0', b'"start":1e400')).endswith("turn 3: agent.start: number out of range")
    assert refused("[]") == "call.json: expected keys and values, got a list"
    assert "unknown key a - at `$.turns[x]` (allowed: " in refused('{"a - at `$.turns[x]`": 1}')


@settings(deadline=None)
@given(st.data())
def test_damaged_files_are_bad_input_and_nothing_else(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(RAW)))
    cut = data.draw(st.integers(0, 40))
    raw = RAW[:at] + data.draw(st.binary(max_size=5)) + RAW[at + cut :]
    try:
        assert isinstance(decode(raw, Path("call.json")), Recording)
    except BadInput as error:
        assert str(error).startswith("call.json: ")
        assert str(error).isprintable()


KEYS = st.sampled_from(["turns", "tools", "agent", "caller", "title", "text", "start"]) | st.text()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


@settings(deadline=None)
@given(JSON)
def test_any_json_is_bad_input_and_nothing_else(value: Any) -> None:
    try:
        decode(json.dumps(value).encode(), Path("call.json"))
    except BadInput as error:
        assert str(error).isprintable()
    else:
        raise AssertionError("no such value is a recording")
