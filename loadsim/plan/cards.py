"""Cards by name or size, and those of this machine."""

import difflib
import re

import msgspec

from ..telemetry import nvml
from ..types import BadInput

HERE = "here"


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A card: `memory` in bytes, as nvidia-smi tells the total; `bandwidth` of it in bytes/s, None: not known."""

    name: str
    memory: int
    bandwidth: float | None = None


# MiB as nvidia-smi prints the total (with ECC where a card has it on), and GB/s of the maker's data sheet.
_CARDS = {
    "rtx3060": (12288, 360),
    "rtx3080": (10240, 760),
    "rtx3090": (24576, 936),
    "rtx3090ti": (24564, 1008),
    "rtx4060ti-16gb": (16380, 288),
    "rtx4070": (12282, 504),
    "rtx4070ti-super": (16376, 672),
    "rtx4080": (16376, 717),
    "rtx4090": (24564, 1008),
    "rtx5070ti": (16303, 896),
    "rtx5080": (16303, 960),
    "rtx5090": (32607, 1792),
    "a10": (23028, 600),
    "a10g": (23028, 600),
    "a40": (46068, 696),
    "a6000": (49140, 768),
    "rtx6000ada": (49140, 960),
    "rtxpro6000": (97887, 1792),
    "t4": (15360, 320),
    "l4": (23034, 300),
    "l40s": (46068, 864),
    "a100-40gb": (40960, 1555),
    "a100-80gb": (81920, 2039),
    "h100-80gb": (81559, 3350),
    "h200": (143771, 4800),
    "b200": (183359, 8000),
}
_UNITS = {"mib": 1 << 20, "gib": 1 << 30, "mb": 10**6, "gb": 10**9}
SIZE = "a size such as 24GiB"


def card(asked: str) -> Card:
    """The card of that name or size, or with `here` the first of this machine. Raises BadInput."""
    if asked == HERE:
        found = here()
        if found is None:
            raise BadInput(
                "--card here: no NVIDIA card is to be found (no driver, or no nvidia-ml-py); name a card, or its size"
            )
        return found
    plain = re.sub(r"nvidia|geforce|[ _]", "", asked.lower())
    if plain in _CARDS:
        memory, bandwidth = _CARDS[plain]
        return Card(name=plain, memory=memory << 20, bandwidth=bandwidth * 1e9)
    try:
        return Card(name=asked, memory=size(asked))
    except ValueError:
        near = difflib.get_close_matches(plain, _CARDS, 1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(_CARDS)}"
        raise BadInput(f"--card {asked[:40]}: no such card, and not {SIZE}; {hint}") from None


def here() -> Card | None:
    """The first card that NVML finds; None without one. Of several the name says so: llama-server would use all."""
    found = nvml.memory()
    if not found:
        return None
    name, memory = found[0]
    return Card(name=name if len(found) == 1 else f"{name} (first of {len(found)})", memory=memory)


def size(text: str) -> int:
    """`24GiB`, `24 GB` or `512 MiB` in bytes. Raises ValueError."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) *(mib|gib|mb|gb)", text.strip().lower())
    if not match or not (found := int(float(match[1]) * _UNITS[match[2]])):
        raise ValueError(f"expected {SIZE}; got {text[:40]!r}")
    return found


def reserve(text: str) -> int:
    """A size in bytes that may be `0`. Raises ValueError."""
    return 0 if re.fullmatch(r"0+(?:\.0+)? *(?:mib|gib|mb|gb)?", text.strip().lower()) else size(text)
