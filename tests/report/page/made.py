"""Runs made by hand for the page, and the parts of its sections by their titles."""

from typing import Any

from loadsim.plan.found import Found
from loadsim.report.page.parts import Chart, Section, Series, Shown, Table, Text
from loadsim.report.point import points
from loadsim.results.read import Run
from loadsim.types import RequestRow
from tests.report.runs import run_of
from tests.stats.rows import row

SWEEP: dict[str, Any] = {"callers": {"warm": {"count": 1}}, "sweep": {"callers.warm.count": [1, 2, 4]}}


def shown_of(run: Run, label: str = "", search: Found | None = None) -> Shown:
    return Shown(label=label, run=run, points=points(run), search=search)


def heard(ttft: float, point: str = "p", **fields: Any) -> RequestRow:
    """A reply whose first token comes after `ttft` seconds, whose first speech 30 ms later, and then four tokens, one
    every 10 ms."""
    times = [round(ttft + 0.01 * i, 6) for i in range(5)]
    moments = {"first_token_s": 10 + ttft, "first_speech_s": 10.03 + ttft, "last_token_s": 10 + times[-1]}
    return row(point=point, token_s=times, token_server_ms=[], end_s=10 + times[-1], **moments | fields)


def counts(sizes: tuple[int, ...] = (1, 2, 4), repeats: int = 5, per: float = 0.05, label: str = "") -> Shown:
    """A sweep over callers whose first tokens come after 100 ms, and `per` seconds more for each caller beyond one."""
    rows = [
        heard(0.1 + per * (size - 1), f"count={size}", caller=caller, repeat=repeat)
        for size in sizes
        for repeat in range(1, repeats + 1)
        for caller in range(size)
    ]
    places = {f"count={size}": {"slots": [*range(size)], "sets": {"callers.warm.count": size}} for size in sizes}
    scenario = SWEEP | {"sweep": {"callers.warm.count": list(sizes)}}
    return shown_of(run_of(*rows, scenario=scenario, points=places), label)


def section(found: Section | None) -> Section:
    assert found is not None
    return found


def chart(found: Section | None, id_: str) -> Chart:
    return next(part for part in section(found).parts if isinstance(part, Chart) and part.id == id_)


def table(found: Section | None, caption: str) -> Table:
    return next(part for part in section(found).parts if isinstance(part, Table) and caption in part.caption)


def text(found: Section | None, caption: str) -> str:
    return next(part.text for part in section(found).parts if isinstance(part, Text) and caption in part.caption)


def series(of: Chart, label: str) -> Series:
    return next(each for each in of.series if each.label == label)
