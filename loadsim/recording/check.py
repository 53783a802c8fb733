"""What is wrong with a call as data: its times, cuts, tool calls and texts."""

import math
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

from .model import Pause, Recording, Reply, Turn, Utterance
from .schema import form, mismatches

NEAR_S = 1.0  # a caller who cuts in starts to speak no further from the cut than this
CALLER_PACE = (0.5, 6.0)  # words per second; people speak at 1.8 to 4.8 (p10, p99)
AGENT_PACE = (0.0, 7.0)


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong, and where. A warning is odd, but no reason not to use the recording."""

    where: str
    text: str
    warning: bool = False

    def __str__(self) -> str:
        return f"{'warning: ' if self.warning else ''}{self.where}: {self.text}"


def check(recording: Recording) -> list[Finding]:
    """All findings, in the order of the call; turns, steps and calls are numbered from 1."""
    return [*_opening(recording), *_tools(recording), *_greeting(recording), *_turns(recording)]


def _opening(recording: Recording) -> Iterator[Finding]:
    if not recording.system.strip():
        yield Finding("system", "no text", warning=True)
    yield from _characters("system", recording.system, allowed="\n\t")
    yield from _text("fresh", recording.fresh)
    if not recording.turns:
        yield Finding("turns", "there are none")


def _tools(recording: Recording) -> Iterator[Finding]:
    seen: set[str] = set()
    for number, tool in enumerate(recording.tools, 1):
        problems = list(form(tool))
        yield from (Finding(f"tool {number}", problem) for problem in problems)
        if not problems:
            name = tool["function"]["name"]
            if name in seen:
                yield Finding(f"tool {number}", f"{name} is declared twice")
            seen.add(name)


def _greeting(recording: Recording) -> Iterator[Finding]:
    greeting, turns = recording.greeting, recording.turns
    if greeting is None:
        return
    yield from _utterance("greeting", greeting, greeting.in_history, AGENT_PACE)
    yield from _cut("greeting", greeting, turns[0].caller if turns else None)
    if turns and greeting.start > turns[0].caller.start:
        yield Finding("greeting", "starts after the caller does in turn 1")
    if turns and greeting.end > turns[0].agent.start:
        yield Finding("turn 1: agent", "starts before the greeting ends")


def _turns(recording: Recording) -> Iterator[Finding]:
    turns, seen = recording.turns, set[str]()
    well_formed = (tool["function"] for tool in recording.tools if not list(form(tool)))
    declared = {function["name"]: function.get("parameters") for function in well_formed}
    for number, turn in enumerate(turns, 1):
        here = f"turn {number}"
        yield from _utterance(f"{here}: caller", turn.caller, turn.caller.text, CALLER_PACE)
        yield from _pauses(f"{here}: caller", turn.caller)
        yield from _utterance(f"{here}: agent", turn.agent, turn.agent.in_history, AGENT_PACE)
        yield from _calls(here, turn, declared, seen)
        yield from _backchannels(here, turn)
        if turn.agent.start < turn.caller.start:
            yield Finding(f"{here}: agent", "replies before the caller speaks")
        elif turn.agent.start < turn.caller.end:
            early = turn.caller.end - turn.agent.start
            yield Finding(f"{here}: agent", f"replies {early:.2f} s before the caller has ended", warning=True)
        if number > 1:
            yield from _order(number, turns[number - 2], turn)
        yield from _cut(f"{here}: agent", turn.agent, turns[number].caller if number < len(turns) else None)


def _utterance(where: str, said: Utterance | Reply, spoken: str, pace: tuple[float, float]) -> Iterator[Finding]:
    """An utterance by itself; `spoken` is the part of its text that was said between its times."""
    yield from _text(where, said.text)
    if problem := _span(said):
        yield Finding(where, problem)
        return
    words, seconds = len(spoken.split()), said.end - said.start
    if isinstance(said, Utterance):
        seconds -= sum(pause.end - pause.start for pause in said.pauses if not _span(pause))
    if words and seconds > 0 and not pace[0] <= words / seconds <= pace[1]:
        text = f"speaks {words / seconds:.2f} words/s, people {pace[0]:g} to {pace[1]:g}"
        yield Finding(where, text, warning=True)


def _pauses(where: str, said: Utterance) -> Iterator[Finding]:
    """An utterance's silences: inside it, one after the other, each between two of its words."""
    words = len(said.text.split())
    before: Pause | None = None
    for number, pause in enumerate(said.pauses, 1):
        here = f"{where}: pause {number}"
        if not 1 <= pause.after < words:
            among = f"1 to {words - 1}" if words > 1 else "none, in a text of one word"
            yield Finding(here, f"after {pause.after} words; expected {among}")
        if problem := _span(pause):
            yield Finding(here, problem)
        elif not said.start < pause.start or not pause.end < said.end:
            yield Finding(here, "outside the utterance")
        elif before and (pause.start <= before.end or pause.after <= before.after):
            yield Finding(here, "no words between it and the one before it")
        before = pause


