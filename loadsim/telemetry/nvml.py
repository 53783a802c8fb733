"""NVIDIA's cards as NVML tells of them. Its calls may take long: only a process of their own makes them."""

import contextlib
import importlib
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pynvml

from ..types import CardFacts, CardSample

T = TypeVar("T")

REASONS = {
    0x1: "gpu idle",
    0x2: "applications clocks setting",
    0x4: "sw power cap",
    0x8: "hw slowdown",
    0x10: "sync boost",
    0x20: "sw thermal slowdown",
    0x40: "hw thermal slowdown",
    0x80: "hw power brake slowdown",
    0x100: "display clock setting",
    0x200: "board limit",
    0x400: "reliability",
}
"""NVML's clock event reasons, once called throttle reasons, by their bit."""

GONE = (
    pynvml.NVML_ERROR_GPU_IS_LOST,
    pynvml.NVML_ERROR_RESET_REQUIRED,
    pynvml.NVML_ERROR_GPU_NOT_FOUND,
    pynvml.NVML_ERROR_NOT_FOUND,
    pynvml.NVML_ERROR_UNINITIALIZED,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
)
"""What NVML says of a card that fell off the bus, or whose driver is gone."""

NEVER = (
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_INVALID_ARGUMENT,
    pynvml.NVML_ERROR_NO_PERMISSION,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    pynvml.NVML_ERROR_DEPRECATED,
)
"""What it says of a sensor that need not be asked for again; anything else may pass."""


SLOWDOWN = pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN


class NoCardsError(Exception):
    """There is no card to be read; the text says why."""


class LostError(Exception):
    """A card does not answer any more; the text says why."""


class Card:
    """One card. `number`: as nvidia-smi counts them; `missing`: fields of CardSample that it does not have."""

    def __init__(self, number: int, handle: Any) -> None:
        self.number = number
        self.handle = handle
        self.uuid = str(pynvml.nvmlDeviceGetUUID(handle))
        self.missing: list[str] = []
        self.lost = False

    def sample(self) -> CardSample:
        """All that it tells now. Raises LostError."""
        stamp, began = time.time(), time.monotonic()
        found: dict[str, Any] = {}
        failed = ""
        for name, read in SENSORS.items():
            if name in self.missing:
                continue
            try:
                found[name] = read(self.handle)
            except pynvml.NVMLError as error:
                failed = str(error)
                if error.value in GONE:
                    raise LostError(failed) from None
                if error.value in NEVER:
                    self.missing.append(name)
        if failed and not found:
            raise LostError(f"no sensor answers: {failed}")
        if "rates" in found:
            rates = found.pop("rates")
            found |= {"busy": rates.gpu / 100, "memory_busy": rates.memory / 100}
        took = round(time.monotonic() - began, 4)
        return CardSample(stamp_s=round(stamp, 3), took_s=took, card=self.number, **found)

    def facts(self) -> CardFacts:
        """What does not change. What cannot be told is None."""
        card = self.handle
        return CardFacts(
            card=self.number,
            name=_or_none(lambda: str(pynvml.nvmlDeviceGetName(card))),
            driver=_or_none(lambda: str(pynvml.nvmlSystemGetDriverVersion())),
            vbios=_or_none(lambda: str(pynvml.nvmlDeviceGetVbiosVersion(card))),
            memory_bytes=_or_none(lambda: int(pynvml.nvmlDeviceGetMemoryInfo(card).total)),
            limit_w=_or_none(lambda: pynvml.nvmlDeviceGetPowerManagementLimit(card) / 1000),
            default_limit_w=_or_none(lambda: pynvml.nvmlDeviceGetPowerManagementDefaultLimit(card) / 1000),
            pcie_generation=_or_none(lambda: int(pynvml.nvmlDeviceGetMaxPcieLinkGeneration(card))),
            pcie_width=_or_none(lambda: int(pynvml.nvmlDeviceGetMaxPcieLinkWidth(card))),
            slowdown_c=_or_none(lambda: float(pynvml.nvmlDeviceGetTemperatureThreshold(card, SLOWDOWN))),
            missing=tuple(_fields(self.missing)),
        )

    def pids(self) -> set[int]:
        """The processes that compute or draw on it, as far as it tells."""
        found: set[int] = set()
        for ask in (pynvml.nvmlDeviceGetComputeRunningProcesses, pynvml.nvmlDeviceGetGraphicsRunningProcesses):
            with contextlib.suppress(pynvml.NVMLError):
                found |= {int(process.pid) for process in ask(self.handle)}
        return found


def cards(numbers: Iterable[int] = ()) -> list[Card]:
    """The machine's cards, or those with these numbers. Raises NoCardsError."""
    try:
        pynvml.nvmlInit()
        count = int(pynvml.nvmlDeviceGetCount())
        wanted = sorted(set(numbers)) or range(count)
        for number in wanted:
            if number >= count:
                raise NoCardsError(f"no card {number}; there are {count}")
        # One that is lost already has no handle, or no name; the others are still worth a log.
        found, failed = [], "no card in this machine"
        for number in wanted:
            try:
                found.append(Card(number, pynvml.nvmlDeviceGetHandleByIndex(number)))
            except pynvml.NVMLError as error:
                failed = f"card {number}: {error}"
    except pynvml.NVMLError as error:
        raise NoCardsError(f"NVML: {error}") from None
    if not found:
        raise NoCardsError(failed)
    return found


