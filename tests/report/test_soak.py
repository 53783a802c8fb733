"""A load over time, as it is printed: at 80 columns, and never long."""

from typing import Any

from tests.stats.rows import alone
from tests.stats.test_windows import DAY, day, load, pause, phase, said

from .runs import printed, run_of, words


def soaked(*events: dict[str, Any], rows: int = 240, **points: Any) -> Any:
    made = [said(130.0 + 60 * n, caller=n % 12) for n in range(rows)]
    made += [
        alone(n, side, 0.01, sent_s=due + n) for side, due in (("before", 50.0), ("after", 20000.0)) for n in range(3)
    ]
    made += [alone(n, "during", 0.02, sent_s=400.0 * k + n, call=k) for k in range(1, 30) for n in range(3)]
    return run_of(*made, events=(load(), *events), points={"p": {"slots": [0, 1, 2]} | points})


def test_hours_of_windows_are_twenty_lines() -> None:
    text = printed(soaked())
    lines = [line for line in text.splitlines() if line.startswith(("0:", "1:", "2:", "3:"))]
    assert len(lines) == 20
    assert (lines[0].split()[0], lines[-1].split()[0]) == ("0:00:00", "3:59:00")
    assert max(map(len, text.splitlines())) <= 80
    assert "these are 20 of 240 windows: the first, the last, the worst, and evenly between" in " ".join(text.split())


def test_a_load_without_windows_or_with_one_or_two_has_no_such_table() -> None:
    assert "by 60 s" in printed(soaked(rows=3))
    assert "by 60 s" not in printed(soaked(rows=2))
    assert "by 60 s" not in printed(run_of(*[said(130.0 + 60 * n) for n in range(9)]))


def test_pauses_are_told_with_the_series_of_one_caller() -> None:
    run = soaked(
        pause(1, 400.0, 405.0, 420.0), pause(2, 800.0, None, 830.0, "a turn under way took longer than 30 s"), alone=3
    )
    text = words(run)
    assert (
        "2 pauses for one caller alone, 50.0 s in all, 25.0 at p50, of which 5.00 until the turns under way had" in text
    )
    assert "; 1 went wrong, the first: a turn under way took longer than 30 s;" in text
    assert "in slot 3, which nobody else has" in text
    lines = printed(run).splitlines()
    series = lines[next(i for i, line in enumerate(lines) if line.startswith("one caller replies")) :]
    # every other of 31: the second pause was at 800 s, where the load began at 100
    assert [line.split()[0] for line in series[2:22]][:2] == ["before", "0:11:41"]
    assert series[21].split()[0] == "after"
    assert "callers paused in it" not in text  # those windows are not among the twenty


def test_a_window_with_a_pause_is_marked() -> None:
    lines = printed(soaked(pause(1, 400.0, 405.0, 420.0), rows=15)).splitlines()
    assert [line.split()[0] for line in lines if line.startswith("0:0") and "*" in line] == ["0:05:00*"]
    assert "* callers paused in it" in lines


def test_a_borrowed_slot_is_told() -> None:
    text = words(soaked(pause(1, 400.0, 405.0, 420.0), alone=0, shared=["soak", 0]))
    assert "in slot 0, which is soak 0's and warmed again; one slot more (-np) would spare that" in text


def test_errors_are_told_by_window() -> None:
    wrong = [said(130.0 + 60 * n, outcome="error", error="HTTP 500", token_s=[]) for n in range(1, 9)]
    run = run_of(*[said(131.0 + 60 * n) for n in range(40)], *wrong, events=(load(),))
    text = words(run)
    assert "errors at 0:01:00: 1 HTTP 500" in text
    assert "errors at 0:05:00: 1 HTTP 500" in text
    assert "errors at 0:06:00" not in text
    assert "errors in 3 other windows" in text


def test_phases_and_recovery() -> None:
    text = printed(run_of(*day(0.2, 0.3, 0.2, 0.2, 0.2, 2.0, 1.0, 0.2), events=tuple(DAY)))
    row = next(line for line in text.splitlines() if line.startswith("spike "))
    assert row.split()[1:5] == ["12", "1", "2,000", "2,000"]
    said_so = " ".join(text.split())
    assert "spike: before it the first token came within 200 to 300 ms (p95 of a window)" in said_so
    assert "and did so again 60.0 s after its end (by windows of 60 s)" in said_so
    ramp = printed(run_of(*day(*[0.2] * 8), events=(load(), phase("calm", 100, 4), phase("up", 400, 4, 12))))
    assert "4-12" in ramp


def test_a_spike_without_an_end_says_so() -> None:
    assert "; after it, it never did again" in words(run_of(*day(0.2, 0.2, 0.2, 0.2, 0.2, 2.0, 1.0), events=tuple(DAY)))


def test_a_limit_that_nobody_could_look_at_is_told() -> None:
    run = run_of(said(130.0), events=(load(),), scenario={"abort": {"errors": None, "card": "92 C"}})
    assert "abort.card, 92 C, was never looked at: there was no card log" in words(run)


def test_a_window_without_tokens_is_marked() -> None:
    """An outage from 0:04:40 to 0:06:10 of the load."""
    out: dict[str, Any] = {"point": "p", "repeat": 1, "since_s": 380.0, "said": "cannot connect"}
    over = out | {"event": "outage over", "seconds": 90.0, "failed": 0}
    lines = printed(soaked(out | {"event": "outage"}, over, pause(1, 400.0, 405.0, 420.0), rows=15)).splitlines()
    marked = [line.split()[0] for line in lines if line.startswith("0:0") and line.split()[0][-1] in "*!"]
    assert marked == ["0:04:00!", "0:05:00*!", "0:06:00!"]
    said = "! for all or part of it nobody was given a token, though callers waited for a reply or to call again"
    assert said in " ".join(" ".join(lines).split())
    assert "! for all" not in printed(soaked(rows=15))


def test_errors_of_a_window_are_shortened_and_the_rarer_ones_counted() -> None:
    long = "HTTP 500: " + "much " * 50
    wrong = [said(131.0 + n / 10, outcome="error", error=error, token_s=[])
             for n, error in enumerate([long] * 3 + ["HTTP 503"] * 2 + ["HTTP 404", "HTTP 401"])]  # fmt: skip
    run = run_of(*[said(135.0 + 60 * n) for n in range(4)], *wrong, events=(load(),))
    # 47 characters of the long one
    assert "errors at 0:00:00: 3 HTTP 500: much much much much much much much mu…, 2 HTTP 503, 2 others" in words(run)
