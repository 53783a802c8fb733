"""A stand-in for NVIDIA's library that replays curves from a file: see tests/telemetry/cards.py.

Names, numbers and errors are those of the installed nvidia-ml-py; only what it would ask the driver is answered here.
What is not answered here fails as it does without a library.
"""

import importlib.util
import os
import sys
import time
from importlib.machinery import PathFinder
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from tests.telemetry.cards import FILE, Machine, Moment, Simulated

_elsewhere = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).parent.resolve()]
_found = PathFinder.find_spec("pynvml", _elsewhere)
assert _found is not None and _found.origin is not None
_spec = importlib.util.spec_from_file_location("real_pynvml", _found.origin)
assert _spec is not None and _spec.loader is not None
real: Any = importlib.util.module_from_spec(_spec)
sys.modules["real_pynvml"] = real  # it looks itself up by its name
_spec.loader.exec_module(real)
globals().update({name: value for name, value in vars(real).items() if not name.startswith("__")})

_machine = msgspec.json.decode(Path(os.environ[FILE]).read_bytes(), type=Machine)
_start = _machine.start if _machine.start is not None else time.time()
_state = {"inits": 0, "generation": 0}


class _Handle:
    def __init__(self, number: int) -> None:
        self.number = number
        self.generation = _state["generation"]


def _now() -> float:
    return (time.time() - _start) * _machine.speed


def _fail(name: str) -> Exception:
    error: Exception = real.NVMLError(getattr(real, f"NVML_ERROR_{name}"))
    return error


def _off(number: int) -> bool:
    return any(start <= _now() < end for start, end in _machine.cards[number].lost)


def _since_lost(handle: _Handle) -> bool:
    return any(end <= _now() for _, end in _machine.cards[handle.number].lost) and handle.generation < 1


def _card(handle: _Handle, *fields: str) -> Simulated:
    """The card, if it is there and has these sensors."""
    if not _state["inits"]:
        raise _fail("UNINITIALIZED")
    card = _machine.cards[handle.number]
    time.sleep(card.slow)
    if _off(handle.number) or _since_lost(handle):
        raise _fail("GPU_IS_LOST")
    if any(field in card.missing for field in fields):
        raise _fail("NOT_SUPPORTED")
    return card


def _value(handle: _Handle, field: str) -> float:
    """A curve's value now, in a straight line between the moments that name it."""
    curve = [(m.t, getattr(m, field)) for m in _card(handle, field).curve if getattr(m, field) is not None]
    if not curve:
        raise _fail("NOT_SUPPORTED")
    now = _now()
    after = next((i for i, (t, _) in enumerate(curve) if t > now), len(curve))
    if after in (0, len(curve)):
        return float(curve[min(after, len(curve) - 1)][1])
    (t0, v0), (t1, v1) = curve[after - 1], curve[after]
    return float(v0 + (v1 - v0) * (now - t0) / (t1 - t0))


def _last(moments: list[Moment]) -> tuple[str, ...]:
    now = _now()
    told = [moment.reasons for moment in moments if moment.reasons is not None and moment.t <= now]
    return told[-1] if told else ()


# -- the library


def nvmlInit() -> None:  # noqa: N802
    if _machine.driver is None:
        raise _fail("LIBRARY_NOT_FOUND")
    _state["inits"] += 1
    # As a driver does it: a card that was off the bus is found again by whoever asks anew, from nothing.
    if _state["inits"] == 1 and any(end <= _now() for card in _machine.cards for _, end in card.lost):
        _state["generation"] = 1


def nvmlShutdown() -> None:  # noqa: N802
    if not _state["inits"]:
        raise _fail("UNINITIALIZED")
    _state["inits"] -= 1


def nvmlSystemGetDriverVersion() -> str:  # noqa: N802
    return str(_machine.driver)


def nvmlDeviceGetCount() -> int:  # noqa: N802
    return len(_machine.cards)


def nvmlDeviceGetHandleByIndex(index: int) -> _Handle:  # noqa: N802
    if _off(index):
        raise _fail("GPU_IS_LOST")
    return _Handle(index)


def nvmlDeviceGetHandleByUUID(uuid: str) -> _Handle:  # noqa: N802
    number = next((i for i, card in enumerate(_machine.cards) if card.uuid == uuid), None)
    if number is None or _off(number):
        raise _fail("NOT_FOUND")
    return _Handle(number)


# -- what does not change


def nvmlDeviceGetUUID(handle: _Handle) -> str:  # noqa: N802
    return _card(handle).uuid


def nvmlDeviceGetName(handle: _Handle) -> str:  # noqa: N802
    return _card(handle).name


def nvmlDeviceGetVbiosVersion(handle: _Handle) -> str:  # noqa: N802
    _card(handle)
    return "94.02.42.00.B4"


def nvmlDeviceGetPowerManagementLimit(handle: _Handle) -> int:  # noqa: N802
    return round(_card(handle, "limit_w").limit_w * 1000)


def nvmlDeviceGetPowerManagementDefaultLimit(handle: _Handle) -> int:  # noqa: N802
    _card(handle, "limit_w")
    return 350_000


def nvmlDeviceGetMaxPcieLinkGeneration(handle: _Handle) -> int:  # noqa: N802
    _card(handle)
    return 4


