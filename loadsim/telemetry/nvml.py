"""The cards of this machine, if NVIDIA's library is here."""

import importlib


def cards() -> tuple[str, ...] | None:
    """Their names; None: `pynvml` is not installed, or finds no driver."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
        try:
            handles = [nvml.nvmlDeviceGetHandleByIndex(number) for number in range(nvml.nvmlDeviceGetCount())]
            return tuple(str(nvml.nvmlDeviceGetName(handle)) for handle in handles)
        finally:
            nvml.nvmlShutdown()
    except nvml.NVMLError:
        return None
