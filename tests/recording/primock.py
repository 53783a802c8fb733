"""PriMock57's consultations as calls, where the shared folder is there (CC BY 4.0, see its README)."""

from pathlib import Path
from random import Random

import msgspec
import pytest

from loadsim.recording.assemble import assemble
from loadsim.recording.draft import Draft, Said
from loadsim.recording.model import Recording

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
CALLS = ("day1_consultation08", "day3_consultation09")
TALKED_OVER_S = 0.5  # from here on, an agent that hears the caller stops


def utterances(name: str) -> list[dict[str, object]]:
    """A consultation's utterances; the test is skipped where they are not."""
    path = SHARED / "primock57" / f"{name}.json"
    if not path.exists():
        pytest.skip("the shared data is not here")
    found: list[dict[str, object]] = msgspec.json.decode(path.read_bytes())["utterances"]
    return found


def call(name: str) -> Recording:
    """A consultation as a call: the doctor is the agent, and stops where the patient talks over them."""
    recording, notes = assemble(Draft(items=list(said(name))), name, f"PriMock57, {name} (CC BY 4.0)", Random(57))
    assert not any("drawn" in note for note in notes)
    return recording


def said(name: str) -> list[Said]:
    """The utterances as a draft has them."""
    spoken = [msgspec.convert(one, Spoken) for one in utterances(name)]
    cuts = [one for one in spoken if one.role == "caller" and one.kind == "barge_in"]
    return [
        Said(
            by="caller" if one.role == "caller" else "agent",
            text=one.text,
            start=one.start_s,
            end=one.end_s,
            interrupted=(cut := one.role == "agent" and any(one.talked_over(other) for other in cuts)),
            whole=cut,
        )
        for one in spoken
    ]


class Spoken(msgspec.Struct):
    """An utterance of the file."""

    role: str
    kind: str
    text: str
    start_s: float
    end_s: float

    def talked_over(self, other: "Spoken") -> bool:
        """Whether the other one begins in here and goes on long enough for this one to stop."""
        return self.start_s < other.start_s < self.end_s - TALKED_OVER_S
