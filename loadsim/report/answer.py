"""The question answered: a sentence a point, and what the reader must know before believing it."""

from collections.abc import Iterator

from ..results.read import ROWS_FILE, Run
from ..stats.account import account
from ..stats.cause import CLIENT_CPU, LAG_MS
from ..stats.client import Client
from ..stats.summary import TOO_MANY_ERRORS, Who
from . import probe
from .point import Point
from .remarks import other_length, unsteady
from .topics import ALL
from .words import TINY, lasting, ms, number, percent, several, whole

NOTHING = "The run has no row that was measured."
STILL_MS = 1000.0  # that a client does nothing at all


def answers(points: list[Point], run: Run) -> Iterator[str]:
    """The sentences, the most important first."""
    asked = [*probe.answers(run)]
    if not points and not asked:
        yield NOTHING
    yield from state(run)
    yield from asked
    for point in points:
        yield answer(point, len(points) > 1)
        yield from bottleneck(point)
    yield from tiny(run)


def state(run: Run) -> Iterator[str]:
    """What keeps a run from being whole."""
    ended = run.facts.get("ended")
    if run.live:
        yield "The run still goes on; this is what it has so far."
    elif ended != "complete":
        yield f"The run did not complete ({ended or 'it was killed'}){_where(run)}."
    if run.torn and not run.live:
        end = "file ends" if run.torn == 1 else "files end"
        yield f"{run.torn} {end} in half a line, which is left out."
    yield from _lost(run)
    if run.left_over:
        yield f"{several(run.left_over, 'row')} of load points that were begun again are left out."


def bottleneck(point: Point) -> Iterator[str]:
    """That the client's own delays spoil a point's figures, or those of a moment."""
    if limits := client_limits(point.client):
        yield f"The client was a bottleneck at {point.name}: {limits}. Its figures are partly the client's own."
    if (still := point.client.still_ms or 0.0) >= STILL_MS:
        why = "a machine that slept, or a program that was stopped"
        yield f"The client stood still for {lasting(still / 1e3)} at {point.name} ({why}): times around it are its own."


def tiny(run: Run) -> Iterator[str]:
    """That it was no card that was measured."""
    if run.facts.get("server", {}).get("embedded"):
        yield TINY


def _lost(run: Run) -> Iterator[str]:
    """What was recorded, or should have been, and is not there."""
    told = False
    for file in run.damaged:
        said = f"{several(file.lines, 'line')} of {file.file} could not be read (first at line {file.first})"
        if file.file == ROWS_FILE and run.missing:
            said, told = f"{said}: {_missing(run)}", True
        yield f"{said}."
    if run.missing and not told:
        yield f"Of {run.noted} rows that were recorded, {_missing(run)}."
    if run.live:
        return  # a request that is under way has no row yet
    for point, (asked, rows) in account(run.rows, run.events).short.items():
        yield f"{point}: {several(asked, 'request')} were counted, and {several(rows, 'row')} {_are(rows)} there."


def _missing(run: Run) -> str:
    return f"{several(run.missing, 'row')} {_are(run.missing)} missing from these figures"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _where(run: Run) -> str:
    """Why it did not; of one that was killed, what it was about when it last noted something."""
    if why := run.facts.get("why"):
        return f": {why}"
    phases = [event["phase"] for event in run.events if event["event"] == "phase"]
    last = max((event["t_s"] for event in run.events if "t_s" in event), default=0.0)
    return f": {phases[-1]}, not long after {lasting(last)}" if phases else ""


def client_limits(client: Client) -> str | None:
    """Why the client's own delays spoil a point's figures; None where they do not."""
    lag, worst, cpu = client.lag_p99_ms or 0.0, client.worst_lag_ms or 0.0, client.cpu_share or 0.0
    if lag > LAG_MS:
        also = f", {number(worst)} in the worst {client.each}" if worst > lag else ""
        return f"its event loop came {number(lag)} ms late at p99{also}"
    return f"it took {percent(cpu)} of a core" if cpu > CLIENT_CPU else None


def answer(point: Point, named: bool) -> str:
    """A load point's sentence, with its name before it where it is `named`."""
    at = f"{point.name}: " if named else ""
    said = refusal(point) or " ".join(_sentence(who, point) for who in point.summary.load)
    return at + said + _away(point) + "".join(f" {text}" for text in unreal(point))


def unreal(point: Point) -> Iterator[str]:
    """That callers lived faster than people do."""
    scale = point.setting.around.time_scale
    if scale > 1:
        yield f"This is not real load: time runs {scale:g} times faster."


def _away(point: Point) -> str:
    """That the load was not served all the time."""
    if not point.outages:
        return ""
    last = point.outages[-1]
    seconds, ended = sum(found.seconds or 0.0 for found in point.outages), last.seconds is not None
    now = point.loading == last.repeat
    if not seconds:
        end = "until now" if now else "to the load's end"
        return f" From some time on nobody was given a token, {end}; see above."
    more = "" if ended else f", and then {'until now' if now else 'to its end'}"
    asked = sum(found.asked for found in point.outages)
    some = f", though somebody had asked in {number(asked)} of them" if ended and asked < ALL * seconds else ""
    return f" For {number(seconds)} s of the load nobody was given a token{more}{some}; see above."


