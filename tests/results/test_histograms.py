import gc
import io
import random
import re
import weakref
from itertools import accumulate
from pathlib import Path
from urllib.parse import unquote_plus

import msgspec
import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given
from hypothesis import strategies as st

from loadsim.results.histograms import HIGHEST_US, Histograms, header, metrics, read_log, tag
from loadsim.results.write import Recorder
from loadsim.stats.tokens import percentile
from loadsim.types import BadInput

from .conftest import Clock
from .rows import WORDS, row

MEASURED = {
    "due_s": 10.0,
    "sent_s": 10.25,
    "headers_s": 10.5,
    "first_token_s": 11.0,
    "prompt_ms": 375.0,
    "token_s": [0.75, 1.0, 1.5, 1.5],
    "token_server_ms": [0.0, 250.0, 500.0, 500.0],
}

# The values that java.hlog holds too.
SPREAD = np.array([i * 137e-6 for i in range(1, 101)])

# -- what a row gives


def test_a_row_gives_its_times_in_seconds() -> None:
    assert {name: values.tolist() for name, values in metrics(row(**MEASURED)).items()} == {
        "ttft": [0.75],
        "ttft_due": [1.0],
        "before_headers": [0.25],
        "prompt_eval": [0.375],
        "gap": [0.25, 0.25, 0.25],
        "gap_server": [0.25, 0.125, 0.125],
    }


@pytest.mark.parametrize(
    ("missing", "gone"),
    [
        ("due_s", {"ttft_due"}),
        ("sent_s", {"ttft", "before_headers"}),
        ("headers_s", {"before_headers"}),
        ("first_token_s", {"ttft", "ttft_due"}),
        ("prompt_ms", {"prompt_eval"}),
    ],
)
def test_what_a_row_does_not_know_is_missing_and_never_zero(missing: str, gone: set[str]) -> None:
    assert metrics(row(**MEASURED)).keys() - metrics(row(**MEASURED | {missing: None})).keys() == gone


def test_a_time_of_zero_is_a_time() -> None:
    assert metrics(row(sent_s=0.0, first_token_s=0.5))["ttft"].tolist() == [0.5]
    assert metrics(row(prompt_ms=0.0))["prompt_eval"].tolist() == [0.0]


@pytest.mark.parametrize(
    "fields",
    [
        *({"outcome": outcome} for outcome in ("cut", "superseded", "error", "empty", "timeout")),
        {"planned": False},
        {"row": "warm"},
        {"row": "baseline", "side": "before", "number": 0},
        {"row": "baseline", "side": "after", "number": 0},
    ],
)
def test_rows_that_are_not_measured_give_nothing(fields: dict[str, object]) -> None:
    assert metrics(row(**MEASURED | fields)) == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"planned": True},
        {"planned": None},
        {"row": "probe"},
        {"row": "baseline", "number": 1},
        {"row": "load", "number": 0},
    ],
)
def test_other_rows_are_measured(fields: dict[str, object]) -> None:
    assert len(metrics(row(**MEASURED | fields))) == 6


# -- tags


def test_a_tag_reads_like_its_point() -> None:
    assert tag("server.slots=12", "load", "gap") == "server.slots=12/load/gap"
    assert tag("12 callers, cold", "baseline", "ttft") == "12+callers%2C+cold/baseline/ttft"


@given(WORDS)
def test_a_tag_is_safe_in_a_log_and_gives_the_point_back(point: str) -> None:
    made = tag(point, "load", "gap")
    assert re.fullmatch(r"[!-~]+", made)
    assert "," not in made
    assert unquote_plus(made.removesuffix("/load/gap")) == point


# -- the log


def written(histograms: Histograms, start_s: float = 0.0, end_s: float = 2.5) -> bytes:
    log = io.BytesIO(header(1_700_000_000.0))
    log.seek(0, io.SEEK_END)
    histograms.write(log, start_s, end_s)
    return log.getvalue()


def test_the_log_is_in_the_java_tools_format(tmp_path: Path) -> None:
    histograms = Histograms()
    histograms.record("a b", "load", "gap", SPREAD)
    comment, version, start, base, legend, line, end = written(histograms, 1.5, 4.0).decode().split("\n")
    java = (Path(__file__).parent / "java.hlog").read_text().split("\n")
    assert comment.startswith("#[")
    assert version == "#[Histogram log format version 1.2]"
    assert start == "#[StartTime: 1700000000.000 (seconds since epoch), 2023-11-14 22:13:20.000+00:00]"
    assert base == "#[BaseTime: 1700000000.000 (seconds since epoch)]"
    assert legend == java[3]
    # The tag, the times and the largest value in milliseconds, as Java wrote them of the same values.
    assert line.split(",")[:4] == ["Tag=a+b/load/gap", *java[4].split(",")[1:4]]
    assert end == ""


