"""Decay in generated runs of five known kinds, and its figures by hand."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from loadsim.stats.decay import Decay, decay
from loadsim.types import CardSample, HostSample, RequestRow
from tests.stats.decaying import CASES, MIB, ONE, SHARE, decaying
from tests.stats.rows import alone, reply

SEEDS = range(6)


def found(*args: Any, **fields: Any) -> Decay:
    of = decay(*args, **fields)
    assert of is not None
    return of


@pytest.mark.parametrize("pauses", [False, True], ids=["plain", "soak"])
@pytest.mark.parametrize("name", CASES)
def test_no_case_is_confused_with_another(name: str, pauses: bool) -> None:
    assert [found(*decaying(CASES[name], seed, pauses)).verdict.rule for seed in SEEDS] == [name] * len(SEEDS)


@pytest.mark.parametrize("name", CASES)
def test_without_one_caller_the_load_tells_what_is_slower_than_a_window(name: str) -> None:
    """The card is hot before the first minute is over, so that only what goes on after it is seen."""
    for seed in SEEDS:
        rows, card, host = decaying(CASES[name], seed)
        of = found([row for row in rows if row.row == "load"], card, host)
        assert of.by == "under load"
        assert of.verdict.rule in (
            {name} if name in ("server memory", "no decay") else {name, "no decay", "no cause seen", "clock"}
        )


@pytest.mark.parametrize("name", CASES)
def test_without_a_log_nothing_is_made_up(name: str) -> None:
    of = found(decaying(CASES[name], 1)[0])
    assert of.verdict.rule == ("no decay" if name == "no decay" else "unknown temperature")
    assert of.memory is None
    assert of.against == []


def line(factor: Callable[[float], float], times: list[float]) -> float:
    """The slope a minute of the known curve at these times, by numpy."""
    return float(np.polyfit([t / 60 for t in times], [factor(t) for t in times], 1)[0])


@pytest.mark.parametrize("name", CASES)
def test_changes_and_slopes_are_the_known_curves(name: str) -> None:
    case = CASES[name]
    inside, over = 0, 0
    for seed in SEEDS:
        of = found(*decaying(case, seed, pauses=True))
        assert of.one is not None
        assert of.one.change == pytest.approx(case.factor(1454.5) / case.factor(5.0) - 1, abs=0.03)
        assert of.one.low is not None
        assert of.one.high is not None
        assert of.one.low < of.one.change < of.one.high
        times = [each.at for each in of.windows if each.one is not None]
        assert len(times) == of.one.n == 6
        replies = [2.0 + 2.5, *(300.0 * n + 2 + 3.0 for n in range(1, 5)), 1452 + 2.5]
        assert of.one.slope is not None
        assert of.one.slope.per == pytest.approx(ONE * line(case.factor, replies), rel=0.05, abs=0.3)
        assert of.load is not None
        assert of.load.slope is not None
        want = ONE * SHARE * line(case.factor, [each.at for each in of.windows if each.load is not None])
        assert of.load.slope.per == pytest.approx(want, rel=0.1, abs=0.05)
        if name in ("server memory", "no decay"):  # lines, so that the interval is one
            for trend, wanted in ((of.one, ONE * line(case.factor, replies)), (of.load, want)):
                assert trend.slope is not None
                assert trend.slope.low is not None
                assert trend.slope.high is not None
                over += 1
                inside += trend.slope.low <= wanted <= trend.slope.high
    assert inside >= over - 2  # of 95 % intervals


@pytest.mark.parametrize("name", CASES)
def test_heat_cancels_out_of_the_share(name: str) -> None:
    of = found(*decaying(CASES[name], 3, pauses=True))
    shares = [each.share for each in of.windows if each.share is not None]
    assert len(shares) > 8
    assert shares == pytest.approx([SHARE] * len(shares), rel=0.06)
    assert of.share is not None
    assert of.share.change == pytest.approx(0, abs=0.06)


def against(of: Decay, name: str) -> tuple[float, float]:
    (one,) = (each for each in of.against if each.name == name)
    assert one.r is not None
    assert one.line is not None
    return one.r, one.line.per


def test_decode_against_what_the_logs_say() -> None:
    of = found(*decaying(CASES["throttled"], 4, pauses=True))
    r, per = against(of, "SM clock")
    assert r == pytest.approx(1.0, abs=0.02)
    assert per == pytest.approx(ONE / 1695, rel=0.1)
    r, per = against(of, "core temperature")
    assert r == pytest.approx(-1.0, abs=0.02)
    assert per == pytest.approx(-0.4 * ONE / 31, rel=0.1)
    r, per = against(found(*decaying(CASES["power limit"], 4, pauses=True)), "power")
    assert r == pytest.approx(-1.0, abs=0.02)
    assert per == pytest.approx(-0.3 * ONE / 183, rel=0.1)
    r, per = against(found(*decaying(CASES["server memory"], 4)), "server memory")
    assert r == pytest.approx(-1.0, abs=0.02)
    assert per == pytest.approx(-0.4 * ONE * SHARE / 170 / 24, rel=0.05)
    names = {each.name: each for each in of.against}
    assert "memory temperature" not in names
    assert (names["memory clock"].n, names["memory clock"].r, names["memory clock"].line) == (6, None, None)


def test_the_figures_that_decided_it() -> None:
    of = found(*decaying(CASES["memory heat"], 5, pauses=True)).evidence
    assert of.explained == pytest.approx(np.log(0.89) / np.log(0.446), abs=0.03)
    assert of.first.heat == pytest.approx(60, abs=3)
    assert (of.last.heat, of.last.memory_heat) == (88, None)
    assert of.last.clock == pytest.approx(1695 * 0.89, rel=0.01)
    assert of.last.power == pytest.approx(166, rel=0.02)
    assert of.last.limit == 350
    assert (of.last.reasons, of.memory_clock) == ({}, 1)
    leak = found(*decaying(CASES["server memory"], 5))
    assert leak.memory is not None
    assert leak.memory.slope.per == pytest.approx(170 * MIB, rel=0.02)
    assert leak.memory.late.per == pytest.approx(170 * MIB, rel=0.05)
    assert leak.evidence.grown_bytes == pytest.approx(170 * 24 * MIB, rel=0.03)


def test_a_server_that_was_started_again_has_not_grown() -> None:
    rows, card, host = decaying(CASES["server memory"], 1)
    anew = [msgspec.structs.replace(each, server_rss_bytes=(2 << 30) if each.t_s > 700 else (6 << 30)) for each in host]
    of = found(rows, card, anew)
    assert of.memory is not None
    assert (of.memory.first, of.memory.slope.per) == (2 << 30, 0)
    assert of.verdict.rule == "memory heat"


@pytest.mark.parametrize("pauses", [False, True], ids=["plain", "soak"])
def test_memory_that_grows_beside_a_hot_card_is_not_blamed(pauses: bool) -> None:
    """As checkpoints fill up: in a straight line, while the rate falls by the memory's heat, and then no more."""
    case = msgspec.structs.replace(CASES["memory heat"], memory=CASES["server memory"].memory)
    assert {found(*decaying(case, seed, pauses)).verdict.rule for seed in SEEDS} == {"memory heat"}


