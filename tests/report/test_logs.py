"""What the logs say under a load point's tables."""

from typing import Any

import msgspec
import pytest

from loadsim.results.read import Run
from loadsim.types import CardSample, HostSample

from .runs import BOTH, LOAD, run_of, words

CARD: dict[str, Any] = {"sm_mhz": 1695.0, "memory_mhz": 9751.0, "power_w": 166.4, "limit_w": 350.0, "busy": 0.97}
# The rows of `runs` are sent at 10 s and have ended at 10.3 s.
HOT = [CardSample(t_s=10 + n / 100, card=0, core_c=57.0 + n, reasons=(), **CARD) for n in range(31)]
HOT.append(CardSample(t_s=10.3, card=0, core_c=88.0, reasons=("sw power cap",), **CARD | {"sm_mhz": 750.0}))
GONE: dict[str, Any] = {"event": "telemetry", "log": "card", "what": "ended", "why": "it ended with status 255"}


def logged(
    *events: dict[str, Any], card: list[CardSample] | None = None, host: list[HostSample] | None = None, **of: Any
) -> Run:
    run = run_of(*BOTH, *LOAD, events=events, **of)
    return msgspec.structs.replace(run, card=card or [], host=host or [])


def test_a_card_that_heated_up() -> None:
    before, after = (CardSample(t_s=t, card=0, core_c=20.0) for t in (9.9, 10.31))
    said = "card: 57 to 88 C, SM 1,695 MHz (750 at the least), memory 9,751 MHz, 166 W of 350, throttled by: sw power"
    assert f"{said} cap 3.12 % of the time" in words(logged(card=[before, *HOT, after]))
    assert "no card log" not in words(logged(card=HOT))


def test_a_card_that_was_never_throttled() -> None:
    steady = [CardSample(t_s=10.1, card=0, core_c=60.0, memory_c=91.0, reasons=(), **CARD)]
    said = "card: 60 C (memory 91), SM 1,695 MHz, memory 9,751 MHz, 166 W of 350, never throttled"
    assert said in words(logged(card=steady))


def test_a_card_that_tells_little() -> None:
    assert "card: unknown temperature, throttle reasons unknown" in words(logged(card=[CardSample(t_s=10.1, card=0)]))


def test_several_cards_have_a_line_each() -> None:
    both = [CardSample(t_s=10.1, card=n, core_c=60.0 + n, reasons=()) for n in (0, 1)]
    said = words(logged(card=both))
    assert "card 0: 60 C, never throttled" in said
    assert "card 1: 61 C, never throttled" in said


def test_without_a_card_log_the_temperature_is_unknown() -> None:
    assert words(logged()).count("no card log: unknown temperature") == 1
    assert "no card log: unknown temperature (it ended with status 255)" in words(logged({**GONE, "t_s": 1.0}))
    last: dict[str, Any] = {**GONE, "t_s": 2.0, "what": "garbage", "why": "it printed what is no sample: x"}
    assert "(it ended with status 255)" in words(logged({**GONE, "t_s": 1.0}, last))
    assert "(it printed what is no sample: x)" in words(logged(last))


def test_the_embedded_server_has_no_card() -> None:
    assert "card log" not in words(logged(embedded=True))


@pytest.mark.parametrize(
    ("what", "card", "said"),
    [
        ("lost", 0, "card 0 was lost 10.1 s into the run: GPU is lost"),
        ("back", 0, "card 0 came back 10.1 s into the run"),
        ("ended", None, "the card log broke off 10.1 s into the run: GPU is lost"),
        ("silent", None, "the card log broke off 10.1 s into the run: GPU is lost"),
        ("back", None, "the card log went on 10.1 s into the run"),
    ],
)
def test_what_befell_a_card_while_it_was_measured(what: str, card: int | None, said: str) -> None:
    event: dict[str, Any] = {"event": "telemetry", "log": "card", "what": what, "why": "GPU is lost", "t_s": 10.1}
    event |= {} if card is None else {"card": card}
    assert said in words(logged(event, card=HOT))
    assert "into the run" not in words(logged({**event, "t_s": 9.0}, card=HOT))


def test_this_machine_where_the_server_computes_on_it() -> None:
    size = 200 << 20
    seen = [
        HostSample(t_s=10.1 + n / 100, cpu=0.42, cpu_c=61.0 + n, server_cpu=0.9, server_rss_bytes=size) for n in (0, 9)
    ]
    said = "this machine: CPU 42.0 % busy, 61 to 70 C, the server took 0.900 cores, 200 MiB"
    assert said in words(logged(host=seen, embedded=True))
    assert "this machine:" not in words(logged(host=seen))  # another's server, and time to spare
    grown = [*seen, HostSample(t_s=10.29, cpu=0.42, server_rss_bytes=3 << 30)]
    assert "200 MiB of memory at first and 3.00 GiB at last" in words(logged(host=grown, embedded=True))


def test_a_machine_without_time_to_spare_is_told_of() -> None:
    assert "this machine: CPU 95.0 % busy" in words(logged(host=[HostSample(t_s=10.1, cpu=0.95)]))
