"""Everything that is printed of a run, for programs: JSON with the figures behind the tables. Missing is null.

Seconds, tokens and tokens/s, where a field does not say otherwise; shares and rates of errors are of 1.
"""

from typing import Any, Literal, TypeVar

import msgspec

from ...results.read import Run
from ...scenario.secret import masked_data
from ...stats.calls import Calls
from ...stats.client import Client
from ...stats.cuts import Cuts
from ...stats.decay import Decay
from ...stats.heard import Heard
from ...stats.join import Join
from ...stats.outages import Outage
from ...stats.probe import Checkpoints, Floor, Prefill, Reach, Tools, probes
from ...stats.requests import Requests
from ...stats.summary import PointSummary
from ...stats.windows import Course
from ..answer import answers
from ..decay import decays
from ..point import Point, points
from ..remarks import remarks
from ..table import holds

T = TypeVar("T")
FORMAT: Literal["loadsim summary 1"] = "loadsim summary 1"


class PointFigures(msgspec.Struct, kw_only=True):
    """One load point. `sets`: the scenario's keys that it has values of its own for. `heard`, `cuts`, `requests`: by
    group. `remarks`: what stands under its tables, in sentences; `holds`: its figures may be given as an answer."""

    point: str
    sets: dict[str, Any]
    slots: list[int]
    holds: bool
    summary: PointSummary
    client: Client
    calls: Calls | None
    heard: dict[str, Heard]
    cuts: dict[str, Cuts]
    requests: dict[str, Requests]
    joins: list[Join]
    course: Course
    outages: list[Outage]
    remarks: list[str]


class ProbeFigures(msgspec.Struct, kw_only=True):
    """A load point's probe; what it found is under its kind's name, the others are null."""

    point: str
    kind: str
    rows: int
    answered: int
    errors: list[str]
    reach: Reach | None = None
    checkpoints: Checkpoints | None = None
    prefill: Prefill | None = None
    floor: Floor | None = None
    tools: Tools | None = None


class Summary(msgspec.Struct, kw_only=True):
    """A run.

    id, started (RFC 3339), seconds: of the run; `ended`: complete, interrupted or stopped, and `why`; null: it was
    killed or, where `live`, still goes on. `torn`: files that end in half a line; `left_over`: rows of load points that
    were begun again; both are left out. `answer`: the sentences under the tables; `holds`: the run is complete and
    every load point has an answer. `scenario`, `server`, `host`, `versions`: as run.json has them. `decay`: whether
    decoding fell over time, by load points, where the run is long enough to say.
    """

    format: Literal["loadsim summary 1"]
    id: str | None
    started: str | None
    seconds: float | None
    ended: str | None
    why: str | None
    live: bool
    torn: int
    left_over: int
    holds: bool
    answer: list[str]
    points: list[PointFigures]
    probes: list[ProbeFigures]
    decay: dict[str, Decay]
    scenario: dict[str, Any] | None
    server: dict[str, Any] | None
    host: dict[str, Any] | None
    versions: dict[str, str] | None


def summary(run: Run) -> Summary:
    """What is known of a run."""
    facts, found = run.facts, points(run)
    return Summary(
        format=FORMAT,
        id=facts.get("id"),
        started=(facts.get("started") or {}).get("time"),
        seconds=facts.get("seconds"),
        ended=facts.get("ended"),
        why=facts.get("why"),
        live=run.live,
        torn=run.torn,
        left_over=run.left_over,
        holds=holds(run, found),
        answer=list(answers(found, run)),
        points=[_point(point, run) for point in found],
        probes=[
            ProbeFigures(
                point=probe.point,
                kind=probe.kind,
                rows=probe.rows,
                answered=probe.answered,
                errors=probe.errors,
                reach=_of(probe.found, Reach),
                checkpoints=_of(probe.found, Checkpoints),
                prefill=_of(probe.found, Prefill),
                floor=_of(probe.found, Floor),
                tools=_of(probe.found, Tools),
            )
            for probe in probes(run.rows)
        ],
        decay={name: of for name, of in decays(run).items() if of.long_enough},
        scenario=facts.get("scenario"),
        server=facts.get("server"),
        host=facts.get("host"),
        versions=facts.get("versions"),
    )


def text(of: Summary) -> bytes:
    """JSON, without secrets. What is no number, such as a correlation of what did not vary, is null too."""
    tree = masked_data(msgspec.to_builtins(of))
    return msgspec.json.format(msgspec.json.encode(tree), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of it."""
    return msgspec.json.schema(Summary)


def _of(found: object, kind: type[T]) -> T | None:
    return found if isinstance(found, kind) else None


def _point(point: Point, run: Run) -> PointFigures:
    return PointFigures(
        point=point.name,
        sets=((run.facts.get("points") or {}).get(point.name) or {}).get("sets") or {},
        slots=point.slots,
        holds=point.summary.holds,
        summary=point.summary,
        client=point.client,
        calls=point.calls,
        heard=point.heard,
        cuts=point.cuts,
        requests=point.requests,
        joins=point.joins,
        course=point.course,
        outages=point.outages,
        remarks=list(remarks(point)),
    )
