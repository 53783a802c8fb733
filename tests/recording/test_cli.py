"""`loadsim recording`, as a person uses it."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from loadsim.cli import cli
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


def test_somebody_elses_text_does_nothing_to_a_terminal(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_NEEDED", ("no_such_package",))
    written(replace(CALL, title="a\x1b[2Jb", turns=(replace(turn(1), caller=Utterance("c\x1b[2Jd\ne", 0, 3)),)))
    found = loadsim("show", "call.json")
    assert "\x1b" not in found.output
    assert "a?[2Jb" in found.output
    assert "c?[2Jd e" in found.output
