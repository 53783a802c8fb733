from typing import Any

import pytest

from loadsim.stats.cards import CardSummary
from loadsim.stats.state import State, disturbed, moved, others
from loadsim.types import HostSample


def card(**fields: Any) -> CardSummary:
    plain: dict[str, Any] = {
        "card": 0, "samples": 9, "core": (50.0, 70.0), "memory": None, "sm": 1695.0, "sm_least": None,
        "memory_clock": 9751.0, "power": 300.0, "limit": 350.0, "reasons": {},
    }  # fmt: skip
    return CardSummary(**plain | fields)


def one(names: tuple[str, ...] = ("RTX 3090",), **fields: Any) -> State:
    return State(cards=[card(**fields)], names=list(names))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (one(), []),
        (one(sm=1660.0, core=(45.0, 79.0), power=200.0), []),
        (one(sm=1600.0), ["card: SM clock 1,695 MHz in A, 1,600 MHz in B"]),
        (one(core=(40.0, 81.0)), ["card: up to 70 C in A, 81 C in B"]),
        (one(limit=250.0), ["card: power limit 350 W in A, 250 W in B"]),
        (one(memory_clock=5001.0), ["card: memory clock 9,751 MHz in A, 5,001 MHz in B"]),
        (one(names=("H200",), sm=1.0), ["another card: RTX 3090 in A, H200 in B"]),
        (State(cards=[card(), card(card=1)]), ["1 cards in A, 2 in B"]),
        (one(sm=None, core=None, limit=None, memory_clock=None), []),
        (State(), []),
    ],
)
def test_cards_in_another_state(other: State, said: list[str]) -> None:
    assert moved(one(), other) == said


def test_one_of_two_cards_is_told_by_its_number() -> None:
    a = State(cards=[card(), card(card=3)])
    b = State(cards=[card(), card(card=3, sm=1000.0)])

    assert moved(a, b) == ["card 3: SM clock 1,695 MHz in A, 1,000 MHz in B"]


def test_another_machine() -> None:
    told = moved(State(cpu="Xeon", cores=2), State(cpu="Xeon", cores=4))

    assert told == ["another machine: Xeon, 2 cores in A, Xeon, 4 cores in B"]
    assert moved(State(cpu="Xeon", cores=2), State()) == []


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ((0.4, 0.1), (0.4, 0.3), ""),
        ((0.4, 0.1), (0.6, 0.4), "0.10 cores of this machine in A, 0.40 in B"),
        ((0.97, 1.2), (0.8, 1.1), "1.20 cores of this machine in A, 1.10 in B, and it was full"),
        ((0.97, 0.1), (0.97, 0.1), ""),  # full of the server's own work
        ((0.9, None), (0.9, 0.4), ""),
    ],
)
def test_what_else_the_machine_did(a: tuple[float, float], b: tuple[float, float], said: str) -> None:
    told = disturbed(State(busy=a[0], others=a[1]), State(busy=b[0], others=b[1]))

    assert told == ([f"other programs took {said}"] if said else [])


def test_others_are_what_the_server_and_loadsim_leave() -> None:
    """Of two cores 80 % are 1.6; the server took 0.5, loadsim 0.1."""
    sample = HostSample(cpu=0.8, cores=(0.7, 0.9), server_cpu=0.5, own_cpu=0.1)
    first = HostSample(cpu=1.0, cores=(1.0, 1.0))  # before the server was known

    assert others([first, sample]) == pytest.approx(1.0)
    assert others([first]) is None
    assert others([]) is None
    assert others([HostSample(cpu=0.1, cores=(0.1, 0.1), server_cpu=0.5)]) == 0
