"""Summaries of the logs, worked out by hand."""

from typing import Any

from loadsim.stats.cards import cards, host, within
from loadsim.types import CardSample, HostSample


def at(t: float, **fields: Any) -> CardSample:
    plain: dict[str, Any] = {"card": 0, "core_c": 60.0, "sm_mhz": 1695.0, "memory_mhz": 9751.0, "power_w": 166.0}
    return CardSample(t_s=t, **plain | {"limit_w": 350.0, "reasons": (), "busy": 0.9} | fields)


def test_a_stretch_holds_its_ends() -> None:
    assert [s.t_s for s in within([at(t) for t in (0.9, 1.0, 1.5, 2.0, 2.1)], 1.0, 2.0)] == [1.0, 1.5, 2.0]


def test_the_articles_card_at_a_glance() -> None:
    samples = [at(t, core_c=57.0 + t) for t in range(32)]
    samples[20] = at(20, core_c=77.0, sm_mhz=750.0, reasons=("sw power cap",))
    samples[31] = at(31, core_c=88.0, power_w=170.0)
    (card,) = cards(samples)
    assert (card.card, card.samples) == (0, 32)
    assert (card.core, card.memory) == ((57, 88), None)
    assert (card.sm, card.sm_least, card.memory_clock) == (1695, 750, 9751)
    assert (card.power, card.limit) == (166, 350)
    assert card.reasons == {"sw power cap": 1 / 32}


def test_an_idle_card_has_not_slowed_down() -> None:
    idle = at(0, sm_mhz=210.0, power_w=20.0, busy=0.0)
    said_idle = at(1, sm_mhz=210.0, power_w=21.0, busy=None, reasons=("gpu idle",))
    (card,) = cards([idle, said_idle, at(2, core_c=61.0), at(3)])
    assert (card.sm, card.sm_least, card.power) == (1695, 1695, 166)
    assert (card.core, card.samples, card.reasons) == ((60, 61), 4, {})
    (rests,) = cards([idle, said_idle])
    assert (rests.sm, rests.power, rests.reasons) == (210, 20.5, {})


def test_reasons_by_the_samples_that_tell_them() -> None:
    told = [("hw thermal slowdown", "sw power cap"), ("sw power cap",), (), None, ("gpu idle",)]
    samples = [at(t, reasons=reasons) for t, reasons in enumerate(told)]
    (card,) = cards(samples)
    assert card.reasons is not None
    assert card.reasons.items() == {"sw power cap": 2 / 3, "hw thermal slowdown": 1 / 3}.items()
    (silent,) = cards([at(0, reasons=None)])
    assert silent.reasons is None


def test_a_card_that_tells_nothing() -> None:
    (card,) = cards([CardSample(t_s=1, card=3)])
    assert card.card == 3
    assert {
        card.core,
        card.memory,
        card.sm,
        card.sm_least,
        card.memory_clock,
        card.power,
        card.limit,
        card.reasons,
    } == {None}
    assert cards([]) == []


def test_each_card_by_itself() -> None:
    found = cards([at(0, card=1, core_c=70.0), at(0, card=0), at(1, card=1, core_c=75.0)])
    assert [(card.card, card.core) for card in found] == [(0, (60, 60)), (1, (70, 75))]


def test_this_machine() -> None:
    samples = [
        HostSample(t_s=1, cpu=0.5, cores=(0.1, 0.9), cpu_c=60.0, server_cpu=0.5, server_rss_bytes=100),
        HostSample(t_s=2, cpu=0.7, cores=(0.8, 0.6), cpu_c=71.0, server_cpu=0.75, server_rss_bytes=90),
        HostSample(t_s=3, cpu=0.6, cores=(1.0, 0.2), server_rss_bytes=150),
        HostSample(t_s=4),
    ]
    found = host(samples)
    assert found is not None
    assert (found.samples, found.cpu, found.busiest, found.heat) == (4, 0.6, 0.9, (60, 71))
    assert (found.server_cpu, found.rss) == (0.625, (100, 150))
    assert host([]) is None
