"""A probe's table and its answer in a sentence."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..results.read import Run
from ..stats.probe import Checkpoints, Floor, Parts, Prefill, Probed, Reach, Tools, batches, probes
from ..stats.spread import Range
from .grid import grid
from .logs import log_lines
from .setting import Setting, setting
from .words import listed, number, several, span

CASES = {"extension": "extended by the tail", "repeat": "repeated as it is", "edit": "edited at its end"}


def tables(run: Run) -> Iterator[RenderableType]:
    """What each of a run's probes found."""
    for probed in probes(run.rows):
        said = setting(run, probed.point)
        yield Text(f"\n{probed.point}{server(said)}\n", style="bold")
        yield from figures(probed, said)
        yield from (Text(f"  not answered: {error}") for error in probed.errors)
        yield from (Text(f"\n{line}") for line in log_lines(run, said, probed.point))


def answers(run: Run) -> Iterator[str]:
    """A sentence for each probe."""
    found = probes(run.rows)
    for probed in found:
        at = f"{probed.point}: " if len(found) > 1 else ""
        if not run.measured(probed.point):
            yield f"{at}no answer: broken off after {several(probed.answered, 'request')}."
        elif probed.answered:
            part = "" if probed.holds else f" ({probed.answered} of {several(probed.rows, 'request')} answered)"
            yield f"{at}{_sentence(probed)}{part}"
        else:
            yield f"{at}no answer: {probed.errors[0]}."


def server(said: Setting) -> str:
    """The settings that a probe's answer hangs on, where they are ours."""
    if not said.embedded or said.batches is None:
        return ""
    batch, ubatch = said.batches
    return f", -b {batch} -ub {ubatch}, {several(int(said.get('server.checkpoints') or 0), 'checkpoint')}"


def figures(probed: Probed, said: Setting) -> list[Table | Text]:
    """Its tables, and what must be said of them."""
    match probed.found:
        case Reach() as found:
            return [_reach(found)]
        case Checkpoints() as found:
            return [_checkpoints(found)]
        case Prefill() as found:
            return [_prefill(found)]
        case Floor() as found:
            return _floor(found, said)
        case Tools() as found:
            return [_tools(found)]


def _reach(reach: Reach) -> Table:
    table = grid("replaced", "n", "cache_n", "evaluated", "eval, ms", "within reach")
    for edit in reach.edits:
        inside = {True: "yes", False: "no", None: "-"}[edit.inside]
        table.add_row(f"{edit.replaced:,}", str(edit.parts.rows), *_counts(edit.parts), _mid(edit.parts.eval), inside)
    return table


def _checkpoints(found: Checkpoints) -> Table:
    table = grid("prompt", "n", "tokens", "held", "cache_n", "evaluated", "eval, ms")
    for case in found.cases:
        counts = (f"{case.tokens:,}", f"{case.shared:,}", *_counts(case.parts), _mid(case.parts.eval))
        table.add_row(CASES.get(case.case, case.case), str(case.parts.rows), *counts)
    return table


def _prefill(found: Prefill) -> Table:
    table = grid("cold prompt", "n", "cache_n", "evaluated", "eval, ms", "first\ntoken, ms", "tokens/s")
    for one in found.prompts:
        figures = (_mid(one.parts.eval), _mid(one.parts.ttft), _mid(one.parts.rate))
        table.add_row(f"{one.length:,}", str(one.parts.rows), *_counts(one.parts), *figures)
    return table


def _floor(floor: Floor, said: Setting) -> list[Table | Text]:
    grown = grid("new tokens", "n", "evaluated", "batches", "before\nheaders, ms", "eval, ms", "first\ntoken, ms")
    for one in floor.grown:
        # Without checkpoints there are no copies, and no breaks for them.
        steps = "-" if said.get("server.checkpoints") == 0 else str(batches(one.new, said.batches))
        grown.add_row(f"{one.new:,}", str(one.parts.rows), span(one.parts.prompt_n), steps, *_times(one.parts))
    chats = grid(
        "messages", "tools", "n", "evaluated", "render, ms", "before\nheaders, ms", "eval, ms", "first\ntoken, ms"
    )
    for chat in floor.chats:
        figures = (span(chat.parts.prompt_n), _mid(chat.render), *_times(chat.parts))
        chats.add_row(str(chat.messages), str(chat.tools), str(chat.parts.rows), *figures)
    note = "batches: how many the T-4 break makes of the new tokens, predicted; render: /apply-template, there and back"
    return [grown, Text(), chats, Text(note)]


