from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadsim.report.sides import side
from loadsim.results.read import read
from loadsim.stats.comparison import Side
from loadsim.stats.metrics import ONE_CALLER
from loadsim.types import BadInput, CardSample, HostSample
from tests.report.compared import rows, write
from tests.stats.rows import row


def of(folder: Path) -> Side:
    return side(read(folder))


def test_a_run_as_one_side(tmp_path: Path) -> None:
    found = of(write(tmp_path / "a", *rows(), server={"url": "http://me:secret@x:1/", "build": "b1", "slots": 3}))
    (point,) = found.points

    assert (found.run.id, found.run.ended, found.run.started) == ("a", "complete", "2026-11-30T12:34:56+00:00")
    assert list(point.crowds) == [ONE_CALLER, "warm"]
    assert (point.crowds["warm"].callers, len(point.crowds["warm"].samples)) == (3, 5)
    assert (point.crowds["warm"].prompt, point.crowds["warm"].reply, point.crowds["warm"].cap) == (10_429, 6, 6)
    assert point.crowds["warm"].new == 60
    assert point.crowds["warm"].kinds == {"extension": 15}
    assert point.crowds[ONE_CALLER].kinds == {"extension": 30}  # the first of each side is dropped
    assert (found.facts["server"], found.facts["build"], found.facts["slots"]) == ("x:1", "b1", "3")
    assert found.facts["model"] is None
    assert found.scenario == {"recording": "call.json", "callers.warm.count": 3}
    assert found.notes == []
    assert "secret" not in msgspec.json.encode(found).decode()


@pytest.mark.parametrize(
    "damaged",
    [
        {"host": None, "versions": None, "cards": [{}]},
        {"cards": [{"card": 0, "name": 3}], "server": {"embedded": True}, "host": {"cpu": 3, "cores": "two"}},
        {"server": {"url": "http://x:port/"}},
        {"server": {"url": "http://[::1"}},
        {"started": None, "id": "", "digests": {}, "scenario": None},
    ],
)
def test_what_nobody_checks_in_a_runs_facts_is_not_known_or_a_text(tmp_path: Path, damaged: dict[str, Any]) -> None:
    found = of(write(tmp_path / "a", *rows(), **damaged))

    assert len(found.points[0].crowds["warm"].samples) == 5
    assert all(value is None or isinstance(value, str) for value in found.facts.values())
    assert found.points[0].state.cores is None


def test_no_secret_of_a_run_of_old_comes_out(tmp_path: Path) -> None:
    scenario = {"server": {"launch": "serve --api-key hidden1 -np 3"}, "request": {"api_key": "hidden2"}}
    found = of(write(tmp_path / "a", *rows(), scenario=scenario, ended="stopped", why="http://me:hidden3@x/ is gone"))

    assert found.scenario["server.launch"] == "serve --api-key *** -np 3"
    assert "hidden" not in msgspec.json.encode(found).decode()


def test_a_probes_run_is_refused_in_one_line(tmp_path: Path) -> None:
    asked = write(tmp_path / "a", row(row="probe", probe={"replaced": 4}), scenario={"probe": {"kind": "reach"}})

    with pytest.raises(BadInput) as caught:
        of(asked)
    assert str(caught.value) == f"{asked} is a probe's run: not comparable here, compare takes load points"


@pytest.mark.parametrize("found", [[], [row(row="warm")], [row(row="baseline", number=1, side="before")]])
def test_a_run_without_a_load_is_refused(tmp_path: Path, found: list[Any]) -> None:
    with pytest.raises(BadInput, match="has no load point to compare"):
        of(write(tmp_path / "a", *found))


def test_a_run_that_broke_off_says_so_and_loses_the_repeat_it_was_in(tmp_path: Path) -> None:
    found = of(write(tmp_path / "a", *rows(), ended="stopped", why="it rained"))

    assert len(found.points[0].crowds["warm"].samples) == 4
    assert found.notes == [
        "the run did not complete (stopped): it rained",
        "p: the repeat that was broken off is left out",
    ]


