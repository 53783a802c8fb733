"""`loadsim plan answer` as a command."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from loadsim.cli import cli
from loadsim.plan.found import Paced, write
from loadsim.types import BadInput, ServerSettings
from tests.cli.test_plan_traffic import PACED, turns
from tests.cli.test_plan_traffic import write as write_run
from tests.plan.models import NANO_KEYS, nano_infos, write_header
from tests.plan.test_inputs import SERVER, SETS, found, measured


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The article's model, without its weights."""
    path = tmp_path_factory.mktemp("model") / "phone-IQ4_XS.gguf"
    return str(write_header(path, "nemotron_h_moe", NANO_KEYS, nano_infos()))


def answer(*args: str) -> Result:
    return CliRunner().invoke(cli, ["plan", "answer", *args], env={"COLUMNS": "80"})


def said(done: Result) -> str:
    return " ".join(done.output.replace("\\\n", "").split())


def test_the_articles_card(model: str) -> None:
    done = answer("--model", model, "--card", "rtx3090", "--slots", "12", "--price", "$0.26/h")
    assert done.exit_code == 0
    assert f"llama-server -m {model} -ngl 99 -np 12 -c 393216 -b 2048 -ub 2048" in said(done)
    assert "a slot 240 MiB computed of 32,768 tokens; the header" in said(done)
    assert "every slot taken $0.00036 computed the price given" in said(done)
    assert "what callers hear: loadsim plan callers SCENARIO" in said(done)


def test_without_slots_as_many_as_needed_else_as_fit(model: str) -> None:
    fits = json.loads(answer("--model", model, "--card", "24GiB", "--format", "json").output)["slots"]
    assert fits > 24  # 24 loaded on the article's card
    load = ["--calls-per-hour", "180", "--call", "4.5m", "--format", "json"]
    needed = json.loads(answer("--model", model, "--card", "24GiB", *load).output)
    assert needed["slots"] == 22
    lines = {line["name"]: line for line in needed["figures"]["offered load"]}
    assert lines["refused, if nobody waits"]["fact"]["value"] == pytest.approx(
        0.0092, abs=2e-4
    )  # not of those that fit
    assert {line["name"] for line in needed["figures"]["memory"]} >= {"in all, 22 slots"}
    assert json.loads(answer(*load).output)["command"][-2:] == ["-np", "22"]


def test_settings_reach_the_command_and_the_memory(model: str) -> None:
    args = ["--model", model, "--slots", "4", "--context", "16384", "--set", "ubatch=512", "--set", "cache_type_k=q8_0"]
    found = json.loads(answer(*args, "--format", "json").output)
    words = " ".join(found["command"])
    assert "-np 4 -c 65536 -b 2048 -ub 512 -ctk q8_0 -ctv f16" in words
    slot = next(line for line in found["figures"]["memory"] if line["name"] == "a slot")
    assert slot["fact"]["value"] == pytest.approx(6 * 16384 * 256 * (34 / 32 + 2) + 23 * 2170880, rel=0.01)


def test_settings_stand_without_a_model_too() -> None:
    found = json.loads(answer("--slots", "4", "--price", "1/h", "--context", "4096", "--format", "json").output)
    assert "-np 4 -c 16384 " in " ".join(found["command"])


def test_no_more_slots_than_a_server_takes(model: str) -> None:
    done = answer("--model", model, "--slots", "256", "--context", "8388608")
    said = "--context 8388608: 256 slots of that are 2,147,483,648 tokens, over llama.cpp's limit"
    assert str(done.exception) == said
    load = ("--calls-per-hour", "20000", "--call", "4m", "--format", "json")
    for done in (answer("--model", model, *load), answer(*load)):
        assert json.loads(done.output)["slots"] == 256
    wide = answer("--model", model, "--card", "999999GiB", "--context", "16777216", "--format", "json")
    assert json.loads(wide.output)["slots"] == 127  # 2^31 - 1 tokens in all


def test_markdown(model: str) -> None:
    done = answer("--model", model, "--slots", "12", "--format", "markdown")
    assert done.output.startswith("# phone-IQ4_XS.gguf: 12 slots\n\n## Start it so\n")
    assert "## What would tell more" in done.output


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ([], "nothing to answer from: give a model, a search's run, or an offered load"),
        (["--card", "rtx3090"], "--card: of which model? Give --model"),
        (["--price", "1/h"], "a price of how many slots? Give --slots"),
        (["--call", "4m"], "how many calls? Give --calls-per-hour"),
        (["--set", "slots=4"], "--set slots=4: give --slots, and with --context the room of each"),
        (["--set", "server.context=4"], "--set server.context=4: give --slots, and with --context the room of each"),
        (["--slots", "4", "--price", "1/h", "--reserve", "much"], None),
    ],
)
def test_bad_input_in_a_line(args: list[str], error: str | None) -> None:
    done = answer(*args)
    assert isinstance(done.exception, BadInput)
    assert "\n" not in str(done.exception)
    assert error is None or str(done.exception) == error


def test_a_model_that_is_not_there() -> None:
    done = answer("--model", "nowhere.gguf")
    assert isinstance(done.exception, BadInput)
    assert "nowhere.gguf" in str(done.exception)


