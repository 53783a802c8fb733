"""Offered load on slots, and what a voice minute costs."""

import pytest

from loadsim.plan.cost import cost
from loadsim.plan.fact import Fact, given
from loadsim.plan.traffic import Traffic, measured, traffic, unlikely
from loadsim.plan.units import Price
from loadsim.stats.busy import Busy
from loadsim.types import BadInput


def offered(calls: float = 180, busy: Fact | None = None, turn: Fact | None = None) -> Traffic:
    return traffic(given(calls), given(4.5 * 60), 12, 0.01, busy, turn)


def test_the_load_that_is_asked_about() -> None:
    found = offered()
    assert found.erlangs == 13.5
    assert found.blocked == pytest.approx(0.25622, abs=5e-6)  # erlang B of 12 and 13.5, by the recursion on paper
    assert (found.waits, found.wait) == (1.0, None)
    assert found.line == pytest.approx(13.5 * (1 - 0.25622), abs=1e-4)
    assert found.occupancy == pytest.approx(found.line / 12)
    assert (found.needed, found.cards) == (22, 2)  # the tables: 13.651 erlangs on 22 trunks
    assert found.carries == pytest.approx(5.876 * 3600 / 270, abs=0.01)  # 5.876 erlangs on 12
    assert found.apart == 3  # 13.5 / 5.876 = 2.3
    assert found.talking is None


def test_a_load_that_fits() -> None:
    found = offered(60)  # 4.5 erlangs
    assert found.blocked < 0.01
    assert (found.needed, found.cards, found.apart) == (11, 1, 1)  # the tables: 4.461 on 10, 5.160 on 11
    assert found.cards_line == found.line


def test_who_waits_with_room() -> None:
    found = traffic(given(200), given(180), 14, 0.01)  # 10 erlangs on 14: the example of R's ErlangC
    assert found.waits == pytest.approx(0.1741319, abs=5e-8)
    assert found.wait == pytest.approx(7.83593701177724)


def test_how_many_are_served_at_once() -> None:
    talk = offered(busy=given(1.7), turn=given(12.4)).talking
    assert talk is not None
    assert talk.share == pytest.approx(0.137097, abs=1e-6)
    assert talk.full[0] == pytest.approx((1 - 1.7 / 12.4) ** 12)
    assert sum(k * chance for k, chance in enumerate(talk.offered)) == pytest.approx(offered().line * talk.share)
    assert (talk.full_usual, talk.offered_usual) == (4, 3)
    assert (talk.callers, talk.measured, talk.expected) == (0, [], [])


def test_what_was_seen_stands_beside_what_the_formula_gives() -> None:
    seen = busy_run(at_once=[0.5, 0.25, 0.25])
    talk = traffic(given(180), given(270), 12, 0.01, given(5), given(10), seen).talking
    assert talk is not None
    assert (talk.callers, talk.measured) == (2, [0.5, 0.25, 0.25])
    assert talk.expected == pytest.approx([0.25, 0.5, 0.25])


def busy_run(**fields: object) -> Busy:
    plain: dict[str, object] = {
        "call": None, "ended": 0, "planned": 74.0, "busy": 1.7, "turn": 12.4, "turns": 24, "callers": 2, "at_once": [],
    }  # fmt: skip
    return Busy(**plain | fields)  # type: ignore[arg-type]


def test_a_run_tells_the_length_of_a_call_and_says_how() -> None:
    assert measured(busy_run(call=300.0, ended=3), "r") == (
        Fact(300.0, "measured", "r, 3 whole calls"),
        Fact(1.7, "measured", "r, 24 turns of 2 callers"),
        Fact(12.4, "measured", "r, 24 turns of 2 callers"),
    )
    call = measured(busy_run(), "r")[0]
    assert call is not None
    assert call.value == pytest.approx(74 * 12.4)
    assert call.origin == "computed"
    assert measured(busy_run(busy=None, turn=None, turns=0), "r") == (None, None, None)


def test_what_cannot_be() -> None:
    with pytest.raises(BadInput, match=r"^--busy 13 s is longer than --turn 12.4 s, of which it is a part$"):
        offered(busy=given(13), turn=given(12.4))
    with pytest.raises(
        BadInput, match=r"^120,000 calls at a time are over 100,000: check --calls-per-hour and --call$"
    ):
        offered(1_600_000)


def test_a_table_ends_where_hardly_anything_comes() -> None:
    assert unlikely([0.5, 0.4, 0.0996, 0.0004]) == 3
    assert unlikely([0.5, 0.5]) == 2


DOLLARS = Price(sign="$", hour=0.26)


def test_the_articles_voice_minute() -> None:
    """$0.26 an hour over 12 callers: $0.00036 at 100 % occupancy, $0.00066 at 55 %."""
    paid = cost(12, DOLLARS, given=0.55)
    assert round(paid.full, 5) == 0.00036
    assert paid.at is not None
    assert round(paid.at, 5) == 0.00066
    assert (paid.offered, paid.cards, paid.occupancy) == (None, None, None)


def test_the_offered_load_pays_for_the_card_and_for_cards() -> None:
    load = offered()
    paid = cost(12, DOLLARS, load=load)
    assert paid.offered == pytest.approx(0.26 / 60 / load.line)
    assert paid.cards == pytest.approx(2 * 0.26 / 60 / load.cards_line)
    assert load.line < load.cards_line < load.erlangs


def test_network_by_time_and_by_data() -> None:
    assert cost(12, DOLLARS, Price(sign="", hour=0.10)).full == pytest.approx(0.36 / 720)
    by_data = cost(12, DOLLARS, Price(sign="$", byte=2e-11), 4e5)
    assert by_data.minute == pytest.approx(8e-6)
    assert by_data.hour == 0.26
    assert by_data.full == pytest.approx(0.26 / 720 + 8e-6)


@pytest.mark.parametrize(
    ("network", "data", "error"),
    [
        (Price(sign="€", hour=1.0), None, "--price is in $ and --network in €: give both in one currency"),
        (
            Price(sign="$", byte=1e-9), None,
            "--network is priced by data: say with --data how much a call moves, such as 0.4 MB/min",
        ),
        (Price(sign="$", hour=0.1), 1e6, "--data needs --network with a price by data, such as 0.02/GB"),
        (None, 1e6, "--data needs --network with a price by data, such as 0.02/GB"),
    ],
)  # fmt: skip
def test_prices_that_do_not_go_together(network: Price | None, data: float | None, error: str) -> None:
    with pytest.raises(BadInput) as raised:
        cost(12, DOLLARS, network, data)
    assert str(raised.value) == error