def _span(said: Utterance | Reply | Pause) -> str | None:
    """What is wrong with its two times."""
    times = (said.start, said.end)
    if not all(map(math.isfinite, times)):
        return f"not a time: {next(time for time in times if not math.isfinite(time))}"
    if min(times) < 0:
        return f"a time before the call: {min(times):g} s"
    return None if said.start < said.end else f"starts at {said.start:g} s, ends at {said.end:g} s"


def _backchannels(here: str, turn: Turn) -> Iterator[Finding]:
    for number, murmur in enumerate(turn.backchannels, 1):
        where = f"{here}: backchannel {number}"
        yield from _text(where, murmur.text)
        if problem := _span(murmur):
            yield Finding(where, problem)
        elif murmur.start < turn.agent.start or murmur.end > turn.agent.end:
            yield Finding(where, "outside the agent's speech")
    for number, (one, other) in enumerate(pairwise(turn.backchannels), 2):
        if other.start < one.end:
            yield Finding(f"{here}: backchannel {number}", "starts before the one before it ends")


def _order(number: int, before: Turn, turn: Turn) -> Iterator[Finding]:
    """A turn beside the one before it. Callers may talk over the agent; nobody talks over themselves."""
    here, past = f"turn {number}", f"turn {number - 1}"
    start = turn.caller.start
    if start < before.caller.start:
        yield Finding(here, f"out of order: starts at {start:g} s, {past} at {before.caller.start:g} s")
        return
    if start < before.caller.end:
        yield Finding(f"{here}: caller", f"starts before the caller has ended {past}")
    elif start < before.agent.start:
        yield Finding(f"{here}: caller", f"starts before the reply of {past} does")
    elif any(start < murmur.end for murmur in before.backchannels):
        yield Finding(f"{here}: caller", f"starts before the backchannel of {past} ends")
    if turn.agent.start < before.agent.end:
        yield Finding(f"{here}: agent", f"starts before the reply of {past} ends")


def _cut(agent: str, reply: Reply, after: Utterance | None) -> Iterator[Finding]:
    heard = reply.heard
    if heard is None:
        return
    if not heard.strip():
        yield Finding(f"{agent}.heard", "no text; leave it out for a reply that was heard whole")
    elif heard == reply.text or not reply.text.startswith(heard):
        yield Finding(f"{agent}.heard", "expected a beginning of the text, and not all of it")
    if after and not (after.start <= reply.end <= after.end or abs(after.start - reply.end) <= NEAR_S):
        text = f"cut at {reply.end:g} s, but the caller speaks from {after.start:g} to {after.end:g} s"
        yield Finding(f"{agent}.heard", text)


def _calls(here: str, turn: Turn, declared: dict[str, Any], seen: set[str]) -> Iterator[Finding]:
    """A turn's tool calls beside the declared tools' schemas and the ids `seen` so far."""
    for step, calls in enumerate(turn.tools, 1):
        if not calls:
            yield Finding(f"{here}: step {step}", "no calls; leave the step out")
        for number, call in enumerate(calls, 1):
            where = f"{here}: step {step}, call {number}"
            if not call.id or call.id in seen:
                yield Finding(where, f"the id {call.id} stands twice" if call.id else "no id")
            seen.add(call.id)
            if call.name not in declared:
                known = ", ".join(sorted(declared)) or "none"
                yield Finding(where, f"the tool {call.name} is not declared (declared: {known})")
            else:
                for problem in mismatches(call.arguments, declared[call.name]):
                    yield Finding(where, f"arguments of {call.name}: {problem}")


def _text(where: str, text: str) -> Iterator[Finding]:
    if not text.strip():
        yield Finding(where, "no text")
    yield from _characters(where, text)


def _characters(where: str, text: str, allowed: str = "") -> Iterator[Finding]:
    """Characters that no voice speaks and no JSON carries: controls, and halves of a character."""
    wrong = next((c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in allowed), None)
    if wrong is not None:
        yield Finding(where, f"the control character {wrong!a} in its text")
