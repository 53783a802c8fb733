"""Runs of the lab's scenarios at a reduced size. `python -m tests.analysis.small`, from the checkout's root, records
some in tests/analysis/runs anew: on the embedded server, of `tools` on one that always calls the same tool, rightly,
and of `decay` on a simulated card and a server that slows down as the article's did."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.analysis.decaying import SHORT, record

ROOT = Path(__file__).parents[2]
RUNS = Path(__file__).parent / "runs"

SLOT = ("server.slots=1", "server.context=32768")
CALL = ("recording=synthetic.json", "fit=600")
ONCE = (*CALL, "repeat=1", "baseline.replies=0")

SMALL: dict[str, tuple[str, ...]] = {
    "reach": (
        *SLOT, "sweep.server.ubatch=[64, 128]", "probe.history=600", "probe.tail=400",
        "probe.replaced=[4, 68, 69, 132, 133]",
    ),
    "checkpoints": (
        *SLOT, "sweep.server.checkpoints=[0, 2]", "server.ubatch=64", "probe.history=600", "probe.tail=200",
    ),
    "floor": (
        *SLOT, "repeat=2", "probe.history=600", "probe.new_tokens=[1, 4, 5, 12, 60]", "probe.messages=[4]",
    ),
    "prefill": (*SLOT, "probe.lengths=[100, 400]"),
    "tools": SLOT,
    "step": (*SLOT, "repeat=2", "probe.history=600", "probe.new_tokens=[4, 5, 8, 24]", "probe.messages=[4]"),
    "reach_below_ubatch": (
        *SLOT, "server.ubatch=128", "sweep.server.batch=[64, 128]", "probe.history=600", "probe.tail=400",
        "probe.replaced=[4, 64, 65, 128, 129]",
    ),
    "reach_ubatch_4096": (
        *SLOT, "sweep={server.ubatch: [64, 128], server.batch: [64, 128]}", "probe.history=600", "probe.tail=400",
        "probe.replaced=[4, 64, 65, 128, 129]",
    ),
    "callers_12": (*CALL, "sweep.callers.warm.count=[1, 2, 4]", "baseline.replies=3"),
    "callers_24": (*CALL, "sweep.callers.warm.count=[1, 24]", "baseline.replies=2", "repeat=1"),
    "cold_join": (*CALL, "sweep.server.ubatch=[64, 128]", "server.batch=128", "baseline.replies=2", "repeat=2"),
    "cold_join_twelve": (*ONCE, "sweep.server.ubatch=[64, 128]", "server.batch=128"),
    "batch_below_ubatch": (*ONCE, "server.ubatch=128", "sweep.server.batch=[64, 128]"),
    "ubatch_4096": ONCE,
    "hot_card": (*CALL, "callers.warm.count=2", "duration=1s", "baseline.replies=3"),
    "guidellm": ("sweep.callers.synthetic.count=[1, 3]", "duration=400ms", "reply={exactly: 16}"),
}  # fmt: skip
"""Changes that make a scenario of the lab small, by its name."""

KEPT = {
    "reach": "reach", "checkpoints": "checkpoints", "floor": "floor", "prefill": "prefill", "tools": "tools",
    "callers_12": "callers", "cold_join": "cold_join", "hot_card": "hot_card", "guidellm": "guidellm",
}  # fmt: skip
"""Scenarios whose small runs are kept, each under the name of the study that reads it."""

CALLED = ("find_customer", '{"phone": "5550147"}')


def run(scenario: str, out: Path, *flags: str, sets: tuple[str, ...] = ()) -> str:
    """Run a scenario of the lab into a folder; what it printed. Raises CalledProcessError."""
    changes = [word for change in sets for word in ("--set", change)]
    command = [sys.executable, "-m", "loadsim", "scenario", f"lab/{scenario}", "--out", str(out), *flags, *changes]
    return subprocess.run(command, check=True, timeout=290, capture_output=True, text=True, cwd=ROOT).stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for scenario, name in KEPT.items():
            out = Path(folder) / name
            if scenario == "tools":
                _with_a_server_that_calls(out)
            else:
                run(scenario, out, "--no-text", sets=SMALL[scenario])
            _keep(out, name, "run.json", "requests.jsonl")
        out = Path(folder) / "decay"
        sets = ("callers.warm.count=2", "telemetry.every=500 ms", "reply={exactly: 20}")
        record(SHORT["memory heat"], out, Path(folder), *sets)
        _keep(out, "decay", "run.json", "requests.jsonl", "card.jsonl", "host.jsonl")


def _keep(out: Path, name: str, *files: str) -> None:
    (RUNS / name).mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(out / file, RUNS / name / file)


def _with_a_server_that_calls(out: Path) -> None:
    faults = msgspec.json.encode({"tool_calls": [CALLED]}).decode()
    command = [sys.executable, "-m", "tests.truth", f"faults={faults}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdin and server.stdout
        url = msgspec.json.decode(server.stdout.readline())["url"]
        run("tools", out, "--no-text", "--url", url)
        server.stdin.close()


if __name__ == "__main__":
    main()