def test_a_point_that_was_measured_to_its_end_keeps_all(tmp_path: Path) -> None:
    done = {"event": "finished", "t_s": 9.0, "point": "p"}
    found = of(write(tmp_path / "a", *rows(), *rows(point="q"), ended=None, events=(done,)))

    assert [len(point.crowds["warm"].samples) for point in found.points] == [5, 4]
    assert found.notes[0] == "the run did not complete (it was killed)"


def test_only_a_part_of_one_repeat_is_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no repeat was measured to its end"):
        of(write(tmp_path / "a", *rows(noise=(1.0,)), ended=None))


def test_a_torn_line_is_told(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", *rows())
    with (folder / "requests.jsonl").open("ab") as file:
        file.write(b'{"point":')

    assert of(folder).notes == ["1 file ends in half a line, which is left out"]


def test_a_point_of_errors_has_no_answer(tmp_path: Path) -> None:
    found = of(write(tmp_path / "a", *rows(outcome="error", error="boom")))

    assert found.points[0].refused == "no answer: 100 % of the load's requests failed."


def test_a_client_that_was_the_bottleneck_is_told(tmp_path: Path) -> None:
    late = {"event": "client", "t_s": 1.0, "point": "p", "repeat": 1, "lag_p99_ms": 90.0, "cpu_share": 0.1}
    found = of(write(tmp_path / "a", *rows(), events=(late,)))

    assert found.points[0].notes == [
        "the client was a bottleneck at p: its event loop came 90.0 ms late at p99",
    ]


def test_a_machine_that_moved_within_the_run_is_told(tmp_path: Path) -> None:
    """One caller's tokens come every 20 ms before the load, and every 40 ms after it."""
    moved = [
        msgspec.structs.replace(each, token_s=[2 * t for t in each.token_s]) if each.side == "after" else each
        for each in rows()
    ]
    found = of(write(tmp_path / "a", *moved))

    assert found.points[0].notes == ["p: one caller's rate went from 50.0 before the load to 25.0 after it"]


def test_a_long_load_is_ten_blocks(tmp_path: Path) -> None:
    load = [row(sent_s=10.0 + i, end_s=11.0 + i, turn=i, token_s=[0.1, 0.2 + i % 3 / 100]) for i in range(300)]
    begun = {"event": "load", "t_s": 0.0, "point": "p", "repeat": 1, "start_s": 10.0, "window_s": 60.0}
    found = of(write(tmp_path / "a", *load, events=(begun,), ended=None))

    assert len(found.points[0].crowds["warm"].samples) == 10
    assert found.points[0].notes == ["10 stretches of equal time of p are its samples, for want of repeats"]
    assert found.notes == ["the run did not complete (it was killed)"]


def test_the_state_of_cards_and_of_our_own_machine(tmp_path: Path) -> None:
    cards = [{"card": 0, "name": "RTX 3090", "driver": "575"}]
    ours: dict[str, Any] = {"server": {"embedded": True}, "host": {"cpu": "Xeon", "cores": 2}, "cards": cards}
    folder = write(tmp_path / "a", *rows(), **ours)
    samples = [CardSample(t_s=t, card=0, core_c=c, sm_mhz=1695.0) for t, c in ((1.0, 99.0), (20.0, 60.0), (30.0, 70.0))]
    host = HostSample(t_s=20.0, cpu=0.8, cores=(0.8, 0.8), server_cpu=0.5, own_cpu=0.1)
    (folder / "card.jsonl").write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in samples))
    (folder / "host.jsonl").write_bytes(msgspec.json.encode(host) + b"\n")
    found = of(folder)
    state = found.points[0].state

    assert (state.names, state.cpu, state.cores, state.busy) == (["RTX 3090"], "Xeon", 2, 0.8)
    assert state.others == pytest.approx(1.0)
    assert state.cards[0].core == (60.0, 70.0)  # what came before the load is not of it
    assert (found.facts["server"], found.facts["card"]) == ("one that loadsim started", "RTX 3090")


def test_of_a_server_elsewhere_this_machine_says_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", *rows(), host={"cpu": "Xeon", "cores": 2})
    host = HostSample(t_s=20.0, cpu=0.8, cores=(0.8, 0.8), server_cpu=0.5)
    (folder / "host.jsonl").write_bytes(msgspec.json.encode(host) + b"\n")
    state = of(folder).points[0].state

    assert (state.cpu, state.others) == (None, None)
