"""Figures as a person reads them."""

import math
import os
from collections.abc import Iterable
from pathlib import Path

TINY = "This was a tiny model on this machine's CPU: it shows that the parts work, not what a card does."


def number(value: float | None, digits: int = 3) -> str:
    """`digits` significant figures, thousands apart; a dash for what is not known."""
    if value is None or not math.isfinite(value):
        return "-"
    size = f"{abs(value):.{digits - 1}e}"
    decimals = max(digits - 1 - int(size[size.index("e") + 1 :]), 0) if value else 0
    return f"{value:,.{min(decimals, digits)}f}"


def ms(seconds: float | None) -> str:
    """Seconds in milliseconds."""
    return number(None if seconds is None else seconds * 1e3)


def lasting(seconds: float | None) -> str:
    """A time in the unit that a person would use: 800 ms, 12.4 s, 4.5 min, 2 h."""
    if seconds is None:
        return "-"
    units = (("h", 3600, 5400), ("min", 60, 90), ("s", 1, 1))
    unit, size = next(((unit, size) for unit, size, least in units if seconds >= least), ("ms", 1e-3))
    value = seconds / size
    return f"{value:.3g} {unit}" if value < 999.5 else f"{value:,.0f} {unit}"


def money(value: float | None, sign: str = "") -> str:
    """Two figures at least, and never less than two decimals: $0.00036, $190.00."""
    if value is None:
        return "-"
    decimals = max(1 - math.floor(math.log10(value)), 2) if value > 0 else 2
    return f"{sign}{value:,.{decimals}f}"


def whole(value: float | None) -> str:
    """A count, or the middle of two."""
    return "-" if value is None else f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def percent(ratio: float | None) -> str:
    """A ratio in per cent."""
    return "-" if ratio is None else f"{number(ratio * 100)} %"


def rare(ratio: float | None) -> str:
    """A ratio in per cent that may be very small, and is then no 0.000 %."""
    return "under 0.001 %" if ratio is not None and 0 < ratio < 1e-5 else percent(ratio)


def plain(value: float) -> str:
    """A number that somebody wrote, as they wrote it but with thousands apart."""
    return f"{value:,.10g}"


def exact(ratio: float) -> str:
    """A ratio that somebody wrote in per cent, as they wrote it: 1 %."""
    return f"{ratio * 100:.6g} %"


def span(pair: tuple[int, int] | None) -> str:
    """A range of whole numbers, one number where both ends are the same."""
    if pair is None:
        return "-"
    low, high = pair
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


def runs(numbers: Iterable[int]) -> str:
    """Whole numbers with neighbours drawn together: 0-3, 6, 8-9."""
    parts: list[list[int]] = []
    for value in sorted(set(numbers)):
        if parts and value == parts[-1][-1] + 1:
            parts[-1].append(value)
        else:
            parts.append([value])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts) or "none"


def several(n: int, word: str) -> str:
    """A count with its noun: 1 slot, 12 slots, 2 replies."""
    if n == 1:
        return f"1 {word}"
    return f"{n:,} {word[:-1]}ies" if word.endswith("y") else f"{n:,} {word}s"


def short(text: str, most: int = 48) -> str:
    """The beginning of a text that may be long, such as what a server says of an error."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def counts(of: dict[str, int]) -> str:
    """Counted words: 58 extension, 2 cold."""
    return ", ".join(f"{n} {word.replace('_', ' ')}" for word, n in sorted(of.items(), key=lambda item: -item[1]))


def listed(parts: Iterable[str]) -> str:
    """Those of some phrases that say something, with commas and an `and`."""
    *most, last = [part for part in parts if part] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def path_text(path: Path) -> str:
    """A path as text that any file can hold; a name on disk may be bytes that are none."""
    return os.fsencode(path).decode(errors="replace")
