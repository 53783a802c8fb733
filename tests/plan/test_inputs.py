"""What a header told, as the page takes it."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from loadsim.plan.cards import Card
from loadsim.plan.inputs import from_header
from loadsim.plan.memory import plan
from loadsim.plan.source import read
from loadsim.types import ServerSettings
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