def _tools(found: Tools) -> Table:
    table = grid("turn", "recorded calls", "n", "tool\ncalls", "the same\ntools", "fixture\nmisses")
    for case in found.cases:
        step = f", step {case.step + 1}" if case.step else ""
        counts = map(str, (case.rows, case.called, case.same, case.misses))
        table.add_row(f"{case.turn}{step}", ", ".join(case.wanted), *counts)
    return table


def _counts(parts: Parts) -> tuple[str, str]:
    return span(parts.cache_n), span(parts.prompt_n)


def _times(parts: Parts) -> tuple[str, str, str]:
    return _mid(parts.before), _mid(parts.eval), _mid(parts.ttft)


def _mid(of: Range | None) -> str:
    return number(None if of is None else of.mid)


def _sentence(probed: Probed) -> str:
    match probed.found:
        case Reach() as found:
            return _says_reach(found)
        case Checkpoints() as found:
            return _says_reuse(found)
        case Prefill() as found:
            rates = [f"{_mid(one.parts.rate)} tokens/s at {one.length:,} tokens" for one in found.prompts]
            return f"Cold prompts are evaluated at {listed(rates)}."
        case Floor() as found:
            return _says_floor(found)
        case Tools() as found:
            return _says_tools(found)


def _says_reach(reach: Reach) -> str:
    of = f"in a prompt of {reach.tokens:,} tokens" + (" through the chat route" if reach.route == "chat" else "")
    if reach.cut:
        return f"An edit costs what it replaces and no more: {of}, the cache is cut at the edit itself."
    if reach.edge is None:
        return f"No edit keeps the tail: {of}, {span(reach.past)} tokens are reused whatever is replaced."
    back = ""
    if reach.restored is not None:
        back = f" restores {reach.restored:,}, {reach.tokens - reach.restored:,} before the end"
    if reach.beyond is None:
        return f"An edit of up to {reach.edge:,} tokens{back}: {of}, none lost the tail."
    edge = (
        f"{reach.edge:,} tokens" if reach.beyond == reach.edge + 1 else f"{reach.edge:,} to {reach.beyond - 1:,} tokens"
    )
    return f"The reach is {edge}: {of}, an edit within it{back}; past it {span(reach.past)} are reused."


def _says_reuse(found: Checkpoints) -> str:
    words = {"extension": "a pure extension", "repeat": "an identical repeat", "edit": "an edit"}
    said = []
    for one in found.cases:
        reused = {True: "is reused", False: "is not", None: "is not told"}[one.reused]
        said.append(f"{words.get(one.case, one.case)} {reused} ({span(one.parts.cache_n)} of {one.tokens:,})")
    return f"Of a cached prompt {listed(said)}."


def _says_floor(floor: Floor) -> str:
    said = []
    if floor.grown:
        few, many = floor.grown[0], floor.grown[-1]
        grows = f", {_mid(many.parts.eval)} at {many.new}" if many is not few else ""
        said.append(f"the prompt eval takes {_mid(few.parts.eval)} ms at {several(few.new, 'new token')}{grows}")
    if floor.chats:
        chat = max(floor.chats, key=lambda chat: (chat.tools, chat.messages))
        render = f"{_mid(chat.render)} to render" if chat.render is not None else "an unknown time to render"
        parts = f"{render}, {_mid(chat.parts.before)} before the headers, {_mid(chat.parts.eval)} of prompt eval"
        where = f"{chat.messages} messages with {several(chat.tools, 'tool')}"
        said.append(f"{where} reach the first token after {_mid(chat.parts.ttft)} ms ({parts})")
    return f"A warm turn's floor: {'; '.join(said)}."


def _says_tools(found: Tools) -> str:
    asked, called = (sum(getattr(case, name) for case in found.cases) for name in ("rows", "called"))
    same, misses = (sum(getattr(case, name) for case in found.cases) for name in ("same", "misses"))
    told = f"{called} of {several(asked, 'tool case')} came back as tool calls, {same} with the recorded tools"
    return f"{told}; {misses or 'no'} fixture {'miss' if misses == 1 else 'misses'}."
