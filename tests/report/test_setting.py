"""What the scenario said at a load point."""

from typing import Any

import pytest

from loadsim.report.setting import setting
from loadsim.stats.heard import Around
from tests.report.runs import SPEECH, run_of, words
from tests.stats.rows import row


def test_swept_values_are_in_it_by_the_grids_order() -> None:
    scenario: dict[str, Any] = {
        "callers": {"warm": {"count": 12, "cache": "warm"}, "j": {"cache": "cold"}},
        "sweep": {"callers.warm.count": [4, 8], "callers.j.cache": ["cold", "warm"]},
    }
    names = ("4c", "4w", "8c", "8w")
    run = run_of(row(), scenario=scenario, points={name: {} for name in names})
    found = {name: setting(run, name) for name in names}
    assert [found[name].get("callers.warm.count") for name in names] == [4, 4, 8, 8]
    assert [found[name].cold for name in names] == [["j"], [], ["j"], []]
    assert found["8w"].get("callers.warm.cache") == "warm"
    assert scenario["callers"]["warm"]["count"] == 12  # the run itself is left as it is


def test_what_a_point_sets_is_told_whatever_the_order() -> None:
    points = {
        "8": {"sets": {"callers.warm.count": 8, "pace": "speech"}},
        "4": {"sets": {"callers.warm.count": 4}},
        "as it is": {"sets": {}},
    }
    swept = {"callers": {"warm": {"count": 12}}, "pace": {"by": "at_once"}}
    for scenario in (swept, swept | {"sweep": {"callers.warm.count": [4, 8]}}):
        run = run_of(row(), scenario=scenario, points=points)
        assert [setting(run, name).get("callers.warm.count") for name in points] == [8, 4, 12]
        assert [setting(run, name).paced for name in points] == [True, False, False]


def test_zipped_values_stand_side_by_side() -> None:
    scenario = {"sweep": {"server.batch": [512, 2048], "server.ubatch": [128, 512]}, "sweep_by": "zip"}
    run = run_of(row(), scenario=scenario, embedded=True, points={"a": {}, "b": {}})
    assert [setting(run, name).batches for name in ("a", "b")] == [(512, 128), (2048, 512)]


def test_a_word_in_a_sections_place_is_short_for_by() -> None:
    swept = SPEECH | {"pace": SPEECH["pace"] | {"by": "at_once"}, "sweep": {"pace": ["at_once", "speech"]}}
    run = run_of(row(), scenario=swept, points={"a": {}, "b": {}})
    assert [setting(run, name).paced for name in ("a", "b")] == [False, True]
    assert setting(run, "b").around == Around(endpointing=0.5, tts=0.15, network=0.11)


@pytest.mark.parametrize("scenario", [None, {}, {"callers": {"warm": {"count": 12}}, "voice": None}])
def test_runs_of_old_tell_less(scenario: dict[str, Any] | None) -> None:
    found = setting(run_of(row(), scenario=scenario), "p")
    assert (found.paced, found.cold, found.batches, found.chosen("warm")) == (False, [], None, False)
    assert found.around == Around()
    assert found.get("voice.rate") is None


def test_groups_stand_as_the_scenario_lists_them() -> None:
    found = setting(run_of(row(), scenario={"callers": {"warm": {}, "joiner": {}}}), "p")
    assert found.ordered(["joiner", "z", "warm", "a", "joiner"]) == ["warm", "joiner", "z", "a"]
    assert setting(run_of(row()), "p").ordered(["b", "a"]) == ["b", "a"]
    text = words(run_of(row(group="joiner"), row(), scenario=found.scenario))
    assert text.index("1 warm caller hears") < text.index("1 joiner caller hears")


def test_the_servers_batches_are_known_of_our_own_only() -> None:
    scenario = {"server": {"batch": 2048, "ubatch": 512}}
    assert setting(run_of(row(), scenario=scenario, embedded=True), "p").batches == (2048, 512)
    assert setting(run_of(row(), scenario=scenario), "p").batches is None
