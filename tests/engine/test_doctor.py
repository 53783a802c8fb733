"""The doctor asks a server with a chosen fault, and sees that one."""

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadsim.engine import doctor
from loadsim.engine.findings import Facts, Trials, findings, verdict
from loadsim.engine.machine import Finding
from loadsim.run import run
from loadsim.scenario.load import restore
from loadsim.server.http import HttpServer
from loadsim.telemetry.lag import Lag, LagReport
from loadsim.types import ChatRequest
from tests.calls import CALL
from tests.engine.truthful import measured
from tests.telemetry.cards import ARTICLE, Machine, Simulated, simulated
from tests.truth import Faults, prompt, serve

QUICK: dict[str, Any] = {"first": 0.01, "step": 0.001, "tokens": 8, "metrics": True}
TWO: dict[str, Any] = {"recording": "call", "callers": {"warm": {"count": 2}}, "server": {"url": "http://x"}}
SHARED = "both get slot"  # the truth server chooses by likeness, as llama-server does


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short look at this machine's lag, and one that does not judge it."""
    monkeypatch.setattr(doctor, "LAG_S", 0.02)
    monkeypatch.setattr(doctor, "LATE_MS", 1000.0)
    monkeypatch.setattr("loadsim.engine.machine.LATE_MS", 1000.0)


def examined(scenario: dict[str, Any] | None = None, key: str | None = None, **options: Any) -> Facts:
    """What is seen of a truth server with these options."""
    wanted = restore(TWO | (scenario or {}), "test")

    async def main() -> Facts:
        async with serve(**QUICK | options) as truth:
            return await doctor.examine(truth.url, wanted, {"call": CALL}, key, None)

    return run(main())


def faults(facts: Facts) -> list[Finding]:
    """All that is not well but the choice of slots, which is the same in all."""
    found = [finding for finding in findings(facts) if finding.level != "ok"]
    return [finding for finding in found if SHARED not in finding.what]


def test_a_good_server() -> None:
    facts = examined()
    assert faults(facts) == []
    assert verdict(facts, findings(facts)) == "ready for 2 callers"
    trials = facts.trials
    assert trials.cold is not None
    assert trials.repeat is not None
    assert trials.extension is not None
    assert trials.edit is not None
    assert trials.back is not None
    assert 1000 < trials.cold.size < 2600  # the truth server counts the blanks too
    assert trials.repeat.prompt_n == 1
    assert trials.extension.cache_n == trials.cold.size
    assert trials.cold.size < (trials.edit.cache_n or 0) < trials.edit.size
    assert trials.back.cache_n == trials.edit.size
    assert facts.template.tool == "find"


def test_the_longest_prompt_and_reply_are_those_of_the_run(tmp_path: Path) -> None:
    scenario = {"recording": "call", "callers": {"warm": {"count": 2, "turns": "all"}}, "repeat": 1}
    facts = examined(scenario)
    found, _ = measured(tmp_path, scenario)
    rows = [row for row in found.rows if row.row == "load"]
    assert len(rows) == 2 * 4  # turns 2, 3 and 4, of which 2 has a tool step
    assert facts.prompt == max((row.cache_n or 0) + (row.prompt_n or 0) for row in rows)
    assert facts.reply == max(row.predicted_n or 0 for row in rows)


def test_the_numbers_of_slots_and_context_are_the_servers() -> None:
    facts = examined(slots=1, context=120)
    slots, context = [finding for finding in faults(facts) if finding.level == "bad"]
    assert slots.what == "1 slot for 2 callers"
    assert "-np 2" in slots.mend
    assert f"({facts.prompt} + {facts.reply} of reply)" in context.what
    assert "context 120 a slot" in context.what