def test_a_load_that_changes_is_no_decay() -> None:
    """Four callers, and then sixteen who get a third each: those windows are left out of the trend."""
    rows = [reply(6.0 * n + 0.1 * c, *(0.1 + i / 40 for i in range(9)), caller=c) for n in range(50) for c in range(4)]
    rows += [reply(300 + 6.0 * n, *(0.1 + i / 13 for i in range(9)), caller=c) for n in range(50) for c in range(16)]
    rows += [
        reply(600 + 6.0 * n + 0.1 * c, *(0.1 + i / 40 for i in range(9)), caller=c) for n in range(80) for c in range(4)
    ]
    of = found(rows)
    assert of.load is not None
    assert of.load.n == 13
    assert of.load.change == pytest.approx(0, abs=1e-6)
    assert len(of.windows) == 18
    crowds = [each.crowd for each in of.windows]
    assert crowds[7] == pytest.approx(16)
    # Four replies of 0.3 s, 0.1 s apart: 0.1 s of 1, 2, 3 (0.1 s), 3, 2, 1 in flight
    assert crowds[1] == pytest.approx((1 + 4 + 9 + 9 + 4 + 1) / (1 + 2 + 3 + 3 + 2 + 1), rel=0.01)


def test_a_card_that_rested_before_one_caller_was_alone_has_no_share() -> None:
    def load(start: int) -> list[RequestRow]:
        return [reply(t, *(0.1 + i / 40 for i in range(9))) for t in range(start, start + 300, 5)]

    def rest(start: float, call: int) -> list[RequestRow]:
        return [alone(n, "during", 0.01, sent_s=start + n, end_s=start + n + 0.5, call=call) for n in range(4)]

    of = found([*rest(0.0, 1), *load(5), *rest(306.0, 2), *load(901), *rest(896.0, 3)])
    assert [each.at for each in of.windows if each.share is not None] == [270, 330]
    assert next(each.share for each in of.windows if each.share) == pytest.approx(0.4)