@pytest.fixture
def search(tmp_path: Path) -> Path:
    """A search's run: twelve hold, and thirteen do not."""
    folder = tmp_path / "found"
    folder.mkdir()
    known = {name: getattr(ServerSettings(), name) for name in ServerSettings.__struct_fields__}
    callers = {"warm": {"count": 1, "slots": "neighbours"}}
    write_run(folder, *turns(point="12 warm, paced"), scenario=PACED | {"server": known | SERVER, "callers": callers})
    facts = json.loads((folder / "run.json").read_text())
    facts |= {"server": {"embedded": True}, "points": {"12 warm": {"sets": SETS}}}
    (folder / "run.json").write_bytes(msgspec.json.encode(facts))
    write(found(), folder)
    return folder


def test_a_search_says_how_many_and_on_what(search: Path, model: str) -> None:
    done = json.loads(answer(str(search), "--model", model, "--card", "rtx3090", "--format", "json").output)
    assert done["slots"] == 12
    assert "-np 12 -c 786432 -b 2048 -ub 512" in " ".join(done["command"])
    assert done["limit"] == "decode"
    assert done["because"] == "measured: 13 fails: slowest decode 1.2 x voice of 1.5"
    assert done["pin"]["needed"] is True
    slot = next(line for line in done["figures"]["memory"] if line["name"] == "a slot")
    assert slot["more"] == "of 65,536 tokens"  # the run's own, and not the default's


def test_a_search_on_anothers_server_tells_the_room_of_a_slot(search: Path, model: str) -> None:
    facts = json.loads((search / "run.json").read_text()) | {"server": {"embedded": False, "context": 16384}}
    (search / "run.json").write_bytes(msgspec.json.encode(facts))
    done = json.loads(answer(str(search), "--model", model, "--format", "json").output)
    assert "-np 12 -c 196608" in " ".join(done["command"])
    slot = next(line for line in done["figures"]["memory"] if line["name"] == "a slot")
    assert slot["more"] == "of 16,384 tokens"


def test_a_search_with_paced_callers_tells_their_times(search: Path) -> None:
    paced = msgspec.structs.replace(measured(12, "meets", load="paced"), point="12 warm, paced")
    write(found(paced=Paced(callers=12, needed=300, seconds=9.0, measured=paced)), search)
    done = json.loads(answer(str(search), "--calls-per-hour", "60", "--call", "4m", "--format", "json").output)
    busy = next(line for line in done["figures"]["offered load"] if line["name"] == "a request is with the server")
    assert busy["fact"] == {"value": 2.0, "origin": "measured", "of": "found, 2 turns of 1 caller"}


def test_a_search_that_found_nobody(search: Path) -> None:
    write(found(callers=0, high=0, slots=None, confirmed=None, reason="1 fails: TTFT p95 2 s of 0.8"), search)
    for more in ([], ["--price", "1/h"]):
        done = answer(str(search), *more)
        assert (
            str(done.exception)
            == "in found no number of callers meets the targets for sure: 1 fails: TTFT p95 2 s of 0.8"
        )


@pytest.mark.parametrize(
    ("key", "value"),
    [("callers", -3), ("high", -1), ("slots", 0), ("targets", ["soon"]), ("points", [{"count": 0}]), ("limit", "moon")],
)
def test_a_damaged_search_is_one_line(search: Path, key: str, value: Any) -> None:
    file = search / "plan.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    done = answer(str(search))
    assert isinstance(done.exception, BadInput)
    assert str(done.exception).startswith(f"cannot read {file}: ")
    assert str(done.exception).isprintable()


def test_folders_without_a_search(search: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no folder")
    assert "text holds no search" in str(answer(str(tmp_path / "text")).exception)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "plan.json")
    pipe = tmp_path / "pipe" / "plan.json"
    assert str(answer(str(tmp_path / "pipe")).exception) == f"cannot read {pipe}: not a file"
    assert str(answer("nowhere").exception).startswith("nowhere holds no search: it has no plan.json")
    (search / "plan.json").write_text("{")
    assert str(answer(str(search)).exception).startswith(f"cannot read {search / 'plan.json'}: ")
    assert "those of SEARCH" in str(answer(str(search), "--set", "ubatch=512").exception)
    assert "those of SEARCH" in str(answer(str(search), "--context", "512").exception)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_from_a_search_on_the_embedded_server_to_the_page(tmp_path: Path) -> None:
    """Nobody waits for a minute, so that two callers hold for sure, and no more are tried."""
    found_at = tmp_path / "search"
    targets = ["--slo", "ttft p95 <= 60 s", "--together-only", "--most", "2", "--repeats", "3"]
    command = [sys.executable, "-m", "loadsim", "plan", "callers", "twelve_callers", *targets, "--out", str(found_at)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    page = json.loads(answer(str(found_at), "--format", "json").output)
    assert page["slots"] == 2, done.stdout
    assert "-np 2 -c 65536 -b 2048 -ub 2048" in " ".join(page["command"])
    assert page["pin"]["needed"] is True
    assert page["headroom"][0]["name"] == "ttft p95 <= 60 s"
    assert page["headroom"][0]["fact"]["value"] > 0.5
    assert any("tiny model" in line for line in page["cautions"])
