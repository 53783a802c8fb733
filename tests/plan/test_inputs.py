"""What a header told and a search found, as the page takes it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from loadsim.plan.cards import Card
from loadsim.plan.found import Found, Limit, Measured, Paced
from loadsim.plan.inputs import from_header, from_search
from loadsim.plan.memory import plan
from loadsim.plan.source import read
from loadsim.plan.verdict import Figure, Verdict
from loadsim.results.read import Run
from loadsim.types import BadInput, ServerSettings
from tests.plan.models import A4B_INFOS, A4B_KEYS, NANO_KEYS, nano_infos, write_header

MIB, GIB = 1 << 20, 1 << 30
TWELVE = ServerSettings(slots=12, context=393216)
RTX3090 = Card(name="rtx3090", memory=24 * GIB)


def test_the_articles_hybrid(tmp_path: Path) -> None:
    path = write_header(tmp_path / "nano.gguf", "nemotron_h_moe", NANO_KEYS, nano_infos())
    found = plan(asyncio.run(read(str(path))), TWELVE, RTX3090, GIB)
    memory = from_header(found)
    assert (memory.model, memory.file) == ("nano.gguf", str(path))
    assert round(memory.slot / MIB) == 240
    assert memory.keeps.uncut
    assert round(memory.keeps.checkpoint / MIB, 1) == 47.6
    assert (memory.card, memory.room, memory.reserve) == ("rtx3090", 24 * GIB, GIB)
    assert memory.total == memory.weights + found.slots.bytes
    assert found.fit is not None
    assert (memory.fits, memory.left) == (found.fit.slots, found.fit.left)
    assert memory.guessed is None


def test_windows_and_a_full_cache(tmp_path: Path) -> None:
    path = write_header(tmp_path / "a4b.gguf", "gemma4", A4B_KEYS, A4B_INFOS)
    model = asyncio.run(read(str(path)))
    memory = from_header(plan(model, replace(TWELVE, ubatch=512), None, 0))
    assert (memory.keeps.state, memory.keeps.window, memory.keeps.uncut) == (False, True, True)
    assert (memory.card, memory.room, memory.fits, memory.left) == (None, None, None, None)
    assert round(memory.slot / MIB) == 940
    assert not from_header(plan(model, TWELVE, None, 0, swa_full=True)).keeps.uncut


def test_a_url_is_named_by_its_file(tmp_path: Path) -> None:
    path = write_header(tmp_path / "nano.gguf", "nemotron_h_moe", NANO_KEYS, nano_infos())
    found = plan(asyncio.run(read(str(path))), TWELVE, None, 0)
    assert from_header(replace(found, files=("https://host/a/b.gguf?download=true",))).file == "b.gguf"
    assert from_header(replace(found, files=("https://host/a/b%20c.gguf",))).file == "b c.gguf"


SERVER = {"slots": 12, "context": 393216, "batch": 2048, "ubatch": 512, "url": "embedded", "launch": None}


def run_of(
    server: dict[str, Any] = SERVER,
    slots: str = "neighbours",
    embedded: bool = True,
    points: dict[str, dict[str, Any]] = {},  # noqa: B006
) -> Run:
    """A search's run: its points set what they differ by."""
    known = {name: getattr(ServerSettings(), name) for name in ServerSettings.__struct_fields__}
    facts = {
        "scenario": {"server": known | server, "callers": {"warm": {"count": 1, "slots": slots}}},
        "points": {name: {"sets": sets} for name, sets in points.items()},
        "server": {"embedded": embedded, "context": 4096},
    }
    return Run(path=Path("/runs/found"), facts=facts, rows=[], events=[], texts={}, torn=0)


def measured(count: int, verdict: Verdict, *figures: tuple[str, float, Verdict], **fields: Any) -> Measured:
    told = [Figure(target=target, value=value, verdict=said) for target, value, said in figures]
    return Measured(point=f"{count} warm", count=count, slots=count, repeats=5, figures=told, verdict=verdict, **fields)


TWELVE_HOLD = measured(12, "meets", ("ttft p95 <= 800 ms", 0.6, "meets"), ("decode >= 1.5 x voice", 6.0, "meets"))
THIRTEEN_FAIL = measured(
    13, "misses", ("ttft p95 <= 800 ms", 0.79, "unclear"), ("decode >= 1.5 x voice", 1.2, "misses")
)  # fmt: skip
SETS = {"server.slots": 12, "server.context": 786432}


