"""`python -m tests.benchmarks.soak [--tokens 5000000] [--keep DIR]`: a day of load through the recorder, and its table.

Replies of 100 tokens of twelve callers, as llama-server's are, with a pause every five minutes, are recorded as the
engine does it: rows, texts, events, and histograms every minute of the run's time. Then the table is printed from the
folder by a process of its own. Measured are:
- RSS of the recording process after a fifth of the tokens and at the end: what it keeps of the rows;
- bytes on disk, by file and per token;
- seconds per million tokens, and those of `loadsim report`, with its peak RSS.
Exit code 1 where memory grew by over 5 MB, rows are missing, or the table took over 20 s.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from loadsim.results.write import Recorder
from loadsim.types import Playout, RequestRow, Spoke

CALLERS, TOKENS = 12, 100  # callers, and tokens of a reply
EVERY_S = 12.4  # between a caller's turns
WINDOW_S, PAUSE_S = 60.0, 300.0
GREW_MB, TABLE_S = 5.0, 20.0
TEXT = "Of course, I have put that down for you. The room is free on that day, and breakfast is at eight. " * 4


def reply(number: int, sent: float, chance: random.Random) -> RequestRow:
    """A row like those of a real load: a first token, then steps that vary."""
    first, step = 0.1 + 0.05 * chance.random(), 0.016
    times, ms = [], []
    at = first
    for _ in range(TOKENS):
        times.append(round(at, 6))
        ms.append(round((at - first) * 1e3, 3))
        at += step * (0.9 + 0.2 * chance.random())
    return RequestRow(
        point="12 soak",
        repeat=1,
        row="load",
        group="soak",
        caller=number % CALLERS,
        call=number // CALLERS // 74,
        turn=number // CALLERS % 74 + 1,
        slot=number % CALLERS,
        served=number % CALLERS,
        kind="extension",
        planned=True,
        due_s=sent,
        connected_s=sent - 0.001,
        sent_s=sent,
        headers_s=sent + 0.05,
        first_token_s=sent + times[0],
        first_speech_s=sent + times[9],
        last_token_s=sent + times[-1],
        end_s=sent + times[-1] + 0.001,
        outcome="ok",
        finish="length",
        chunks=TOKENS,
        prompt_n=60,
        cache_n=10_000,
        prompt_ms=times[0] * 1e3,
        predicted_n=TOKENS,
        predicted_ms=ms[-1],
        max_tokens=TOKENS,
        new_tokens=60,
        spoke=Spoke(start_s=sent - 3, end_s=sent - 0.5, gap=0.2, seconds=2.5),
        playout=Playout(start_s=sent + 0.5, end_s=sent + 22.7, rate=4.5, tokens=TOKENS, chunk=10, least_s=0.4),
        token_s=times,
        token_server_ms=ms,
    )


def record(folder: Path, tokens: int) -> dict[str, float]:
    """What recording took: seconds, and MB of RSS after a fifth and at the end."""
    now = 0.0
    recorder = Recorder(folder, 0.0, text=True, now=lambda: now)
    recorder.begin({"recording": "made up", "pace": {"by": "speech"}, "duration": "24 h"}, {"12 soak": {}})
    labels: dict[str, Any] = {"point": "12 soak", "repeat": 1}
    recorder.event("phase", phase="all callers", **labels)
    recorder.event("load", start_s=0.0, window_s=WINDOW_S, **labels)
    chance, process = random.Random(1), psutil.Process()
    window, pause, early, began = WINDOW_S, PAUSE_S, 0.0, time.perf_counter()
    replies = tokens // TOKENS
    for number in range(replies):
        row = reply(number, number * EVERY_S / CALLERS, chance)
        now = row.end_s or 0.0
        if now >= window:
            recorder.end_window("12 soak")
            recorder.event("client", window=round(window / WINDOW_S), lag_p99_ms=1.0, gc_pauses=0, **labels)
            window += WINDOW_S
        if now >= pause:
            times = {"shut_s": now, "quiet_s": now + 1, "open_s": now + 2}
            recorder.event("pause", number=round(pause / PAUSE_S), why=None, **times, **labels)
            pause += PAUSE_S
        recorder.row(row, TEXT)
        if number == replies // 5:
            early = process.memory_info().rss / 1e6
    seconds = time.perf_counter() - began
    recorder.end_point("12 soak")
    late = process.memory_info().rss / 1e6
    recorder.close("complete")
    return {"seconds": seconds, "early": early, "late": late}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.soak", description=__doc__)
    parser.add_argument("--tokens", type=int, default=5_000_000)
    parser.add_argument("--keep", type=Path, help="The run's folder, which is left; else one that is removed.")
    given: Any = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        folder = given.keep or Path(spare) / "run"
        sys.exit(measure(folder, given.tokens))


def measure(folder: Path, tokens: int) -> int:
    print(f"{os.cpu_count()} cores, load average before: {os.getloadavg()[0]:.1f}")
    found = record(folder, tokens)
    grew = found["late"] - found["early"]
    print(f"recorded {tokens:,} tokens in {found['seconds']:.1f} s, {found['seconds'] / tokens * 1e6:.1f} s a million")
    print(f"RSS {found['early']:.1f} MB after a fifth, {found['late']:.1f} at the end: grew by {grew:.1f} MB")
    sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    for name, size in sizes.items():
        print(f"  {name:18} {size / 1e6:8.1f} MB {size / tokens:7.2f} bytes a token")
    print(f"  {'all':18} {sum(sizes.values()) / 1e6:8.1f} MB {sum(sizes.values()) / tokens:7.2f} bytes a token")
    began = time.perf_counter()
    said = subprocess.run(
        [sys.executable, "-m", "loadsim", "report", str(folder)], stdout=subprocess.PIPE, text=True, check=False
    )
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    print(f"table in {seconds:.1f} s, {peak:.0f} MB at its peak")
    with (folder / "requests.jsonl").open("rb") as file:
        rows = sum(1 for _ in file)
    print(f"rows: {tokens // TOKENS:,} sent, {rows:,} written")
    missing = said.returncode != 0 or "1 x " not in said.stdout or rows != tokens // TOKENS
    return int(grew > GREW_MB or seconds > TABLE_S or missing)


if __name__ == "__main__":
    main()
