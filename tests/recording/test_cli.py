"""`loadsim recording`, as a person uses it."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from loadsim.cli import cli
from loadsim.recording.load import load
from loadsim.recording.model import Recording, Reply, Utterance
from loadsim.server import embedded
from loadsim.types import BadInput, RunStopped, ServerSettings

from .calls import call, turn, with_tool

CALL = call(
    3,
    turn_2=with_tool(turn(2), "a"),
    turn_3=replace(
        turn(3),
        agent=Reply("one [two] three four", 24, 26, heard="one [two]"),
        backchannels=(Utterance("mhm", 24.5, 25),),
    ),
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(recording: Recording) -> str:
    Path("call.json").write_bytes(msgspec.json.encode(recording))
    return "call.json"


def loadsim(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["recording", *arguments])


def test_check_is_content_with_a_sound_call(here: Path) -> None:
    found = loadsim("check", written(CALL))
    assert (found.exit_code, found.output) == (0, "nothing wrong in 3 turns\n")


def test_check_prints_a_line_per_finding(here: Path) -> None:
    broken = replace(CALL, fresh="", system="")
    found = loadsim("check", written(broken))
    assert (found.exit_code, found.output) == (1, "warning: system: no text\nfresh: no text\n")


def test_warnings_alone_are_no_failure(here: Path) -> None:
    found = loadsim("check", written(replace(CALL, system="")))
    assert (found.exit_code, found.output) == (0, "warning: system: no text\n")


def test_what_is_no_recording_is_bad_input(here: Path) -> None:
    Path("call.json").write_text("{}")
    for command in ("check", "show"):
        assert isinstance(loadsim(command, "call.json").exception, BadInput)


def test_show_counts_with_the_embedded_server(here: Path) -> None:
    found = loadsim("show", written(CALL))
    assert found.exit_code == 0
    lines = found.output.splitlines()
    assert max(map(len, lines)) <= 80
    words = [line.split() for line in lines]
    assert words[0] == ["A", "call:", "written", "for", "tests"]
    assert words[3][:3] == ["1", "0.0-3.0", "8"]
    assert any(line[:2] == ["->", "look_up"] for line in words)
    assert any("(cut, mhm) one [two]" in line for line in lines)
    assert any(line.startswith("new tokens of turns with tools and those behind them: ") for line in lines)
    assert lines[-1] == "tokens counted by loadsim-tiny, the embedded server"


def test_show_counts_with_a_server_of_yours(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with asyncio.Runner() as runner:
        settings = ServerSettings(slots=1, context=4096)
        process = runner.run(embedded.start(settings, here / "server.log", "secret"))
        url = process.ready["url"]
        try:
            monkeypatch.setenv("LOADSIM_API_KEY", "secret")
            assert loadsim("show", written(CALL), "--url", url).output.endswith(f"loadsim-tiny, {url}\n")
            monkeypatch.setenv("LOADSIM_API_KEY", "wrong")
            assert "refuses the API key" in str(loadsim("show", "call.json", "--url", url).exception)
        finally:
            runner.run(process.stop())
    assert isinstance(loadsim("show", "call.json", "--url", url).exception, RunStopped)


def test_show_does_without_counts(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_NEEDED", ("no_such_package",))
    found = loadsim("show", written(CALL))
    assert found.exit_code == 0
    assert "tokens  " not in found.output
    assert "no token counts: the embedded server needs no_such_package" in " ".join(found.output.split())


def test_show_has_the_greeting_first_and_marks_drawn_times(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_NEEDED", ("no_such_package",))
    drawn = replace(turn(2), caller=replace(turn(2).caller, drawn=True))
    written(replace(call(2, turn_2=drawn), greeting=Reply("Hello, who is it?", 0, 1, heard="Hello,")))
    lines = [line.split() for line in loadsim("show", "call.json").output.splitlines()]
    assert lines[3] == ["0.0-1.0", "1", "(cut)", "Hello,"]
    assert lines[4][:2] == ["1", "0.0-3.0"]
    assert lines[6][:2] == ["2", "~10.0-13.0"]
    assert lines[7][0] == "14.0-17.0"
    assert " ".join(lines[10]) == "~: 1 times are not the call's own, but drawn from how people talk"


IMPORTS = Path(__file__).parent / "imports"


def test_import_writes_a_recording_and_says_what_is_in_it(here: Path) -> None:
    found = loadsim("import", str(IMPORTS / "livekit.json"), "--from", "livekit", "--title", "Blue bike")
    assert found.exit_code == 0
    lines = found.output.splitlines()
    assert lines[0] == (
        "livekit.recording.json: 2 turns in 0.2 min, 1 with tools; 0 cuts, 1 backchannels; caller 2.9 words/s, "
        "agent 2.5; 1 tools, called 2 times"
    )
    assert "- left out: system messages in mid-call (1)" in lines
    assert lines[-1] == "nothing wrong in 2 turns"
    made = load("livekit.recording.json")
    assert (made.title, made.turns[1].caller.text) == ("Blue bike", "Keep one for me.")
    assert loadsim("check", "livekit.recording.json").output == "nothing wrong in 2 turns\n"


def test_import_leaves_what_is_there(here: Path) -> None:
    Path("mine.json").write_text("mine")
    said = loadsim("import", str(IMPORTS / "vapi.json"), "--from", "vapi", "--out", "mine.json")
    assert isinstance(said.exception, BadInput)
    assert str(said.exception) == "mine.json exists already; choose another name with --out"
    assert Path("mine.json").read_text() == "mine"
    gone = loadsim("import", str(IMPORTS / "vapi.json"), "--from", "vapi", "--out", "no/such.json")
    assert str(gone.exception) == "no/such.json: cannot be written (No such file or directory)"


def test_import_masks_and_says_that_a_person_must_read_it(here: Path) -> None:
    call = {
        "messages": [{"role": "user", "content": "My name is Tilda."}, {"role": "assistant", "content": "Hi, Tilda."}]
    }
    Path("call.json").write_bytes(msgspec.json.encode(call))
    found = loadsim("import", "call.json", "--from", "openai", "--redact")
    assert (
        "masked: names 1. This finds much, not all: a person must read it before it leaves the house." in found.output
    )
    assert "Tilda" not in Path("call.recording.json").read_text()
    plain = loadsim("import", "call.json", "--from", "openai", "--out", "plain.json")
    assert "masked" not in plain.output
    assert "Tilda" in Path("plain.json").read_text()


def test_import_ends_with_the_findings(here: Path) -> None:
    call = msgspec.json.decode((IMPORTS / "vapi.json").read_bytes())
    call["artifact"]["messages"][3]["toolCalls"][0]["function"]["arguments"] = {"bread": 3}
    Path("call.json").write_bytes(msgspec.json.encode(call))
    found = loadsim("import", "call.json", "--from", "vapi")
    assert found.exit_code == 1
    assert found.output.endswith("turn 1: step 1, call 1: arguments of order: bread: expected string; got 3\n")
    assert Path("call.recording.json").exists()


def test_import_of_what_is_no_call_is_bad_input(here: Path) -> None:
    for file, form, said in [
        (str(IMPORTS / "retell.json"), "vapi", "looks like retell: --from retell"),
        ("nowhere.json", "vapi", "nowhere.json: cannot be read (No such file or directory)"),
        (str(here), "openai", "cannot be read (Is a directory)"),
    ]:
        error = loadsim("import", file, "--from", form).exception
        assert isinstance(error, BadInput) and str(error).endswith(said)
    assert list(here.iterdir()) == []


def test_somebody_elses_text_does_nothing_to_a_terminal(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_NEEDED", ("no_such_package",))
    written(replace(CALL, title="a\x1b[2Jb", turns=(replace(turn(1), caller=Utterance("c\x1b[2Jd\ne", 0, 3)),)))
    found = loadsim("show", "call.json")
    assert "\x1b" not in found.output
    assert "a?[2Jb" in found.output
    assert "c?[2Jd e" in found.output
