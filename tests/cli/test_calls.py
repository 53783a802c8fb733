"""Calls of people, against the embedded server: what cuts and cold joins do to its cache and its steps."""

import asyncio
import itertools
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import msgspec
import pytest

from loadsim.recording import importers
from loadsim.recording.model import Recording
from loadsim.results.read import Run, read
from loadsim.server import embedded
from loadsim.server.process import Process
from loadsim.types import RequestRow, ServerSettings
from tests.recording.primock import CALLS, SHARED
from tests.recording.primock import call as primock

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
FULL = 10_369  # tokens of the fitted call


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("LOADSIM_API_KEY", raising=False)
    return tmp_path


def loadsim(scenario: str, *sets: str, out: str = "run") -> Run:
    """Run a scenario with these settings; the run as read back."""
    flags = itertools.chain.from_iterable(("--set", change) for change in sets)
    command = [sys.executable, "-m", "loadsim", "scenario", scenario, "--out", out, *flags]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    return read(Path(out))


def load(found: Run, group: str | None = None) -> list[RequestRow]:
    return [row for row in found.rows if row.row == "load" and group in (None, row.group)]


@pytest.mark.parametrize("heard", ["spoken_words", "retranscribed"])
def test_the_turn_after_a_cut_finds_a_checkpoint_or_the_common_prefix(heard: str) -> None:
    # Replies of up to 2 s at what this machine decodes, heard by a fast ear, and cut long before their end.
    found = loadsim(
        "barge_in",
        "sweep={}",
        f"barge_in.heard={heard}",
        "barge_in.probability=1",
        "callers.paced={count: 1, turns: last 5}",
        "pace={by: speech, gap: 0, words_per_s: 5, endpointing: 100 ms, time_scale: 4}",
        "voice={rate: 1000 tokens/s, tts: 0, network: 0}",
        "reply={exactly: 3000}",
        "baseline.replies=0",
        "server={slots: 2, context: 65536}",
    )
    rows = load(found)
    assert len(rows) == 5
    cut = [row for row in rows if row.outcome == "cut"]
    assert cut  # drawn cuts come after 3.2 s at p50, four times faster here
    for row in cut:
        assert row.cut is not None
        assert row.error is None
        assert row.cut.closed
        assert 0 < len(row.token_s) < 3000
        assert row.cut.heard + row.cut.unheard == len(row.token_s)
    released = [e for e in found.events if e["event"] == "released"]
    assert 0 < len(released) <= len(cut)  # a slot that was asked again before we looked tells nothing
    assert all(e["after_s"] is not None and e["after_s"] < 2 for e in released)
    after = [(before, row) for before, row in itertools.pairwise(rows) if before.cut is not None]
    for before, row in after:
        assert before.cut is not None
        assert row.cut_tokens == before.cut.unheard
        assert None not in (before.cache_n, before.prompt_n, row.cache_n)
        prompt = (before.cache_n or 0) + (before.prompt_n or 0)
        # the copy saved four tokens before that prompt's end, or all that the slot holds
        assert row.cache_n in (prompt - 4, prompt + len(before.token_s) - 1)
        assert row.kind in ("rewind", "extension")


@pytest.mark.parametrize(("batch", "steps"), [(512, 22), (1024, 12), (2048, 7), (4096, 5)])
def test_a_cold_join_stalls_the_others_for_its_steps(batch: int, steps: int) -> None:
    assert steps == math.ceil((FULL - min(batch, 4 + 2048)) / (batch - 2)) + 2
    found = loadsim("cold_join", "sweep={}", "repeat=3", "baseline.replies=0", f"server.batch={batch}")
    seen, largest = [], []
    for joiner in load(found, "joiner"):
        assert (joiner.kind, joiner.cache_n) == ("cold", 0)
        assert joiner.first_token_s is not None
        assert joiner.prompt_ms is not None
        begin, end = joiner.first_token_s - joiner.prompt_ms / 1e3, joiner.first_token_s
        for row in load(found, "warm"):
            if row.repeat == joiner.repeat:
                assert row.sent_s is not None
                arrivals = [row.sent_s + t for t in row.token_s]
                seen.append(sum(begin <= t <= end for t in arrivals))
                largest.append(max(b - a for a, b in itertools.pairwise(arrivals)))
    # those who had their first token in the joiner's first step see them all
    assert max(seen) == pytest.approx(steps, rel=0.2, abs=2)
    assert max(largest) > 0.02