def found(**fields: Any) -> Found:
    plain: dict[str, Any] = {
        "callers": 12, "high": 12, "group": "warm", "others": 0, "targets": [], "default": False, "limit": "target",
        "reason": "13 fails: slowest decode 1.2 x voice of 1.5", "slots": 12, "confirmed": "12 warm",
        "points": [TWELVE_HOLD, THIRTEEN_FAIL], "confidence": 0.95,
    }  # fmt: skip
    return Found(**plain | fields)


def test_what_a_search_found() -> None:
    told = from_search(found(), run_of(points={"12 warm": SETS}))
    assert (told.run, told.callers, told.high, told.slots, told.repeats) == ("found", 12, 12, 12, 5)
    assert (told.missed, told.full, told.bounded, told.stopped) == ("decode", False, False, None)
    assert (told.pinned, told.confirmed, told.paced, told.embedded) == (True, True, None, True)
    assert told.settings is not None
    assert (told.settings.slots, told.settings.context, told.settings.ubatch) == (12, 786432, 512)
    ttft, decode = told.targets
    assert (ttft.text, ttft.measure, ttft.value, ttft.limit) == ("ttft p95 <= 800 ms", "ttft", "600 ms", "800 ms")
    assert ttft.left == pytest.approx(0.25)  # 200 of 800 ms
    assert decode.left == pytest.approx(0.75)  # 4.5 of 6 times the voice


@pytest.mark.parametrize(
    ("limit", "missed", "full", "bounded"),
    [("target", "decode", False, False), ("server", None, True, False), ("slots", None, False, True),
     ("most", None, False, False), ("client", None, False, False)],
)  # fmt: skip
def test_what_ended_the_search(limit: Limit, missed: str | None, full: bool, bounded: bool) -> None:
    told = from_search(found(limit=limit), run_of())
    assert (told.missed, told.full, told.bounded) == (missed, full, bounded)


def test_callers_beside_others_have_slots_too() -> None:
    assert from_search(found(others=2, slots=None, confirmed=None), run_of()).slots == 14
    assert from_search(found(callers=0, others=2, slots=None, confirmed=None), run_of()).slots == 0


def test_a_launch_and_another_ones_server() -> None:
    launched = from_search(found(), run_of(SERVER | {"launch": "llama-server -np {slots}"}, embedded=False))
    assert (launched.launch, launched.embedded, launched.context) == ("llama-server -np {slots}", False, None)
    assert launched.settings is not None
    theirs = from_search(found(), run_of(SERVER | {"url": "http://gpu-box:8080"}, "server", embedded=False))
    assert (theirs.settings, theirs.launch, theirs.context, theirs.pinned) == (None, None, 4096, False)


def test_a_server_with_as_many_slots_as_callers_confirms_them() -> None:
    """One that is not ours is not started again: it may have had just so many."""
    assert from_search(found(confirmed=None, slots=None), run_of()).confirmed
    more = replace(TWELVE_HOLD, slots=16)
    assert not from_search(found(confirmed=None, slots=None, points=[more]), run_of()).confirmed


def test_a_search_of_another_run_is_told() -> None:
    with pytest.raises(BadInput, match=r"plan.json is of another run: this one has no load point '12 warm'$"):
        from_search(found(), run_of(points={"3 warm": {}}))


def test_callers_with_the_pace_of_people() -> None:
    paced = measured(12, "misses", ("ttft p95 <= 800 ms", 0.9, "misses"), load="paced")
    held = Paced(callers=12, needed=300, seconds=600.0, measured=paced)
    told = from_search(found(confirmed=None, paced=held, points=[TWELVE_HOLD, paced]), run_of())
    assert told.paced == "misses"
    assert told.targets[0].value == "600 ms"  # the targets' figures are of those who talk at once
    hurried = replace(held, time_scale=10.0)
    assert from_search(found(paced=hurried), run_of()).paced is None  # no real load
    left_out = replace(held, measured=None)
    assert from_search(found(paced=left_out), run_of()).paced is None
