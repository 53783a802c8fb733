"""`loadsim server`: it prints where it is, serves with its settings, and is gone after Ctrl-C."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[2]
SERVER = (sys.executable, "-m", "loadsim", "server")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("LOADSIM_API_KEY", raising=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_ctrl_c(number: signal.Signals) -> None:
    sets = ("--set", "slots=3", "--set", "server.context=3072")
    with subprocess.Popen([*SERVER, *sets], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as popen:
        assert popen.stdout is not None
        url = popen.stdout.readline().strip()
        with urllib.request.urlopen(f"{url}/props") as answer:
            props = json.load(answer)
        assert (props["total_slots"], props["default_generation_settings"]["n_ctx"]) == (3, 1024)
        popen.send_signal(number)
        _, err = popen.communicate(timeout=20)
    assert (popen.returncode, err) == (0, "")
    address = urlsplit(url)
    with socket.socket() as probe:
        assert probe.connect_ex((address.hostname or "", address.port or 0)) != 0
    assert not os.listdir()  # noqa: PTH208


@pytest.mark.parametrize(
    ("sets", "code", "said"),
    [
        ("slots=0", 2, "loadsim: --set slots=0: server.slots: expected a whole number, 1 or more; got 0"),
        ("slts=4", 2, "loadsim: --set slts=4: server.slts: unknown key; did you mean slots? "),
        ("url=http://a", 2, "loadsim: --set url=http://a: loadsim server runs the embedded server, with its "),
        ("slots", 2, "loadsim: --set slots: expected key=value, such as "),
        ("context=700", 2, "loadsim: --set context=700: server.context: 12 slots need 3072 tokens, 256 each; "),
        ("batch=1", 1, "loadsim: the embedded server did not start: "),
    ],
)
def test_what_cannot_be_is_one_line(sets: str, code: int, said: str) -> None:
    few = ("--set", "context=76800")
    done = subprocess.run([*SERVER, *few, "--set", sets], capture_output=True, text=True, timeout=30, check=False)
    assert done.stderr.startswith(said)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (code, 1, "")
