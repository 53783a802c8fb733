"""A real llama-server without a GPU: llama.cpp's own server code with the tiny model, in a child process of ours."""

import asyncio
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec

from ..types import BadInput, ServerSettings
from . import process

_HOME = Path(__file__).resolve().parents[2]  # the child starts here, to import the loadsim that we are
_START_S = 60.0
_NEEDED = ("xllamacpp", "gguf", "numpy")


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The line that the child reads first; it comes by pipe, so that no key stands in a process list."""

    settings: ServerSettings
    parent: int
    api_key: str | None


class MissingPackagesError(BadInput):
    """The embedded server's packages are missing."""


async def start(settings: ServerSettings, log: Path, api_key: str | None = None) -> process.Process:
    """Start the server on a free port; its `ready` tells `url`, `load_s` and `build`. Its prints are appended to `log`.

    The model is written on first use. End it with `stop()`. Raises MissingPackagesError; msgspec.ValidationError for a
    setting out of its range; process.StartError with the log's end; TimeoutError after a minute.
    """
    msgspec.convert(msgspec.to_builtins(settings), ServerSettings)  # ranges are not checked when a struct is made
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingPackagesError(
            f"the embedded server needs {', '.join(missing)}: pip install 'loadsim[embedded]'; or name a server"
        )
    order = msgspec.json.encode(Order(settings, os.getpid(), api_key)) + b"\n"
    async with asyncio.timeout(_START_S):
        return await process.start([sys.executable, "-m", "loadsim.server.child"], log, order, _HOME)
