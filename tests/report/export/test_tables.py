"""The tables' rows, worked out on paper."""

from pathlib import Path
from typing import Any

import pytest

from loadsim.report.export.tables import TABLES
from loadsim.results.stream import Stream
from loadsim.types import CardSample, HostSample, ServerSample
from tests.stats.rows import alone, cut, playout, reply, row, spoke

from .folders import lines, make


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    of = TABLES[name]
    return [dict(zip([column.name for column in of.columns], cells, strict=True)) for cells in of.rows(Stream(folder))]


def test_a_request_is_a_row_with_its_parts_beside_it(tmp_path: Path) -> None:
    whole = row(
        first_speech_s=10.24,
        spoke=spoke(5.0, 9.5, gap=0.25),
        playout=playout(10.5, 12.5, underruns=1),
        cut=cut(11.0, 0.5, 7),
        probe={"replaced": 516},
    )
    (found,) = table(make(tmp_path, whole), "requests")
    wanted = {
        "request": 0, "point": "p", "repeat": 1, "row": "load", "caller": 0, "sent_s": 10.0, "prompt_n": 60,
        "spoke_start_s": 5.0, "spoke_gap": 0.25, "playout_end_s": 12.5, "playout_underruns": 1, "cut_at_s": 11.0,
        "cut_unheard": 7, "cut_closed": False, "cut_tokens": None, "probe": '{"replaced":516}', "error": None,
        "slot": None, "served": 0, "counted": True, "ttft_s": 0.2, "ttfs_s": 0.24, "tokens": 5,
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
    assert found["decode"] == pytest.approx(50.0)  # four tokens in 80 ms
    assert "token_s" not in found


def test_what_was_not_measured_is_missing(tmp_path: Path) -> None:
    (found,) = table(make(tmp_path, reply(1.0, outcome="error", error="boom", prompt_n=None)), "requests")
    missing = ("ttft_s", "ttfs_s", "decode", "prompt_n", "playout_tokens", "cut_at_s", "probe", "first_token_s")
    assert {found[name] for name in missing} == {None}
    assert (found["tokens"], found["counted"], found["error"]) == (0, False, "boom")


def test_only_rows_of_the_figures_are_counted(tmp_path: Path) -> None:
    rows = [row(), row(row="warm"), alone(0, "before", 0.01), alone(1, "before", 0.01), row(planned=False)]
    assert [each["counted"] for each in table(make(tmp_path, *rows), "requests")] == [True, False, False, True, False]


def test_a_token_is_a_row_with_the_gap_before_it(tmp_path: Path) -> None:
    # The second and third came in one read, 0.3 s after the first: each of them waited for half of it.
    folder = make(
        tmp_path, row(), reply(20.0, 0.5, 0.8, 0.8, 0.9, token_server_ms=[0.0, 100.0, 200.0, 300.0], caller=3)
    )
    found = table(folder, "tokens")
    assert len(found) == 9
    assert found[5:] == [
        {
            "request": 1, "point": "p", "repeat": 1, "row": "load", "group": "warm", "caller": 3, "turn": 5, "step": 0,
            "attempt": 0, "call": 0, "token": i, "t_s": t, "after_s": after, "gap_s": gap, "server_ms": 100.0 * i,
            "server_gap_ms": server_gap,
        }
        for i, (t, after, gap, server_gap) in enumerate(
            [(20.5, 0.5, None, None), (20.8, 0.8, 0.15, 100.0), (20.8, 0.8, 0.15, 100.0), (20.9, 0.9, 0.1, 100.0)]
        )
    ]  # fmt: skip


def test_tokens_of_one_read_have_no_gap(tmp_path: Path) -> None:
    assert [each["gap_s"] for each in table(make(tmp_path, reply(1.0, 0.5, 0.5, 0.5)), "tokens")] == [None] * 3


def test_a_server_that_does_not_tell_its_times_leaves_them_out(tmp_path: Path) -> None:
    found = table(make(tmp_path, row(token_server_ms=[]), row(sent_s=None, token_server_ms=[0.0, 1.0])), "tokens")
    assert {each["server_ms"] for each in found[:5]} == {None}
    assert [each["server_ms"] for each in found[5:]] == [0.0, 1.0, None, None, None]
    assert {each["t_s"] for each in found[5:]} == {None}
    assert [each["after_s"] for each in found[5:]] == [0.2, 0.22, 0.24, 0.26, 0.28]


def test_a_reply_without_tokens_has_no_row(tmp_path: Path) -> None:
    assert table(make(tmp_path, reply(1.0, outcome="error")), "tokens") == []


def test_rows_of_a_point_that_was_begun_again_are_left_out_with_their_texts(tmp_path: Path) -> None:
    folder = make(tmp_path, row(caller=1), row(caller=2, resumed=1), resumed=1)
    lines(folder / "replies.jsonl", [{"request": 0, "text": "old"}, {"request": 1, "text": "new"}])
    begun = [{"t_s": t, "event": "phase", "point": "p", "phase": "x", "resumed": n} for t, n in ((0.0, 0), (5.0, 1))]
    lines(folder / "events.jsonl", begun)
    assert [(each["request"], each["caller"]) for each in table(folder, "requests")] == [(1, 2)]
    assert {each["request"] for each in table(folder, "tokens")} == {1}
    assert table(folder, "replies") == [{"request": 1, "text": "new"}]
    assert [each["t_s"] for each in table(folder, "events")] == [5.0]


def test_samples_are_rows(tmp_path: Path) -> None:
    folder = make(tmp_path)
    lines(
        folder / "card.jsonl", [CardSample(t_s=1.0, card=0, core_c=71.5, reasons=("sw_thermal",)), CardSample(card=1)]
    )
    lines(folder / "host.jsonl", [HostSample(t_s=2.0, cores=(0.5, 1.0), sensors_c={"k10": 50.5})])
    lines(folder / "server.jsonl", [ServerSample(t_s=3.0, took_s=0.001, busy=())])
    first, second = table(folder, "card")
    assert (first["t_s"], first["core_c"], first["memory_c"], first["reasons"]) == (1.0, 71.5, None, '["sw_thermal"]')
    assert (second["card"], second["reasons"]) == (1, None)  # not told is not "none in force"
    (host,) = table(folder, "host")
    assert (host["cores"], host["sensors_c"], host["cpu"]) == ("[0.5,1.0]", '{"k10":50.5}', None)
    (server,) = table(folder, "server")
    assert (server["busy"], server["took_s"], server["decodes"]) == ("[]", 0.001, None)


def test_an_event_keeps_what_else_it_told(tmp_path: Path) -> None:
    folder = make(tmp_path)
    lines(folder / "events.jsonl", [{"t_s": 1, "event": "client", "point": "p", "repeat": 2, "lag_p99_ms": 1.5}])
    (found,) = table(folder, "events")
    assert found == {
        "t_s": 1.0, "event": "client", "point": "p", "repeat": 2, "resumed": 0, "fields": '{"lag_p99_ms":1.5}',
    }  # fmt: skip


def test_the_summary_has_a_row_for_one_caller_and_for_each_group(tmp_path: Path) -> None:
    base = [alone(i, side, 0.010) for side in ("before", "after") for i in range(3)]
    load = [row(caller=i) for i in range(4)] + [row(group="cold", caller=9, first_token_s=11.5)]
    one, warm, cold = table(make(tmp_path, *base, *load), "summary")
    assert (one["row"], one["name"], one["rows"], one["share_mid"]) == ("baseline", "one caller", 4, None)
    assert (warm["row"], warm["name"], warm["callers"], warm["each"]) == ("load", "warm", 4, 4)
    assert warm["ttft_p50"] == pytest.approx(0.2)
    assert cold["ttft_max"] == pytest.approx(1.5)
    # A token every 20 ms against one every 10 ms.
    assert warm["share_mid"] == pytest.approx(0.5)
    assert (warm["share_n"], warm["cache_n_low"], warm["cache_n_high"]) == (1, 10_369, 10_369)
    assert warm["outcomes"] == '{"ok":4}'
    assert (warm["error_rate"], warm["holds"], warm["in_flight"]) == (0.0, True, 5)


@pytest.mark.parametrize("name", TABLES)
def test_an_empty_run_has_empty_tables(tmp_path: Path, name: str) -> None:
    folder = make(tmp_path)
    (folder / "requests.jsonl").unlink()
    assert table(folder, name) == []
