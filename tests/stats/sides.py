"""Sides of a comparison made by hand."""

from collections.abc import Sequence
from typing import Any

from loadsim.stats.comparison import Crowd, Measured, Named, Side
from loadsim.stats.metrics import ONE_CALLER, Sample

STEADY = (1.0, 1.01, 0.99, 1.005, 0.995)


def crowd(name: str = "warm", times: float = 1.0, noise: Sequence[float] = STEADY, **fields: Any) -> Crowd:
    """A group whose first tokens come after 100 ms times `times`, and whose replies run at 50 tokens/s over it; one
    sample per value of `noise`."""
    samples = [
        Sample(
            figures={"ttft p50": 0.1 * times * each, "decode p50": 50 / times / each, "share": 0.5},
            counts={"errors": (0, 12)},
        )
        for each in noise
    ]
    plain: dict[str, Any] = {"prompt": 6500.0, "new": 95.0, "reply": 45.0, "cap": 45.0, "kinds": {"extension": 60}}
    return Crowd(**{"name": name, "samples": samples} | plain | fields)


def point(*crowds: Crowd, name: str = "12 warm", **fields: Any) -> Measured:
    found = crowds or (crowd(),)
    return Measured(name=name, crowds={each.name: each for each in found}, **fields)


def side(*points: Measured, path: str = "run", **fields: Any) -> Side:
    named = Named(path=path, id=path, ended="complete", started="2026-11-30T12:34:56+00:00")
    return Side(run=named, points=list(points or (point(),)), **fields)


def both(times: float = 1.0, alone: float = 1.0, **fields: Any) -> tuple[Side, Side]:
    """A, and B whose load takes `times` as long; one caller alone takes `alone` times as long."""
    return (
        side(point(crowd(ONE_CALLER), crowd()), path="a"),
        side(point(crowd(ONE_CALLER, alone), crowd(times=times), **fields), path="b"),
    )
