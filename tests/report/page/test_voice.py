"""A reply told again from its row, and what is drawn of it, by figures worked out on paper."""

from typing import Any

import pytest

from loadsim.report.page.page import page
from loadsim.report.page.parts import Chart, Section, Shown, Table
from loadsim.report.page.playout import ready, spoken, worst_reply
from loadsim.report.page.voice import voice
from loadsim.report.point import points
from loadsim.report.setting import Setting
from loadsim.results.read import Run
from tests.report.runs import SPEECH, run_of
from tests.stats.rows import cut, playout, reply

SLOW: dict[str, Any] = SPEECH | {"voice": {"rate": "2 tokens/s", "tts": "100 ms", "network": "100 ms"}}
SETTING = Setting(SLOW | {"barge_in": {"trigger": "200 ms"}}, False)

# Sent at 10 s; tokens come 1, 1.2, 1.4, 3.0 and 3.1 s later, and can sound 0.2 s after that. The voice begins at 11.5
# (1.5 s after the request) and takes 0.5 s for each: it has spoken three at 3.0, waits for the fourth until 3.2, and
# ends at 4.2.
DRY = playout(11.5, 14.2, rate=2.0, tokens=5, underruns=1, silent_s=0.2, first_underrun_s=1.5, least_s=0.0)
ROW = reply(10.0, 1.0, 1.2, 1.4, 3.0, 3.1, playout=DRY)


def section(*runs: Run) -> Section | None:
    labels = [run.path.name for run in runs] if len(runs) > 1 else [""]
    return worst_reply([Shown(label=a, run=run, points=points(run)) for a, run in zip(labels, runs, strict=True)])


def parts(found: Section | None) -> tuple[Chart, Chart, Table]:
    assert found is not None
    tokens, lay, table = found.parts
    assert isinstance(tokens, Chart) and isinstance(lay, Chart) and isinstance(table, Table)
    return tokens, lay, table


def test_when_each_token_sounded() -> None:
    told = voice(ROW, SETTING)
    assert told is not None
    assert told.begins == pytest.approx([1.5, 2.0, 2.5, 3.2, 3.7])
    assert told.silences == [pytest.approx((3.0, 3.2))]
    assert told.start == pytest.approx(1.5)
    assert (told.rate, told.heard) == (2.0, 5)
    assert told.delay == pytest.approx(0.2)


def test_spoken_tokens_stand_while_the_voice_is_silent() -> None:
    told = voice(ROW, SETTING)
    assert told is not None
    x, y = spoken(told)
    assert x == pytest.approx([1.5, 3.0, 3.2, 4.2])
    assert y == [0.0, 3.0, 3.0, 5.0]


def test_what_lies_ready_falls_as_it_is_spoken_and_rises_as_tokens_come() -> None:
    told = voice(ROW, SETTING)
    assert told is not None
    # ready to sound: one token at 1.2, two at 1.4, three at 1.6, four at 3.2, five at 3.3; each is half a second
    x, y = ready(told)
    assert x == pytest.approx([1.5, 1.6, 1.6, 3.0, 3.2, 3.2, 3.3, 3.3, 4.2])
    assert y == pytest.approx([1.0, 0.9, 1.4, 0.0, 0.0, 0.5, 0.4, 0.9, 0.0], abs=1e-6)


def test_of_tokens_that_were_not_all_spoken_those_count_that_give_what_was_heard() -> None:
    # two tokens of thought, half a second and a second earlier
    row = reply(10.0, 0.1, 0.5, 1.0, 1.2, 1.4, 3.0, 3.1, playout=DRY)
    told = voice(row, SETTING)
    assert told is not None
    assert told.came == [1.0, 1.2, 1.4, 3.0, 3.1]
    assert voice(reply(10.0, 1.0, 1.1, 1.2, 1.3, 1.4, playout=DRY), SETTING) is None  # it never ran dry
    assert voice(reply(10.0, 1.0, playout=DRY), SETTING) is None  # fewer tokens than were heard


def test_a_cut_ends_what_is_spoken() -> None:
    # The caller cuts in after 0.8 s of speech, the agent falls silent 0.2 s later: two tokens are heard.
    heard = playout(11.5, 12.5, rate=2.0, tokens=2, underruns=0, silent_s=0.0)
    row = reply(10.0, 1.0, 1.2, 1.4, 3.0, 3.1, playout=heard, cut=cut(12.3, 0.8, 3, heard=2), outcome="cut")
    told = voice(row, SETTING)
    assert told is not None
    x, y = spoken(told)
    assert x == pytest.approx([1.5, 2.5])
    assert y == [0.0, 2.0]
    assert told.silences == []
    tokens, _, _ = parts(section(run_of(row, scenario=SLOW | {"barge_in": {"trigger": "200 ms"}})))
    assert "the caller cut in after 0.800 s of speech, 3 tokens unheard" in tokens.said
    assert tokens.series[0].x == [0.0, 1.0, 1.2, 1.4, 3.0, 3.1]  # what was generated goes on


