"""`python -m tests.benchmarks.callers [--callers 1,12,200,1000]`: a thousand callers on one core keep their due times.

Callers with the pace of people, on the truth server: it runs in its own process, each row's engine in a fresh one;
where there are two cores the server has the first and the engine the second. A caller asks about every 12 seconds;
few callers are quicker by `time_scale`, so that each row has its 100 requests in about a minute.

Measured is the load alone, without the warming of slots:
- sent - due: how late a request left, which is what a server is asked at the wrong time by;
- loop late: how late the event loop came, asked every 5 ms; where its longest is as long as a request's, the machine
  or the program stood still, and no timer of ours was set too late;
- CPU: the engine process's share of one core;
- RSS: its peak, from its start to the run's end.
Exit code 1 if a row misses a limit, or a request fails.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from loadsim.engine.progress import Progress
from loadsim.engine.run import run as run_scenario
from loadsim.recording.model import Recording
from loadsim.results.read import Run, read
from loadsim.results.write import Recorder
from loadsim.run import run
from loadsim.scenario.load import restore

from .client import cores, peak_rss_mb, percentile

AGENT = "Of course, I have put that down for you. The room is free on that day, and breakfast is at eight. What else?"
CALLER = "Well, could you also see to it that we get a quiet one?"
FIRST_S = 0.02  # of the server: a thousand slots are warmed one after the other
REQUESTS = 100  # a row, at the least
START_S = 12  # callers begin spread over this; divided by the time scale as all waiting is


class Shape(NamedTuple):
    """How long each of so many callers talks, and how much quicker than people."""

    callers: int
    turns: int
    time_scale: float


class Limits(NamedTuple):
    late_p99_ms: float
    rss_mb: float | None = None


SHAPES = {shape.callers: shape for shape in (Shape(1, 100, 40), Shape(12, 9, 4), Shape(200, 5, 2), Shape(1000, 5, 1))}
LIMITS = {1: Limits(10), 12: Limits(10), 200: Limits(10), 1000: Limits(20, 300)}


# -- in the child


class Load(msgspec.Struct, frozen=True):
    """What one child does."""

    url: str
    folder: str
    callers: int
    turns: int
    time_scale: float


class Done(msgspec.Struct):
    rss_mb: float


def recording(turns: int) -> Recording:
    """A call of plain turns; the fresh message is one more."""
    spoken = [
        {
            "caller": {"text": CALLER, "start": 12 * n, "end": 12 * n + 4},
            "agent": {"text": AGENT, "start": 12 * n + 5, "end": 12 * n + 11},
        }
        for n in range(turns - 1)
    ]
    call = {
        "title": "plain turns",
        "source": "written for the benchmark",
        "system": "You answer the phone.",
        "tools": [],
    }
    return msgspec.convert(call | {"turns": spoken, "fresh": CALLER}, Recording)


def scenario(load: Load) -> dict[str, Any]:
    return {
        "recording": "plain turns",
        "server": {"url": load.url, "slots": load.callers},
        "callers": {"caller": {"count": load.callers, "turns": f"last {load.turns}", "start": f"{START_S} s"}},
        "pace": {"by": "speech", "times": "drawn", "time_scale": load.time_scale},
        "baseline": {"replies": 0},
        "repeat": 1,
        "reply": "recorded",
    }


def child(load: Load) -> Done:
    """Runs the engine on this process's own core."""

    async def main() -> None:
        origin = asyncio.get_running_loop().time()
        recorder = Recorder(Path(load.folder), origin, text=False)
        wanted = restore(scenario(load), "benchmark")
        recordings = {wanted.recording: recording(load.turns + 1)}
        await run_scenario(wanted, recordings, recorder, Progress(), origin, None)
        recorder.close("complete")

    run(main())
    return Done(peak_rss_mb())


# -- in the parent


