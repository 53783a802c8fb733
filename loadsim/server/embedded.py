"""A real llama-server without a GPU: llama.cpp's own server code with the tiny model, in a child process of ours."""

import asyncio
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from . import process

_HOME = Path(__file__).resolve().parents[2]  # the child starts here, to import the loadsim that we are
_START_S = 60.0
_NEEDED = ("xllamacpp", "gguf", "numpy")

CacheType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]
Count = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What llama-server's flags of the same meaning set. None leaves llama.cpp's own default.

    `context`: tokens of all slots together; `batch`, `ubatch`: -b and -ub; `checkpoints`: --ctx-checkpoints, per slot;
    `checkpoint_min_step`: tokens between two of them; `cache_ram`: MiB; `similarity`: -sps, 0 to 1. `threads`: one,
    because more wait for each other by spinning: with a busy client on the last core, two are ten times slower.
    """

    slots: Count = 12
    context: Annotated[int, msgspec.Meta(ge=1, lt=1 << 31)] = 393216
    batch: Count = 2048
    ubatch: Count = 2048
    checkpoints: Natural = 32
    checkpoint_min_step: Natural | None = None
    cache_ram: Annotated[int, msgspec.Meta(ge=-1)] = 0
    cache_idle_slots: bool = False
    kv_unified: bool = False
    cache_type_k: CacheType = "f16"
    cache_type_v: CacheType = "f16"
    threads: Count = 1
    similarity: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The line that the child reads first; it comes by pipe, so that no key stands in a process list."""

    settings: Settings
    parent: int
    api_key: str | None


class MissingPackagesError(Exception):
    """The embedded server's packages are missing."""


async def start(settings: Settings, log: Path, api_key: str | None = None) -> process.Process:
    """Start the server on a free port; its `ready` tells `url`, `load_s` and `build`. Its prints are appended to `log`.

    The model is written on first use. End it with `stop()`. Raises MissingPackagesError; msgspec.ValidationError for a
    setting out of its range; process.StartError with the log's end; TimeoutError after a minute.
    """
    msgspec.convert(msgspec.to_builtins(settings), Settings)  # ranges are not checked when a struct is made
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingPackagesError(f"the embedded server needs {', '.join(missing)}: pip install 'loadsim[embedded]'")
    order = msgspec.json.encode(Order(settings, os.getpid(), api_key)) + b"\n"
    async with asyncio.timeout(_START_S):
        return await process.start([sys.executable, "-m", "loadsim.server.child"], log, order, _HOME)
