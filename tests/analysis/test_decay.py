"""Decay in whole runs: the recorded one's figures worked out again without loadsim, and one anew of each known kind."""

import json
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from loadsim.report.decay import decays, sentence
from loadsim.results.read import read
from tests.analysis.conftest import Study, copied, lines
from tests.analysis.decaying import HOT_S, REST_S, SHORT, STEP_S, record
from tests.analysis.small import RUNS
from tests.analysis.test_loads import figures, rate, rates, recorded

RUN = RUNS / "decay"
PRINTED: list[str] = []


@pytest.fixture
def said(study: Study) -> str:
    """What the study says of its recorded run; the drawing takes its time, so once."""
    if not PRINTED:
        PRINTED.append(study("decay", RUN))
    return PRINTED[0]


def part(said: str, header: str) -> dict[str, list[str]]:
    """A table's cells by its lines' names, which have no figures in them."""
    (found,) = (part.splitlines() for part in said.split("\n\n") if header in part)
    split = [(line, next((i for i, c in enumerate(line) if c.isdigit() or c == "-"), 0)) for line in found[2:]]
    return {line[:at].strip(): line[at:].split() for line, at in split}


def card() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RUN / "card.jsonl").read_text().splitlines()]


def test_first_and_last_of_the_recorded_run(said: str) -> None:
    ends = part(said, "first and last")
    alone = [row for row in recorded("decay", "baseline") if row.get("number")]
    before, after = (rates([row for row in alone if row["side"] == side]) for side in ("before", "after"))
    one = figures(ends["one caller, tokens/s"])
    change = 100 * (median(after) / median(before) - 1)
    assert one[:3] == pytest.approx([median(before), median(after), change], rel=0.006)
    assert change == pytest.approx(-55.4, abs=2)  # the article's 218.6 to 97.6 tokens/s
    times = [(row["sent_s"] + row["end_s"]) / 2 for row in alone]
    per = np.polyfit([t / 60 for t in times], [rate(row) for row in alone], 1)[0]
    assert one[3] == pytest.approx(per, rel=0.05)  # the study's times are the sides' middles
    assert figures(ends["SM clock, MHz"])[:3] == [1695, 1509, -11.0]
    assert figures(ends["core, C"])[:2] == [57, 88]
    assert figures(ends["memory clock, MHz"])[:3] == [9751, 9751, 0]
    assert figures(ends["power, W"])[:2] == [166, 166]


