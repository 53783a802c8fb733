"""The embedded server: how it starts, how it ends, and that it is a llama-server in what it remembers."""

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
import uvloop

from loadsim.server import embedded, process
from loadsim.types import ServerSettings

SMALL = ServerSettings(slots=2, context=8192)
ROOT = Path(embedded.__file__).parents[2]

HISTORY = 10_371  # tokens, as in the lab's runs
TAIL = 7_507


def get(url: str, path: str) -> Any:
    with urllib.request.urlopen(url + path) as answer:
        return json.load(answer)


def post(url: str, path: str, body: dict[str, Any], key: str = "") -> Any:
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def listens(url: str) -> bool:
    address = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((address.hostname or "", address.port or 0)) == 0


def serve(settings: ServerSettings, log: Path, use: Callable[[str], Any]) -> Any:
    """What `use` makes of a server's address."""

    async def main() -> Any:
        server = await embedded.start(settings, log)
        try:
            return use(server.ready["url"])
        finally:
            await server.stop()

    return asyncio.run(main())


def prompt(tokens: int, seed: int) -> list[int]:
    """Any words: ids past the bytes and the digits."""
    return random.Random(seed).choices(range(266, 4000), k=tokens)


def cached(url: str, tokens: list[int]) -> int:
    """How much of the prompt slot 0 still had."""
    answer = post(url, "/completion", {"prompt": tokens, "n_predict": 1, "id_slot": 0})
    assert answer["timings"]["cache_n"] + answer["timings"]["prompt_n"] == len(tokens)
    return int(answer["timings"]["cache_n"])


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_it_serves_until_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]) -> None:
    """On both loops, from a folder whose modules would break it, in a process group that Ctrl-C does not reach."""
    (tmp_path / "random.py").write_text("raise RuntimeError('not mine')")
    monkeypatch.chdir(tmp_path)

    async def main() -> None:
        server = await embedded.start(SMALL, Path("server.log"))
        url = server.ready["url"]
        assert server.ready["load_s"] < 5
        assert "xllamacpp" in server.ready["build"]
        assert os.getpgid(server.pid) == server.pid != os.getpgid(0)
        props = get(url, "/props")
        assert props["total_slots"] == 2
        assert props["default_generation_settings"]["n_ctx"] == 4096
        assert props["model_alias"] == "loadsim-tiny"
        assert await server.stop() == 0
        assert not listens(url)

    run(main())
    assert "listening on" in Path("server.log").read_text()


def test_two_servers_take_two_ports(tmp_path: Path) -> None:
    async def main() -> None:
        first, second = await asyncio.gather(*(embedded.start(SMALL, tmp_path / name) for name in "12"))
        assert first.ready["url"] != second.ready["url"]
        await first.stop()
        assert not listens(first.ready["url"])
        assert listens(second.ready["url"])
        await second.stop()

    asyncio.run(main())


