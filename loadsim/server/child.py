"""The embedded server's process, `python -m loadsim.server.child`: llama.cpp's own server from `xllamacpp`.

Reads an `Order` as a line of JSON on stdin, answers with a line of JSON on stdout when it listens, and ends when stdin
does. All that llama.cpp prints goes to stderr.
"""

import os
import sys
import threading
import time
from importlib.metadata import version

import msgspec
import xllamacpp

from .embedded import Order
from .process import end_with_parent
from .tiny.model import model_path


def parameters(order: Order) -> xllamacpp.CommonParams:
    """llama-server's settings from ours."""
    settings = order.settings
    params = xllamacpp.CommonParams()
    params.model.path = str(model_path())
    params.model_alias = {"loadsim-tiny"}  # else clients are told the file's path
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order.api_key] if order.api_key else []
    params.endpoint_slots = True
    params.endpoint_metrics = True
    params.ui = False
    params.n_parallel = settings.slots
    params.n_ctx = settings.context
    params.n_batch = settings.batch
    params.n_ubatch = settings.ubatch
    params.n_ctx_checkpoints = settings.checkpoints
    params.cache_ram_mib = settings.cache_ram
    params.cache_idle_slots = settings.cache_idle_slots
    params.kv_unified = settings.kv_unified
    params.cache_type_k = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{settings.cache_type_k.upper()}")
    params.cache_type_v = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{settings.cache_type_v.upper()}")
    params.cpuparams.n_threads = settings.threads
    params.cpuparams_batch.n_threads = settings.threads
    if settings.checkpoint_min_step is not None:
        params.checkpoint_min_step = settings.checkpoint_min_step
    if settings.similarity is not None:
        params.slot_prompt_similarity = settings.similarity
    return params


def main() -> None:
    """Serve until stdin ends."""
    answer = os.dup(1)
    os.dup2(2, 1)
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    end_with_parent(order.parent)
    os.environ["GGML_NO_BACKTRACE"] = "1"  # an abort's last words shall be its reason
    try:
        params = parameters(order)
        began = time.monotonic()
        server = xllamacpp.Server(params)
    except (OSError, OverflowError, RuntimeError) as error:
        sys.exit(getattr(error, "strerror", None) or str(error))
    ready = {
        "url": server.listening_address,
        "load_s": round(time.monotonic() - began, 3),
        "build": f"xllamacpp {version('xllamacpp')}",  # its last part is llama.cpp's build, which /props does not know
    }
    os.write(answer, msgspec.json.encode(ready) + b"\n")
    threading.Event().wait()


if __name__ == "__main__":
    main()
