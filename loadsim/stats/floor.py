"""What a warm turn's prompt eval is made of: a part that is always there, one per further batch, one per new token."""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from scipy.special import stdtrit

from .probe import Grown

CONFIDENCE = 0.95

Batches = Callable[[int], int]
"""In how many batches so many new tokens are evaluated."""


class Cost(msgspec.Struct, frozen=True):
    """Milliseconds of one more, with their 95 % interval by Student's t."""

    ms: float
    low: float
    high: float


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """Prompt evals of `n` numbers of new tokens, fitted by least squares.

    base: ms of one batch with nothing in it; token: of each new token; batch: of each further batch, apart from its
    tokens; None: all were evaluated in as many. r2: the part of the variance that the fit explains; None where the
    times do not vary.
    """

    base: float
    token: Cost
    batch: Cost | None
    r2: float | None
    n: int


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """From the most new tokens that are one batch to the fewest that are two: both numbers, and both prompt evals."""

    one: int
    two: int
    one_ms: float
    two_ms: float


def fit(grown: Sequence[Grown], batches: Batches) -> Fit | None:
    """Of the medians of prompts that grew by 1, 4, 5 ... tokens.

    None: too few numbers of new tokens to tell the parts from each other and from chance.
    """
    known = [(one.new, batches(one.new), one.parts.eval.mid) for one in grown if one.parts.eval is not None]
    if not known:
        return None
    new, pieces, ms = np.array(known, dtype=np.float64).T
    columns = [np.ones_like(new), new]
    if len(set(pieces)) > 1:
        columns.append(pieces - 1)
    parts = np.column_stack(columns)
    free = len(ms) - len(columns)
    if free < 1 or np.linalg.matrix_rank(parts) < len(columns):
        return None
    values, *_ = np.linalg.lstsq(parts, ms)
    left = float(np.sum((ms - parts @ values) ** 2))
    spread = float(np.sum((ms - ms.mean()) ** 2))
    errors = np.sqrt(np.diag(np.linalg.inv(parts.T @ parts)) * left / free)
    margins = errors * stdtrit(free, (1 + CONFIDENCE) / 2)
    costs = [Cost(float(v), float(v - m), float(v + m)) for v, m in zip(values, margins, strict=True)]
    return Fit(
        base=costs[0].ms,
        token=costs[1],
        batch=costs[2] if len(costs) > 2 else None,
        r2=1 - left / spread if spread else None,
        n=len(ms),
    )


def step(grown: Sequence[Grown], batches: Batches) -> Step | None:
    """The T-4 break, as measured. None: there is no row on one of its sides."""
    known = {one.new: one.parts.eval.mid for one in grown if one.parts.eval is not None}
    one = max((new for new in known if batches(new) == 1), default=None)
    two = min((new for new in known if batches(new) == 2), default=None)
    return None if one is None or two is None else Step(one=one, two=two, one_ms=known[one], two_ms=known[two])
