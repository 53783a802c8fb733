"""Studies of loads: small runs that were recorded, their figures worked out again from the rows without loadsim."""

import json
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import pytest

from tests.analysis.conftest import Study, copied, lines
from tests.analysis.small import RUNS


def recorded(name: str, row: str = "load") -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (RUNS / name / "requests.jsonl").read_text().splitlines()]
    return [each for each in rows if each["row"] == row]


def figures(line: list[str]) -> list[float]:
    """The numbers of a table's line; a dash is none of them."""
    return [float(word.replace(",", "")) for word in line if word not in ("-", "%")]


def waits(rows: list[dict[str, Any]]) -> list[float]:
    return [1e3 * (row["first_token_s"] - row["sent_s"]) for row in rows]


def rate(row: dict[str, Any]) -> float:
    times: list[float] = row["token_s"]
    return sum(t > times[0] for t in times) / (times[-1] - times[0])


def rates(rows: list[dict[str, Any]]) -> list[float]:
    return [rate(row) for row in rows if row["token_s"][-1] > row["token_s"][0]]


def lower(values: list[float]) -> float:
    """The p50 of a pool: the smallest value with half of them at or below it."""
    return sorted(values)[(len(values) - 1) // 2]


PRINTED: dict[str, str] = {}


def printed(study: Study, name: str) -> str:
    """What the study of that name says of its recorded run; the drawing takes its time, so once."""
    if name not in PRINTED:
        PRINTED[name] = study(name, RUNS / name)
    return PRINTED[name]


def table(said: str, header: str) -> list[list[str]]:
    """The lines of the table that has `header` among its columns' words."""
    parts = [part for part in said.split("\n\n") if header in " ".join(part.split())]
    return lines(parts[0])


def test_callers_first_token_by_callers(study: Study) -> None:
    found = {line[0]: line[1:] for line in table(printed(study, "callers"), "callers n least p50 max")}
    for callers in (1, 2, 4):
        rows = [row for row in recorded("callers") if row["point"] == f"count={callers}"]
        ms = waits(rows)
        heads = [1e3 * (row["headers_s"] - row["sent_s"]) for row in rows]
        evals = [row["prompt_ms"] for row in rows]
        wanted = [callers, 2 * callers, min(ms), lower(ms), max(ms), median(heads), median(evals)]
        assert figures(found[f"count={callers}"]) == pytest.approx(wanted, rel=0.006)


def test_callers_share_by_callers(study: Study) -> None:
    found = {line[0]: line[1:] for line in table(printed(study, "callers"), "p50 slowest all share")}
    alone = [row for row in recorded("callers", "baseline") if row.get("number")]
    for callers in (1, 2, 4):
        point = f"count={callers}"
        rows = [row for row in recorded("callers") if row["point"] == point]
        shares = []
        for repeat in (1, 2):
            one = rates([row for row in alone if row["point"] == point and row["repeat"] == repeat])
            shares.append(100 * median(rates([row for row in rows if row["repeat"] == repeat])) / median(one))
        alone_rate = median(rates([row for row in alone if row["point"] == point]))
        told = figures(found[point])
        assert told[:4] == pytest.approx([callers, alone_rate, median(rates(rows)), min(rates(rows))], rel=0.006)
        assert told[-3:] == pytest.approx([mean(shares), min(shares), max(shares)], rel=0.006)


def test_callers_slope_of_the_repeats_medians(study: Study) -> None:
    said = table(printed(study, "callers"), "slope, ms")
    rows = recorded("callers")
    groups = {(row["point"], row["repeat"]) for row in rows}
    samples = sorted(
        (int(point[6:]), median(waits([row for row in rows if (row["point"], row["repeat"]) == (point, repeat)])))
        for point, repeat in groups
    )
    x, y = np.array([n for n, _ in samples]), np.array([ms for _, ms in samples])
    per, start = np.polyfit(x, y, 1)
    left = y - per * x - start
    error = np.sqrt((left @ left) / 4 / ((x - x.mean()) @ (x - x.mean())))
    (line,) = [line for line in said if line[:2] == ["first", "token"]]
    fit = 1 - (left @ left) / ((y - y.mean()) @ (y - y.mean()))
    t_4 = 2.776445  # Student's t, 97.5 %, 4 degrees of freedom, from the tables
    wanted = [per, per - t_4 * error, per + t_4 * error, per + start, fit, 6]
    assert figures(line[2:]) == pytest.approx(wanted, rel=0.006, abs=1e-3)
    assert [line[:2] for line in said if line[:1] in (["before"], ["prompt"])] == [
        ["before", "headers"],
        ["prompt", "eval"],
    ]


def test_callers_predicted_counts_are_the_measured_ones(study: Study, tmp_path: Path) -> None:
    said = printed(study, "callers")
    # 600 tokens of warm prompt, 82 more with the reply before and the salted message, 47 of reply, two repeats
    assert [line for line in table(said, "predicted prompt") if line[-1:] == ["agree"]] == [
        ["count=1", "1,364", "1,200", "164", "94", "94", "1", "agree"],
        ["count=2", "2,728", "2,400", "328", "188", "188", "2", "agree"],
        ["count=4", "5,456", "4,800", "656", "376", "376", "4", "agree"],
    ]

    def misjudge(facts: dict[str, Any]) -> None:
        facts["points"]["count=2"]["groups"]["warm"][0]["first_tokens"] += 1

    said = study("callers", copied("callers", tmp_path / "run", misjudge))
    assert said.count("DIFFER") == 1
    assert ["≠", "2,728"] in [line[:2] for line in lines(said)]


def test_callers_of_two_runs_have_a_slope_each(study: Study, tmp_path: Path) -> None:
    one, two = copied("callers", tmp_path / "one"), copied("callers", tmp_path / "two")
    said = table(study("callers", one, two), "slope, ms")
    assert [line[0] for line in said if "token" in line] == ["one:", "two:"]


def test_callers_whose_load_point_failed_are_left_out(study: Study, tmp_path: Path) -> None:
    run = copied("callers", tmp_path / "run")
    rows = [json.loads(line) for line in (run / "requests.jsonl").read_text().splitlines()]
    for row in rows:
        if row["point"] == "count=4" and row["row"] == "load":
            row |= {"outcome": "error", "error": "HTTP 500: no"}
    (run / "requests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = " ".join(study("callers", run).split())
    assert "Left out, since they have no answer or are of another kind: count=4." in said
    assert not any(line[-1:] == ["agree"] and line[0] == "count=4" for line in lines(said))


def test_cold_join_by_ubatch(study: Study) -> None:
    said = printed(study, "cold_join")
    cold = {line[0]: line[1:] for line in table(said, "eval, s tokens/s")}
    warm = {line[0]: line[1:] for line in table(said, "gap, ms")}
    stalls = {line[0]: line[1:] for line in table(said, "stall before")}
    for ubatch in (64, 128):
        point = f"ubatch={ubatch}"
        rows = [row for row in recorded("cold_join") if row["point"] == point]
        joiner = [row for row in rows if row["group"] == "joiner"]
        others = [row for row in rows if row["group"] == "warm"]
        seconds = [ms / 1e3 for ms in waits(joiner)]
        evals = [row["prompt_ms"] / 1e3 for row in joiner]
        assert figures(cold[point])[:5] == pytest.approx(
            [2, 691, lower(seconds), max(seconds), median(evals)], rel=0.02, abs=1e-3
        )
        # Evaluated since its slot began, by the headers, or the server's own time; the later of both.
        ends = [
            (row["first_token_s"], row["first_token_s"] - row["prompt_ms"] / 1e3, row["headers_s"]) for row in joiner
        ]
        speeds = [691 / (end - max(begun, headers)) for end, begun, headers in ends]
        assert figures(cold[point])[5] == pytest.approx(median(speeds), rel=0.006)
        ms = waits(others)
        told = figures(warm[point])
        assert told[:5] == pytest.approx([4, lower(ms), max(ms), median(rates(others)), min(rates(others))], rel=0.006)
        gaps = [1e3 * (b - a) for row in others for a, b in pairwise(row["token_s"])]
        assert told[5] == pytest.approx(max(gaps), rel=0.006)
        assert stalls[point][:1] == ["2"]
        # 691 tokens at -b 128: less the edge's min(128, ubatch + 4), in steps of 127 or 126, and two more
        assert stalls[point][6] == "7"
    # By hand, of the longest wait and the largest gap of each warm caller while the cold prompt was evaluated:
    assert stalls["ubatch=64"][1:4] == ["3", "of", "3"]  # one reply of four was over before
    assert stalls["ubatch=128"][1:4] == ["3", "of", "4"]


def test_hot_card_first_and_last(study: Study) -> None:
    said = printed(study, "hot_card")
    alone = [row for row in recorded("hot_card", "baseline") if row.get("number")]
    sides = {side: rates([row for row in alone if row["side"] == side]) for side in ("before", "after")}
    found = {line[3]: line[4:] for line in lines(said) if line[:3] == ["2", "warm,", "1,"]}
    for side in ("before", "after"):
        ms = waits([row for row in alone if row["side"] == side])
        share = 100 * median(sides[side]) / median(sides["before"])
        wanted = [2, median(ms), median(sides[side]), min(sides[side]), share]
        assert figures(found[side])[1:] == pytest.approx(wanted, rel=0.006)
    fell = 100 * (1 - median(sides["after"]) / median(sides["before"]))
    assert f"One caller's decode rate fell by {fell:.1f} % in 0.0 minutes" in " ".join(said.split())


def test_hot_card_needs_one_caller_twice(study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        study("hot_card", RUNS / "guidellm")
    assert ended.value.code == 2
    assert "one caller was not alone twice; loadsim scenario lab/hot_card" in capsys.readouterr().err


def test_guidellm_by_users(study: Study) -> None:
    said = printed(study, "guidellm")
    met = {line[0]: line[1:] for line in table(said, "reply's end")}
    through = {line[0]: line[1:] for line in table(said, "requests/s")}
    for users in (1, 3):
        rows = [row for row in recorded("guidellm") if row["point"] == f"count={users}"]
        ms = waits(rows)
        told = figures(met[f"count={users}"])
        assert told[:3] == pytest.approx([len(rows), 256, lower(ms)], rel=0.006)
        ends = [row["end_s"] - row["sent_s"] for row in rows]
        assert told[7] == pytest.approx(lower(ends), rel=0.05, abs=6e-4)
        mine = [[row for row in rows if row["caller"] == caller] for caller in range(users)]
        start = max(min(row["sent_s"] for row in of) for of in mine)
        end = min(max(row["end_s"] for row in of) for of in mine)
        done = [row for row in rows if start < row["end_s"] <= end]
        told = figures(through[f"count={users}"])
        assert told[1:3] == pytest.approx([len(done) / (end - start), 256 * len(done) / (end - start)], rel=0.006)
        assert 0.5 * users < told[0] <= users


def test_loads_and_probes_are_told_apart(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    for name, run in (("callers", "guidellm"), ("cold_join", "callers"), ("guidellm", "callers"), ("callers", "reach")):
        with pytest.raises(SystemExit) as ended:
            study(name, RUNS / run)
        assert ended.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"{name}: ")
        assert "no load point of such callers with an answer; loadsim scenario lab/" in line
