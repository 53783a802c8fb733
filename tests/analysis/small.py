"""Runs of the lab's probes at a reduced size. `python -m tests.analysis.small`, from the checkout's root, records those
in tests/analysis/runs anew: on the embedded server, and of `tools` on one that always calls the same tool, rightly."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
RUNS = Path(__file__).parent / "runs"

SLOT = ("server.slots=1", "server.context=32768")

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
}  # fmt: skip
"""Changes that make a scenario of the lab small, by its name."""

CALLED = ("find_customer", '{"phone": "5550147"}')


def run(scenario: str, out: Path, *flags: str, sets: tuple[str, ...] = ()) -> str:
    """Run a scenario of the lab into a folder; what it printed. Raises CalledProcessError."""
    changes = [word for change in sets for word in ("--set", change)]
    command = [sys.executable, "-m", "loadsim", "scenario", f"lab/{scenario}", "--out", str(out), *flags, *changes]
    return subprocess.run(command, check=True, timeout=290, capture_output=True, text=True, cwd=ROOT).stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, sets in SMALL.items():
            out = Path(folder) / name
            if name == "tools":
                _with_a_server_that_calls(out)
            else:
                run(name, out, "--no-text", sets=sets)
            (RUNS / name).mkdir(parents=True, exist_ok=True)
            for file in ("run.json", "requests.jsonl"):
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