def test_windows_of_the_recorded_run(said: str) -> None:
    (found,) = (lines(part.replace(" %", ""))[3:] for part in said.split("\n\n") if "over time" in part)
    rows = recorded("decay") + [row for row in recorded("decay", "baseline") if row.get("number")]
    sent = [row["sent_s"] for row in [*recorded("decay"), *recorded("decay", "baseline"), *recorded("decay", "warm")]]
    window = (max(sent) - min(sent)) / 10
    numbers = sorted({int(row["end_s"] // window) for row in recorded("decay")})
    loads = [line for line in found if line[2] != "-"]
    assert len(loads) == len(numbers)
    for line, number in zip(loads, numbers, strict=True):
        mine = [row for row in rows if row["row"] == "load" and int(row["end_s"] // window) == number]
        assert float(line[2]) == pytest.approx(median(rates(mine)), rel=0.006)
        logged = [each for each in card() if number * window <= each["t_s"] <= (number + 1) * window]
        assert float(line[4]) == pytest.approx(median(each["core_c"] for each in logged), abs=0.51)
        assert float(line[6].replace(",", "")) == pytest.approx(median(each["sm_mhz"] for each in logged), abs=0.51)
        assert line[5] == "-"  # the memory's temperature is not told
    heats = [float(line[4]) for line in found]
    assert all(a <= b for a, b in pairwise(heats))


def test_decode_against_clock_and_heat_in_the_recorded_run(said: str) -> None:
    against = part(said, "decode against")
    clock, heat = figures(against["SM clock"][:2] + against["SM clock"][4:]), against["core temperature"]
    # Rates of 125 x 0.446 in all over 31 C, and over 186 MHz; the fall is steeper at first than a line
    fall = (1 - 97.6 / 218.6) / STEP_S * 0.5 / 0.5
    assert clock[1] == pytest.approx(fall / (1695 - 1509), rel=0.15)
    assert float(heat[1]) == pytest.approx(-fall / 31, rel=0.15)
    assert clock[-2] > 0.95
    assert float(heat[-2]) < -0.95
    assert said.count("it did not vary") == 2


def test_the_verdict_on_the_recorded_run(said: str) -> None:
    flat = " ".join(said.split())
    assert "decode fell more than the SM clock: memory-bound heat suspected; the SM clock fell by 11.0 %" in flat
    assert "memory clock seen (9,751 MHz throughout), memory temperature not readable; core 57 to 88 C." in flat
    assert max(map(len, said.splitlines()[:-1])) <= 80


def test_without_a_card_log_the_study_says_so(study: Study, tmp_path: Path) -> None:
    run = copied("decay", tmp_path / "run")
    (run / "card.jsonl").unlink()
    said = study("decay", run)
    assert "unknown temperature, for no card log covers it" in " ".join(said.split())
    assert "unknown" in said.split("\n\n")[0]
    assert "SM clock, MHz" not in said


def test_several_runs_are_named(study: Study, tmp_path: Path) -> None:
    said = study("decay", copied("decay", tmp_path / "one"), copied("hot_card", tmp_path / "two"))
    assert [line for line in said.splitlines() if line.startswith(("one ", "two "))]
    assert said.count("decode rate") >= 2


def test_a_run_of_one_rate_has_nothing_to_say(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        study("decay", RUNS / "prefill")
    assert ended.value.code == 2
    assert "no decode rate was measured twice; loadsim scenario lab/hot_card" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(150)
@pytest.mark.parametrize("name", SHORT)
def test_a_run_on_a_simulated_card_is_told_for_what_it_is(name: str, tmp_path: Path) -> None:
    of = SHORT[name]
    record(of, tmp_path / "run", tmp_path)
    run = read(tmp_path / "run")
    assert run.facts["ended"] == "complete"
    assert len(run.card) > 100
    ((_, found),) = decays(run, 10).items()
    assert (found.verdict.rule, found.by) == (name, "one caller"), sentence(found)
    assert found.one is not None
    assert found.load is not None
    assert found.one.first == pytest.approx(1 / STEP_S, rel=0.05)
    if not of.leak:  # which goes on to the end
        assert found.one.change == pytest.approx(of.factor - 1, abs=0.04)
        assert found.evidence.clock == pytest.approx(of.sm_mhz / 1695, abs=0.01)
    assert found.load.change == pytest.approx(found.one.change, abs=0.1)
    assert found.evidence.first.heat == pytest.approx(57, abs=2)
    assert found.evidence.last.heat == 88
    # The known curve, where the steps grow in a straight line: its slope at the windows' middles, by numpy
    begin = next(event["started_s"] for event in run.events if event["event"] == "server")
    until, last = (
        (60.0, 1 + (1 / of.factor - 1) * (60 - REST_S) / (HOT_S - REST_S)) if of.leak else (HOT_S, 1 / of.factor)
    )
    times = [each.at for each in found.windows if each.load is not None]
    steps = np.interp([t - begin - 0.5 for t in times], [REST_S, until], [1, last])
    want = np.polyfit([t / 60 for t in times], 1 / steps / STEP_S, 1)[0]
    assert found.load.slope is not None
    assert found.load.slope.per == pytest.approx(want, rel=0.12, abs=8)
    if of.leak:
        assert found.memory is not None
        assert found.memory.slope.per == pytest.approx(of.leak * 60 * (1 << 20), rel=0.05)
