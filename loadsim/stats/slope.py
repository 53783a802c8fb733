"""The slope: by how much a figure grows with another one, such as a time with each caller more, by least squares."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median

import msgspec

from ..types import RequestRow
from .headline import in_headline, last_attempts
from .spread import since

CONFIDENCE = 0.95

Sample = tuple[float, float]
"""What a figure hangs on, and the figure: callers of a load point, and the median of one of its repeats in seconds."""


class Slope(msgspec.Struct, frozen=True, kw_only=True):
    """The line through `n` samples: `per` more with each caller, minute or degree more, from `start` at none.

    low, high: the 95 % interval of `per` by Student's t, with n - 2 degrees of freedom; None under 3 samples. fit: R²,
    the part of the samples' variance that the line explains; None where they do not vary.
    """

    per: float
    start: float
    low: float | None
    high: float | None
    fit: float | None
    n: int

    def at(self, x: float) -> float:
        return self.start + self.per * x


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """Samples of a first token and of its two parts, by callers."""

    first_token: list[Sample]
    before_headers: list[Sample]
    prompt_eval: list[Sample]


def slope(samples: Sequence[Sample]) -> Slope | None:
    """None: they are not of two or more numbers of callers, or whatever the figure hangs on."""
    along, values = [each[0] for each in samples], [each[1] for each in samples]
    if len(set(along)) < 2:
        return None
    from scipy import stats  # takes half a second and 60 MB, which a load must not carry

    line = stats.linregress(along, values)
    free = len(samples) - 2
    flat = len(set(values)) == 1  # no variance to explain, and no error either
    error = 0.0 if flat else float(line.stderr)
    margin = error * float(stats.t.ppf((1 + CONFIDENCE) / 2, free)) if free else None
    per = float(line.slope)
    return Slope(
        per=per,
        start=float(line.intercept),
        low=None if margin is None else per - margin,
        high=None if margin is None else per + margin,
        fit=None if flat else float(line.rvalue) ** 2,
        n=len(samples),
    )


def growth(rows: Iterable[RequestRow]) -> Growth:
    """A sample per load point and repeat, of the replies that count; `rows` of several load points."""
    found = list(rows)
    return Growth(
        first_token=medians(found, lambda row: since(row.sent_s, row.first_token_s)),
        before_headers=medians(found, lambda row: since(row.sent_s, row.headers_s)),
        prompt_eval=medians(found, lambda row: None if row.prompt_ms is None else row.prompt_ms / 1e3),
    )


def medians(rows: Iterable[RequestRow], of: Callable[[RequestRow], float | None]) -> list[Sample]:
    """A figure of each load point and repeat by its callers: the median `of` the replies that count."""
    points: dict[str, list[RequestRow]] = {}
    for row in rows:
        if row.row == "load" and row.outcome != "superseded":
            points.setdefault(row.point, []).append(row)
    found: list[Sample] = []
    for load in points.values():
        crowd = len({(row.group, row.caller) for row in load})
        repeats: dict[int, list[float]] = {}
        for row in last_attempts(load):
            if in_headline(row) and (value := of(row)) is not None:
                repeats.setdefault(row.repeat, []).append(value)
        found += [(crowd, median(values)) for values in repeats.values()]
    return sorted(found)
