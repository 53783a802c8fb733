"""Servers that a command of the user's starts: what it is given, what is waited for, and that it is gone."""

import asyncio
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from loadsim.engine.progress import Progress
from loadsim.engine.run import run as run_scenario
from loadsim.report.table import render
from loadsim.results.read import Run, read
from loadsim.results.write import Recorder
from loadsim.run import run
from loadsim.scenario.load import restore
from loadsim.server.tiny.model import model_path
from loadsim.types import BadInput, RunStopped
from tests.calls import CALL
from tests.report.runs import text_of

ROOT = Path(__file__).parents[2]
TRUTH = f"{sys.executable} -m tests.truth --port {{port}} slots={{slots}} context=4096 first=0.01 step=0.002 tokens=8"
SMALL: dict[str, Any] = {
    "recording": "call",
    "callers": {"warm": {"count": 2}},
    "baseline": {"replies": 0},
    "repeat": 1,
}
PLACES = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
BINARY = shutil.which("llama-server", path=PLACES) or shutil.which("llama-server-vulkan", path=PLACES)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def measured(folder: Path, server: dict[str, Any], **scenario: Any) -> Run:
    async def main() -> None:
        recorder = Recorder(folder, asyncio.get_running_loop().time(), text=False)
        wanted = restore({**SMALL, "server": server, **scenario}, "test")
        try:
            await run_scenario(wanted, {"call": CALL}, recorder, Progress(), recorder.start, None)
        except BaseException as error:
            recorder.close("stopped", str(error))
            raise
        recorder.close("complete")

    run(main())
    return read(folder)


def script(tmp_path: Path, code: str) -> str:
    """A command that runs `code`, with the port as its first argument."""
    (tmp_path / "command.py").write_text(code)
    return f"{sys.executable} {shlex.quote(str(tmp_path / 'command.py'))} {{port}}"


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_it_is_started_loaded_and_gone(tmp_path: Path) -> None:
    found = measured(tmp_path / "run", {"launch": TRUTH, "slots": 5})
    told = found.facts["server"]
    port = int(told["url"].rpartition(":")[2])
    assert told["slots"] == 5  # as its command was told
    assert told["command"] == TRUTH.format(port=port, slots=5)
    assert (told["embedded"], told["build"]) == (False, "b10902-truth")
    assert 0.05 < told["boot"]["health_s"] <= told["boot"]["first_token_s"] - 0.01 < 60
    assert Counter(r.row for r in found.rows) == {"warm": 2, "load": 2}
    assert not listens(port)
    (start,) = [event for event in found.events if event["event"] == "server"]
    assert (start["boot"], start["settings"]["slots"], start["points"]) == (told["boot"], 5, ["2 warm"])
    text = " ".join(text_of(render(found)).split())
    assert "s after its start, its first token came after 0." in text
    assert "round trip to the server " in text


def test_its_log_is_in_the_run(tmp_path: Path) -> None:
    measured(tmp_path / "run", {"launch": TRUTH})
    assert '{"url":"http://127.0.0.1:' in (tmp_path / "run" / "server.log").read_text()


def test_it_is_started_again_with_other_settings(tmp_path: Path) -> None:
    found = measured(tmp_path / "run", {"launch": TRUTH}, sweep={"server.slots": [2, 3], "request.top_k": [1, 2]})
    starts = [event for event in found.events if event["event"] == "server"]
    assert [(event["settings"]["slots"], len(event["points"])) for event in starts] == [(2, 2), (3, 2)]
    assert found.facts["server"]["slots"] == 3
    assert Counter(r.point for r in found.rows if r.row == "load") == dict.fromkeys(found.facts["points"], 2)


def test_its_address_may_be_told(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    found = measured(tmp_path / "run", {"launch": TRUTH, "url": f"http://localhost:{port}"})
    assert found.facts["server"]["url"] == f"http://localhost:{port}"
    assert f"--port {port} " in found.facts["server"]["command"]


def test_another_server_in_its_place_is_not_taken_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadsim.engine.serving.VACANT_TRIES", 1)
    command = [sys.executable, "-m", "tests.truth"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        url = other.stdout.readline().split('"')[3]
        with pytest.raises(RunStopped, match=rf"^server\.launch: a server answers at {url} already; end it"):
            measured(tmp_path / "run", {"launch": TRUTH, "url": url})
        other.kill()


def test_a_command_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^server\.launch: llama-sever: command not found$"):
        measured(tmp_path / "a", {"launch": "llama-sever --port {port}"})
    (tmp_path / "model.gguf").touch()
    with pytest.raises(BadInput, match=r"^server\.launch: .*model\.gguf: Permission denied$"):
        measured(tmp_path / "b", {"launch": f"{tmp_path}/model.gguf --port {{port}}"})


def test_a_command_that_ends_at_once_is_told_with_its_last_line(tmp_path: Path) -> None:
    code = "import sys; print('loading'); print('error: no such model', file=sys.stderr); sys.exit(3)"
    with pytest.raises(RunStopped) as stopped:
        measured(tmp_path / "run", {"launch": script(tmp_path, code)})
    log = tmp_path / "run" / "server.log"
    said = f"the command ended with status 3 before it served; its last line: error: no such model (see {log})"
    assert str(stopped.value) == said
    with pytest.raises(RunStopped, match=r"^the command ended with status 0 before it served and wrote nothing$"):
        measured(tmp_path / "quiet", {"launch": "true {port}"})


def test_a_command_that_never_serves_is_given_up_and_gone(tmp_path: Path) -> None:
    code = "import os, time; print('pid', os.getpid(), flush=True); time.sleep(60)"
    began = time.monotonic()
    with pytest.raises(
        RunStopped, match=r"^the launched server http://127.* is not up after 0\.5 s: no server at .*; "
    ):
        measured(tmp_path / "run", {"launch": script(tmp_path, code)}, timeout={"loading": "500 ms"})
    assert time.monotonic() - began < 30  # of the minute that it would sleep
    pid = int((tmp_path / "run" / "server.log").read_text().split()[1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_server_without_a_token_is_no_server(tmp_path: Path) -> None:
    faults = shlex.quote('faults={"status":500}')
    with pytest.raises(RunStopped, match=r"^the server is up but gives no token: HTTP 500: "):
        measured(tmp_path / "run", {"launch": f"{TRUTH} {faults}"})


@pytest.mark.slow
@pytest.mark.skipif(BINARY is None, reason="no llama-server here")
def test_the_real_command_line_over_two_settings(tmp_path: Path) -> None:
    command = (
        f"{BINARY} -m {model_path()} -np {{slots}} -c {{context}} -b {{batch}} -ub {{ubatch}} -t {{threads}} "
        "--ctx-checkpoints {checkpoints} --cache-ram {cache_ram} --no-cache-idle-slots --port {port} -ngl 0 "
        """--chat-template-kwargs '{"enable_thinking": false}'"""
    )
    server = {"launch": command, "slots": 2, "context": 8192}
    found = measured(tmp_path / "run", server, sweep={"server.ubatch": [64, 128]})
    starts = [event for event in found.events if event["event"] == "server"]
    assert [event["settings"]["ubatch"] for event in starts] == [64, 128]
    assert found.facts["server"]["slots"] == 2
    assert found.facts["server"]["context"] == 4096
    assert {(r.outcome, r.kind) for r in found.rows if r.row == "load"} == {("ok", "extension")}
    assert "-ub 128 " in found.facts["server"]["command"]
    assert (tmp_path / "run" / "server.log").read_text().count("cleaning up before exit") == 2  # it had its TERM
