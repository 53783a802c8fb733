"""A run's table for the terminal: what one caller and the load's callers met, then the answer in a sentence.

Two narrow tables per load point rather than one wide one, so that it reads at 80 columns.
"""

from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..results.read import Run
from ..stats.share import Ratio
from ..stats.summary import TOO_MANY_ERRORS, PointSummary, Who, summarize
from .words import counts, ms, number, percent, runs, several, span

VOICE = 4.5  # tokens/s that a voice speaks, the article's bar
LAG_MS = 25.0  # a loop this late blurs gaps that a listener could tell apart
BUSY = 0.9
WHY = {
    "cold": "the slot held nothing of the call: does the server clear idle slots (--no-cache-idle-slots), or keep no "
    "checkpoints (--ctx-checkpoints 0)?",
    "full_hit": "the slot held the whole prompt already, so nothing was evaluated: was this run's salt used before?",
    "rewind": "less was reused than the slot held: another caller used the slot, or the prompt's start changed",
    "extension": "the slot held the call already",
}


def render(run: Run) -> RenderableType:
    """Everything that is printed after a run."""
    summaries = summarize(run.rows)
    parts: list[RenderableType] = []
    for summary in summaries:
        parts += [
            Text(f"\n{title(summary, run)}\n", style="bold"),
            first_token(summary),
            Text(),
            speech(summary),
            Text(),
        ]
        parts += [Text(line) for line in remarks(summary, run)]
    parts.append(Text(""))
    parts += [Text(line, style="bold") for line in answers(summaries, run)]
    return Group(*parts)


def holds(run: Run) -> bool:
    """Whether a run is complete and every load point has an answer."""
    summaries = summarize(run.rows)
    return run.facts.get("ended") == "complete" and bool(summaries) and all(point.holds for point in summaries)


def title(summary: PointSummary, run: Run) -> str:
    """The load point and its busy slots."""
    slots = run.facts.get("points", {}).get(summary.point, {}).get("slots", [])
    return f"{summary.point}" + (f", slots {runs(slots)}" if slots else "")


def first_token(summary: PointSummary) -> Table:
    """How long callers waited for the first token, and for what."""
    table = _table(
        "first\ntoken, ms", "n", "p50", "p95", "max", "from\ndue", "before\nheaders", "prompt\neval", "cache_n"
    )
    for who in _everyone(summary):
        table.add_row(
            who.name,
            _n(who),
            *map(ms, (who.ttft.p50, who.ttft.p95, who.ttft.max, who.ttft_due.p50)),
            *map(ms, (who.before_headers, who.prompt_eval)),
            span(who.cache_n),
        )
    return table


def speech(summary: PointSummary) -> Table:
    """How fast replies came once they had begun; shares are of one caller's rate."""
    table = _table(
        "speech",
        "gap, ms\np50",
        "p95",
        "max",
        "tokens/s\np50",
        "slowest",
        "1 / gap",
        "share",
        "share\nby gap",
        "all\ntok/s",
    )
    for who in _everyone(summary):
        share = summary.shares.get(who.name)
        table.add_row(
            who.name,
            *map(ms, (who.gap.p50, who.gap.p95, who.gap.max)),
            *map(number, (who.decode, who.decode_slowest, who.gap_rate)),
            *(_mid(share.mean.both), _mid(share.gap.both)) if share else ("-", "-"),
            number(who.total),
        )
    return table


def _mid(ratio: Ratio | None) -> str:
    return percent(None if ratio is None else ratio.mid)


def remarks(summary: PointSummary, run: Run) -> Iterator[str]:
    """Everything about a point that is not a column: shares, kinds, errors, and the load as it was delivered."""
    if summary.baseline is not None:
        before, after = number(summary.before), number(summary.after)
        yield f"one caller decodes {before} tokens/s before the load and {after} after it"
    for who in summary.load:
        for name, sides in (
            ("share", summary.shares[who.name].mean),
            ("by 1 / median gap", summary.shares[who.name].gap),
        ):
            if sides.both is not None:
                one_side = f"by the baseline before {_mid(sides.before)}, by the one after {_mid(sides.after)}"
                yield f"{who.name}: {name} {_ratio(sides.both)}; {one_side}"
    for who in _everyone(summary):
        kinds = counts(who.kinds) or "no answer"
        yield f"{who.name}: {kinds}; {counts(who.outcomes)}; prompt {span(who.prompt)} tokens"
        yield from (f"  {n} x {error}" for error, n in who.errors.items())
        yield from (
            f"  {n} x {kind.replace('_', ' ')} and not counted: {WHY[kind]}" for kind, n in who.unplanned.items()
        )
        if who.clocks_differ:
            yield f"  {who.clocks_differ} x other gaps by the server's clock: the network or this client held tokens"
    for who in summary.load:
        moved = (
            ""
            if who.moves is None
            else f"; {several(who.slots_used or 0, 'slot')} used, {several(who.moves, 'move')} to another one"
        )
        if who.evaluated is not None:
            yield f"{who.name}: {who.evaluated:,} prompt tokens evaluated, of which {who.new:,} were new{moved}"
    yield _delivered(summary, run)