def test_a_log_of_the_java_tools_is_read() -> None:
    gap, rest = read_log(Path(__file__).parent / "java.hlog")
    assert (gap.tag, gap.start_s, gap.length_s) == ("12+callers/load/gap", 1.5, 2.5)
    # What Java's getValueAtPercentile says of these.
    assert [gap.histogram.get_value_at_percentile(q) for q in (50, 90, 95, 99)] == [6851, 12335, 13015, 13567]
    assert (rest.tag, rest.start_s, rest.length_s) == (None, 4.0, 1.25)
    assert (rest.histogram.get_total_count(), rest.histogram.get_max_value()) == (7, 3600809983)


def test_the_reader_of_hdrh_reads_the_same(tmp_path: Path) -> None:
    histograms = Histograms()
    histograms.record("a, b", "load", "gap", SPREAD)
    histograms.record("a, b", "load", "ttft", np.array([0.25]))
    path = tmp_path / "histograms.hlog"
    path.write_bytes(written(histograms, 1.5, 4.0))
    reader = HistogramLogReader(str(path), HdrHistogram(1, HIGHEST_US, 3))
    theirs = [reader.get_next_interval_histogram() for _ in range(2)]
    assert reader.get_next_interval_histogram() is None
    reader.close()
    ours = read_log(path)
    assert [h.get_tag() for h in theirs] == [i.tag for i in ours] == ["a%2C+b/load/gap", "a%2C+b/load/ttft"]
    assert [h.get_start_time_stamp() for h in theirs] == [1_700_000_001_500.0] * 2
    assert [h.get_end_time_stamp() for h in theirs] == [1_700_000_004_000.0] * 2
    for q in (50, 90, 99, 100):
        assert theirs[0].get_value_at_percentile(q) == ours[0].histogram.get_value_at_percentile(q)


def test_a_runs_log_read_by_hdrh_has_the_percentiles_of_its_rows(
    recorder: Recorder, folder: Path, clock: Clock
) -> None:
    """Over all windows of a run, and within three digits of what was recorded."""
    chance, pools = random.Random(7), dict[str, list[float]]()
    for number in range(60):
        times = list(accumulate(chance.lognormvariate(-4, 1.2) for _ in range(40)))
        ms = [t * 1e3 for t in times]
        made = row(sent_s=number * 2.0, first_token_s=number * 2.0 + times[0], token_s=times, token_server_ms=ms)
        recorder.row(made, None)
        for metric, seconds in metrics(made).items():
            pools.setdefault(f"12+callers/load/{metric}", []).extend(seconds.tolist())
        clock.now = 1000.0 + number * 2.0 + 3.0
        if number % 20 == 19:
            recorder.end_window("12 callers")
    recorder.close("complete")
    began: float = msgspec.json.decode((folder / "run.json").read_bytes())["started"]["epoch_s"]
    reader = HistogramLogReader(str(folder / "histograms.hlog"), HdrHistogram(1, HIGHEST_US, 3))
    found: dict[str, HdrHistogram] = {}
    starts = []
    while (interval := reader.get_next_interval_histogram()) is not None:
        starts.append(interval.get_start_time_stamp() / 1e3 - began)
        whole = found.setdefault(interval.get_tag(), HdrHistogram(1, HIGHEST_US, 3))
        whole.add(interval)
    reader.close()
    assert found.keys() == pools.keys() == {f"12+callers/load/{name}" for name in ("ttft", "gap", "gap_server")}
    assert sorted({round(start, 2) for start in starts}) == [0.0, 41.0, 81.0]
    for name, whole in found.items():
        values = sorted(pools[name])
        assert whole.get_total_count() == len(values)
        for q in (0.1, 10, 50, 90, 95, 99, 99.9, 100):
            rank = max(int(q * len(values) / 100 + 0.5), 1)  # as the package takes it
            assert whole.get_value_at_percentile(q) == pytest.approx(values[rank - 1] * 1e6, rel=1e-3, abs=1)


@given(st.lists(st.floats(1e-6, 3600), min_size=1, max_size=50))
def test_values_are_kept_to_three_digits(seconds: list[float]) -> None:
    histograms = Histograms()
    histograms.record("p", "load", "gap", np.array(seconds))
    line = written(histograms).decode().split("\n")[-2]
    histogram = HdrHistogram.decode(line.split(",")[-1])
    assert histogram.get_total_count() == len(seconds)
    for q in (0.0, 100.0):
        exact = percentile(seconds, q)
        assert exact is not None
        assert histogram.get_value_at_percentile(q) / 1e6 == pytest.approx(exact, rel=1e-3, abs=1e-6)
    assert not histograms.clamped