class Row(NamedTuple):
    """A line of the table; ms, share of a core, MB."""

    callers: int
    requests: int
    failed: int
    late_p50: float
    late_p99: float
    late_max: float
    loop_p99: float
    loop_max: float
    cpu: float
    rss_mb: float


def row(callers: int, found: Run, done: Done) -> Row:
    load = [r for r in found.rows if r.row == "load"]
    late = [(r.sent_s - r.due_s) * 1000 for r in load if r.sent_s is not None and r.due_s is not None]
    client = next(event for event in found.events if event["event"] == "client")
    return Row(
        callers,
        len(load),
        sum(r.outcome != "ok" for r in load),
        percentile(late, 50),
        percentile(late, 99),
        max(late),
        client["lag_p99_ms"],
        client["lag_max_ms"],
        client["cpu_share"],
        done.rss_mb,
    )


def missed(row: Row) -> list[str]:
    """What a row does not keep, a line each."""
    at, limits = f"{row.callers} callers:", LIMITS.get(row.callers)
    lines = [f"{at} {row.failed} requests failed"] if row.failed else []
    if row.requests < REQUESTS:
        lines.append(f"{at} only {row.requests} requests")
    if limits is not None and row.late_p99 > limits.late_p99_ms:
        lines.append(f"{at} sent - due p99 {row.late_p99:.1f} ms, limit {limits.late_p99_ms:g}")
    if limits is not None and limits.rss_mb is not None and row.rss_mb > limits.rss_mb:
        lines.append(f"{at} peak RSS {row.rss_mb:.0f} MB, limit {limits.rss_mb:g}")
    return lines


HEAD = """\
callers requests  failed    sent - due, ms              limit   loop late, ms   CPU of   RSS  limit
                            p50 /    p99 /    max    of p99    p99 /    max   a core    MB"""


def line(row: Row) -> str:
    limits = LIMITS.get(row.callers, Limits(float("nan")))
    return (
        f"{row.callers:7}{row.requests:9}{row.failed:8}{row.late_p50:11.2f} /{row.late_p99:7.2f} /{row.late_max:7.2f}"
        f"{limits.late_p99_ms:10g}{row.loop_p99:8.2f} /{row.loop_max:7.2f}{row.cpu:9.3f}"
        f"{row.rss_mb:6.0f}{limits.rss_mb or '':>7}"
    )


def run_child(load: Load, core: int | None) -> Done:
    arguments = [sys.executable, "-m", "tests.benchmarks.callers", "--child", msgspec.json.encode(load).decode()]
    arguments += [] if core is None else ["--cpu", str(core)]
    return msgspec.json.decode(subprocess.run(arguments, stdout=subprocess.PIPE, check=True).stdout, type=Done)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.callers", description=__doc__)
    parser.add_argument("--callers", default=",".join(map(str, SHAPES)), help=f"of {', '.join(map(str, SHAPES))}")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--cpu", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        if arguments.cpu is not None:
            os.sched_setaffinity(0, {arguments.cpu})
        os.write(1, msgspec.json.encode(child(msgspec.json.decode(arguments.child, type=Load))))
        return 0
    shapes = [SHAPES[int(count)] for count in arguments.callers.split(",")]
    server_core, engine_core = cores()
    command = [
        sys.executable,
        "-m",
        "tests.truth",
        f"slots={max(shape.callers for shape in shapes)}",
        f"first={FIRST_S}",
    ]
    command += [] if server_core is None else ["--cpu", str(server_core)]
    failures: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
    ):
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        print(f"{os.cpu_count()} cores, load average before: {os.getloadavg()[0]:.1f}")
        print(HEAD)
        for shape in shapes:
            path = Path(folder) / str(shape.callers)
            done = run_child(Load(url, str(path), *shape), engine_core)
            found = row(shape.callers, read(path), done)
            print(line(found), flush=True)
            failures += missed(found)
    for failure in failures:
        print(f"MISSED: {failure}")
    print("all limits kept" if not failures else f"{len(failures)} limits missed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
