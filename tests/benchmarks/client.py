"""`python -m tests.benchmarks.client [--callers 1,100,500] [--requests 100]`: how exact and how cheap our client is.

The truth server runs in its own process, the clients one after another in fresh ones, so that CPU time and peak
memory are each client's own; where there are two cores the server has the first and the client the second. Each of N
callers sends its next request when its last reply ended, the first ones spread evenly over 0.9 of a reply's length.
Every row is made in two passes, bare, loadsim, plain and again, as a machine's speed drifts.

What is held against the server's log of its real writes:
- TTFT over truth: (client's first token - sent) - (server's first write - request read);
- arrival: each token's arrival at the client less its write;
- mean gap: the client's over the server's;
- in flight: the most requests that the server had at once.
CPU is the client process's own over the load. A caller alone costs more per token: little comes in one wake-up.
On a machine that does other work only `--realtime` figures mean anything, and CPU still suffers from cold caches.
Exit code 1 if loadsim's row misses a limit.
"""

import argparse
import asyncio
import json
import math
import os
import resource
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from loadsim.run import run
from loadsim.server.http import HttpServer
from loadsim.types import ChatRequest

from ..truth import Entry, Schedule
from .readers import Bare, Client, Plain, Sample

TOKENS = 50
PASSES = 2
SCHEDULE = Schedule(tokens=TOKENS)
MESSAGES = [{"role": "system", "content": "You are a voice agent."}, {"role": "user", "content": "A table, please."}]


class Limits(NamedTuple):
    """What loadsim's client must keep at so many callers; milliseconds, shares."""

    ttft_p50: float
    ttft_p99: float
    gap: float


LIMITS = {1: Limits(2, 5, 0.01), 100: Limits(5, 15, 0.01), 500: Limits(15, 50, 0.02)}
CPU_RATIO = 0.85  # to the plain reader, at 500 callers
RSS_MB = 120.0  # at 500 callers


class Ours:
    """loadsim's own client."""

    def __init__(self, url: str) -> None:
        self._server = HttpServer(url)

    async def chat(self, sample: Sample, fields: dict[str, Any]) -> None:
        named = {"messages", "max_tokens", "ignore_eos", "id_slot"}
        request = ChatRequest(
            messages=fields["messages"],
            max_tokens=fields["max_tokens"],
            ignore_eos=fields["ignore_eos"],
            slot=fields["id_slot"],
            fields={name: value for name, value in fields.items() if name not in named},
        )
        reply = self._server.chat(request, speakable=lambda text, tokens: True)
        await reply.ended.wait()
        if reply.outcome != "ok" or reply.sent is None:
            raise ConnectionError(f"{reply.outcome}: {reply.error}")
        sample.sent, sample.token_s = reply.sent, reply.token_s

    async def close(self) -> None:
        await self._server.close()


CLIENTS: dict[str, type[Bare] | type[Ours] | type[Plain]] = {"bare": Bare, "loadsim": Ours, "plain": Plain}


class Load(msgspec.Struct, frozen=True):
    """What one child does."""

    client: str
    url: str
    callers: int
    rounds: int
    prefix: str


class Seen(msgspec.Struct):
    """What one child saw: a sample per request, CPU seconds over the load, peak resident memory."""

    samples: list[Sample]
    cpu_s: float
    rss_mb: float


# -- in the child


def child(load: Load) -> Seen:
    """Puts the load on the server, on this process's own core."""
    return run(_drive(load))


async def _drive(load: Load) -> Seen:
    client, samples = CLIENTS[load.client](load.url), list[Sample]()
    begun = _cpu_s()
    async with asyncio.TaskGroup() as callers:
        for caller in range(load.callers):
            callers.create_task(_caller(client, load, caller, samples))
    cpu_s, rss_mb = _cpu_s() - begun, peak_rss_mb()
    await client.close()
    return Seen(samples, cpu_s, rss_mb)


async def _caller(client: Client, load: Load, caller: int, samples: list[Sample]) -> None:
    await asyncio.sleep(0.9 * SCHEDULE.at(TOKENS) * caller / load.callers)
    for number in range(load.rounds):
        sample = Sample(f"{load.prefix}-{caller}-{number}")
        samples.append(sample)
        fields = {"messages": MESSAGES, "max_tokens": TOKENS, "ignore_eos": True, "id_slot": caller}
        await client.chat(sample, fields | {"truth_id": sample.truth_id})


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_rss_mb() -> float:
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    except FileNotFoundError:  # not Linux; on Linux ru_maxrss would count the parent's memory from before exec
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


# -- in the parent


class Row(NamedTuple):
    """A line of the table; ms, shares, µs, MB."""

    client: str
    callers: int
    requests: int
    ttft_p50: float
    ttft_p99: float
    arrival_p50: float
    arrival_p99: float
    gap_error: float
    in_flight: int
    cpu_us: float
    rss_mb: float
    late_p99: float


