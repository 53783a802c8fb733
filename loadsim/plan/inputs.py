"""What `plan memory` computed and `plan callers` found, as the answer's page takes it."""

from urllib.parse import unquote

from ..report.setting import Setting, setting
from ..results.read import Run
from ..types import BadInput, ServerSettings
from .answer import Memory, Searched, Target
from .command import Keeps
from .found import FILE, Found, Measured
from .memory import Plan
from .slo import AT_LEAST, parse


def from_header(plan: Plan) -> Memory:
    """A model's memory. The command names the file of a URL, which is to be fetched first."""
    fit, place = plan.fit, plan.files[0]
    return Memory(
        model=plan.model,
        file=unquote(place.split("?")[0].rsplit("/", 1)[-1]) if "://" in place else place,
        settings=plan.settings,
        keeps=Keeps(
            state=bool(plan.shape.states),
            window=bool(plan.shape.windowed),
            swa_full=plan.swa_full and bool(plan.shape.windowed),
            checkpoint=plan.host.checkpoint,
        ),
        weights=plan.on_card,
        slot=plan.slots.bytes // plan.slots.slots,
        total=plan.total,
        card=fit.card.name if fit else None,
        room=fit.card.memory if fit else None,
        reserve=fit.reserve if fit else 0,
        fits=fit.slots if fit else None,
        guessed=plan.shape.estimated,
    )


def from_search(found: Found, run: Run) -> Searched:
    """A search's answer in its run, with the server's settings where so many callers were measured."""
    point = _point(found)
    if point is not None and (known := run.facts.get("points")) and point.point not in known:
        raise BadInput(f"{run.path / FILE} is of another run: this one has no load point {point.point!r}")
    slots = found.slots or (found.callers + found.others if found.callers else 0)
    said = setting(run, point.point if point else "")
    launch = said.get("server.launch")
    ours = said.embedded or launch is not None
    held = real_pace(found)
    return Searched(
        run=run.path.resolve().name,
        callers=found.callers,
        high=found.high,
        slots=slots,
        reason=found.reason,
        missed=_missed(found) if found.limit == "target" else None,
        full=found.limit == "server",
        bounded=found.limit == "slots",
        stopped=found.stopped,
        settings=_settings(said) if ours else None,
        launch=launch,
        context=None if ours else (run.facts.get("server") or {}).get("context"),
        pinned=not said.chosen(found.group),
        targets=_targets(point) if point else [],
        repeats=point.repeats if point else 0,
        confirmed=found.confirmed is not None or (point is not None and point.slots == slots),
        paced=held.verdict if held else None,
        embedded=said.embedded,
    )


def real_pace(found: Found) -> Measured | None:
    """The callers with the pace of people, if there were any, and their time did not run faster than people's."""
    return found.paced.measured if found.paced is not None and found.paced.time_scale == 1 else None


def _point(found: Found) -> Measured | None:
    """Where so many callers were measured: the point that confirmed it, else the last one."""
    named = next((point for point in found.points if point.point == found.confirmed), None)
    alike = (point for point in reversed(found.points) if point.count == found.callers and point.figures)
    return named or next((point for point in alike if point.load == "together"), None)


def _settings(said: Setting) -> ServerSettings:
    return ServerSettings(**{name: said.get(f"server.{name}") for name in ServerSettings.__struct_fields__})


def _missed(found: Found) -> str | None:
    """The measure of the first target that one more caller misses."""
    above = (point for point in reversed(found.points) if point.count == (found.high or 0) + 1 and point.figures)
    figures = next((point.figures for point in above), [])
    return next((parse(figure.target).measure for figure in figures if figure.verdict == "misses"), None)


def _targets(point: Measured) -> list[Target]:
    """Each with the part of its limit, or of what is more than that, that is not used up."""
    found = []
    for figure in point.figures:
        target, left = parse(figure.target), None
        if figure.value is not None and target.limit:
            used = target.limit / figure.value if target.measure in AT_LEAST else figure.value / target.limit
            left = 1 - used
        value, limit = target.figure(figure.value), target.bound.split(" ", 1)[1]
        found.append(Target(text=target.text, measure=target.measure, value=value, limit=limit, left=left))
    return found
