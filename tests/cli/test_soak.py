"""A soak as a user runs it, on the embedded server."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from loadsim.results.histograms import read_log
from loadsim.results.read import read
from loadsim.stats.windows import course

pytestmark = pytest.mark.slow


def test_the_short_soak_does_all_of_it(tmp_path: Path) -> None:
    """Five times faster than it is meant; so in 22 s."""
    pytest.importorskip("xllamacpp")
    command = [sys.executable, "-m", "loadsim", "scenario", "soak_short", "--out", str(tmp_path / "run")]
    sets = ["--set", "pace.time_scale=10", "--set", "window=2 s"]
    done = subprocess.run([*command, *sets], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / "run")
    (point,) = found.facts["points"]
    assert found.facts["ended"] == "complete"
    assert (found.facts["points"][point]["alone"], found.facts["points"][point]["shared"]) == (12, None)
    seen = course(found.rows, found.events, point)
    assert [phase.name for phase in seen.phases] == ["warm-up", "ramp", "spike", "recovery"]
    assert [phase.callers for phase in seen.phases] == [(4, 4), (4, 8), (12, 12), (6, 6)]
    load = [row for row in found.rows if row.row == "load"]
    assert {row.phase for row in load} == {"warm-up", "ramp", "spike", "recovery"}
    assert len({row.caller for row in load if row.phase == "spike"}) > 8
    assert len(seen.pauses) == 3
    for pause in seen.pauses:
        if pause.why is None and pause.waited is not None:
            quiet, opens = pause.start_s + pause.waited, pause.start_s + pause.seconds
            # A row's times are to the microsecond, and its end is told a moment after it.
            assert not [row for row in load if quiet + 0.01 < (row.sent_s or 0) < opens - 0.01]
            assert not [row for row in load if (row.sent_s or 0) < quiet and (row.end_s or 0) > quiet + 0.1]
    counted = sum(row.outcome == "ok" and row.planned is not False and not row.draining for row in load)
    log = read_log(tmp_path / "run" / "histograms.hlog")
    ttft = [each for each in log if (each.tag or "").endswith("/load/ttft")]
    assert len(ttft) >= 10
    assert sum(each.histogram.get_total_count() for each in ttft) == counted
    assert re.search(r"^recovery +6 ", done.stdout, re.MULTILINE)
    assert re.search(r"^0:00:04\*? ", done.stdout, re.MULTILINE)
    assert "3 pauses for one caller alone" in done.stdout
    assert "in slot 12, which nobody else has" in " ".join(done.stdout.split())