SCRIPT = """
import asyncio, os, signal, time
from pathlib import Path
from loadsim.server import embedded
from tests.server.test_embedded import SMALL, listens
async def main():
    server = await embedded.start(SMALL, Path({log!r}))
    url = server.ready["url"]
    print(url, flush=True)
    {ending}
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("raise RuntimeError", 1),
        ("os.kill(os.getpid(), signal.SIGINT); await asyncio.sleep(60)", -2),
        ("pass", 0),
    ],
    ids=["kill -9", "exception", "ctrl-c", "forgotten"],
)
def test_it_ends_with_its_parent(tmp_path: Path, ending: str, status: int) -> None:
    outlived(SCRIPT.format(ending=ending, log=str(tmp_path / "log")), status)


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
def test_it_ends_with_its_parent_though_another_child_holds_the_pipe(tmp_path: Path) -> None:
    ending = "os.fork() or (os.close(1), os.close(2), time.sleep(20)); os.kill(os.getpid(), signal.SIGKILL)"
    outlived(SCRIPT.format(ending=ending, log=str(tmp_path / "log")), -9)


def outlived(script: str, status: int) -> None:
    """Run a script that starts a server, and see that the server ends soon after it."""
    parent = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert parent.returncode == status, parent.stderr
    deadline = time.monotonic() + 10
    while listens(parent.stdout.strip()):
        assert time.monotonic() < deadline, "the server outlived its parent"
        time.sleep(0.01)


def test_a_crash_is_noticed(tmp_path: Path) -> None:
    async def main() -> int:
        server = await embedded.start(SMALL, tmp_path / "log")
        os.kill(server.pid, signal.SIGSEGV)
        async with asyncio.timeout(5):
            return await server.ended()

    assert asyncio.run(main()) == -signal.SIGSEGV


def test_a_wrong_key_is_refused_and_the_key_is_in_no_command_line(tmp_path: Path) -> None:
    async def main() -> None:
        server = await embedded.start(SMALL, tmp_path / "log", api_key="sesame")
        try:
            assert "sesame" not in command_line(server.pid)
            assert post(server.ready["url"], "/tokenize", {"content": " 7"}, "sesame")["tokens"] == [263]
            with pytest.raises(urllib.error.HTTPError, match="401"):
                post(server.ready["url"], "/tokenize", {"content": " 7"}, "simsalabim")
        finally:
            await server.stop()

    asyncio.run(main())
    assert "sesame" not in (tmp_path / "log").read_text()


def test_settings_that_llama_cpp_refuses_are_told_in_its_words(tmp_path: Path) -> None:
    with pytest.raises(process.StartError, match=r"n_seq_max must be <= 256[^$]*please check the input params"):
        serve(ServerSettings(slots=300), tmp_path / "log", print)
    with pytest.raises(process.StartError, match=r"SIGABRT[^$]*GGML_ASSERT"):
        serve(ServerSettings(context=4096, batch=1), tmp_path / "log", print)


def test_settings_out_of_range_start_nothing(tmp_path: Path) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"`int` >= 1 - at `\$.slots`"):
        serve(ServerSettings(slots=0), tmp_path / "log", print)
    assert not (tmp_path / "log").exists()


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    with pytest.raises(embedded.MissingPackagesError, match=r"xllamacpp.*pip install 'loadsim\[embedded\]'"):
        serve(SMALL, tmp_path / "log", print)


@pytest.mark.parametrize(
    ("ubatch", "restored"),
    [
        (512, 17_362),
        pytest.param(1024, 16_850, marks=pytest.mark.slow),
        pytest.param(2048, 15_830, marks=pytest.mark.slow),
    ],
)
def test_a_cut_restores_where_the_lab_saw_it(tmp_path: Path, ubatch: int, restored: int) -> None:
    """The last tokens of a prompt of 17,878 are replaced: up to the reach, that checkpoint; past it, the history's."""
    history, tail = prompt(HISTORY, 1), prompt(TAIL, 2)
    whole = history + tail
    reach = len(whole) - restored

    def edits(url: str) -> list[int]:
        found = [cached(url, history)]
        for replaced in (reach, reach + 1):
            found.append(cached(url, whole))
            found.append(cached(url, whole[:-replaced] + prompt(replaced, 3)))
        return found

    found = serve(ServerSettings(ubatch=ubatch), tmp_path / "log", edits)
    assert found[:3] == [0, HISTORY, restored]
    assert found[4] == HISTORY - 4


def test_without_checkpoints_only_an_extension_is_reused(tmp_path: Path) -> None:
    warm = prompt(3000, 1)

    def ask(url: str) -> list[int]:
        prompts = [warm, warm + prompt(24, 2), warm + prompt(24, 2), warm + prompt(24, 3)]
        return [cached(url, tokens) for tokens in prompts]

    assert serve(ServerSettings(slots=2, context=16384, checkpoints=0), tmp_path / "log", ask) == [0, 3000, 0, 0]


def test_the_settings_arrive(tmp_path: Path) -> None:
    """`similarity` 0: any idle slot with a common token is taken again; the default 0.1 takes a fresh one."""

    def slots(url: str) -> list[int]:
        first, second = prompt(100, 1), prompt(5, 1) + prompt(95, 2)
        return [post(url, "/completion", {"prompt": tokens, "n_predict": 1})["id_slot"] for tokens in (first, second)]

    one, other = serve(SMALL, tmp_path / "log", slots)
    assert one != other
    one, other = serve(msgspec.structs.replace(SMALL, similarity=0.01), tmp_path / "log", slots)
    assert one == other
