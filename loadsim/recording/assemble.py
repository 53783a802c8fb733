"""Makes a recording of a draft: who speaks again goes on with the same turn, tools and murmurs go where they belong."""

import re
from collections import Counter
from collections.abc import Sequence
from random import Random

import msgspec

from ..types import BadInput
from .draft import Draft, Item, Said, Speaker, Step
from .model import Pause, Recording, Reply, ToolCall, Turn, Utterance
from .settle import settled
from .spoken import apart, has_controls, heard_of, is_murmur, spoken
from .timing import Timed, timed
from .tools import Answers, declared

LEAST_PAUSE_S = 0.3  # a shorter silence ends no turn


class Stretch(msgspec.Struct):
    """One speaker's utterances until the other speaks, and what came with them."""

    by: Speaker
    parts: list[Timed]
    steps: list[tuple[ToolCall, ...]] = msgspec.field(default_factory=list)
    murmurs: list[Utterance] = msgspec.field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(part.said.text for part in self.parts)

    @property
    def end(self) -> float:
        return max(part.end for part in self.parts)

    @property
    def drawn(self) -> bool:
        return any(part.drawn for part in self.parts)


def assemble(draft: Draft, title: str, source: str, chance: Random) -> tuple[Recording, list[str]]:
    """The recording, and notes: what could not be used, what was drawn, how often. `chance` draws missing times.

    Raises BadInput if nobody speaks and is answered.
    """
    notes = Counter(draft.notes)
    items = _in_order(_clean(draft.items, notes))
    stretches = _stretches(items, notes, chance)
    greeting = None
    if stretches and stretches[0].by == "agent":
        greeting = _reply(stretches, 0, notes)
        stretches = stretches[1:]
    turns = [_turn(stretches, at, notes) for at in range(0, len(stretches) - 1, 2)]
    if not turns:
        raise BadInput("no turns: nobody speaks and is answered")
    last = stretches[-1] if len(stretches) % 2 else None
    notes["left out: tool calls after the last reply"] += sum(map(len, last.steps)) if last else 0
    notes["a last caller message without a reply, now `fresh`"] += last is not None
    turns, moved = settled(greeting, turns)
    notes["times moved so that nobody talks over themselves"] += moved
    tools = declared(draft.tools, turns, notes)
    recording = Recording(title, source, spoken_system(draft.system), tools, tuple(turns), greeting)
    if last:
        recording = msgspec.structs.replace(recording, fresh=last.text)
    return recording, [f"{text} ({count})" for text, count in notes.items() if count]


def spoken_system(text: str) -> str:
    """A system prompt with lines, but without other control characters."""
    return "\n".join(re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", row) for row in re.split(r"\r\n|\r|\n", text))


def _clean(items: Sequence[Item], notes: Counter[str]) -> list[Item]:
    """The items with speakable texts, and utterances parted at their longer silences."""
    found: list[Item] = []
    for item in items:
        if not isinstance(item, Said):
            found.append(item)
            continue
        text = spoken(item.text)
        if not text:
            notes["left out: empty messages"] += 1
            continue
        notes["texts whose line breaks or control characters are now spaces"] += has_controls(item.text)
        said = msgspec.structs.replace(item, text=text)
        found += apart(said, LEAST_PAUSE_S) if said.by == "caller" else [said]
    return found


def _in_order(items: list[Item]) -> list[Item]:
    """The items by the time they start, where all utterances have one; tools stay behind what they followed."""
    said = [item for item in items if isinstance(item, Said)]
    starts = [one.start for one in said if one.start is not None]
    if len(starts) < len(said):
        return items
    keys, key = [], float("-inf")
    for item in items:
        key = item.start if isinstance(item, Said) and item.start is not None else key
        keys.append(key)
    return [item for _, _, item in sorted(zip(keys, range(len(items)), items, strict=True), key=lambda one: one[:2])]


def _stretches(items: list[Item], notes: Counter[str], chance: Random) -> list[Stretch]:
    times = iter(timed([item for item in items if isinstance(item, Said)], chance))
    answers = Answers(items)
    found: list[Stretch] = []
    for item in items:
        if isinstance(item, Step):
            _step(found, answers.calls(item, notes), notes)
        elif isinstance(item, Said):
            part = next(times)
            notes["utterances whose times are drawn from how people talk"] += part.drawn
            last = found[-1] if found else None
            if last and last.by == part.said.by:
                last.parts.append(part)
            elif last and is_murmur(part.said.text) and _inside(part, last.parts[-1]):
                if part.said.by == "caller":
                    last.murmurs.append(Utterance(part.said.text, part.start, part.end))
                else:
                    notes["left out: murmurs of the agent while the caller speaks"] += 1
            else:
                found.append(Stretch(part.said.by, [part]))
    notes["left out: results of no known call"] += answers.left
    return found


def _step(found: list[Stretch], calls: tuple[ToolCall, ...], notes: Counter[str]) -> None:
    asked = next((stretch for stretch in reversed(found) if stretch.by == "caller"), None)
    if asked is None:
        notes["left out: tool calls before the caller speaks"] += len(calls)
    elif calls:
        asked.steps.append(calls)
        notes["tool calls after the reply had begun, now before it"] += len(calls) if found[-1] is not asked else 0


def _inside(part: Timed, other: Timed) -> bool:
    return not part.drawn and not other.drawn and other.start <= part.start and part.end <= other.end


def _turn(stretches: list[Stretch], at: int, notes: Counter[str]) -> Turn:
    asked, answered = stretches[at : at + 2]
    caller = Utterance(asked.text, asked.parts[0].start, asked.end, _pauses(asked.parts), asked.drawn)
    return Turn(caller, _reply(stretches, at + 1, notes), tuple(asked.steps), tuple(answered.murmurs))


def _pauses(parts: list[Timed]) -> tuple[Pause, ...]:
    found, words, until = [], 0, parts[0].start
    for part in parts:
        if words and part.start - until >= LEAST_PAUSE_S:
            found.append(Pause(words, until, part.start))
        words += len(part.said.text.split())
        until = max(until, part.end)
    return tuple(found)


def _reply(stretches: list[Stretch], at: int, notes: Counter[str]) -> Reply:
    """What the agent said, up to where the caller cut in if the file has the rest of it."""
    stretch = stretches[at]
    reply = Reply(stretch.text, stretch.parts[0].start, stretch.end, drawn=stretch.drawn)
    last = stretch.parts[-1]
    if not last.said.interrupted:
        return reply
    cut = stretches[at + 1].parts[0].start if at + 1 < len(stretches) else last.end
    if not last.said.whole:
        notes["cut replies of which the file has only what was heard, kept as whole ones"] += 1
        return reply
    heard = heard_of(last.said, last.start, last.end, cut)
    if heard is None:  # the cut came before the first word or behind the last
        return reply
    before = [part.said.text for part in stretch.parts[:-1]]
    return msgspec.structs.replace(reply, end=cut, heard=" ".join([*before, heard]))