def answers(summaries: list[PointSummary], run: Run) -> Iterator[str]:
    """The question answered, one sentence a point, and what the reader must know before believing it."""
    ended = run.facts.get("ended")
    if not summaries:
        yield "The run has no row that was measured."
    if ended != "complete":
        yield f"The run did not complete ({ended or 'it was killed, or still goes on'}): {run.facts.get('why') or '-'}."
    for summary in summaries:
        yield _answer(summary, len(summaries) > 1)
        if limits := client_limits(summary, run):
            yield f"The client was a bottleneck at {summary.point}: {limits}. Its figures are partly the client's own."
    if run.facts.get("server", {}).get("embedded"):
        yield "This was a tiny model on this machine's CPU: it shows that the parts work, not what a card does."


def client_limits(summary: PointSummary, run: Run) -> str | None:
    """Why the client's own delays spoil a point's figures; None where they do not."""
    client = _client(summary, run)
    lag, cpu = client.get("lag_p99_ms") or 0.0, client.get("cpu_share") or 0.0
    if lag > LAG_MS:
        return f"its event loop came {number(lag)} ms late at p99"
    return f"it took {percent(cpu)} of a core" if cpu > BUSY else None


def _answer(summary: PointSummary, named: bool) -> str:
    at = f"{summary.point}: " if named else ""
    if summary.error_rate > TOO_MANY_ERRORS:
        return f"{at}no answer: {percent(summary.error_rate)} of the load's requests failed."
    if not summary.load:
        return f"{at}no answer: the load did not begin."
    if not summary.holds:
        few = ", ".join(f"{who.rows} of {who.planned_rows} {who.name}" for who in summary.load)
        return f"{at}no answer: too few replies were of the kind that was planned ({few})."
    return at + " ".join(_sentence(who, summary) for who in summary.load)


def _sentence(who: Who, summary: PointSummary) -> str:
    alone = summary.baseline
    hear = "hears" if who.callers == 1 else "hear"
    said = f"{several(who.callers, f'{who.name} caller')} {hear} the first token after {ms(who.ttft.p50)} ms at p50, "
    said += f"{ms(who.ttft.max)} at most"
    if who.rows < who.planned_rows:
        said += f", in {who.rows} of {who.planned_rows} replies, the others not counted"
    if alone is not None and alone.rows:
        said += f" (one caller alone: {ms(alone.ttft.p50)} ms)"
    if who.decode is None or who.decode_slowest is None:
        return f"{said}."
    said += f"; each reply then runs at {number(who.decode)} tokens/s"
    share = summary.shares[who.name].mean.both
    if share is not None:
        said += f", {percent(share.mid)} of one caller's rate"
    times = number(who.decode_slowest / VOICE, 2)
    return f"{said}; the slowest, {number(who.decode_slowest)}, is {times} times a voice's {VOICE}."


def _delivered(summary: PointSummary, run: Run) -> str:
    load, client = summary.delivered, _client(summary, run)
    start = f"start spread {ms(load.start_spread)} ms, " if load.start_spread is not None else ""
    return (
        f"load delivered: {load.in_flight} in flight, {start}sent {ms(load.late)} ms after due at p99; "
        f"client: event loop {number(client.get('lag_p99_ms'))} ms late at p99, {client.get('gc_pauses', 0)} GC pauses "
        f"of {number(client.get('gc_longest_ms'))} ms at most, {percent(client.get('cpu_share'))} of a core"
    )


def _client(summary: PointSummary, run: Run) -> dict[str, float]:
    """The client's own delays at a point, the worst of its repeats."""
    worst: dict[str, float] = {}
    for event in run.events:
        if event["event"] == "client" and event["point"] == summary.point:
            for name, value in event.items():
                if isinstance(value, int | float):
                    worst[name] = max(worst.get(name, value), value)
    return worst


def _everyone(summary: PointSummary) -> list[Who]:
    return [*([summary.baseline] if summary.baseline else []), *summary.load]


def _n(who: Who) -> str:
    """Repeats times rows of each; with how many count where some do not."""
    each = who.planned_rows / max(who.repeats, 1)
    said = f"{who.repeats} x {each:g}"
    return said if who.rows == who.planned_rows else f"{who.rows} of {said}"


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return "-"
    spread = f" ({percent(ratio.low)} to {percent(ratio.high)} over {ratio.n} repeats)" if ratio.n > 1 else ""
    return f"{percent(ratio.mid)}{spread}"


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", no_wrap=True)
    return table
