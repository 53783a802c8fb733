"""The computed caches and states are what llama.cpp itself logs when it loads the same model with the same settings."""

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from loadsim.plan.memory import plan
from loadsim.plan.source import read
from loadsim.server.tiny.model import model_path
from loadsim.types import BadInput, CacheType, ServerSettings
from tests.plan import models
from tests.plan.loading import Logged, load


def tiny(path: Path) -> Path:
    """The embedded server's model."""
    return model_path()


MAKERS = [tiny, models.llama, models.gemma3, models.mamba2]
MORE = [models.gemma2, models.gemma4, models.cohere2, models.gpt_oss, models.deepseek2]
MORE += [models.falcon_h1, models.granitehybrid, models.lfm2, models.qwen35]
# 256 tokens, 3,333 that are no multiple of 256, and many slots, whose states are MiBs in the log's two decimals.
SIZES = [(1, 8192), (3, 3 * 3333), (64, 64 * 600)]
TYPES: tuple[CacheType, ...] = ("f16", "q8_0")
SETTINGS = [
    ServerSettings(
        slots=slots, context=context, ubatch=512, kv_unified=unified, cache_type_k=cache_type, cache_type_v=cache_type
    )
    for (slots, context), cache_type, unified in itertools.product(SIZES, TYPES, (False, True))
]

MIXED = ServerSettings(slots=2, context=4096, cache_type_k="q8_0", ubatch=512, batch=128)


@pytest.mark.parametrize("make", [*MAKERS, *(pytest.param(make, marks=pytest.mark.slow) for make in MORE)])
def test_what_is_computed_is_what_is_logged(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path / "model.gguf")
    orders = [(path, settings, False) for settings in SETTINGS] + [(path, SETTINGS[0], True)]
    if make is not models.deepseek2:
        orders.append((path, MIXED, False))
    for order, logged in zip(orders, load(orders), strict=True):
        assert computed(*order) == logged, order


def test_a_cache_type_that_does_not_divide_the_heads_is_refused_by_both(tmp_path: Path) -> None:
    path = models.llama(tmp_path / "model.gguf", 16)
    refused(
        path, "no cache of q8_0, in blocks of 32: its keys are 16 long", "type q8_0 with block size 32 does not divide"
    )


@pytest.mark.slow
def test_two_cache_types_for_latent_attention_are_refused_by_both(tmp_path: Path) -> None:
    path = models.deepseek2(tmp_path / "model.gguf")
    refused(
        path, "of one cache type; not q8_0 and f16", r"does not support different K \(q8_0\) and V \(f16\) cache types"
    )


def refused(path: Path, ours: str, theirs: str) -> None:
    with pytest.raises(BadInput, match=ours):
        computed(path, MIXED, False)
    with pytest.raises(AssertionError, match=theirs):
        load([(path, MIXED, False)])


def computed(path: Path, settings: ServerSettings, swa_full: bool) -> Logged:
    """What llama.cpp will log, from the header alone."""
    found = plan(asyncio.run(read(str(path))), settings, None, 0, swa_full)
    slots = found.slots
    caches = [(slots.kv, slots.cells)] if found.shape.full else []
    caches += [(slots.window, slots.window_cells)] if found.shape.windowed else []
    state = (mib(slots.state), slots.slots if found.shape.states else 0)
    return Logged([(mib(size), cells) for size, cells in caches], state)


def mib(size: int) -> str:
    return f"{size / (1 << 20):.2f}"
