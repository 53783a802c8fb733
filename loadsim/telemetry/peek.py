"""What a card log would see, before there is one."""

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from ..scenario.model import Server, Telemetry
from ..types import CardFacts
from .card import Known, Line, NoCards
from .sampler import Sampler
from .source import source

WAIT_S = 15.0


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The cards that would be logged, every `every` seconds; `why` there are none, empty where none are wanted.
    `foreign`: a command of the user's was to tell."""

    every: float | None = None
    cards: tuple[CardFacts, ...] = ()
    why: str = ""
    foreign: bool = False


async def peek(telemetry: Telemetry, server: Server) -> Seen:
    """Start the scenario's card log, wait until it names its cards or cannot, and end it."""
    found = await source(telemetry, server)
    seen = Seen(every=telemetry.every, why=found.why, foreign=found.foreign)
    if found.command is None or telemetry.every is None:
        return seen
    answer: asyncio.Future[tuple[tuple[CardFacts, ...], str]] = asyncio.get_running_loop().create_future()

    def tell(cards: tuple[CardFacts, ...], why: str) -> None:
        if not answer.done():
            answer.set_result((cards, why))

    def heard(said: dict[str, Any]) -> bool:
        try:
            line = msgspec.convert(said, Line)
        except msgspec.ValidationError:
            return False
        match line:
            case Known(cards):
                numbers = telemetry.cards
                cards = tuple(card for card in cards if numbers is None or card.card in numbers)
                tell(cards, "" if cards else f"it has no card {', '.join(map(str, numbers or ()))}")
            case NoCards(why):
                tell((), why)
        return True

    def note(what: str, why: str) -> None:
        if what != "garbage":
            tell((), why)

    with tempfile.TemporaryDirectory() as folder:
        sampler = Sampler(found.command, telemetry.every, Path(folder) / "card.log", heard, note, found.foreign)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WAIT_S):
                    cards, why = await answer
                    return msgspec.structs.replace(seen, cards=cards, why=why)
        finally:
            await sampler.stop()
    return msgspec.structs.replace(seen, why=f"nothing was said of a card within {WAIT_S:g} s")
