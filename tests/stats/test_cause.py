"""The rules of a verdict, each at both sides of its threshold."""

from typing import Any

import pytest

from loadsim.stats.cause import Evidence, State, verdict
from loadsim.stats.trend import Trend

COLD: dict[str, Any] = {
    "samples": 5, "heat": 57.0, "clock": 1905.0, "memory_clock": 9751.0, "power": 166.0, "limit": 350.0, "reasons": {},
    "lag_ms": 2.0, "client_cpu": 0.2,
}  # fmt: skip
HOT = COLD | {"heat": 88.0, "clock": 1695.0}


def seen(
    change: float = -0.55,
    high: float | None = -0.5,
    clock: float | None = 1695 / 1905,
    first: dict[str, Any] | None = None,
    last: dict[str, Any] | None = None,
    **more: Any,
) -> Evidence:
    """The article's card, unless something else is said."""
    decode = Trend(
        first=218.6, last=218.6 * (1 + change), first_at=0, last_at=1440, change=change, low=change - 0.01, high=high,
        slope=None, n=2,
    )  # fmt: skip
    plain: dict[str, Any] = {"memory_clock": 1.0, "own": None, "grew": None, "grown_bytes": None}
    return Evidence(
        decode=decode,
        first=State(**COLD | (first or {})),
        last=State(**HOT | (last or {})),
        clock=clock,
        **plain | more,
    )


def rule(*args: Any, **fields: Any) -> str:
    return verdict(seen(*args, **fields)).rule


def test_the_articles_card() -> None:
    of = seen()
    assert verdict(of).rule == "memory heat"
    assert of.explained == pytest.approx(0.146, abs=0.002)  # log(1695 / 1905) over log(0.45)


def test_a_fall_by_less_than_its_noise_is_none() -> None:
    assert rule(-0.55, high=None) == "too few to tell"
    assert rule(-0.2, high=0.01) == "no decay"
    assert rule(-0.049, high=-0.04) == "no decay"
    assert rule(-0.051, high=-0.04) != "no decay"
    assert rule(0.3, high=0.4) == "no decay"


def test_the_clock_explains_what_falls_in_proportion() -> None:
    assert rule(-0.11, high=-0.1) == "clock"
    assert rule(-0.05, high=-0.04) == "clock"  # by less than the clock: memory-bound
    assert rule(-0.16, high=-0.1) == "memory heat"  # 0.67 of it
    assert rule(-0.15, high=-0.1) == "clock"  # 0.72
    assert rule(-0.11, high=-0.1, clock=None) == "memory heat"


def test_a_power_cap_needs_the_draw_and_the_clock() -> None:
    capped = {"power": 340.0, "reasons": {"sw power cap": 0.9}}
    assert rule(-0.11, high=-0.1, last=capped) == "power limit"
    assert rule(-0.11, high=-0.1, first=capped, last=capped) == "power limit"  # a hot card needs more for each MHz
    assert rule(-0.55, clock=None, last=capped) == "power limit"
    assert verdict(seen(-0.11, high=-0.1, last=capped | {"power": 300.0})).named == ("sw power cap",)
    assert rule(-0.11, high=-0.1, last=capped | {"reasons": {"sw power cap": 0.4}}) == "clock"
    assert rule(-0.55, first=capped, last=capped) == "memory heat"  # it was there before, and explains a part


def test_throttle_reasons_that_came_into_force() -> None:
    slow = {"reasons": {"hw thermal slowdown": 0.6, "sw power cap": 0.1, "sw thermal slowdown": 1.0}}
    found = verdict(seen(-0.11, high=-0.1, last=slow))
    assert (found.rule, found.named) == ("throttled", ("hw thermal slowdown", "sw thermal slowdown"))
    assert rule(-0.55, last=slow) == "throttled"
    assert rule(-0.55, first=slow, last=slow) == "memory heat"
    assert rule(-0.55, last={"reasons": {"sw power cap": 0.03}}) == "memory heat"  # one dip


@pytest.mark.parametrize("busy", [{"lag_ms": 26.0}, {"client_cpu": 0.95}])
def test_a_client_that_was_late(busy: dict[str, float]) -> None:
    assert rule(last=busy) == "client"
    assert rule(last=busy, own=0.95) == "client"
    assert rule(last=busy, own=0.46) == "memory heat"  # the server's own clock saw the fall
    assert rule(-0.01, last=busy) == "no decay"
    assert rule(last={"lag_ms": 24.0, "client_cpu": 0.85}) == "memory heat"


def test_a_machine_that_others_use() -> None:
    busy = {"busy": 0.95, "others": 0.3}
    assert rule(last=busy, cpu=True) == "machine"
    assert rule(last=busy) == "memory heat"  # the server computes on a card
    assert rule(last={"busy": 0.85, "others": 0.3}, cpu=True) == "no cause seen"
    assert rule(last={"busy": 1.0, "others": 0.2}, cpu=True) == "no cause seen"
    assert rule(-0.01, last=busy, cpu=True) == "no decay"


def test_memory_that_grew_and_still_does() -> None:
    grown = {"grew": 0.5, "grown_bytes": 2 << 30, "still_grew": 0.9}
    flat = {"clock": 1.0}
    assert rule(**flat, **grown) == "server memory"
    assert rule(**flat, **grown | {"still_grew": 0.1}) == "memory heat"  # caches have filled up
    assert rule(**flat, **grown | {"grew": 0.05}) == "memory heat"
    assert rule(**flat, **grown | {"grown_bytes": 10 << 20}) == "memory heat"
    assert rule(**flat, **grown, still_fell=0.5) == "server memory"
    assert rule(**flat, **grown, still_fell=0.3) == "memory heat"  # the rate had settled while memory grew
    assert rule(-0.11, high=-0.1, **grown) == "clock"


def test_memory_heat_where_nothing_speaks_against_it() -> None:
    assert rule(last={"heat": 61.0}) == "no cause seen"
    assert rule(last={"memory_heat": 104.0}) == "memory heat"
    assert rule(last={"memory_heat": 80.0}) == "no cause seen"
    assert rule(first={"memory_heat": 70.0}, last={"heat": 57.0, "memory_heat": 104.0}) == "memory heat"
    assert rule(last={"heat": 57.0}, memory_clock=0.5) == "memory heat"  # the memory clock explains 0.87 of it
    assert rule(cpu=True) == "no cause seen"


def test_without_a_card_log_the_temperature_is_unknown() -> None:
    nothing: dict[str, Any] = dict.fromkeys(COLD)
    dark: dict[str, Any] = {"first": nothing | {"samples": 0}, "last": nothing | {"samples": 0}, "clock": None}
    dark |= {"memory_clock": None}
    assert rule(**dark) == "unknown temperature"
    assert rule(**dark, grew=0.5, grown_bytes=2 << 30, still_grew=1.0) == "server memory"
    assert rule(-0.01, **dark) == "no decay"
    assert rule(**dark | {"last": nothing | {"samples": 0, "client_cpu": 1.0}}) == "client"
