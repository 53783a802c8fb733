"""The setting: a scenario that can be run again, the facts of a run, and no secret among them."""

import shlex
from pathlib import Path
from typing import Any

import msgspec

from loadsim.cli.plan.callers import callers
from loadsim.cli.scenario import scenario as command
from loadsim.report.page.page import page
from loadsim.report.page.setting import setting
from loadsim.results.read import Run, read
from loadsim.scenario.load import dump, load
from tests.plan.test_lines import found as search
from tests.plan.test_lines import point
from tests.report.page.made import heard, section, shown_of, table, text
from tests.report.runs import run_of

KEY = "Zk9f3Qp7Lm2x"


def with_facts(**facts: Any) -> Run:
    run = run_of(heard(0.1))
    return msgspec.structs.replace(run, facts=run.facts | facts)


def test_the_scenario_is_yaml_that_runs_as_it_was_run(tmp_path: Path) -> None:
    for name in ("twelve_callers", "paced_twelve", "lab/callers_12", "lab/reach", "soak"):
        wanted = load(name, ["seed=7"])
        again = tmp_path / "again.yaml"
        again.write_text(text(setting([shown_of(with_facts(scenario=dump(wanted)))]), "The scenario as it was run"))
        assert load(str(again)) == wanted


def test_the_command_stands_as_it_was_given() -> None:
    run = with_facts(command=["loadsim", "scenario", "twelve_callers", "--set", "reply={free: 120}"], folder="my calls")
    lines = text(setting([shown_of(run)]), "Run it again").split("\n")
    assert lines[1] == "LOADSIM_API_KEY=... loadsim scenario twelve_callers --set 'reply={free: 120}'"
    assert lines[-1] == "LOADSIM_API_KEY=... loadsim scenario again.yaml"
    assert "beside its recordings (here: my calls)" in lines[-2]


def test_the_embedded_server_needs_no_key() -> None:
    found = text(setting([shown_of(with_facts(server={"embedded": True}))]), "Run it again")
    assert "LOADSIM_API_KEY" not in found and found.endswith("\nloadsim scenario again.yaml")


def test_a_search_is_searched_again_with_its_targets() -> None:
    shown = shown_of(with_facts(), search=search(2, 3, points=[point(2, 0.4, "meets")]))
    words = shlex.split(text(setting([shown]), "Run it again").split("\n")[-1])[1:]
    context = callers.make_context("callers", [*words[3:], "--out", "x"])
    assert context.params["slos"] == ("ttft p95 <= 800 ms", "underruns < 1 %")
    assert (context.params["file"], context.params["group"]) == ("again.yaml", "warm")
    assert context.params["together_only"]


def test_a_scenario_is_read_by_the_command_that_is_shown() -> None:
    words = shlex.split(
        text(setting([shown_of(with_facts(server={"embedded": True}))]), "Run it again").split("\n")[-1]
    )
    assert command.make_context("scenario", words[2:]).params["file"] == "again.yaml"


def test_no_secret_of_a_run_of_old_is_on_its_page() -> None:
    run = with_facts(
        scenario={
            "server": {"launch": f"env HF_TOKEN={KEY} llama-server --api-key {KEY}", "url": f"http://u:{KEY}@h/?key={KEY}"},
            "request": {"api_key": KEY, "note": "sk-" + KEY},
            "callers": {"warm": {"count": 1}},
        },
        command=["loadsim", "scenario", "x", "--url", f"http://u:{KEY}@h"],
        server={"url": f"http://h/?key={KEY}", "command": f"llama-server --api-key {KEY}", "embedded": False},
        why=f"no server at http://u:{KEY}@h",
        ended="stopped",
    )  # fmt: skip
    broken = heard(0.1, outcome="error", error=f"HTTP 401: wrong key sk-{KEY}")
    run = msgspec.structs.replace(run, rows=[*run.rows, broken])
    assert KEY in str(run.facts)
    assert KEY not in str(section(setting([shown_of(run)])))
    assert KEY not in page([run])
    assert text(setting([shown_of(run)]), "The scenario").startswith("# ***: a secret that the run's run.json holds")


def test_facts_of_server_card_and_machine() -> None:
    card = {"card": 0, "name": "RTX 3090", "driver": "550.1", "memory_bytes": 24 << 30, "limit_w": 350.0, "missing": []}
    run = with_facts(
        server={"url": "http://h:1", "build": "b1", "slots": 12, "context": 32768, "round_trip_s": 0.002,
                "boot": {"health_s": 1.5, "first_token_s": 2.0}},
        cards=[card], host={"cpu": "a CPU", "cores": 8, "memory_bytes": 16 << 30}, versions={"loadsim": "0.1"},
        recordings={"a.json": {"title": "A call", "turns": 3, "tokens": 1234}}, digests={"a.json": "0123456789abcdef"},
    )  # fmt: skip
    found = setting([shown_of(run)])
    assert ["context of a slot, tokens", "32,768"] in table(found, "The server").rows
    assert ["round trip, ms", "2.00"] in table(found, "The server").rows
    assert ["how", "ran already"] in table(found, "The server").rows
    assert table(found, "Cards").rows[:4] == [
        ["card 0", "RTX 3090"], ["card 0, driver", "550.1"], ["card 0, memory", "24.0 GiB"],
        ["card 0, power limit, W", "350"]]  # fmt: skip
    assert table(found, "This machine").rows == [["CPU", "a CPU"], ["cores", "8"], ["memory", "16.0 GiB"]]
    assert table(found, "Recordings").rows == [["a.json", "A call; 3 turns; 1,234 tokens; SHA-256 0123456789ab"]]


def test_several_runs_stand_side_by_side() -> None:
    runs = [shown_of(with_facts(server={"build": build}), label) for label, build in (("a", "b1"), ("b", "b2"))]
    found = table(setting(runs), "The server")
    assert found.columns == ["", "a", "b"]
    assert ["build", "b1", "b2"] in found.rows


def test_a_run_of_old_has_what_it_has() -> None:
    run = msgspec.structs.replace(run_of(), facts={"format": "loadsim run 1"})
    found = section(setting([shown_of(run)]))
    assert "not recorded" in text(found, "The scenario")
    assert ["ended", "it was killed"] in table(found, "The run").rows


def test_what_each_load_point_set() -> None:
    runs = Path(__file__).parents[2] / "analysis" / "runs"
    found = table(setting([shown_of(read(runs / "callers"))]), "Load points")
    assert [line[:2] for line in found.rows] == [[f"count={n}", f"callers.warm.count={n}"] for n in (1, 2, 4)]
