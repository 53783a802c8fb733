"""Decay under a run's tables: its table, its sentence, and when there is none."""

from typing import Any

import msgspec
import pytest

from loadsim.report.decay import decays
from loadsim.results.read import Run
from loadsim.types import CardSample
from tests.report.runs import BOTH, LOAD, printed, run_of, words
from tests.stats.decaying import CASES, decaying

SAID = {
    "throttled": "throttle reasons: sw thermal slowdown in 100 % of the samples at last; the SM clock fell by",
    "power limit": "power limit, 350 W of 350, sw power cap in 100 % of the samples at last; the SM clock fell by",
    "memory heat": "decode fell more than the SM clock: memory-bound heat suspected; the SM clock fell by 9.72 %, "
    "1,666 to 1,504 MHz, which explains 13.3 % of it; memory clock seen (9,751 MHz throughout), memory temperature not "
    "readable; core 62 to 88 C.",
    "server memory": "server memory grew, 4.01 GiB to 8.02 GiB, 170 MiB a minute (170 to 170 at 95 %); the SM clock "
    "stayed at 1,690 MHz.",
    "no decay": "No decay: one caller's decode rate rose by 0.512 % (-2.7 % to +3.8 % at 95 %) in 24.2 min.",
}


def long(name: str, minutes: float = 24.0, seed: int = 1, **facts: Any) -> Run:
    """A generated run of that kind, with a pause every five minutes."""
    rows, card, host = decaying(CASES[name], seed, pauses=True, minutes=minutes)
    return msgspec.structs.replace(run_of(*rows, **facts), card=card, host=host)


@pytest.mark.parametrize("name", CASES)
def test_the_sentence_says_what_decided_it(name: str) -> None:
    said = words(long(name))
    assert SAID[name] in said
    assert sum(each in said for each in SAID.values()) == 1
    assert "unknown temperature" not in said


def test_the_table_has_first_last_and_slopes_with_their_intervals() -> None:
    said = printed(long("memory heat"))
    assert max(map(len, said.splitlines())) <= 80
    lines = {" ".join(line[:19].split()): line[19:].split() for line in said.splitlines()}
    assert lines["over time"] == ["first", "last", "change", "a", "minute", "from", "to"]
    rows = {line[:21].strip(): line[21:].split() for line in said.splitlines()}
    # From the known curve: 218.6 tokens/s at first, 44.6 % of that at last, within noise and rounding
    assert rows["one caller, tokens/s"][:3] == ["212", "98.1", "-53.7"]
    assert rows["SM clock, MHz"][:2] == ["1,666", "1,504"]
    assert rows["memory clock, MHz"][:3] == ["9,751", "9,751", "0.0"]
    assert rows["core, C"][:3] == ["62", "88", "-"]
    assert "memory, C" not in rows
    share = next(line.split() for line in said.splitlines() if line.startswith("share  "))
    assert float(share[1]) == pytest.approx(20, abs=1)


def test_a_share_over_time_says_what_it_is_and_by_which_windows() -> None:
    said = "share over time: each window of {} with the usual load, against the one caller measured next to it"
    assert said.format("1 min").replace("1 min", "60 s") in words(long("no decay"))
    assert said.format("30 s") in words(long("no decay", scenario={"window": "30 s"}))
    # without one caller in its pauses there is no share over time
    alone = msgspec.structs.replace(long("no decay"))
    alone = msgspec.structs.replace(alone, rows=[row for row in alone.rows if row.row != "baseline"])
    assert "over time" in printed(alone)
    assert "share over time" not in words(alone)


def test_a_run_too_short_says_nothing() -> None:
    assert "over time" in printed(long("no decay", minutes=4))
    assert "over time" not in printed(long("no decay", minutes=2.5))  # under three windows of a minute
    assert "over time" in printed(long("no decay", minutes=2.5, scenario={"window": "30 s"}))
    assert "over time" not in printed(run_of(*BOTH, *LOAD))


def test_without_a_card_log_the_temperature_is_unknown() -> None:
    dark = msgspec.structs.replace(long("no decay"), card=[], host=[])
    assert "in 24.2 min; unknown temperature." in words(dark)
    assert "core, C" not in printed(dark)
    dark = msgspec.structs.replace(long("memory heat"), card=[])
    assert (
        "unknown temperature, for no card log covers it; the SM clock is not known; server memory 4.00 GiB to"
        in words(dark)
    )


