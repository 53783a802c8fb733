"""Sweeps: in which order points are measured, on which servers, and what a point that fails does to the others."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from loadsim.engine.progress import Progress
from loadsim.engine.run import run as run_scenario
from loadsim.report.point import points
from loadsim.results.read import Run, read
from loadsim.results.write import Recorder
from loadsim.run import run
from loadsim.scenario.load import restore
from loadsim.types import BadInput, RequestRow, RunStopped
from tests.calls import CALL
from tests.engine.test_pace import SPEECH
from tests.engine.truthful import chats, measured, of
from tests.truth import Faults, Request, Truth, serve

SMALL: dict[str, Any] = {
    "recording": "call",
    "callers": {"warm": {"count": 2}},
    "baseline": {"replies": 0},
    "repeat": 1,
}
OURS = {"slots": 2, "context": 2048, "batch": 256, "ubatch": 256}


async def embedded(folder: Path, scenario: Mapping[str, Any]) -> None:
    """Run a scenario on embedded servers."""
    origin = asyncio.get_running_loop().time()
    recorder = Recorder(folder, origin, text=False)
    try:
        await run_scenario(
            restore({**SMALL, "server": OURS, **scenario}, "test"), {"call": CALL}, recorder, Progress(), origin, None
        )
    except BaseException as error:
        recorder.close("stopped", str(error))
        raise
    recorder.close("complete")


def events(found: Run, name: str) -> list[dict[str, Any]]:
    return [event for event in found.events if event["event"] == name]


def children() -> list[int]:
    """The processes that we have started and that still run."""
    return list(map(int, Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()))


def servers() -> list[int]:
    """Those that are servers; the others sample what the run logs."""
    return [pid for pid in children() if b"loadsim.server" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def begun(found: Run) -> list[str]:
    """The points as they were measured."""
    return list(dict.fromkeys(event["point"] for event in events(found, "phase")))


def test_the_server_starts_again_where_its_settings_change(tmp_path: Path) -> None:
    sweep = {"server.ubatch": [64, 128], "request.top_k": [1, 2]}
    run(embedded(tmp_path / "run", {"sweep": sweep}))
    found = read(tmp_path / "run")
    starts = events(found, "server")
    assert [event["points"] for event in starts] == [
        ["ubatch=64, top_k=1", "ubatch=64, top_k=2"],
        ["ubatch=128, top_k=1", "ubatch=128, top_k=2"],
    ]
    assert [event["settings"]["ubatch"] for event in starts] == [64, 128]
    assert [event["settings"]["batch"] for event in starts] == [256, 256]
    assert all(0 < event["boot"]["health_s"] < event["boot"]["first_token_s"] < 30 for event in starts)
    first_load = [min(r.due_s or 0.0 for r in found.rows if r.point == point) for point in begun(found)[::2]]
    assert starts[0]["started_s"] < first_load[0] < starts[1]["started_s"] < first_load[1]
    log = (tmp_path / "run" / "server.log").read_text()
    assert log.count("build_info") == 2  # llama.cpp says it once a start
    assert Counter(r.point for r in of(found, "load")) == dict.fromkeys(found.facts["points"], 2)


def test_a_server_that_does_not_start_fails_its_points_only(tmp_path: Path) -> None:
    scenario = {"sweep": {"server.batch": [1, 512]}}
    with pytest.raises(RunStopped, match=r"^1 of 2 load points failed: batch=1 \(the embedded server did not start: "):
        run(embedded(tmp_path / "run", scenario))
    found = read(tmp_path / "run")
    assert {r.point for r in found.rows} == {"batch=512"}
    assert [event["point"] for event in events(found, "failed")] == ["batch=1"]
    assert [event["point"] for event in events(found, "finished")] == ["batch=512"]


def test_a_call_that_no_longer_fits_fails_its_point_only(tmp_path: Path) -> None:
    callers = {"warm": {"count": 2, "turns": "3"}}
    scenario = {"reply": {"exactly": 250}, "callers": callers, "sweep": {"server.context": [2048, 512]}}
    with pytest.raises(RunStopped, match=r"^1 of 2 load points failed: context=512 \(the call of callers\.warm needs "):
        run(embedded(tmp_path / "a", scenario))
    assert {r.point for r in read(tmp_path / "a").rows} == {"context=2048"}
    # before anything was measured it is bad input
    with pytest.raises(BadInput, match=r"^the call of callers\.warm needs "):
        run(embedded(tmp_path / "b", {**scenario, "sweep": {"server.context": [512, 2048]}}))


def test_a_server_that_dies_is_started_again(tmp_path: Path) -> None:
    async def main() -> None:
        scenario = {"reply": {"exactly": 400}, "sweep": {"request.top_k": [1, 2]}}
        task = asyncio.create_task(embedded(tmp_path / "run", scenario))
        while not (tmp_path / "run" / "events.jsonl").exists() or not events(read(tmp_path / "run"), "phase"):
            await asyncio.sleep(0.01)
        (server,) = servers()
        os.kill(server, signal.SIGKILL)
        with pytest.raises(RunStopped, match=r"^1 of 2 load points failed: top_k=1 \(the embedded server is gone \("):
            await task

    run(main())
    found = read(tmp_path / "run")
    assert [event["points"] for event in events(found, "server")] == [["top_k=1", "top_k=2"], ["top_k=2"]]
    assert [event["point"] for event in events(found, "finished")] == ["top_k=2"]


def second(request: Request) -> Faults:
    body = request.json
    return Faults(status=503) if body["top_k"] == 2 and body["max_tokens"] > 1 else Faults()


def test_a_point_that_fails_is_noted_and_the_sweep_goes_on(tmp_path: Path) -> None:
    with pytest.raises(RunStopped) as stopped:
        measured(tmp_path / "run", {**SMALL, "repeat": 2, "sweep": {"request.top_k": [1, 2, 3]}}, second)
    assert str(stopped.value).startswith("1 of 3 load points failed: top_k=2 (no caller was answered: HTTP 503: ")
    found = read(tmp_path / "run")
    assert Counter((r.point, r.outcome) for r in of(found, "load")) == {
        ("top_k=1", "ok"): 4,
        ("top_k=2", "error"): 2,  # its first repeat; the second one is not tried
        ("top_k=3", "ok"): 4,
    }
    (failed,) = events(found, "failed")
    assert failed["point"] == "top_k=2"
    assert failed["why"].startswith("no caller was answered: HTTP 503: ")
    assert [event["point"] for event in events(found, "finished")] == ["top_k=1", "top_k=3"]


def test_what_is_measured_again_says_what_was_never_said(tmp_path: Path) -> None:
    scenario = {**SMALL, "repeat": 2, "sweep": {"request.top_k": [1, 2]}}

    async def main() -> Truth:
        async with serve(first=0.05, step=0.01, tokens=8) as truth:
            wanted = restore({**scenario, "server": {"url": truth.url}}, "test")
            recorder = Recorder(tmp_path / "run", asyncio.get_running_loop().time(), text=False)
            task = asyncio.create_task(run_scenario(wanted, {"call": CALL}, recorder, Progress(), recorder.start, None))
            while len(chats(truth)) < 8:  # 2 warm and 2 load rows a repeat, broken off in the second one's load
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            recorder.close("interrupted")
            again = Recorder.resume(tmp_path / "run", asyncio.get_running_loop().time())
            await run_scenario(wanted, {"call": CALL}, again, Progress(), again.start, None)
            again.close("complete")
            return truth

    truth = run(main())
    found = read(tmp_path / "run")
    assert {(r.point, r.resumed) for r in found.rows} == {("top_k=1", 1), ("top_k=2", 1)}
    said = [body["messages"][-1]["content"] for body in chats(truth) if body["max_tokens"] > 1]
    assert len(said) == 4 + 8
    assert len(set(said)) == len(said)


def test_a_random_order_is_measured_so_and_listed_as_the_file_has_it(tmp_path: Path) -> None:
    scenario = {**SMALL, "order": "random", "seed": 3, "sweep": {"request.top_k": [1, 2, 3, 4]}}
    found, _ = measured(tmp_path / "run", scenario)
    listed = [f"top_k={k}" for k in (1, 2, 3, 4)]
    assert begun(found) != listed
    assert sorted(begun(found)) == listed
    assert list(found.facts["points"]) == listed
    assert [point.name for point in points(found)] == listed
    assert [point["sets"] for point in found.facts["points"].values()] == [{"request.top_k": k} for k in (1, 2, 3, 4)]
    assert [point.setting.get("request.top_k") for point in points(found)] == [1, 2, 3, 4]
    again, _ = measured(tmp_path / "again", scenario)
    assert begun(again) == begun(found)


def test_a_swept_fit_is_fitted_at_each_point(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", {**SMALL, "sweep": {"fit": [400, 600]}})
    sizes = {(r.point, (r.prompt_n or 0) + (r.cache_n or 0)) for r in of(found, "load")}
    assert len(sizes) == 2
    by = dict(sizes)
    assert by["fit=600"] - by["fit=400"] == pytest.approx(200, abs=40)


def test_each_repeat_is_another_day_and_each_point_has_the_same(tmp_path: Path) -> None:
    drawn = SPEECH | {"pace": {"by": "speech", "times": "drawn", "time_scale": 100}, "repeat": 2}
    found, _ = measured(tmp_path / "run", drawn | {"sweep": {"callers.warm.count": [1, 2]}})
    days = {
        (r.point, r.repeat): [x.spoke.seconds for x in of(found, "load") if x.spoke and x.caller == 0 and same(x, r)]
        for r in of(found, "load")
    }
    one, other = ([days[where, repeat] for repeat in (1, 2)] for where in found.facts["points"])
    assert one == other
    assert one[0] != one[1]


def same(one: RequestRow, other: RequestRow) -> bool:
    return (one.point, one.repeat) == (other.point, other.repeat)
