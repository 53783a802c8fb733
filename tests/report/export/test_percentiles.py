"""HdrHistogram's percentile text, against what another port of the library writes and against its formula."""

import re
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from loadsim.report.export.percentiles import Chosen, distribution, file_names, histograms, text, values
from loadsim.results.histograms import HIGHEST_US
from loadsim.results.stream import Stream
from loadsim.stats.tokens import percentile
from tests.stats.rows import alone, reply, row

from .folders import NASTY, make


def of(*us: int) -> HdrHistogram:
    made = HdrHistogram(1, HIGHEST_US, 3)
    for value in us:
        made.record_value(value)
    return made


def test_the_text_is_the_one_that_the_tools_write() -> None:
    """hdr-histogram-js 3.0.1 wrote spread.hgrm of these values; it names the largest one as recorded, Java as the
    largest that counts as the same, which is 13.703."""
    theirs = (Path(__file__).parent / "spread.hgrm").read_text()
    assert theirs.count("13.700") == 1
    assert text(of(*(i * 137 for i in range(1, 101)))) == theirs.replace("13.700", "13.703")


def test_the_levels_halve_their_distance_to_all_every_five_lines() -> None:
    levels = [level for _, level, _ in distribution(values(of(*range(1, 2001))))]
    known = [0, 10, 20, 30, 40, 50, 55, 60, 65, 70, 75, 77.5, 80, 82.5, 85, 87.5, 88.75, 90, 91.25, 92.5, 93.75]
    assert levels[: len(known)] == known
    assert levels[-1] == 100


def test_a_single_value_has_two_lines() -> None:
    lines = text(of(7)).splitlines()
    assert lines[2].split() == ["0.007", "0.000000000000", "1", "1.00"]
    assert lines[3].split() == ["0.007", "1.000000000000", "1"]
    assert lines[4].startswith("#[Mean")


@given(st.lists(st.integers(1, 2000) | st.integers(1, HIGHEST_US), min_size=1, max_size=200))
def test_each_line_is_the_formula(us: list[int]) -> None:
    made = of(*us)
    lines = [line.split() for line in text(made).splitlines()[2:] if not line.startswith("#")]
    for line in lines:
        value, level, count = float(line[0]) * 1e3, float(line[1]), int(line[2])
        exact = percentile(us, min(level * 100, 100))
        assert exact is not None
        assert value == pytest.approx(exact, rel=1e-3, abs=1)
        assert count == sum(made.get_highest_equivalent_value(each) <= value + 0.5 for each in us)
        assert count >= level * len(us) - 1e-6
        if level != 1:
            assert float(line[3]) == pytest.approx(1 / (1 - level), abs=0.006, rel=1e-6)
    assert len(lines[-1]) == 3
    assert int(lines[-1][2]) == len(us)
    assert f"Total count    = {len(us):12d}]" in text(made)


def test_a_run_has_one_per_point_row_and_metric(tmp_path: Path) -> None:
    rows = [row(), row(caller=1), row(point="q", prompt_ms=None), alone(1, "before", 0.01), row(outcome="error")]
    stream = Stream(make(tmp_path, *rows))
    found = histograms(stream, Chosen())
    times = {"ttft", "ttft_due", "before_headers", "prompt_eval", "gap", "gap_server"}
    assert {key[2] for key in found if key[:2] == ("p", "load")} == times
    assert {key[2] for key in found if key[:2] == ("q", "load")} == times - {"prompt_eval"}
    gap = found["p", "load", "gap"]
    assert gap.get_total_count() == 8
    assert gap.get_value_at_percentile(100) == pytest.approx(20_000, rel=1e-3)
    assert found["p", "baseline", "gap"].get_total_count() == 4
    assert list(histograms(stream, Chosen(point="q", row="load", metric="gap"))) == [("q", "load", "gap")]
    assert histograms(stream, Chosen(row="probe")) == {}


def test_values_of_many_replies_are_all_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadsim.report.export.percentiles.POOL", 10)
    rows = [reply(float(i), *(0.1 * k for k in range(1, 6)), turn=i) for i in range(1, 20)]
    found = histograms(Stream(make(tmp_path, *rows)), Chosen(metric="gap"))
    assert found["p", "load", "gap"].get_total_count() == 19 * 4


def test_file_names_say_what_is_in_them_and_are_safe() -> None:
    points = ["12 warm", "server.slots=12", NASTY, "../../x", "/etc/x", "a" * 500, "a" * 501, "🙂" * 100, "a/b", "a_b"]
    names = list(file_names((point, "load", "gap") for point in points).values())
    assert names[:2] == ["12 warm.load.gap.hgrm", "server.slots=12.load.gap.hgrm"]
    assert len(set(names)) == len(points)
    assert all(re.fullmatch(r"[^/\0\n\\]{1,255}", name) for name in names)