def nvmlDeviceGetMaxPcieLinkWidth(handle: _Handle) -> int:  # noqa: N802
    _card(handle)
    return 16


def nvmlDeviceGetTemperatureThreshold(handle: _Handle, threshold: int) -> int:  # noqa: N802
    if threshold != real.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN:
        raise _fail("INVALID_ARGUMENT")
    return round(_card(handle, "slowdown_c").slowdown_c)


# -- sensors


def nvmlDeviceGetTemperature(handle: _Handle, sensor: int) -> int:  # noqa: N802
    if sensor != real.NVML_TEMPERATURE_GPU:
        raise _fail("INVALID_ARGUMENT")
    return round(_value(handle, "core_c"))


def nvmlDeviceGetFieldValues(handle: _Handle, fieldIds: list[int]) -> list[Any]:  # noqa: N802, N803
    """A field that is not supported says so itself; the call is a success."""
    answers = []
    for field in fieldIds:
        answer = SimpleNamespace(nvmlReturn=real.NVML_SUCCESS, value=SimpleNamespace(uiVal=0))
        _card(handle)
        try:
            if field != real.NVML_FI_DEV_MEMORY_TEMP:
                raise _fail("NOT_SUPPORTED")
            answer.value.uiVal = round(_value(handle, "memory_c"))
        except real.NVMLError_NotSupported as error:
            answer.nvmlReturn = error.value
        answers.append(answer)
    return answers


def nvmlDeviceGetClockInfo(handle: _Handle, type: int) -> int:  # noqa: N802, A002
    names = {real.NVML_CLOCK_SM: "sm_mhz", real.NVML_CLOCK_MEM: "memory_mhz"}
    return round(_value(handle, names[type]))


def nvmlDeviceGetPowerUsage(handle: _Handle) -> int:  # noqa: N802
    return round(_value(handle, "power_w") * 1000)


def nvmlDeviceGetEnforcedPowerLimit(handle: _Handle) -> int:  # noqa: N802
    return round(_card(handle, "limit_w").limit_w * 1000)


def nvmlDeviceGetCurrentClocksEventReasons(handle: _Handle) -> int:  # noqa: N802
    if _machine.old:
        raise _fail("FUNCTION_NOT_FOUND")
    return nvmlDeviceGetCurrentClocksThrottleReasons(handle)


def nvmlDeviceGetCurrentClocksThrottleReasons(handle: _Handle) -> int:  # noqa: N802
    card = _card(handle, "reasons")
    return sum(int(getattr(real, f"nvmlClocksThrottleReason{name}")) for name in _last(card.curve))


def nvmlDeviceGetUtilizationRates(handle: _Handle) -> Any:  # noqa: N802
    _card(handle, "busy", "memory_busy")
    return SimpleNamespace(gpu=round(_value(handle, "busy")), memory=round(_value(handle, "memory_busy")))


def nvmlDeviceGetMemoryInfo(handle: _Handle, version: int | None = None) -> Any:  # noqa: N802
    card = _card(handle, "memory_bytes")
    used = _value(handle, "memory_mib")
    return SimpleNamespace(total=round(card.memory_mib * 2**20), used=round(used * 2**20))


def nvmlDeviceGetPcieThroughput(device: _Handle, counter: int) -> int:  # noqa: N802
    names = {real.NVML_PCIE_UTIL_RX_BYTES: "pcie_rx_bytes_s", real.NVML_PCIE_UTIL_TX_BYTES: "pcie_tx_bytes_s"}
    _card(device, names[counter])
    return {"pcie_rx_bytes_s": 1500, "pcie_tx_bytes_s": 700}[names[counter]]  # KB/s


def nvmlDeviceGetCurrPcieLinkGeneration(handle: _Handle) -> int:  # noqa: N802
    _card(handle, "pcie_generation")
    return 4


def nvmlDeviceGetCurrPcieLinkWidth(handle: _Handle) -> int:  # noqa: N802
    _card(handle, "pcie_width")
    return 8


def nvmlDeviceGetNumFans(device: _Handle) -> int:  # noqa: N802
    _card(device, "fan")
    if _machine.old:
        raise _fail("FUNCTION_NOT_FOUND")
    return 2


def nvmlDeviceGetFanSpeed_v2(handle: _Handle, fan: int) -> int:  # noqa: N802
    return round(_value(handle, "fan")) + 5 * fan


def nvmlDeviceGetFanSpeed(handle: _Handle) -> int:  # noqa: N802
    return round(_value(handle, "fan"))


def nvmlDeviceGetTotalEnergyConsumption(handle: _Handle) -> int:  # noqa: N802
    """In millijoules: what the first moment's power makes of the time."""
    card = _card(handle, "energy_j")
    return round((card.curve[0].power_w or 0.0) * _now() * 1000)


def nvmlDeviceGetComputeRunningProcesses(handle: _Handle) -> list[Any]:  # noqa: N802
    return [SimpleNamespace(pid=pid, usedGpuMemory=None) for pid in _card(handle).pids]


def nvmlDeviceGetGraphicsRunningProcesses(handle: _Handle) -> list[Any]:  # noqa: N802
    _card(handle)
    return []
