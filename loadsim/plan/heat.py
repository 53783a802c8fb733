"""Whether a card is too hot for its figures to compare: by its log, or else by one caller's rate alone."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from ..report.logs import card_line
from ..report.words import number, percent
from ..stats.cards import CardSummary
from ..types import CardFacts

THERMAL = ("sw thermal slowdown", "hw thermal slowdown")
HALVED, BRAKE = "hw slowdown", "hw power brake slowdown"
FALL = 0.3  # one caller's rate may fall by so much against the first load point's
RISE_C = 2.0  # a card that is so much hotter than then has warmed up; a sensor's step is 1


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """A load point: one caller's tokens/s around it, the median of each repeat, and its hottest card's temperature;
    None: not logged."""

    point: str
    rates: Sequence[float]
    core: float | None


def hottest(seen: Sequence[CardSummary]) -> float | None:
    """The highest temperature of any card."""
    return max((card.core[1] for card in seen if card.core is not None), default=None)


def too_hot(seen: Sequence[CardSummary], known: Sequence[CardFacts]) -> str | None:
    """A card that says that it slowed down for heat, or that was as hot as it slows down at; None: none did."""
    slowdown: Mapping[int, float | None] = {card.card: card.slowdown_c for card in known}
    for card in seen:
        limit = slowdown.get(card.card)
        if _throttled(card):
            return f"card {card.card}: {card_line(card)}"
        if limit is not None and card.core is not None and card.core[1] >= limit:
            return f"card {card.card}: {card_line(card)}; it slows down at {limit:.0f} C"
    return None


def slower(first: Around, now: Around) -> tuple[Literal["heat", "broken"], str] | None:
    """That one caller is much slower than at first, in the best repeat (a hot card is slow in all of them), and
    whether that is heat; None: it is not so."""
    if not first.rates or not now.rates:
        return None
    then, best = sorted(first.rates)[len(first.rates) // 2], max(now.rates)
    fell = 1 - best / then
    if fell <= FALL:
        return None
    said = (
        f"around {now.point} one caller decodes {number(best)} tokens/s at best, {percent(fell)} less than around "
        f"{first.point} ({number(then)})"
    )
    if first.core is None or now.core is None:
        return "heat", f"heat suspected: {said}, at an unknown temperature, and figures no longer compare"
    temperatures = f"{first.core:.0f} C at most then, {now.core:.0f} C now"
    if now.core - first.core >= RISE_C:
        return "heat", f"heat: {said}, and the card has warmed up ({temperatures}); figures no longer compare"
    return "broken", f"{said}, not for heat ({temperatures}): something else slows it; figures no longer compare"


def _throttled(card: CardSummary) -> bool:
    """The power brake halves the clocks too, and is no heat."""
    reasons = card.reasons or {}
    return any(reason in reasons for reason in THERMAL) or (HALVED in reasons and BRAKE not in reasons)
