"""The keys of a long load, and what is wrong with them."""

from pathlib import Path
from typing import Any

import pytest

from loadsim.scenario.build import dump
from loadsim.scenario.load import load, restore
from loadsim.scenario.model import Phase, Scenario
from loadsim.scenario.schema import schema
from loadsim.scenario.units import Celsius, Duration, Percent, format_percent, parse_celsius, parse_percent
from loadsim.shipped import find
from loadsim.types import BadInput

BASE: dict[str, Any] = {
    "recording": "call",
    "callers": {"a": {"count": 2, "again": True}, "b": {"count": 3, "again": True}},
    "duration": "10 min",
}


def soak(**keys: Any) -> Scenario:
    return restore({key: value for key, value in (BASE | keys).items() if value is not None}, "x")


def wrong(**keys: Any) -> str:
    with pytest.raises(BadInput) as caught:
        soak(**keys)
    return str(caught.value)


def phase(name: str = "all", for_: str = "1 min", callers: Any = 2) -> dict[str, Any]:
    return {"name": name, "for": for_, "callers": callers}


def test_what_a_bare_scenario_means() -> None:
    found = soak()
    assert float(found.window) == 60
    assert found.lasts == 600
    assert not found.phases
    assert (found.baseline.every, found.abort.errors, found.abort.card) == (None, None, None)
    assert soak(duration=None, callers={"a": {"count": 2}}).lasts is None


def test_they_come_back_from_what_a_run_keeps() -> None:
    found = soak(
        duration=None,
        phases=[phase("ramp", "90 s", [0, 5]), phase("full", callers=5)],
        abort={"errors": "12.5 %", "card": "92 C"},
        baseline={"every": "30 s"},
        window="10 s",
    )
    assert found.phases[0] == Phase(name="ramp", for_=Duration(90), callers=[0, 5])
    assert [each.ends for each in found.phases] == [(0, 5), (5, 5)]
    assert found.lasts == 150
    assert found.abort.errors == 0.125
    assert found.abort.card == Celsius(92)
    assert restore(dump(found), "x") == found


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"phases": [phase()]}, "duration: the phases say how long the load lasts; leave it out"),
        ({"phases": [phase(callers=6)]}, "phases: all has 6 callers; there are 5: raise a group's count"),
        ({"phases": [phase(callers=[2, 6])]}, "phases: all has 6 callers; there are 5: raise a group's count"),
        ({"phases": [phase("a"), phase("a")]}, "phases: each phase needs a name of its own; got 'a'"),
        ({"phases": [phase(" ")]}, "phases: each phase needs a name of its own; got ' '"),
        ({"phases": [phase(for_="0 s")]}, "phases: expected a time longer than 0 for all"),
        ({"phases": [phase(callers=0)]}, "phases: no phase has a caller"),
        ({"phases": [phase(callers=[1, 2, 3])]}, "expected a whole number, 0 or more, or a list of 2; got a list"),
        ({"phases": [phase() | {"fro": "1 s"}]}, "unknown key; did you mean for? (allowed: callers, for, name)"),
        ({"phases": [{"name": "a", "callers": 2}]}, "for is missing (a time with its unit"),
        (
            {"phases": [phase()], "callers": {"a": {"count": 2}}},
            "callers.a.again: phases say how many are on calls, so who hangs up calls again: write true",
        ),
        ({"baseline": {"every": "0 s"}}, "baseline.every: expected a time longer than 0"),
        (
            {"baseline": {"every": "1 min", "replies": 0}},
            "baseline.every: there is no baseline, since baseline.replies",
        ),
        (
            {"baseline": {"every": "1 min"}, "duration": None, "callers": {"a": {"count": 2}}},
            "baseline.every: the load has no end that could be told; give a duration, such as 4 h",
        ),
        (
            {"phases": [phase("n" * 21)]},
            "phases: a phase's name has 20 characters at the most, so that tables stay whole; got 21",
        ),
        (
            {"phases": [phase("a\nb")]},
            r"phases: a phase's name is one line of printable characters; got 'a\nb'",
        ),
        ({"phases": [phase("a\x1b[2J")]}, "phases: a phase's name is one line of printable characters"),
        (
            {"callers": {"g" * 21: {"count": 1}}},
            "a group's name has 20 characters at the most, so that tables stay whole; got 21",
        ),
        (
            {"baseline": {"every": "10 min"}},
            "baseline.every: no pause would come: expected less than the load's 10 min; got 10 min",
        ),
        (
            {"phases": [phase()], "baseline": {"every": "2 min"}},
            "baseline.every: no pause would come: expected less than the load's 1 min; got 2 min",
        ),
        (
            {"timeout": {"outage": "10 s", "first_token": "5 s"}},
            "timeout.outage: expected timeout.silence, which is 30 s, or more, since a reply may be waited for",
        ),
        (
            {"timeout": {"outage": "1 min"}},
            "timeout.outage: expected timeout.first_token, which is 2 min, or more, since a reply may be waited for as "
            "long; got 1 min: lower timeout.first_token too, or leave outage out",
        ),
        (
            {"sweep": {"request.x": ["a\nb", "c"]}},
            "sweep: a load point is named after its values: expected 120 printable characters at the most; got 5",
        ),
        ({"sweep": {"request.x": ["a" * 121, "c"]}}, "expected 120 printable characters at the most; got 123"),
        ({"window": "100 ms"}, "window: expected 1 s to 1 h; got 100 ms"),
        ({"window": "2 h"}, "window: expected 1 s to 1 h; got 2 h"),
        (
            {"abort": {"errors": "0 %"}},
            "abort.errors: expected a share in per cent, more than 0 and 100 at the most: 20 %",
        ),
        ({"abort": {"errors": "101 %"}}, "100 at the most: 20 %; got '101 %'"),
        ({"abort": {"errors": 0.2}}, "abort.errors: expected a share in per cent"),
        ({"abort": {"card": "92"}}, "abort.card: expected a temperature in degrees Celsius: 92 C; got '92'"),
        ({"abort": {"card": "92 F"}}, "expected a temperature in degrees Celsius: 92 C; got '92 F'"),
        ({"abort": {"card": "92 C"}, "telemetry": {"every": None}}, "abort.card: the cards are not logged (telemetry)"),
        (
            {"abort": {"card": "92 C"}, "telemetry": {"card": "none"}},
            "abort.card: the cards are not logged (telemetry)",
        ),
        ({"callers": {"a": {"count": 1, "again": True, "start": "at 20 min"}}}, "nobody begins before the scenario's"),
    ],
)
def test_what_cannot_be_is_told(keys: dict[str, Any], said: str) -> None:
    if "phases" in keys and not said.startswith("duration"):
        keys = {"duration": None} | keys
    assert said in wrong(**keys)