def row(client: str, callers: int, runs: Sequence[Seen], truth: dict[str, Entry]) -> Row:
    """The passes of one client at one number of callers, held against the server's log."""
    samples = [sample for run in runs for sample in run.samples]
    ttft, arrival, late, client_gaps, truth_gaps = [], [], [], [], []
    for sample in samples:
        entry = truth[sample.truth_id]
        if entry.outcome != "done" or len(sample.token_s) != len(entry.token_s):
            raise SystemExit(f"{client}: {len(sample.token_s)} tokens of {len(entry.token_s)} in {sample.truth_id}")
        ttft.append((sample.token_s[0] - sample.sent) - (entry.token_s[0] - entry.received_s))
        arrival += [seen - wrote for seen, wrote in zip(sample.token_s, entry.token_s, strict=True)]
        late += [wrote - entry.received_s - SCHEDULE.at(n) for n, wrote in enumerate(entry.token_s, 1)]
        client_gaps.append(sample.token_s[-1] - sample.token_s[0])
        truth_gaps.append(entry.token_s[-1] - entry.token_s[0])
    return Row(
        client,
        callers,
        len(samples),
        percentile(ttft, 50) * 1000,
        percentile(ttft, 99) * 1000,
        percentile(arrival, 50) * 1000,
        percentile(arrival, 99) * 1000,
        sum(client_gaps) / sum(truth_gaps) - 1,
        max(most_at_once(truth[sample.truth_id] for sample in run.samples) for run in runs),
        sum(run.cpu_s for run in runs) / (len(samples) * TOKENS) * 1e6,
        max(run.rss_mb for run in runs),
        percentile(late, 99) * 1000,
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest rank."""
    return sorted(values)[max(math.ceil(len(values) * percent / 100) - 1, 0)]


def most_at_once(entries: Iterable[Entry]) -> int:
    """The most requests between being read and their end."""
    changes = [change for entry in entries for change in ((entry.received_s, 1), (entry.ended_s or math.inf, -1))]
    now = most = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def missed(row: Row, plain: Row) -> list[str]:
    """What loadsim's row does not keep, a line each."""
    at = f"loadsim at {row.callers} callers:"
    lines = [] if row.in_flight == row.callers else [f"{at} {row.in_flight} in flight"]
    limits = LIMITS.get(row.callers)
    if limits is not None:
        wanted = [
            ("TTFT p50 over truth, ms", row.ttft_p50, limits.ttft_p50),
            ("TTFT p99 over truth, ms", row.ttft_p99, limits.ttft_p99),
            ("mean gap error, %", abs(row.gap_error) * 100, limits.gap * 100),
        ]
        if row.callers == 500:
            wanted += [("CPU over plain's", row.cpu_us / plain.cpu_us, CPU_RATIO), ("peak RSS, MB", row.rss_mb, RSS_MB)]
        lines += [f"{at} {what} {is_:.2f}, limit {limit:g}" for what, is_, limit in wanted if is_ > limit]
    return lines


HEAD = """\
client   callers requests   TTFT over truth    arrival - write   mean gap  in flight    CPU  of plain   RSS  truth late
                              p50 / p99 ms       p50 / p99 ms    error %           us/token            MB      p99 ms"""


def line(row: Row, plain: Row) -> str:
    return (
        f"{row.client:8}{row.callers:8}{row.requests:9}{row.ttft_p50:10.2f} / {row.ttft_p99:6.2f}"
        f"{row.arrival_p50:12.2f} / {row.arrival_p99:6.2f}{row.gap_error * 100:11.3f}{row.in_flight:11}"
        f"{row.cpu_us:7.1f}{row.cpu_us / plain.cpu_us:9.2f}{row.rss_mb:8.0f}{row.late_p99:11.2f}"
    )


def run_child(load: Load, core: int | None) -> Seen:
    arguments = [sys.executable, "-m", "tests.benchmarks.client", "--child", msgspec.json.encode(load).decode()]
    arguments += [] if core is None else ["--cpu", str(core)]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout, type=Seen)


def read_log(url: str) -> dict[str, Entry]:
    with urllib.request.urlopen(f"{url}/truth") as answer:
        entries = msgspec.json.Decoder(Entry).decode_lines(answer.read())
    return {entry.truth_id: entry for entry in entries if entry.truth_id is not None}


def cores() -> tuple[int | None, int | None]:
    """A core for the server and one for the client, where there are two and processes can be pinned."""
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return (usable[0], usable[1]) if len(usable) > 1 else (None, None)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.client", description=__doc__)
    parser.add_argument("--callers", default="1,100,500")
    parser.add_argument("--requests", type=int, default=100, help="at least so many a row")
    parser.add_argument("--realtime", action="store_true", help="run before everybody else; needs the right to")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--cpu", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        if arguments.cpu is not None:
            os.sched_setaffinity(0, {arguments.cpu})
        seen = child(msgspec.json.decode(arguments.child, type=Load))
        with os.fdopen(
            1, "wb", closefd=False
        ) as output:  # under PYTHONUNBUFFERED sys.stdout's own writes can be partial
            output.write(msgspec.json.encode(seen))
        return 0
    if arguments.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # server and clients inherit it
    counts = [int(count) for count in arguments.callers.split(",")]
    server_core, client_core = cores()
    command = [sys.executable, "-m", "tests.truth", f"slots={max(counts)}", f"tokens={TOKENS}"]
    command += [] if server_core is None else ["--cpu", str(server_core)]
    failures: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        print(f"{os.cpu_count()} cores, load average before: {os.getloadavg()[0]:.1f}", end="")
        print(", real-time priority" if arguments.realtime else "")
        print(HEAD)
        for callers in counts:
            # Two rounds at least: only then does every caller meet all the others.
            rounds = max(math.ceil(arguments.requests / callers / PASSES), 1 if callers == 1 else 2)
            runs: dict[str, list[Seen]] = {client: [] for client in CLIENTS}
            for number in range(PASSES):
                for client in CLIENTS:
                    prefix = f"{client}-{callers}-{number}"
                    runs[client].append(run_child(Load(client, url, callers, rounds, prefix), client_core))
            truth = read_log(url)
            rows = {client: row(client, callers, seen, truth) for client, seen in runs.items()}
            for each in rows.values():
                print(line(each, rows["plain"]), flush=True)
            failures += missed(rows["loadsim"], rows["plain"])
    for failure in failures:
        print(f"MISSED: {failure}")
    print("all limits kept" if not failures else f"{len(failures)} limits missed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
