"""The cards of this machine, if NVIDIA's library is here."""

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def cards() -> tuple[str, ...] | None:
    """Their names; None: `pynvml` (the package nvidia-ml-py) is not installed, or finds no driver."""
    return _each(lambda nvml, handle: str(nvml.nvmlDeviceGetName(handle)))


def memory() -> tuple[tuple[str, int], ...] | None:
    """Their names and how many bytes each has in all; None as above."""
    return _each(
        lambda nvml, handle: (str(nvml.nvmlDeviceGetName(handle)), int(nvml.nvmlDeviceGetMemoryInfo(handle).total))
    )


def _each(ask: Callable[[Any, Any], T]) -> tuple[T, ...] | None:
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
        try:
            handles = [nvml.nvmlDeviceGetHandleByIndex(number) for number in range(nvml.nvmlDeviceGetCount())]
            return tuple(ask(nvml, handle) for handle in handles)
        finally:
            nvml.nvmlShutdown()
    except nvml.NVMLError:
        return None