def test_a_voice_that_false_interruptions_stopped_is_not_told() -> None:
    paused = playout(11.5, 16.2, rate=2.0, underruns=1, silent_s=0.2, paused_s=2.0)
    assert voice(reply(10.0, 1.0, 1.2, 1.4, 3.0, 3.1, playout=paused), SETTING) is None


def test_the_worst_reply_has_the_most_silence() -> None:
    fine = playout(31.5, 34.0, rate=2.0, tokens=5, least_s=0.5)
    rows = [reply(30.0, 1.0, 1.2, 1.4, 1.5, 1.6, playout=fine, turn=6), ROW]
    tokens, lay, table = parts(section(run_of(*rows, scenario=SLOW)))
    assert tokens.said == (
        "p, repeat 1: warm 0, turn 5: the first token came after 1,000 ms, the voice began after 1.50 s and fell "
        "silent 1 time, for 0.200 s in all. The largest time between two tokens is 1,600 ms."
    )
    assert [series.label for series in tokens.series] == [
        "generated", "spoken", "a voice of 2.00 tokens/s that never waits"
    ]  # fmt: skip
    assert tokens.series[0].x == [0.0, 1.0, 1.2, 1.4, 3.0, 3.1]
    assert tokens.series[0].y == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert tokens.series[2].y[-1] == pytest.approx(5.0) and tokens.series[2].x[-1] == pytest.approx(4.0)
    assert [(s.start, s.end) for s in tokens.stripes] == [pytest.approx((3.0, 3.2))]
    assert lay.said == "While tokens were still to come, 0 s of speech lay ready at the least."
    assert table.rows == [["p, repeat 1: warm 0, turn 5", "5", "1,000", "1.50", "0.200", "1", "0", "1,600"]]


def test_without_silence_the_least_margin_and_then_the_largest_stall_decide() -> None:
    def fine(turn: int, least: float | None, last: float) -> Any:
        heard = playout(11.5, 14.0, rate=2.0, tokens=5, least_s=least)
        return reply(10.0, 1.0, 1.2, 1.4, 1.5, last, playout=heard, turn=turn)

    rows = [fine(1, None, 1.9), fine(2, 0.7, 1.6), fine(3, 0.3, 1.6), fine(4, 0.3, 1.8)]
    for keep, turn in ((4, 4), (3, 3), (2, 2), (1, 1)):
        tokens, _, table = parts(section(run_of(*rows[:keep], scenario=SLOW)))
        assert f"turn {turn}:" in tokens.said
        assert table.rows[0][0].endswith(f"turn {turn}")


def test_a_worse_reply_that_cannot_be_drawn_is_named() -> None:
    paused = playout(51.5, 56.2, rate=2.0, underruns=3, silent_s=0.9, paused_s=2.0)
    other = reply(50.0, 1.0, 1.2, 1.4, 3.0, 3.1, playout=paused, turn=9)
    found = section(run_of(ROW, other, scenario=SLOW))
    tokens, _, table = parts(found)
    assert found is not None
    assert "turn 5:" in tokens.said
    assert any("warm 0, turn 9 was worse, but a run does not keep" in line for line in found.words)
    assert table.rows[0][0] == "p, repeat 1: warm 0, turn 9"
    assert section(run_of(other, scenario=SLOW)) is None


def test_several_points_and_runs() -> None:
    second = run_of(reply(10.0, 1.0, 1.2, 1.4, 3.0, 3.1, playout=DRY, point="q"), ROW, scenario=SLOW)
    _, _, table = parts(section(second, second))
    assert [row[0].split(",")[0] for row in table.rows] == ["run: p", "run: q", "run: p", "run: q"]


def test_without_a_voice_there_is_no_section() -> None:
    assert section(run_of(reply(10.0, 1.0, 1.2))) is None
    assert section(run_of(reply(10.0, *ROW.token_s, playout=DRY, outcome="error"), scenario=SLOW)) is None
    assert "playout-tokens" not in page([run_of(reply(10.0, 1.0, 1.2))])