def test_a_probe_has_no_phases() -> None:
    assert "window: has no effect on a probe" in wrong(
        callers=None, duration=None, probe={"kind": "reach"}, window="10 s"
    )


@pytest.mark.parametrize("text", ["20 %", "0.1%", "100 %", "33.3 %"])
def test_shares_are_read_and_written(text: str) -> None:
    share = parse_percent(text)
    assert isinstance(share, Percent)
    assert share == pytest.approx(float(text.rstrip(" %")) / 100)
    assert parse_percent(format_percent(share)) == share
    assert format_percent(share).replace(" ", "") == text.replace(" ", "")


def test_temperatures_are_read() -> None:
    assert (parse_celsius("92 C"), parse_celsius("91.5C")) == (Celsius(92), Celsius(91.5))


def test_editors_know_the_keys() -> None:
    keys = schema()["properties"]
    one = keys["phases"]["items"]
    assert sorted(one["properties"]) == ["callers", "for", "name"]
    assert one["required"] == ["name", "for", "callers"]
    assert one["properties"]["for"]["description"] == "how long it lasts."
    assert keys["abort"]["properties"]["errors"]["anyOf"][0]["pattern"].endswith("%)$")
    assert keys["window"]["default"] == "1 min"


@pytest.mark.parametrize(("name", "lasts", "every"), [("soak", 4 * 3600, 300), ("soak_short", 220, 60)])
def test_the_shipped_soaks(name: str, lasts: float, every: float) -> None:
    found = load(name, ())
    assert Path(find("scenarios", name)).name == f"{name}.yaml"
    assert (found.lasts, found.baseline.every) == (lasts, every)
    assert found.server.slots == sum(group.count for group in found.callers.values()) + 1  # one for who is alone


def test_a_run_of_old_may_have_no_phases_at_all() -> None:
    found = soak()
    assert "phases" not in dump(found)
    assert restore(dump(found) | {"phases": []}, "x") == found


def test_an_empty_list_of_phases_in_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("recording: call\ncallers: {a: {count: 1}}\nphases: []\n")
    with pytest.raises(BadInput, match=r"x\.yaml:3: phases: expected a list; got an empty list"):
        load(str(tmp_path / "x.yaml"), ())
