"""What is heard of a reply that a server speaks too slowly, or stops in the middle of."""

from pathlib import Path
from typing import Any

import pytest

from loadsim.types import RequestRow
from tests.engine.test_cuts import OWN, WORDS
from tests.engine.truthful import of
from tests.engine.virtually import measured
from tests.truth import Faults

VOICE = 4.5
STALL_AFTER, STALL, TOKENS = 8, 3.0, 24


def heard(folder: Path, rate: float) -> RequestRow:
    """The reply of a server of `rate` tokens/s that stands still for 3 s after its eighth token."""
    faults = Faults(words=WORDS * 2, stall_after=STALL_AFTER, stall=STALL)
    scenario: dict[str, Any] = OWN | {
        "callers": {"warm": {"count": 1}},
        "pace": "at_once",
        "voice": {"rate": f"{VOICE} tokens/s", "tts": "0", "network": "0"},
    }
    found, _ = measured(folder, scenario, lambda _: faults, first=0.2, step=1 / rate)
    (row,) = of(found, "load")
    return row


def by_hand(rate: float) -> tuple[int, float, float]:
    """Underruns, seconds of silence, seconds of speech before the first: token by token, as a listener hears it."""
    arrivals = [i / rate + (STALL if i >= STALL_AFTER else 0.0) for i in range(TOKENS)]
    free = arrivals[1]  # "Well," is two tokens
    waits = []
    for arrival in arrivals:
        waits.append(max(arrival - free, 0.0))
        free = max(free, arrival) + 1 / VOICE
    long = [i for i, wait in enumerate(waits) if wait >= 0.02]
    return len(long), sum(waits), long[0] / VOICE


@pytest.mark.parametrize("rate", [3.0, 4.5, 6.0])
def test_underruns_against_a_known_schedule(tmp_path: Path, rate: float) -> None:
    row = heard(tmp_path / "run", rate)
    assert row.playout is not None
    assert row.playout.tokens == TOKENS
    count, silent, first = by_hand(rate)
    found = row.playout
    print(f"{rate:g} tokens/s: {found.underruns} underruns, {found.silent_s:.3f} s; by hand {count}, {silent:.3f} s")
    assert abs(found.underruns - count) <= 1
    assert found.silent_s == pytest.approx(silent, abs=1 / VOICE)
    assert found.first_underrun_s == pytest.approx(first, abs=1 / VOICE)


def test_the_oracle_itself() -> None:
    # 6 tokens/s: "Well," is two tokens, so the voice lags the arrivals by one; it would speak token 9 after
    # (1/6 + 8/4.5) s and gets it after (8/6 + 3) s
    count, silent, first = by_hand(6.0)
    assert (count, first) == (1, 8 / 4.5)
    assert silent == pytest.approx(8 / 6 + 3 - 1 / 6 - 8 / 4.5)