@pytest.mark.parametrize(
    ("options", "level", "what"),
    [
        ({"api_key": "sesame"}, "bad", "refuses the API key"),
        ({"api_key": "sesame", "plain": True}, "bad", "HTTP 401"),
        ({"loading": 60.0}, "bad", "still loading after 0.1 s"),
        ({"faults": Faults(silence_after=0)}, "bad", "no token: no first token within 0.3 s"),
        ({"faults": Faults(status=500)}, "bad", "no token: HTTP 500"),
        ({"faults": Faults(empty=True)}, "bad", "no token: the reply was empty"),
        ({"faults": Faults(reasoning=3)}, "warning", "thinks"),
        ({"faults": Faults(words=("<think>", "Well"))}, "warning", "thinks"),
        ({"cached": False}, "bad", "nothing is cached"),
        ({"metrics": False}, "warning", "no /metrics"),
        ({"listed": False}, "warning", "no /slots"),
    ],
)
def test_each_fault_of_a_server(options: dict[str, Any], level: str, what: str) -> None:
    scenario = {"timeout": {"loading": "100 ms", "first_token": "300 ms"}, "reply": {"free": 8}}
    (finding,) = faults(examined(scenario, **options))
    assert (finding.level, what in finding.what) == (level, True), finding


def test_the_right_key_opens() -> None:
    assert faults(examined(key="sesame", api_key="sesame")) == []


def test_a_plain_server_is_no_fault() -> None:
    facts = examined({"reply": {"free": 8}}, plain=True)
    assert faults(facts) == []
    assert facts.trials == Trials(cold=facts.trials.cold)
    assert "not told: what the prompt cache does" in [finding.what for finding in findings(facts)]
    (finding,) = faults(examined(plain=True))
    assert (finding.level, "reply: recorded" in finding.what) == ("warning", True)


def test_a_slot_that_somebody_uses_is_seen() -> None:
    async def main() -> Facts:
        wanted = restore(TWO, "test")
        async with serve(**QUICK | {"first": 0.0, "step": 0.3}) as truth:
            server = HttpServer(truth.url)
            live = server.chat(ChatRequest(messages=[], max_tokens=500, ignore_eos=True, slot=5), lambda *_: True)
            await live.first.wait()
            try:
                return await doctor.examine(truth.url, wanted, {"call": CALL}, None, None)
            finally:
                await server.close()

    (finding,) = faults(run(main()))
    assert "1 of 12 slots are busy" in finding.what


