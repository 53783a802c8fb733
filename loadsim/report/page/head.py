"""A page's head: the answer, the few figures that carry it, and what one must know before believing it."""

import time
from collections.abc import Iterator

from ...plan.lines import answer as search_answer
from ...plan.slo import DEFAULT, parse
from ...results.read import Run
from ...stats.metrics import ENOUGH
from ...stats.probe import probes
from ...stats.spread import Range, Spread
from ...stats.summary import Who
from .. import probe
from ..answer import NOTHING, answer, bottleneck, state, times_voice, tiny, unreal
from ..logs import card_doubts
from ..point import Point
from ..remarks import doubts, ratio, unlike, unsteady
from ..setting import setting
from ..table import n
from ..words import TINY, ms, number, path_text, percent, several
from .crowd import FEW, counted, over_repeats, ttfs, ttft
from .parts import Figure as Told
from .parts import Head, Shown

MOST_ANSWERS = 4  # sentences of load points that a reader takes in at once


def head(shown: Shown) -> Head:
    epoch_s = (shown.run.facts.get("started") or {}).get("epoch_s")
    return Head(
        label=shown.label,
        name=name(shown.run),
        when="" if epoch_s is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(epoch_s)),
        answers=[*_answers(shown)],
        figures=[*_figures(shown)],
        warnings=[*_warnings(shown)],
    )


def name(run: Run) -> str:
    """The scenario's name; of a run of old its folder's."""
    command = run.facts.get("command") or []
    file = next((str(word) for word in command[1:] if word not in ("scenario", "plan", "callers")), "")
    return file.rpartition("/")[2].removesuffix(".yaml") or path_text(run.path).rpartition("/")[2]


def main(shown: Shown) -> Point | None:
    """The load point that the answer is about: what a search confirmed, or else the most callers that have one."""
    search = shown.search
    if search is not None:
        met = [each.point for each in search.points if each.count == search.callers and each.load == "together"]
        wanted = [point for point in shown.points if point.name in (search.confirmed, *met[-1:])]
        if wanted:
            return next((point for point in wanted if point.name == search.confirmed), wanted[-1])
    holding = [point for point in shown.points if point.summary.holds] or shown.points
    most = max((_callers(point) for point in holding), default=0)
    return next((point for point in reversed(holding) if _callers(point) == most), None)


def _callers(point: Point) -> int:
    return sum(who.callers for who in point.summary.load)


def _answers(shown: Shown) -> Iterator[str]:
    """A search's answer; of several load points the sentence of the one that it is about: the others stand below."""
    run, search = shown.run, shown.search
    asked = [*probe.answers(run)]
    if not shown.points and not asked:
        yield NOTHING
    if search is not None:
        yield from (said for said in search_answer(search) if said != TINY)
    yield from asked
    if (point := main(shown)) is not None:
        few = shown.points if search is None and len(shown.points) <= MOST_ANSWERS else ()
        yield from (answer(each, len(shown.points) > 1) for each in (point, *(each for each in few if each != point)))


def _figures(shown: Shown) -> Iterator[Told]:
    point = main(shown)
    if point is None:
        return
    rows = [row for row in shown.run.rows if row.point == point.name and row.row == "load"]
    summary = point.summary
    for who in summary.load if summary.holds else []:
        of = f", {who.name}" if len(summary.load) > 1 else ""
        mine = counted(row for row in rows if row.group == who.name)
        yield Told(label="callers" + of, value=f"{who.callers} {who.name}", of=_times(who, point))
        alone = summary.baseline
        quiet = alone.ttft if alone is not None else Spread(None, None, None)
        for q, value, one in ((50, who.ttft.p50, quiet.p50), (95, who.ttft.p95, quiet.p95)):
            beside = f"one caller alone {ms(one)}" if one is not None else ""
            reach = _reach(over_repeats(mine, ttft, q))
            told = _of(_target(shown, f"ttft p{q}", value), n(who), reach, beside)
            yield Told(label=f"TTFT p{q}{of}", value=f"{ms(value)} ms", of=told)
        heard = point.heard[who.name]
        if heard.ttfs.p50 is not None:
            yield Told(
                label=f"TTFS p50{of}",
                value=f"{ms(heard.ttfs.p50)} ms",
                of=_of(
                    _reach(over_repeats(mine, ttfs, 50)),
                    f"p95 {ms(heard.ttfs.p95)}",
                    _target(shown, "ttfs p95", heard.ttfs.p95),
                ),
            )
        if point.setting.paced and heard.voice.p50 is not None:
            how = "measured" if heard.measured else "estimated"
            voice = f"p95 {number(heard.voice.p95)}"
            yield Told(label=f"voice to voice p50{of}", value=f"{number(heard.voice.p50)} s", of=_of(how, voice))
        if who.decode is not None:
            yield Told(label=f"decode of each{of}", value=f"{number(who.decode)} tokens/s", of=_share(who, point))
        if who.decode_slowest is not None:
            times = times_voice(who.decode_slowest, point)
            yield Told(label=f"slowest reply{of}", value=f"{number(who.decode_slowest)} tokens/s", of=times)
        if heard.replies:
            silent = f"{number(heard.silent)} s of silence" if heard.dry else ""
            yield Told(label=f"underruns{of}", value=f"{heard.dry} of {heard.replies}", of=_of("replies", silent))
    what = "turns" if summary.by_turns else "requests"
    yield Told(label="errors", value=percent(summary.error_rate), of=f"of the load's {what}")