def refusal(point: Point) -> str | None:
    """Why there is no answer; None: there is one."""
    summary = point.summary
    if summary.error_rate > TOO_MANY_ERRORS:
        what = "turns" if summary.by_turns else "requests"
        return f"no answer: {percent(summary.error_rate)} of the load's {what} failed."
    if not summary.load:
        began = point.course.window is not None
        return f"no answer: {'no request of the load had ended' if began else 'the load did not begin'}."
    if not summary.holds:
        few = ", ".join(f"{who.rows} of {who.planned_rows} {who.name}" for who in summary.load)
        gone = " ".join(f" {_hung_up(who)}" for who in summary.load if who.hung_up)
        return f"no answer: too few replies were of the kind that was planned ({few}).{gone}"
    return None


def _sentence(who: Who, point: Point) -> str:
    if who.name in point.setting.cold:
        said = _cold(who, point)
    elif point.setting.chosen(who.name):
        said = f"{_placed(who)} {_warm(who, point)}"
    else:
        said = _warm(who, point)
    return f"{said} {_hung_up(who)}" if who.hung_up else said


def _hung_up(who: Who) -> str:
    return f"In {who.hung_up} of {who.calls} calls of {who.name} the caller hung up, and is in none of these figures."


def _warm(who: Who, point: Point) -> str:
    """What callers hear beside one caller alone."""
    said = f"{_callers(who)} {_verb(who, 'hear')} the first token after {ms(who.ttft.p50)} ms at p50, "
    said += f"{ms(who.ttft.max)} at most{_part(who)}{_beside(point)}"
    heard = point.heard[who.name]
    if point.setting.paced and heard.voice.p50 is not None:
        said += f", and the voice {number(heard.voice.p50)} s after their last word"
    cuts = point.cuts[who.name]
    if cuts.next.rows and cuts.next.prompt_n is not None:
        said += f"; after a cut the next prompt has {whole(cuts.next.prompt_n)} tokens to evaluate, "
        said += f"{number(cuts.next.prompt_ms)} ms"
        if cuts.others.rows:
            said += f", after a whole reply {whole(cuts.others.prompt_n)}, {number(cuts.others.prompt_ms)} ms"
    if heard.dry:
        said += f"; {heard.dry} of {several(heard.replies, 'reply')} fell silent for want of tokens"
    return said + _decode(who, point)


def _cold(who: Who, point: Point) -> str:
    """What callers without a history wait, and what that costs the others."""
    said = f"{_callers(who)} {_verb(who, 'wait')} {number(who.ttft.p50)} s for the first token at p50, "
    said += f"{number(who.ttft.max)} at most{_part(who)}{_beside(point)}"
    if not point.setting.joined:
        return said + _decode(who, point)
    joins = [join for join in point.joins if join.group == who.name]
    waits = [join.wait for join in joins if join.wait is not None]
    gaps = [join.gap for join in joins if join.gap is not None]
    rates = [join.slowest for join in joins if join.slowest is not None]
    costs = []
    if waits:
        costs.append(f"others wait up to {ms(max(waits))} ms for their first token")
    if gaps:
        costs.append(f"replies stall for up to {ms(max(gaps))} ms")
    if rates:
        times = number(min(rates) / point.voice, 2)
        costs.append(f"the slowest gets {number(min(rates))} tokens/s, {times} times a voice's {point.voice:g}")
    if costs:
        return f"{said}; meanwhile {', and '.join(costs)}."
    return f"{said}; nobody else waited or was spoken to meanwhile, so it cost nobody anything."


def _placed(who: Who) -> str:
    """Where the server put callers that it could choose the slots of, and what that cost."""
    said = f"The server placed {_callers(who)}"
    if who.slots_used is None or who.moves is None:
        said += ", and does not tell where"
    else:
        said += f" on {several(who.slots_used, 'slot')}, with {several(who.moves, 'move')} to another one"
    if who.evaluated is None or who.new is None:
        return f"{said}."
    if who.untold:
        return f"{said}, and evaluated {who.evaluated:,} prompt tokens or more."
    # Fewer than were new: callers share a beginning, and one found another's in the slot.
    again = max(who.evaluated - who.new, 0)
    return f"{said}, and evaluated {who.evaluated:,} prompt tokens, {f'{again:,}' if again else 'none'} of them again."


def _callers(who: Who) -> str:
    return several(who.callers, f"{who.name} caller")


def _verb(who: Who, verb: str) -> str:
    return f"{verb}s" if who.callers == 1 else verb


def _part(who: Who) -> str:
    if who.rows == who.planned_rows:
        return ""
    return f", in {who.rows} of {who.planned_rows} replies, the others not counted"


def _beside(point: Point) -> str:
    alone = point.summary.baseline
    return f" (one caller alone: {ms(alone.ttft.p50)} ms)" if alone is not None and alone.rows else ""


def _decode(who: Who, point: Point) -> str:
    if who.decode is None or who.decode_slowest is None:
        return "."
    said = f"; each reply then runs at {number(who.decode)} tokens/s"
    share = point.summary.shares[who.name].mean.both
    moved = unsteady(point)
    if share is not None and moved is not None:
        said += f" ({moved})"
    elif share is not None:
        said += f", {percent(share.mid)} of one caller's rate"
        said += " on prompts of another length" if other_length(who, point.summary.baseline) else ""
    return f"{said}; the slowest, {number(who.decode_slowest)}, is {times_voice(who.decode_slowest, point)}."


def times_voice(rate: float, point: Point) -> str:
    """A rate held against the voice's."""
    return f"{number(rate / point.voice, 2)} times a voice's {point.voice:g}"