def test_in_a_low_slot_it_delays_first_tokens_and_in_a_high_one_it_stalls_replies() -> None:
    # the joiner first; small batches, so that a step is short beside the whole evaluation
    small = ("server.batch=512", "server.ubatch=512", "callers.warm.start=at 100 ms")
    found = loadsim("cold_join", "repeat=3", "baseline.replies=0", *small)
    waits: dict[str, list[float]] = {"slots=high": [], "slots=low": []}
    stalls: dict[str, list[float]] = {"slots=high": [], "slots=low": []}
    for row in load(found, "warm"):
        assert row.first_token_s is not None
        assert row.sent_s is not None
        waits[row.point].append(row.first_token_s - row.sent_s)
        stalls[row.point].append(max(b - a for a, b in itertools.pairwise(row.token_s)))
    # six of each; one that the machine held up is no case
    assert median(waits["slots=low"]) > 1.5 * median(waits["slots=high"])
    assert median(stalls["slots=high"]) > 1.5 * median(stalls["slots=low"])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    with asyncio.Runner() as runner:
        process = runner.run(embedded.start(ServerSettings(slots=3, context=98304), tmp_path / "server.log"))
        try:
            yield process
        finally:
            runner.run(process.stop())


def test_a_second_cold_join_on_the_same_server_is_cold_again(server: Process) -> None:
    for name in "ab":
        few = ("sweep={}", "repeat=1", "baseline.replies=0", f"server.url={server.ready['url']}")
        found = loadsim("cold_join", *few, out=name)
        (joiner,) = load(found, "joiner")
        assert (joiner.kind, joiner.cache_n, joiner.planned) == ("cold", 0, True)
        assert {row.kind for row in load(found, "warm")} == {"extension"}


def test_a_whole_call_grows_to_its_full_length() -> None:
    found = loadsim("whole_call")
    rows = load(found)
    assert len({row.turn for row in rows}) == 74
    assert len(rows) == 74 + 7  # five turns call one tool, one calls two
    assert {row.outcome for row in rows} == {"ok"}
    prompts = [(row.cache_n or 0) + (row.prompt_n or 0) for row in rows]
    assert prompts == sorted(prompts)
    # the recorded call to its last caller message, and the salts of 74 turns, a token a digit
    assert prompts[-1] == FULL + 74 * 8
    assert {row.kind for row in rows[1:]} <= {"extension", "rewind"}


def played(recording: Recording) -> None:
    """A real call from its first word to its last, at once and then at the pace of its people."""
    Path("theirs.json").write_bytes(msgspec.json.encode(recording))
    requests = sum(len(turn.tools) + 1 for turn in recording.turns)
    whole = ("recording=theirs", "fit=null", "callers.lone={count: 1, cache: cold, turns: all}")
    for out, *sets in (("run",), ("paced", "pace={by: speech, time_scale: 200}", "barge_in=recorded")):
        rows = load(loadsim("whole_call", *whole, *sets, out=out))
        assert [row.turn for row in rows if not row.step] == list(range(1, len(recording.turns) + 1))
        assert len(rows) == requests
        assert {row.outcome for row in rows} <= {"ok", "cut"}
        assert rows[0].kind == "cold"
        assert {row.kind for row in rows[1:]} <= {"extension", "rewind"}
        steps = [row.step for row in rows if row.turn and row.step]
        assert len(steps) == sum(len(turn.tools) for turn in recording.turns)


@pytest.mark.skipif(not SHARED.exists(), reason="the calls are not here")
@pytest.mark.parametrize("name", CALLS)
def test_a_doctors_call(name: str) -> None:
    played(primock(name))


@pytest.mark.skipif(not SHARED.exists(), reason="the calls are not here")
@pytest.mark.parametrize("name", ["airline_65", "airline_75"])
def test_a_dialogue_with_tools(name: str) -> None:
    file = SHARED / "tau_bench" / f"{name}.json"
    recording = importers.read(file.read_bytes(), file, "openai").recording
    assert sum(len(turn.tools) for turn in recording.turns) > 3
    played(recording)


@pytest.mark.parametrize(
    "sets",
    [
        ("paced_twelve", "pace.time_scale=100"),
        ("conversation", "pace.time_scale=80"),
        ("flaky_callers", "pace.time_scale=80"),
        ("cold_join_twelve", "repeat=1", "baseline.replies=2"),
    ],
)
def test_the_other_scenarios_run_to_an_answer(sets: tuple[str, ...]) -> None:
    found = loadsim(sets[0], *sets[1:])
    assert found.facts["ended"] == "complete"
    why = {e["why"] for e in found.events if e["event"] == "call"}
    assert why <= {"ended", "time"}
    assert len(load(found)) >= 12
