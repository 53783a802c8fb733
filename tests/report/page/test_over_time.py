"""A run over time, as data for its charts."""

from msgspec.structs import replace

from loadsim.report.page.over_time import over_time
from loadsim.report.page.parts import Chart, Shown
from loadsim.report.point import points
from loadsim.results.read import Run
from loadsim.types import CardSample, HostSample, ServerSample
from tests.report.runs import run_of
from tests.stats.rows import alone, row
from tests.stats.test_windows import load, pause, phase, said

OUTAGE = {"event": "outage", "point": "p", "repeat": 1, "since_s": 500.0, "said": "timeout", "t_s": 505.0}


def soak(*events: dict[str, object]) -> Run:
    rows = [said(130.0 + 60 * n, caller=n % 3) for n in range(12)]
    rows += [alone(n, "before", 0.010, due_s=50.0 + n) for n in range(3)]
    rows += [alone(n, "after", 0.020, due_s=900.0 + n) for n in range(3)]
    return run_of(*rows, events=(load(), *events), points={"p": {"slots": [0, 1, 2]}})


def charts(run: Run, label: str = "") -> dict[str, Chart]:
    found = over_time([Shown(label=label, run=run, points=points(run))])
    assert found is not None
    return {part.title: part for part in found.parts if isinstance(part, Chart)}


def test_a_run_without_a_course_has_no_such_section() -> None:
    run = run_of(row(), row())
    assert over_time([Shown(label="", run=run, points=points(run))]) is None


def test_all_charts_of_a_run_share_their_axis_and_stripes() -> None:
    run = soak(pause(1, 400.0, 405.0, 420.0), phase("ramp", 100.0, 1, 3), OUTAGE)
    found = charts(run)
    assert {chart.sync for chart in found.values()} == {"time0"}
    stripes = {stripe.label: (stripe.start, stripe.end) for stripe in found["First token"].stripes}
    assert stripes["one caller alone"] == (400.0, 420.0)
    assert stripes["ramp"][0] == 100.0
    assert stripes["no token"][0] == 500.0  # it lasted to the end of the load
    assert stripes["no token"][1] == max(row.end_s or 0.0 for row in run.rows)
    assert all(chart.stripes == found["First token"].stripes for chart in found.values())


def test_first_tokens_stand_at_their_requests_in_milliseconds() -> None:
    run = soak()
    raw, *windows = charts(run)["First token"].series
    rows = sorted((row for row in run.rows if row.row == "load"), key=lambda row: row.sent_s or 0.0)
    assert raw.x == [round(row.sent_s or 0.0, 3) for row in rows]
    waits = [(row.first_token_s or 0.0) - (row.sent_s or 0.0) for row in rows]
    assert [round(y or 0.0, 3) for y in raw.y] == [round(wait * 1e3, 3) for wait in waits]
    assert [each.label for each in windows] == ["p95 of a window"]


def test_as_many_are_in_flight_as_were_sent_and_have_not_ended() -> None:
    rows = [row(caller=n, sent_s=10.0 + n, end_s=20.0 + n) for n in range(3)]
    series = charts(run_of(*rows))["Requests in flight, and errors"].series[0]
    assert [*zip(series.x, series.y, strict=True)] == [(10, 1), (11, 2), (12, 3), (20, 2), (21, 1), (22, 0)]


def test_a_cards_samples_are_told_and_what_it_does_not_tell_is_not() -> None:
    card = [
        CardSample(
            t_s=float(n), card=0, core_c=60.0 + n, sm_mhz=1800.0, reasons=("sw power cap",) if n % 2 else ("gpu idle",)
        )
        for n in range(8)
    ]
    host = [HostSample(t_s=float(n), cpu=0.5, cpu_c=55.0) for n in range(8)]
    found = charts(replace(soak(), card=card, host=host))
    assert [series.label for series in found["Temperature, card"].series] == ["core"]
    assert found["Temperature, card"].series[0].y == [60.0 + n for n in range(8)]
    assert [series.label for series in found["Clocks, card"].series] == ["SM"]
    assert "Power, card" not in found
    reasons = {series.label: series for series in found["Throttle reasons, card"].series}
    assert reasons["sw power cap"].y == [None, 2.0] * 4
    assert reasons["gpu idle"].y == [1.0, None] * 4
    assert not any("this machine's CPU" in title for title in found)  # with a card, this machine's heat says nothing


def test_two_cards_have_their_numbers() -> None:
    card = [CardSample(t_s=float(n // 2), card=n % 2, power_w=300.0) for n in range(8)]
    assert {"Power, card 0", "Power, card 1"} <= set(charts(replace(soak(), card=card)))


def test_this_machine_and_the_server() -> None:
    host = [HostSample(t_s=float(n), cpu=0.5, server_rss_bytes=1 << 30, cpu_c=55.0, cpu_mhz=3000.0) for n in range(4)]
    server = [ServerSample(t_s=float(n), took_s=0.001, busy=(0, 3), deferred=n) for n in range(4)]
    found = charts(replace(soak(), host=host, server=server))
    assert found["CPU of this machine"].series[0].y == [50.0] * 4
    assert found["Memory"].series[0].y == [1024.0] * 4
    heat = found["Temperature and clock of this machine's CPU"]
    assert [(series.axis, series.y[0]) for series in heat.series] == [(0, 3000.0), (1, 55.0)]
    assert len(heat.more) == 1
    slots = found["Slots of the server"].series
    assert [series.y for series in slots] == [[2.0] * 4, [0.0, 1.0, 2.0, 3.0]]


def test_of_two_runs_each_has_charts_of_its_own() -> None:
    run = soak()
    found = over_time([Shown(label=name, run=run, points=points(run)) for name in ("a", "b")])
    assert found is not None
    assert len({part.id for part in found.parts if isinstance(part, Chart)}) == len(found.parts)
    assert {part.title.partition(":")[0] for part in found.parts if isinstance(part, Chart)} == {"a", "b"}
    assert "a: No card log: unknown temperature." in found.words