def test_load_points_that_differ_are_compared_by_one_caller_alone() -> None:
    rows = [
        alone(n, "before", 1 / 200, point=p, sent_s=t + n, end_s=t + n + 1.0)
        for p, t in (("p", 0.0), ("q", 600.0))
        for n in range(6)
    ]
    rows += [
        reply(t, *(0.1 + i / of for i in range(9)), point=p)
        for p, of, start in (("p", 40, 10), ("q", 20, 610))
        for t in range(start, start + 500, 5)
    ]
    of = found(rows)
    assert (of.by, of.load, of.share) == ("one caller", None, None)
    assert of.verdict.rule == "no decay"
    assert of.windows[0].load == pytest.approx(40)


def test_the_slowest_of_several_cards_decides() -> None:
    rows, card, host = decaying(CASES["throttled"], 2)
    well = [msgspec.structs.replace(each, card=1, sm_mhz=1695.0, core_c=95.0, reasons=()) for each in card]
    both = sorted([*card, *well], key=lambda each: each.t_s)
    assert found(rows, both, host).verdict.rule == "throttled"
    idle = [msgspec.structs.replace(each, card=1, sm_mhz=210.0 if each.t_s > 60 else 1695.0, busy=0.0) for each in card]
    assert found(rows, sorted([*well, *idle], key=lambda each: each.t_s), host).evidence.last.heat == 95


def test_where_there_is_no_card_the_cpus_clock_and_heat_are_looked_at() -> None:
    rows, card, host = decaying(CASES["throttled"], 2)
    cpu = [
        msgspec.structs.replace(host[0], t_s=each.t_s, cpu_c=each.core_c, cpu_mhz=2 * (each.sm_mhz or 0.0))
        for each in card
    ]
    of = found(rows, [], cpu, here=True)
    assert (of.cpu, of.verdict.rule) == (True, "clock")
    assert of.evidence.last.clock == pytest.approx(2 * 1695 * 0.6, rel=0.02)
    assert found(rows, [], cpu).verdict.rule == "unknown temperature"  # another machine's server
    rows, card, host = decaying(CASES["memory heat"], 2)
    hot = [HostSample(t_s=each.t_s, cpu_c=each.core_c, cpu_mhz=each.sm_mhz) for each in card]
    assert found(rows, [], hot, here=True).verdict.rule == "no cause seen"


def test_a_client_that_slows_down_itself() -> None:
    rows, card, host = decaying(CASES["memory heat"], 2)
    late = [msgspec.structs.replace(each, lag_p99_ms=40.0 if each.t_s > 1400 else 1.0) for each in host]
    assert found(rows, card, late).verdict.rule == "client"
    for row in rows:  # the server's own clock says the same
        row.token_server_ms = [1e3 * (t - row.token_s[0]) for t in row.token_s]
    assert found(rows, card, late).verdict.rule == "memory heat"


def test_a_short_stretch_takes_the_samples_around_it() -> None:
    rows = [
        alone(n, side, step, sent_s=t + n / 10, end_s=t + n / 10 + 0.1)
        for side, step, t in (("before", 0.01, 10.0), ("after", 0.02, 400.0))
        for n in range(6)
    ]
    card = [CardSample(t_s=t, card=0, core_c=c, sm_mhz=m) for t, c, m in ((8.0, 57, 1900.0), (402.0, 88, 950.0))]
    of = found(rows, card)
    assert (of.verdict.rule, of.evidence.first.heat, of.evidence.clock) == ("clock", 57, 0.5)
    assert found(rows, [msgspec.structs.replace(each, t_s=each.t_s + 8) for each in card]).evidence.last.heat is None


def test_what_was_measured_once_says_nothing() -> None:
    rows: list[RequestRow] = []
    assert decay(rows) is None
    assert decay([alone(n, "before", 0.01) for n in range(6)]) is None
    of = found(
        [
            alone(n, side, 0.01, sent_s=t, end_s=t + 1)
            for side, t in (("before", 0.0), ("after", 30.0))
            for n in range(6)
        ]
    )
    assert not of.long_enough
    assert found(*decaying(CASES["no decay"], 1)).long_enough