def test_a_load_that_falls_while_one_caller_does_not() -> None:
    run = long("no decay")
    for row in run.rows:
        if row.row == "load" and row.sent_s is not None:
            row.token_s = [t * (1 + row.sent_s / 1500) for t in row.token_s]
    said = words(run)
    assert "No decay: one caller's decode rate rose" in said
    assert "Under load the rate fell by 48." in said
    run = long("no decay")
    for row in run.rows:
        if row.row == "load" and row.sent_s is not None:
            row.token_s = [t * (1 + 0.04 * row.sent_s / 1450) for t in row.token_s]
    assert "Under load" not in words(run)  # by 4 %, and certain of it


def test_what_else_may_be_said() -> None:
    run = long("no decay")
    said = words(msgspec.structs.replace(run, rows=[row for row in run.rows if row.row == "load"]))
    assert "No decay: the decode rate under load" in said
    hot = long("memory heat")
    seen = [msgspec.structs.replace(each, memory_c=60.0 + each.t_s / 30) for each in hot.card]
    assert "memory temperature seen (60 to 108 C)" in words(msgspec.structs.replace(hot, card=seen))
    slow = [msgspec.structs.replace(each, memory_mhz=9751.0 if each.t_s < 60 else 5001.0) for each in hot.card]
    assert "memory clock seen (9,751 to 5,001 MHz)" in words(msgspec.structs.replace(hot, card=slow))
    steady = [CardSample(t_s=each.t_s, card=0, core_c=60.0, sm_mhz=1695.0, reasons=()) for each in hot.card]
    said = words(msgspec.structs.replace(hot, card=steady))
    assert "no cause seen in the logs; the SM clock stayed at 1,695 MHz; core 60 to 60 C; server memory 4.00" in said
    late = [msgspec.structs.replace(each, lag_p99_ms=40.0) for each in hot.host]
    said = words(msgspec.structs.replace(hot, host=late))
    assert "the client was the bottleneck, its event loop came 40.0 ms late at p99 at last, and it took 1" in said
    clocked = [msgspec.structs.replace(each, reasons=None, sm_mhz=1695 * 0.4 ** (each.t_s > 60)) for each in hot.card]
    said = words(msgspec.structs.replace(hot, card=clocked))
    assert "the clock explains it; the SM clock fell by 60.0 %, 1,695 to 678 MHz, which explains all of it." in said


def test_the_embedded_server_has_a_cpu() -> None:
    hot = long("throttled", embedded=True)
    host = [
        msgspec.structs.replace(hot.host[0], t_s=each.t_s, cpu_c=each.core_c, cpu_mhz=each.sm_mhz) for each in hot.card
    ]
    said = printed(msgspec.structs.replace(hot, card=[], host=host))
    assert "CPU clock, MHz" in said
    assert "the clock explains it; the CPU's clock fell by 36" in " ".join(said.split())


def test_a_machine_that_others_use() -> None:
    run = long("memory heat", embedded=True)
    busy = [
        msgspec.structs.replace(each, cpu=0.98, cores=(1.0, 0.96), server_cpu=0.6, own_cpu=0.2, cpu_mhz=2600.0)
        for each in run.host
    ]
    said = words(msgspec.structs.replace(run, card=[], host=busy))
    assert "this machine was busy, 98.0 % of its CPU at last, 58.0 % of it with other programs" in said
    free = [msgspec.structs.replace(each, server_cpu=1.0, own_cpu=0.5) for each in busy]
    said = words(msgspec.structs.replace(run, card=[], host=free))
    assert "unknown temperature, for this machine tells none; the CPU's clock stayed at 2,600 MHz; server" in said


def test_points_of_one_server_are_looked_at_together_and_others_apart() -> None:
    def at(name: str, start: float) -> Run:
        run = long("no decay", minutes=4)
        for row in run.rows:
            row.point = name
            for field in ("sent_s", "due_s", "headers_s", "first_token_s", "last_token_s", "end_s"):
                setattr(row, field, getattr(row, field) + start)
        return run

    both = [row for n, name in enumerate(("a", "b", "c")) for row in at(name, n * 300.0).rows]
    sets = {"a": {"server.ubatch": 512}, "b": {"server.ubatch": 1024}, "c": {"server.ubatch": 512}}
    points = {name: {"sets": {"callers.warm.count": 4, **set_}} for name, set_ in sets.items()}
    run = run_of(*both, scenario={"server": {"ubatch": 2048}}, points=points)
    found = decays(run)
    assert list(found) == ["a, c", "b"]
    assert found["a, c"].main.last_at - found["a, c"].main.first_at == pytest.approx(250 + 600, abs=5)
    said = printed(run)
    assert "\na, c " in said
    assert "\nb " in said