@pytest.mark.parametrize("what", ["tools", "opening", "end"])
def test_what_a_template_does_is_seen(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    render = prompt.render

    def other(messages: Any, tools: Any = ()) -> str:
        if what == "tools":
            return render(messages)
        if what == "opening":  # a new line at every turn, as the time of day is
            return f"It is turn {len(messages)}.\n" + render(messages, tools)
        return render(messages, tools) + "<think>\n"

    monkeypatch.setattr(prompt, "render", other)
    found = faults(examined())
    expected = {"tools": ("bad", "no find in the prompt"), "opening": ("bad", "only"), "end": ("warning", "keeps")}
    # the trials too meet a prompt that changes
    level, said = expected[what]
    assert any(finding.level == level and said in finding.what for finding in found), found


@pytest.mark.parametrize("turn", ["the first", "the one with tools"])
def test_a_template_is_tried_at_the_first_turn_and_at_one_with_tools(
    monkeypatch: pytest.MonkeyPatch, turn: str
) -> None:
    render = prompt.render

    def other(messages: Any, tools: Any = ()) -> str:
        called = any("tool_calls" in message for message in messages)
        changes = called if turn == "the one with tools" else len(messages) > 2
        return f"{changes}\n" + render(messages, tools)

    monkeypatch.setattr(prompt, "render", other)
    assert "a turn's prompt keeps only 0 of" in " ".join(finding.what for finding in faults(examined()))


def test_the_call_is_fitted_as_the_scenario_says_and_its_fields_are_sent() -> None:
    asked: list[Any] = []

    def see(request: Any) -> Faults:
        asked.append(request.json)
        return Faults()

    facts = examined({"fit": 4000, "request": {"temperature": 0.5}}, choose=see)
    assert 4000 < (facts.prompt or 0) < 4100  # the fresh message comes behind the fitted call
    assert {body["temperature"] for body in asked} == {0.5}
    assert [body.get("id_slot") for body in asked] == [None, 0, 0, 0, 0, 1, 0, None, None]


def test_a_second_look_finds_nothing_of_the_first() -> None:
    async def main() -> tuple[Facts, Facts]:
        async with serve(**QUICK) as truth:
            first, second = [
                await doctor.examine(truth.url, restore(TWO, "test"), {"call": CALL}, None, None) for _ in range(2)
            ]
            return first, second

    for facts in run(main()):
        assert facts.trials.cold is not None
        # the template's opening, and perhaps the first digits of the salt: two tokens each, of eight
        assert (facts.trials.cold.cache_n or 0) < 3 + 8 * 2


def test_a_template_that_does_not_take_the_call_is_one_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    render = prompt.render

    def picky(messages: Any, tools: Any = ()) -> str:
        if tools:
            raise TypeError("no tools here")
        return render(messages, tools)

    monkeypatch.setattr(prompt, "render", picky)
    (finding,) = faults(examined())
    assert (finding.level, "HTTP 400: no tools here" in finding.what) == ("bad", True), finding


def test_nobody_there() -> None:
    wanted = restore(TWO, "test")
    facts = run(doctor.examine("http://127.0.0.1:9", wanted, {"call": CALL}, None, None))
    assert [finding.level for finding in findings(facts)].count("bad") == 1
    assert "no server at http://127.0.0.1:9" in findings(facts)[0].what


def test_the_lag_of_a_loop_that_stands_still_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadsim.engine.machine.LATE_MS", 40.0)
    wanted = restore(TWO, "test")

    async def main() -> Facts:
        asyncio.get_running_loop().call_later(0.005, time.sleep, 0.1)
        return await doctor.examine("http://127.0.0.1:9", wanted, {"call": CALL}, None, None)

    late = next(finding for finding in findings(run(main())) if "event loop" in finding.what)
    assert late.level == "warning"


@pytest.mark.parametrize(
    ("telemetry", "level", "said"),
    [
        ({}, "ok", "card log every 2 s: NVIDIA GeForce RTX 3090"),
        ({"every": "500 ms", "cards": [0]}, "ok", "card log every 0.5 s: NVIDIA GeForce RTX 3090"),
        ({"cards": [3]}, "ok", "no card log: no card 3; there are 1"),
        ({"card": "none"}, "ok", "no card log is wanted"),
        ({"every": None}, "ok", "nothing will be logged beside the rows"),
        ({"card": "no-such-ssh gpu-box"}, "warning", "no card log: no-such-ssh: command not found"),
        (
            {"card": "sh -c 'echo refused >&2; exit 255'"},
            "warning",
            "no card log: it ended with status 255; its last words: refused",
        ),
    ],
)
def test_what_the_card_log_will_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, telemetry: dict[str, Any], level: str, said: str
) -> None:
    for name, value in simulated(Machine(cards=[Simulated(curve=ARTICLE)]), tmp_path).items():
        monkeypatch.setenv(name, value)
    facts = examined({"telemetry": telemetry})
    (finding,) = [each for each in findings(facts) if said in each.what]
    assert finding.level == level
    assert (finding.mend != "") == (level == "warning")


@pytest.mark.parametrize(("seen", "least"), [([9.0, 2.0], 2.0), ([9.0, 8.0, 7.0], 7.0), ([1.0], 1.0)])
def test_a_delay_that_passes_is_no_finding(monkeypatch: pytest.MonkeyPatch, seen: list[float], least: float) -> None:
    left = list(seen)

    class Late(Lag):
        def stop(self) -> LagReport:
            return msgspec.structs.replace(super().stop(), lag_p99_ms=left.pop(0))

    monkeypatch.setattr(doctor, "Lag", Late)
    monkeypatch.setattr(doctor, "LATE_MS", 5.0)
    wanted = restore({"recording": "call", "callers": {"warm": {"count": 2}}}, "test")
    assert run(doctor._client(wanted, "http://127.0.0.1:1")).lag.lag_p99_ms == least
    assert not left
