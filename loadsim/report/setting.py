"""What the scenario said at a load point. Runs of old lack keys: a value that is not there is None."""

from collections.abc import Iterable
from typing import Any

import msgspec

from ..results.read import Run
from ..scenario.sweep import combine
from ..scenario.units import parse_duration
from ..stats.heard import Around

VOICE = 4.5  # tokens/s that a voice speaks, the article's bar


class Setting(msgspec.Struct, frozen=True):
    """A scenario as run.json has it, with a load point's swept values in it."""

    scenario: dict[str, Any]
    embedded: bool

    def get(self, key: str) -> Any:
        """The value of a dotted key."""
        found: Any = self.scenario
        for name in key.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        return found

    @property
    def paced(self) -> bool:
        return bool(self.get("pace.by") == "speech")

    @property
    def around(self) -> Around:
        """What stands around the server's time, as the scenario assumes it."""
        return Around(
            endpointing=seconds(self.get("pace.endpointing")),
            tts=seconds(self.get("voice.tts")),
            network=seconds(self.get("voice.network")),
            eager=None if self.get("speculation.by") in (None, "none") else seconds(self.get("speculation.eager")),
            time_scale=_number(self.get("pace.time_scale")) or 1.0,
        )

    @property
    def cold(self) -> list[str]:
        """The groups whose callers share nothing with any slot."""
        return [name for name in self.get("callers") or {} if self.get(f"callers.{name}.cache") == "cold"]

    @property
    def joined(self) -> bool:
        """Whether there are callers with a history, whom cold ones join."""
        return bool(set(self.get("callers") or {}) - set(self.cold))

    @property
    def batches(self) -> tuple[int, int] | None:
        """-b and -ub; None: another's server, which does not tell, or a command that does not take them."""
        batch, ubatch, launch = self.get("server.batch"), self.get("server.ubatch"), self.get("server.launch") or ""
        told = self.embedded or ("{batch}" in launch and "{ubatch}" in launch)
        return (batch, ubatch) if told and batch and ubatch else None

    def ordered(self, groups: Iterable[str]) -> list[str]:
        """Groups as the scenario lists them, each once; rows are in the order of their ends, which is chance."""
        found = list(dict.fromkeys(groups))
        listed = list(self.get("callers") or {})
        return sorted(found, key=lambda name: listed.index(name) if name in listed else len(listed) + found.index(name))

    def chosen(self, group: str) -> bool:
        """Whether the server chooses the slots of the group."""
        return bool(self.get(f"callers.{group}.slots") == "server")


def setting(run: Run, point: str) -> Setting:
    """The scenario at a load point."""
    scenario = run.facts.get("scenario") or {}
    for key, value in sets(run, point).items():
        scenario = _put(scenario, key.split("."), value)
    return Setting(scenario, bool(run.facts.get("server", {}).get("embedded")))


def sets(run: Run, point: str) -> dict[str, Any]:
    """What a load point sets, by dotted key."""
    told: dict[str, Any] | None = (run.facts.get("points") or {}).get(point, {}).get("sets")
    return _recombined(run, point) if told is None else told


def _recombined(run: Run, point: str) -> dict[str, Any]:
    """What a point sets, of a run of old, which does not tell it but lists its points in the scenario's order."""
    scenario = run.facts.get("scenario") or {}
    sweep = scenario.get("sweep") or {}
    combined = combine(sweep.values(), scenario.get("sweep_by"))
    values = dict(zip(run.facts.get("points") or {}, combined, strict=False)).get(point, ())
    return dict(zip(sweep, values, strict=False))


def _put(tree: Any, keys: list[str], value: Any) -> Any:
    """`tree` with a value put in; `pace: speech` is short for `{by: speech}`."""
    inner = tree if isinstance(tree, dict) else {}
    if not keys:
        return inner | {"by": value} if isinstance(value, str) and "by" in inner else value
    return inner | {keys[0]: _put(inner.get(keys[0]), keys[1:], value)}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def seconds(text: Any) -> float | None:
    """A duration as scenarios write it; None: it is none."""
    try:
        return float(parse_duration(text)) if isinstance(text, str) else None
    except ValueError:
        return None
