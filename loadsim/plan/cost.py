"""What a voice minute costs: a card's hour, shared by the calls that are up in it."""

import msgspec

from ..types import BadInput
from .traffic import Traffic
from .units import Price


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Money in the currency of `sign`, empty where none was given. A voice minute is a minute of one call.

    hour: of a card, with its network where that is paid by time; minute: of network data for each voice minute. full:
    a voice minute with every slot taken; offered: at the occupancy of the offered load; cards: the same on as many
    cards as that load needs; at: at the `given` occupancy. None: not asked for, or no call is up.
    """

    sign: str
    hour: float
    minute: float
    full: float
    occupancy: float | None = None
    offered: float | None = None
    cards: float | None = None
    given: float | None = None
    at: float | None = None


def cost(
    slots: int,
    price: Price,
    network: Price | None = None,
    data: float | None = None,
    load: Traffic | None = None,
    given: float | None = None,
) -> Cost:
    """`data`: bytes of network a voice minute; `given`: an occupancy. Raises BadInput where the network's price is by
    data and `data` is not there, or the other way round, and where prices are in two currencies."""
    if network is not None and network.sign and price.sign and network.sign != price.sign:
        raise BadInput(f"--price is in {price.sign} and --network in {network.sign}: give both in one currency")
    by_data = network is not None and network.byte > 0
    if by_data and data is None:
        raise BadInput("--network is priced by data: say with --data how much a call moves, such as 0.4 MB/min")
    if data is not None and not by_data:
        raise BadInput("--data needs --network with a price by data, such as 0.02/GB")
    hour = price.hour + (network.hour if network else 0.0)
    minute = data * network.byte if network and data is not None else 0.0

    def voice(callers: float, cards: int = 1) -> float | None:
        return cards * hour / (60 * callers) + minute if callers else None

    return Cost(
        sign=price.sign or (network.sign if network else ""),
        hour=hour,
        minute=minute,
        full=hour / (60 * slots) + minute,
        occupancy=load.occupancy if load else None,
        offered=voice(load.line) if load else None,
        cards=voice(load.cards_line, load.cards) if load else None,
        given=given,
        at=voice(slots * given) if given else None,
    )
