"""`loadsim plan memory` as it is typed: its answer, its JSON, and one line for what cannot be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plan.models import NANO_KEYS, nano_infos, write_header
from tests.plan.served import serving
from tests.plan.test_gguf import BAD
from tests.telemetry.cards import Machine, simulated

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COLUMNS", "80")
    write_header(Path("nano.gguf"), "nemotron_h_moe", NANO_KEYS, nano_infos())


def asked(*words: str) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-m", "loadsim", "plan", "memory", *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


def test_it_answers_for_a_file_and_a_url() -> None:
    done = asked("nano.gguf", "--card", "rtx3090")
    assert (done.returncode, done.stderr) == (0, "")
    assert "12 slots leave 3,772 MiB" in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 80
    with serving({"nano.gguf": Path("nano.gguf").read_bytes()}) as served:
        there = asked(f"{served.url}/moved/nano.gguf", "--card", "rtx3090")
    assert there.stdout == done.stdout
    assert f"read: {served.sent:,} bytes of header" in there.stdout


def test_its_json_is_in_bytes() -> None:
    options = ("--slots", "4", "--context", "8192", "--cache-type", "q8_0", "--cache-type-v", "f16", "--card", "24GiB")
    done = asked("nano.gguf", *options, "--reserve", "2GiB", "--kv-unified", "--checkpoints", "2", "--json")
    found = json.loads(done.stdout)
    assert found["per_token"] == 3072 * 34 // 64 + 3072
    assert found["slots"]["kv"] == 4 * 8192 * found["per_token"]
    assert (found["settings"]["slots"], found["settings"]["context"]) == (4, 32768)
    assert found["fit"]["reserve"] == 2 << 30
    assert found["fit"]["card"] == {"name": "24GiB", "memory": 24 << 30, "bandwidth": None}
    assert found["host"]["checkpoints"] == 4 * 2 * 23 * 2170880
    assert [one["model"] for one in json.loads(asked("nano.gguf", "nano.gguf", "--json").stdout)] == ["nano.gguf"] * 2


def test_nothing_need_be_kept_free() -> None:
    found = json.loads(asked("nano.gguf", "--card", "24GiB", "--reserve", "0", "--json").stdout)
    assert found["fit"]["reserve"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.gguf",), "loadsim: none.gguf cannot be read (No such file or directory)\n"),
        (
            ("nano.gguf", "--card", "rtx309"),
            "loadsim: --card rtx309: no such card, and not a size such as 24GiB; did you",
        ),
        (("nano.gguf", "--card", "here"), "loadsim: --card here: no NVIDIA card is to be found"),
        (("nano.gguf", "--reserve", "1"), "loadsim: --reserve: expected a size such as 24GiB; got '1'\n"),
        (
            ("nano.gguf", "--context", "1000000000"),
            "loadsim: --context 1000000000: 12 slots of that are 12,000,000,000 ",
        ),
        (("http://127.0.0.1:9/m.gguf",), "loadsim: m.gguf cannot be fetched (Cannot connect to host 127.0.0.1:9"),
        (("v1.gguf",), "loadsim: v1.gguf is GGUF version 1; only 2 and 3 are read\n"),
        (("texts.gguf",), "loadsim: texts.gguf claims 1,152,921,504,606,846,976 texts in 'k', and so has a header of"),
    ],
)
def test_what_cannot_be_is_one_line(words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in simulated(Machine(cards=[], driver=None), Path.cwd(), {}).items():
        monkeypatch.setenv(key, value)
    for name in ("v1", "texts"):
        Path(f"{name}.gguf").write_bytes(BAD[name][0])
    done = asked(*words)
    assert done.stderr.startswith(said)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")


def test_help_imports_no_more_than_help_needs() -> None:
    code = "import sys; from loadsim.cli import cli; cli(['plan', '--help'], standalone_mode=False); "
    code += "print([name for name in ('aiohttp', 'rich', 'loadsim.plan') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "What a model and its slots take, from its header alone." in done.stdout
    assert done.stdout.endswith("[]\n")
