"""Telephone traffic: what calls meet that share slots, and how many callers are served at once.

Traffic is in erlangs: calls begun per second times their length in seconds, so many as would be up at a time if none
were refused. A slot is a trunk: a call holds it from its beginning to its end. Calls begin at random, as those of many
strangers do (Poisson).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Chances = NDArray[np.float64]  # by how many; from 0 on


def erlang_b(slots: int, erlangs: float) -> float:
    """The share of calls that find every slot taken, if those go away.

    For any distribution of lengths with the same mean. By recursion over the slots, which neither overflows nor loses
    digits at thousands of them. Source: Erlang's loss formula, (A^N / N!) / sum(A^k / k!, k = 0..N).
    """
    share = 1.0
    for n in range(1, slots + 1):
        share = erlangs * share / (n + erlangs * share)
    return share


def erlang_c(slots: int, erlangs: float) -> float:
    """The share of calls that wait, if those that find every slot taken wait for one; 1 where the queue has no end.

    For lengths that are distributed exponentially; others wait about as often. Source: Erlang's delay formula,
    N B / (N - A (1 - B)) with B of `erlang_b`.
    """
    if erlangs >= slots:
        return 1.0
    blocked = erlang_b(slots, erlangs)
    return slots * blocked / (slots - erlangs * (1 - blocked))


def mean_wait(slots: int, erlangs: float, call: float) -> float | None:
    """Seconds that a call waits for its slot, the mean over all calls, of `call` seconds each. None: without end."""
    return None if erlangs >= slots else erlang_c(slots, erlangs) * call / (slots - erlangs)


def slots_for(erlangs: float, blocking: float) -> int:
    """The fewest slots that refuse at most `blocking` of the calls; `blocking` is more than 0."""
    share, slots = 1.0, 0
    while share > blocking:
        slots += 1
        share = erlangs * share / (slots + erlangs * share)
    return slots


def erlangs_for(slots: int, blocking: float) -> float:
    """The most traffic of which `slots` slots refuse at most `blocking`, which is more than 0 and less than 1."""
    low, high = 0.0, 1.0
    while erlang_b(slots, high) <= blocking:
        low, high = high, high * 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if erlang_b(slots, middle) <= blocking else (low, middle)
    return low


def on_the_line(slots: int, erlangs: float) -> Chances:
    """How likely 0, 1, ... `slots` calls are up, if calls that find no slot go away. Its last is `erlang_b`."""
    if not erlangs:
        return fixed(0, slots)
    logs = np.array([k * math.log(erlangs) - math.lgamma(k + 1) for k in range(slots + 1)])
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def at_once(calls: Chances, share: float) -> Chances:
    """How likely 0, 1, ... callers are served at the same time; each is for `share` of a call, whatever others do.

    `calls`: how likely so many calls are up. Of a fixed number it is the binomial distribution, which is Engset's where
    every caller has a slot: nobody is refused for another's sake.
    """
    found, of = np.zeros(len(calls)), fixed(0, len(calls) - 1)
    for chance in calls:
        found += chance * of
        of = (1 - share) * of + share * np.concatenate(([0.0], of[:-1]))
    return found


def fixed(calls: int, most: int | None = None) -> Chances:
    """So many calls and no others, for `at_once`; of `most` that there could be."""
    found = np.zeros((calls if most is None else most) + 1)
    found[calls] = 1.0
    return found


def or_more(chances: Sequence[float] | Chances) -> Chances:
    """How likely it is so many or more."""
    return np.asarray(np.minimum(np.cumsum(np.asarray(chances)[::-1])[::-1], 1.0))


def usual(chances: Sequence[float] | Chances, share: float = 0.95) -> int:
    """The number that is not exceeded for `share` of the time."""
    return int(np.searchsorted(np.cumsum(chances), share - 1e-12))
