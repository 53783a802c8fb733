"""Probes on the page: the terminal's tables, and pictures of figures that hang on a number."""

from pathlib import Path

import pytest

from loadsim.report.page.probed import probed
from loadsim.report.probe import answers, figures
from loadsim.report.setting import setting
from loadsim.results.read import read
from loadsim.stats.probe import probes
from tests.report.page.made import chart, section, series, shown_of, table
from tests.report.runs import run_of, text_of
from tests.stats.rows import row

RUNS = Path(__file__).parents[2] / "analysis" / "runs"


def asked(group: str, probe: dict[str, object], **fields: object) -> object:
    return row(row="probe", group=group, probe=probe, point=group, **fields)


def test_the_reach_is_a_picture_of_cache_n_against_what_was_replaced() -> None:
    said = {"route": "tokens", "tokens": 1000, "history": 600}
    kept = {4: 996, 68: 932, 69: 596}
    run = run_of(*(asked("reach", said | {"replaced": n}, cache_n=held) for n, held in kept.items()))  # type: ignore[arg-type]
    found = chart(probed([shown_of(run)]), "probes-reach")
    line = series(found, "reach")
    assert (line.x, line.y, line.draw) == ([4.0, 68.0, 69.0], [996.0, 932.0, 596.0], "steps")
    assert found.said == "reach: 932 tokens are restored up to 68 replaced ones."


def test_prefill_is_a_picture_of_ms_against_tokens() -> None:
    evals = {100: (3.0, 5.0, 4.0), 400: (10.0, 14.0, 12.0)}
    rows = [asked("prefill", {"length": n}, prompt_ms=ms, first_token_s=10.0 + 2 * ms / 1e3)
            for n, times in evals.items() for ms in times]  # fmt: skip
    found = chart(probed([shown_of(run_of(*rows))]), "probes-prefill")  # type: ignore[arg-type]
    assert (series(found, "prompt eval").x, series(found, "prompt eval").y) == ([100.0, 400.0], [4.0, 12.0])
    band = series(found, "prompt eval, over repeats")
    assert (band.y, band.top) == ([3.0, 10.0], [5.0, 14.0])
    assert series(found, "first token").y == [8.0, 24.0]


def test_the_floor_is_a_picture_of_ms_against_new_tokens() -> None:
    rows = [asked("floor", {"new": n}, prompt_ms=1.0 + n / 10) for n in (1, 4, 60)]
    found = chart(probed([shown_of(run_of(*rows))]), "probes-floor")  # type: ignore[arg-type]
    assert series(found, "prompt eval").x == [1.0, 4.0, 60.0]
    assert series(found, "prompt eval").y == pytest.approx([1.1, 1.4, 7.0])


@pytest.mark.parametrize("kind", ["reach", "checkpoints", "prefill", "floor", "tools"])
def test_recorded_probes_have_the_terminals_tables_and_answers(kind: str) -> None:
    run = read(RUNS / kind)
    found = section(probed([shown_of(run)]))
    assert set(answers(run)) <= set(found.words)
    for each in probes(run.rows):
        printed = " ".join(text_of(figures(each, setting(run, each.point))[0], 200).split())
        one = table(found, each.point)
        assert all(" ".join(" ".join(line).split()) in printed for line in one.rows)
        assert one.rows


def test_what_was_not_answered_is_told() -> None:
    run = run_of(asked("prefill", {"length": 9}, outcome="error", error="HTTP 500: no room"))  # type: ignore[arg-type]
    assert "prefill: not answered: HTTP 500: no room" in section(probed([shown_of(run)])).words


def test_callers_are_no_probe() -> None:
    assert probed([shown_of(run_of(row()))]) is None