def find_again(every: Iterable[Card]) -> None:
    """Ask the driver anew for every card, by what it is and not by its number; those found are no longer lost."""
    with contextlib.suppress(pynvml.NVMLError):
        pynvml.nvmlShutdown()
    with contextlib.suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
    for card in every:
        try:
            card.handle = pynvml.nvmlDeviceGetHandleByUUID(card.uuid)
            pynvml.nvmlDeviceGetName(card.handle)
            card.lost = False
        except pynvml.NVMLError:
            card.lost = True


def _first(*functions: str) -> Callable[..., Any]:
    """The first of several functions that this driver has: names change with its version."""

    def call(*arguments: Any) -> Any:
        for name in functions[:-1]:
            with contextlib.suppress(pynvml.NVMLError_FunctionNotFound, AttributeError):
                return getattr(pynvml, name)(*arguments)
        return getattr(pynvml, functions[-1])(*arguments)

    return call


_temperature = _first("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV")
_reasons = _first("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")


def _memory_temperature(card: Any) -> float:
    (field,) = pynvml.nvmlDeviceGetFieldValues(card, [pynvml.NVML_FI_DEV_MEMORY_TEMP])
    if field.nvmlReturn != pynvml.NVML_SUCCESS:
        raise pynvml.NVMLError(field.nvmlReturn)
    return float(field.value.uiVal)


def _reason_names(card: Any) -> tuple[str, ...]:
    bits = int(_reasons(card))
    return tuple(REASONS.get(1 << n, f"bit {n}") for n in range(bits.bit_length()) if bits >> n & 1)


def _fan(card: Any) -> float:
    try:
        speeds = [pynvml.nvmlDeviceGetFanSpeed_v2(card, fan) for fan in range(pynvml.nvmlDeviceGetNumFans(card))]
    except pynvml.NVMLError_FunctionNotFound:
        speeds = [pynvml.nvmlDeviceGetFanSpeed(card)]
    if not speeds:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    return float(max(speeds)) / 100


SENSORS: dict[str, Callable[[Any], Any]] = {
    "core_c": lambda card: float(_temperature(card, pynvml.NVML_TEMPERATURE_GPU)),
    "memory_c": _memory_temperature,
    "sm_mhz": lambda card: float(pynvml.nvmlDeviceGetClockInfo(card, pynvml.NVML_CLOCK_SM)),
    "memory_mhz": lambda card: float(pynvml.nvmlDeviceGetClockInfo(card, pynvml.NVML_CLOCK_MEM)),
    "power_w": lambda card: pynvml.nvmlDeviceGetPowerUsage(card) / 1000,
    "limit_w": lambda card: pynvml.nvmlDeviceGetEnforcedPowerLimit(card) / 1000,
    "reasons": _reason_names,
    "rates": pynvml.nvmlDeviceGetUtilizationRates,
    "memory_bytes": lambda card: int(pynvml.nvmlDeviceGetMemoryInfo(card).used),
    # In KB/s.
    "pcie_rx_bytes_s": lambda card: pynvml.nvmlDeviceGetPcieThroughput(card, pynvml.NVML_PCIE_UTIL_RX_BYTES) * 1e3,
    "pcie_tx_bytes_s": lambda card: pynvml.nvmlDeviceGetPcieThroughput(card, pynvml.NVML_PCIE_UTIL_TX_BYTES) * 1e3,
    "pcie_generation": lambda card: int(pynvml.nvmlDeviceGetCurrPcieLinkGeneration(card)),
    "pcie_width": lambda card: int(pynvml.nvmlDeviceGetCurrPcieLinkWidth(card)),
    "fan": _fan,
    "energy_j": lambda card: pynvml.nvmlDeviceGetTotalEnergyConsumption(card) / 1000,
}
"""How each field of CardSample is read; `rates` is two of them in one call."""


def _fields(names: Iterable[str]) -> Iterable[str]:
    for name in names:
        yield from ("busy", "memory_busy") if name == "rates" else (name,)


def _or_none(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except pynvml.NVMLError:
        return None


def memory() -> tuple[tuple[str, int], ...] | None:
    """The cards' names and how many bytes each has in all; None: there is no driver. It may take long."""
    nvml = importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
        try:
            found = [nvml.nvmlDeviceGetHandleByIndex(number) for number in range(nvml.nvmlDeviceGetCount())]
            return tuple(
                (str(nvml.nvmlDeviceGetName(card)), int(nvml.nvmlDeviceGetMemoryInfo(card).total)) for card in found
            )
        finally:
            nvml.nvmlShutdown()
    except nvml.NVMLError:
        return None