@given(st.lists(st.integers(1, 2**14) | st.integers(1, HIGHEST_US), max_size=50))
def test_counted_values_are_as_if_recorded_one_by_one(us: list[int]) -> None:
    histograms = Histograms()
    histograms.record("p", "load", "gap", np.array(us) / 1e6)
    one_by_one = HdrHistogram(1, HIGHEST_US, 3)
    for value in us:
        one_by_one.record_value(value)
    line = written(histograms).decode().split("\n")[-2]
    assert line.split(",")[-1] == one_by_one.encode().decode()


def test_values_outside_count_at_the_nearer_end_and_are_told() -> None:
    histograms = Histograms()
    histograms.record("p", "load", "gap", np.array([-1.0, 0.0, 1e-7, 1e-6, 3600.0, 3601.0, 1e9]))
    histograms.record("p", "load", "gap", np.array([0.0]))
    assert histograms.clamped == {"p/load/gap": 6}
    histogram = HdrHistogram.decode(written(histograms).decode().split("\n")[-2].split(",")[-1])
    assert histogram.get_total_count() == 8
    assert histogram.get_count_at_value(1) == 5
    assert histogram.get_count_at_value(HIGHEST_US) == 3


def test_writing_begins_the_histograms_anew() -> None:
    histograms = Histograms()
    histograms.record("p", "load", "gap", np.array([0.5]))
    first, again = io.BytesIO(), io.BytesIO()
    histograms.write(first, 0, 1)
    histograms.write(again, 1, 2)
    assert first.getvalue()
    assert again.getvalue() == b""
    histograms.record("p", "load", "gap", np.array([0.25]))
    histograms.write(again, 2, 3)
    assert HdrHistogram.decode(again.getvalue().decode().strip().split(",")[-1]).get_total_count() == 1


def test_one_point_is_written_and_the_others_kept() -> None:
    histograms = Histograms()
    for point in ("a", "b"):
        histograms.record(point, "load", "gap", np.array([0.5]))
    only, rest = io.BytesIO(), io.BytesIO()
    histograms.write(only, 0, 1, "b")
    histograms.write(rest, 1, 2)
    assert [line[:5] for line in only.getvalue().splitlines()] == [b"Tag=b"]
    assert [line[:5] for line in rest.getvalue().splitlines()] == [b"Tag=a"]


# -- damage


@pytest.fixture
def log(tmp_path: Path) -> Path:
    histograms = Histograms()
    histograms.record("p", "load", "gap", np.array([0.5]))
    histograms.record("p", "load", "ttft", np.array([0.5]))
    path = tmp_path / "histograms.hlog"
    path.write_bytes(written(histograms))
    return path


def test_half_a_last_line_is_left_out_wherever_it_breaks(log: Path) -> None:
    whole = log.read_bytes()
    last = whole[:-1].rindex(b"\n") + 1
    for end in range(last, len(whole) - 1):
        log.write_bytes(whole[:end])
        assert [interval.tag for interval in read_log(log)] == ["p/load/gap"]


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"Tag=p/load/gap,0.000,2.500,500.223,",
        b"Tag=p/load/gap,0.000,2.500,500.223,HISTFAAAAC",
        b"Tag=p/load/gap,0.000,2.500,500.223,HISTFAAAACF4nJNpmSzMwMDA",
        b"Tag=p/load/gap,0.000,2.500,500.223,!!!!",
        b"Tag=p/load/gap,0.0.0,2.500,500.223,HISTFAAAAC",
        b"\xff\xfe,0,1,2,x",
    ],
)
def test_a_broken_line_is_named(log: Path, line: bytes) -> None:
    lines = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([*lines[:6], line, *lines[6:]]))
    with pytest.raises(BadInput, match=re.escape(f"{log}:7: ") + "."):
        read_log(log)


def test_a_log_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot read .*none.hlog: No such file"):
        read_log(tmp_path / "none.hlog")


def test_a_written_histogram_needs_no_garbage_collector() -> None:
    histograms, log = Histograms(), io.BytesIO()
    gc.collect()
    gc.disable()
    try:
        histograms.record("p", "load", "gap", np.array([0.01]))
        kept = weakref.ref(next(iter(histograms.found.values())))
        histograms.write(log, 0.0, 1.0)
        assert kept() is None
    finally:
        gc.enable()
    assert log.getvalue()
