"""When a group's calls begin."""

import random
from itertools import accumulate

from ..recording.model import Recording
from ..scenario.units import Start


def arrivals(start: Start, count: int, length: float, chance: random.Random) -> list[float]:
    """Seconds from the load's start to each caller's; `length`: seconds that a call takes.

    `spread` and `call` are even, the first at 0; `every` and `poisson` callers come one by one, the first after a wait.
    """
    match start.how:
        case "together":
            return [0.0] * count
        case "at":
            return [start.seconds] * count
        case "every":
            return [start.seconds * (i + 1) for i in range(count)]
        case "poisson":
            return list(accumulate(chance.expovariate(1 / start.seconds) for _ in range(count)))
    over = length if start.how == "call" else start.seconds
    return [over * i / count for i in range(count)]


def length(recording: Recording, turns: range) -> float:
    """How long the recorded call takes over these turns; the fresh message is taken for an instant."""
    said = [recording.turns[number - 1] for number in turns if number <= len(recording.turns)]
    return max(said[-1].agent.end - said[0].caller.start, 0.0) if said else 0.0
