"""The card log's process, `python -m loadsim.telemetry.card --every 2 s`: a line of JSON for all that it sees.

It runs where the cards are, here or at the end of `ssh`; each line is one of `Line`. It ends when its stdin does.
"""

import sys
from collections.abc import Sequence

import msgspec

from ..types import BadInput, CardFacts, CardSample
from .nvml import Card, LostError, NoCardsError, cards, find_again
from .ticks import Order, arguments, members, say, seconds, ticks


class Sampled(msgspec.Struct, frozen=True, tag="sample", tag_field="says"):
    """A card at one moment."""

    sample: CardSample


class Known(msgspec.Struct, frozen=True, tag="cards", tag_field="says"):
    """The cards that are logged, after their first sample, and again when a sensor turns out to be missing."""

    cards: tuple[CardFacts, ...]


class Lost(msgspec.Struct, frozen=True, tag="lost", tag_field="says"):
    """A card does not answer any more."""

    card: int
    why: str


class Back(msgspec.Struct, frozen=True, tag="back", tag_field="says"):
    """It answers again."""

    card: int


class NoCards(msgspec.Struct, frozen=True, tag="none", tag_field="says"):
    """There is no card to be logged: the last line."""

    why: str


Line = Sampled | Known | Lost | Back | NoCards


def log(every: float, numbers: Sequence[int] = ()) -> None:
    """Log this machine's cards on stdout until stdin ends: those with these numbers, else those that the server uses
    whose group stdin tells, else all."""
    try:
        every_card = logged = cards(numbers)
    except NoCardsError as error:
        say(NoCards(str(error)))
        return
    told: dict[int, int] = {}
    for order in ticks(every):
        if order is not None and not numbers:
            logged = used(every_card, order)
        if any(card.lost for card in logged):
            _look_for(logged)
        for card in logged:
            _sample(card)
        if any(told.get(card.number) != len(card.missing) for card in logged if not card.lost):
            told = {card.number: len(card.missing) for card in logged}
            say(Known(tuple(card.facts() for card in logged)))


def used(every: list[Card], order: Order) -> list[Card]:
    """The cards that the server's processes hold; all, where no card tells of them, as inside a container."""
    if order.group is None:
        return every
    group = members(order)
    return [card for card in every if card.pids() & group] or every


def _sample(card: Card) -> None:
    if card.lost:
        return
    try:
        say(Sampled(card.sample()))
    except LostError as error:
        card.lost = True
        say(Lost(card.number, str(error)))


def _look_for(logged: list[Card]) -> None:
    """A card that is back has to be asked for anew; the driver's other cards are then, too."""
    before = {card.number for card in logged if card.lost}
    find_again(logged)
    for card in logged:
        if card.number in before and not card.lost:
            say(Back(card.number))
        elif card.lost and card.number not in before:
            say(Lost(card.number, "gone with the driver"))


def main() -> None:
    """The command line."""
    parser = arguments("loadsim.telemetry.card", __doc__)
    parser.add_argument("--card", action="append", type=int, default=[], help="a card's number; else all")
    given = parser.parse_args()
    try:
        log(seconds(" ".join(given.every)), given.card)
    except BadInput as error:
        sys.exit(f"loadsim: {error}")


if __name__ == "__main__":
    main()
