"""What a search found, as data: `plan.json` in the run's folder."""

import contextlib
from pathlib import Path
from typing import Literal

import msgspec

from ..results.records import contents
from ..types import BadInput, Count, Natural, Unwritable
from .slo import parse
from .verdict import Figure, Verdict

FILE = "plan.json"

Limit = Literal["target", "server", "slots", "most", "errors", "heat", "client", "broken", "interrupted"]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One load point of a search: `count` callers, on a server with so many `slots` (None: it does not tell), `point`
    in the run. `replies`: measured ones of the searched group; `alone`: tokens/s of one caller before and after the
    load. `why`: what kept it from being measured."""

    point: str
    count: Count
    slots: Count | None
    load: Literal["together", "paced"] = "together"
    repeats: Natural = 0
    replies: Natural = 0
    alone: float | None = None
    figures: list[Figure] = []
    verdict: Verdict
    why: str | None = None


class Paced(msgspec.Struct, frozen=True, kw_only=True):
    """The answer held against callers with the pace of people. `needed`: replies that show the targets if all are
    good, of so many `callers` in about `seconds`; `time_scale`: how many times
    faster than real their time runs; `measured`: None where it was left out."""

    callers: int
    needed: int
    seconds: float
    time_scale: float = 1.0
    measured: Measured | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. `callers` meet every target for sure; up to `high` may, nearer than the noise (None: no number was
    found to fail).

    limit: what ended the search above: a `target` that is missed, a `server` that does not start with more slots, the
    `slots` of a server that is not ours, the `most` that was asked for; or what broke it off: `errors`, `heat`, a slow
    `client`, a load that was `broken`, or a search that was `interrupted`, or is not over; the last five are told in
    `stopped`, and what is above is then not known.
    reason: why one more than `high` fails. `confirmed`: the point at which `callers` held on a server with so many
    slots, None where that was not measured or did not hold. confidence: of the figures' intervals. embedded: the server
    was the tiny one. points: in the order of their measurement.
    """

    callers: Natural
    high: Natural | None
    group: str
    others: Natural
    targets: list[str]
    default: bool
    limit: Limit
    reason: str | None = None
    stopped: str | None = None
    slots: Count | None = None
    confirmed: str | None = None
    paced: Paced | None = None
    confidence: float
    embedded: bool = False
    points: list[Measured] = []


def write(found: Found, folder: Path) -> None:
    """Put the answer into the run's folder, in one step in place of an older one. Raises Unwritable."""
    new, path = folder / f"{FILE}.new", folder / FILE
    try:
        new.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
        new.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise Unwritable(f"cannot write {path}: {error.strerror}") from error


def read(folder: Path) -> Found | None:
    """The answer from a run's folder; None: it holds no search. Raises BadInput where it cannot be read."""
    path = folder / FILE
    try:
        found = msgspec.json.decode(contents(path), type=Found)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except msgspec.DecodeError as error:
        raise BadInput(f"cannot read {path}: {error}") from error
    try:
        for text in (*found.targets, *(figure.target for point in found.points for figure in point.figures)):
            parse(text)
    except BadInput as error:
        raise BadInput(f"cannot read {path}: {str(error).removeprefix('--slo ')}") from error
    return found
