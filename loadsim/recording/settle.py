"""Brings the times of turns into an order that a call can have."""

from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from .model import Reply, Turn, Utterance

Said = TypeVar("Said", Utterance, Reply)


def settled(greeting: Reply | None, turns: Sequence[Turn]) -> tuple[list[Turn], int]:
    """The turns, later where somebody would talk over themselves or answer what is not yet asked; how many moved."""
    found: list[Turn] = []
    moved = 0
    caller_from, agent_from = (greeting.start, greeting.end) if greeting else (0.0, 0.0)
    for turn in turns:
        caller = _from(turn.caller, caller_from)
        agent = _from(turn.agent, max(agent_from, caller.start))
        murmurs = [m for m in turn.backchannels if agent.start <= m.start and m.end <= agent.end]
        apart = [m for m, before in zip(murmurs, [None, *murmurs], strict=False) if not before or m.start >= before.end]
        if (caller.start, agent.start) != (turn.caller.start, turn.agent.start):
            moved += 1
        found.append(replace(turn, caller=caller, agent=agent, backchannels=tuple(apart)))
        caller_from = max([caller.end, agent.start, *(murmur.end for murmur in apart)])
        agent_from = agent.end
    return found, moved


def _from(said: Said, least: float) -> Said:
    """The utterance from `least` on: its start moves, and its end if there would be nothing left."""
    if said.start >= least:
        return said
    end = said.end if said.end > least else least + said.end - said.start
    moved = replace(said, start=least, end=round(end, 3))
    if isinstance(moved, Utterance):
        pauses = tuple(pause for pause in moved.pauses if least < pause.start and pause.end < moved.end)
        return replace(moved, pauses=pauses)
    return moved