def _times(who: Who, point: Point) -> str:
    load = point.summary.delivered
    return _of(several(who.repeats, "repeat"), f"{several(load.in_flight, 'request')} in flight at most")


def _target(shown: Shown, measure: str, value: float | None) -> str:
    """Whether a target for the measure is met; where a search set none, loadsim's own."""
    for target in map(parse, DEFAULT if shown.search is None else shown.search.targets):
        if value is not None and f"{target.measure} {target.statistic}" == measure:
            said = "met" if target.met(value) else "missed"
            return f"{said}: {target.text}{' (default)' if shown.search is None else ''}"
    return ""


def _reach(of: Range | None) -> str:
    """How far repeats differ; of one nothing tells."""
    return "" if of is None or of.n < 2 else f"{ms(of.low)} to {ms(of.high)} over {of.n} repeats"


def _share(who: Who, point: Point) -> str:
    share = point.summary.shares[who.name].mean.both
    return "" if share is None or unsteady(point) else f"share of one caller's {ratio(share)}"


def _of(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _warnings(shown: Shown) -> Iterator[str]:
    """Of the run, of all its load points, and of the one that the answer is about; how many others have."""
    yield from state(shown.run)
    point = main(shown)
    others = 0
    for text, names in warnings(shown).items():
        if len(names) == len(_every(shown)):
            yield text
        elif point is not None and point.name in names:
            yield text if point.name in text else f"{point.name}: {text}"
        else:
            others += 1
    if others:
        yield f"{several(others, 'warning')} of other load points: see the table under The load as it was"
    yield from tiny(shown.run)


def warnings(shown: Shown) -> dict[str, list[str]]:
    """What one must know before believing load points and probes, each with the names of those that it is about."""
    said: dict[str, list[str]] = {}
    for point in shown.points:
        for text in dict.fromkeys(_of_point(shown, point)):
            said.setdefault(text, []).append(point.name)
    for probed in probes(shown.run.rows):
        for text in card_doubts(shown.run, setting(shown.run, probed.point), probed.point):
            said.setdefault(text, []).append(probed.point)
    return said


def _every(shown: Shown) -> list[str]:
    return [*(point.name for point in shown.points), *(probed.point for probed in probes(shown.run.rows))]


def _of_point(shown: Shown, point: Point) -> Iterator[str]:
    yield from bottleneck(point)
    if moved := unsteady(point):
        yield moved
    yield from unreal(point)
    yield from card_doubts(shown.run, point.setting, point.name)
    for who in point.summary.load:
        at = f"{who.name}: " if len(point.summary.load) > 1 else ""
        yield from (f"{at}{text}" for text in (*doubts(who), *unlike(who, point.summary.baseline)))
        yield from (f"{at}{text}" for text in _few(who))


def _few(who: Who) -> Iterator[str]:
    """What so few repeats and replies cannot show."""
    if who.repeats < ENOUGH:
        yield f"{several(who.repeats, 'repeat')}: with fewer than {ENOUGH} only their range is told, and no interval"
    if who.rows < FEW:
        yield f"no p99 is told: that takes {FEW} replies"
