"""Which number of callers is measured next, from what is known: doubling, then bisection, then the noise's two edges.

The more callers, the worse: what holds holds for fewer, what fails fails for more. A number whose verdict is unclear,
since it is nearer to a limit than the noise, lies between the largest that holds and the smallest that fails.
"""

from collections.abc import Mapping

import msgspec

from .verdict import Verdict


class Edges(msgspec.Struct, frozen=True):
    """`low`: the largest number that holds, 0 if none does; `high`: the largest that may; None: no end is known."""

    low: int
    high: int | None


def edges(known: Mapping[int, Verdict]) -> Edges:
    low = max((count for count, verdict in known.items() if verdict == "meets"), default=0)
    fails = _fails(known, low)
    return Edges(low, None if fails is None else fails - 1)


def next_count(known: Mapping[int, Verdict], most: int) -> int | None:
    """The number to measure next, of `most` at the most; None: nothing more would tell.

    While nothing has failed the number doubles. Then the middle is taken between the largest that holds and the
    smallest that does not clearly, and beside an unclear number its neighbours, then further ones: once below, until
    one holds, and once above, until one fails.
    """
    low, fails = edges(known).low, _fails(known, edges(known).low)
    unclear = sorted(
        count for count, verdict in known.items() if verdict == "unclear" and low < count < (fails or count + 1)
    )
    top = unclear[0] if unclear else fails
    if top is None:
        return None if low >= most else min(max(2 * low, 1), most)
    if top - low > 1:
        width = unclear[-1] - top + 1 if unclear else top
        return max(top - width, (low + top) // 2)
    if not unclear:
        return None
    last = unclear[-1]
    if fails is None:
        return None if last >= most else min(last + last - low, most)
    return None if fails - last == 1 else min(last + last - low, (last + fails) // 2)


def _fails(known: Mapping[int, Verdict], low: int) -> int | None:
    return min((count for count, verdict in known.items() if verdict == "misses" and count > low), default=None)
