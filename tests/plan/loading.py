"""Loads models with llama.cpp, in a process of its own that runs to its end, and prints what it says of its caches.

`python -m tests.plan.loading PAUSE` reads a JSON list of [path, settings, swa_full] and answers with a line for each;
PAUSE: seconds that the log gets after each load.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from loadsim.types import ServerSettings

ROOT = Path(__file__).parents[2]
_MARK = "== loaded"
_KV = re.compile(r"llama_kv_cache: size = +([\d.]+) MiB \( *(\d+) cells")
_STATE = re.compile(r"llama_memory_recurrent: size = +([\d.]+) MiB \( *(\d+) cells")


class Logged(msgspec.Struct):
    """What llama.cpp logs at load, MiB in its own two decimals: a cache's size and cells, once or twice; the states."""

    kv: list[tuple[str, int]] = []
    state: tuple[str, int] = ("0.00", 0)


def load(orders: Sequence[tuple[Path, ServerSettings, bool]]) -> list[Logged]:
    """What is logged for each model under its settings."""
    found = _load(orders, pause=0.05)
    # llama.cpp logs from a thread of its own, which a busy machine may keep waiting.
    return found if all(each.kv or each.state[1] for each in found) else _load(orders, pause=1.0)


def _load(orders: Sequence[tuple[Path, ServerSettings, bool]], pause: float) -> list[Logged]:
    asked = json.dumps([[str(path), msgspec.to_builtins(settings), full] for path, settings, full in orders])
    command = [sys.executable, "-m", "tests.plan.loading", str(pause)]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, cwd=ROOT, timeout=100)
    assert done.returncode == 0, [line for line in done.stderr.splitlines() if " E " in line]
    return [_logged(part) for part in done.stderr.split(_MARK)[1:]]


def _logged(text: str) -> Logged:
    states = [(size, int(cells)) for size, cells in _STATE.findall(text)]
    return Logged([(size, int(cells)) for size, cells in _KV.findall(text)], *states)


def main() -> None:
    """Load what stdin names, one after another."""
    import xllamacpp

    from loadsim.server.child import parameters
    from loadsim.server.embedded import Order

    servers = []  # kept: ending one that has only just begun can hang
    for path, settings, full in json.loads(sys.stdin.read()):
        params: Any = parameters(Order(msgspec.convert(settings, ServerSettings), os.getpid(), None))
        params.model.path = path
        params.swa_full = full
        params.verbosity = 4
        params.warmup = False
        print(_MARK, flush=True, file=sys.stderr)
        servers.append(xllamacpp.Server(params))
        time.sleep(float(sys.argv[1]))
    os._exit(0)


if __name__ == "__main__":
    main()
