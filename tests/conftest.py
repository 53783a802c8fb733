"""What every test has in common."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine makes an example slow, which says nothing of the code. Every run tries the same examples, so that what
# fails is what was changed; HYPOTHESIS_PROFILE=search looks for others.
settings.register_profile("loadsim", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "loadsim"))

# Where tests wait in real time: for processes, sockets, timers and browsers. Modules in them that do not are named.
REAL_TIME = {
    "analysis/test_decay.py", "cli", "engine", "faults", "report/page/browser", "server", "telemetry",
    "test_simulated.py", "truth",
}  # fmt: skip
AT_ONCE = {
    "cli/test_plan.py", "cli/test_plan_answer.py", "cli/test_plan_traffic.py", "engine/test_arrivals.py",
    "engine/test_attempts.py", "engine/test_conversation.py", "engine/test_cuts.py", "engine/test_findings.py",
    "engine/test_heard.py", "engine/test_outage.py", "engine/test_pace.py", "engine/test_phases.py",
    "engine/test_places.py", "engine/test_preflight.py", "server/test_bounded.py", "server/test_stream.py",
    "server/test_tiny.py", "telemetry/test_nvml.py", "telemetry/test_server.py",
}  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real-time tests measure a machine that others share, and may be tried twice more; no other test is."""
    here = Path(__file__).parent
    for item in items:
        module = item.path.relative_to(here)
        if any(map(module.is_relative_to, REAL_TIME)) and module.as_posix() not in AT_ONCE:
            item.add_marker(pytest.mark.real_time)
            item.add_marker(pytest.mark.flaky(reruns=2))


def pytest_collection_finish() -> None:
    """What was imported and collected stays; no collector need walk it again in every run of a test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def frozen() -> Iterator[None]:
    """`run` gives back what it froze, and with it all of that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "unfreeze", lambda: None)
        yield
