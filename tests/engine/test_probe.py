"""Probes against the truth server: what is asked, in which state of the slot, and what the rows tell of it.

The truth server reuses whatever a slot shares with a prompt, as a model without a recurrent state does.
"""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from loadsim.engine.probes import reach
from loadsim.engine.probes.prober import Prober
from loadsim.results.read import Run
from loadsim.scenario.model import Probe
from loadsim.types import BadInput, RequestRow, RunStopped
from tests.calls import CALL
from tests.engine import truthful
from tests.engine.truthful import of
from tests.stats import rows as made
from tests.truth import Faults, Truth


def probed(folder: Path, kind: str, scenario: dict[str, Any] | None = None, **more: Any) -> tuple[Run, Truth]:
    keys = {k: v for k, v in more.items() if k in ("history", "tail", "replaced", "route", "lengths", "new_tokens")}
    keys |= {k: v for k, v in more.items() if k in ("messages", "slot")}
    rest = {k: v for k, v in more.items() if k not in keys}
    wanted = {"recording": "call", "probe": {"kind": kind, **keys}, "repeat": 1} | (scenario or {})
    return truthful.measured(folder, wanted, **rest)


def prompts(truth: Truth) -> list[list[int]]:
    return [request.json["prompt"] for request in truth.requests if request.path == "/completion"]


def test_reach_replaces_the_last_tokens_of_a_prompt_that_its_slot_holds(tmp_path: Path) -> None:
    found, truth = probed(tmp_path / "run", "reach", history=100, tail=50, replaced=[4, 20], slot=3)
    history, whole, first, again, second = prompts(truth)
    assert (len(history), len(whole)) == (100, 150)
    assert whole[:100] == history
    assert again == whole
    for prompt, replaced in ((first, 4), (second, 20)):
        assert len(prompt) == 150
        assert prompt[:-replaced] == whole[:-replaced]
        assert prompt[-replaced] != whole[-replaced]
    rows = of(found, "probe")
    assert [row.probe for row in rows] == [
        {"route": "tokens", "replaced": n, "tokens": 150, "history": 100} for n in (4, 20)
    ]
    assert [(row.cache_n, row.prompt_n) for row in rows] == [(146, 4), (130, 20)]
    assert [row.row for row in found.rows] == ["warm", "warm", "probe", "warm", "probe"]
    assert {(row.group, row.slot, row.outcome, len(row.token_s)) for row in found.rows} == {("reach", 3, "ok", 1)}


def test_replaced_tokens_differ_from_the_first_on() -> None:
    """Else the edit would be a shorter one, and the edge one too far."""
    bench: Any = SimpleNamespace(run="r")
    prober = Prober(bench=bench, point="p", repeat=1, probe=Probe(kind="reach"), recording=CALL, pool=(1, 2), fields={})
    assert {prober.fresh(3, key, unlike=1)[0] for key in range(40)} == {2}
    assert {prober.fresh(3, key)[0] for key in range(40)} == {1, 2}


def test_bisecting_ends_at_once_where_no_edit_loses_the_tail(tmp_path: Path) -> None:
    found, _ = probed(tmp_path / "run", "reach", history=100, tail=50)
    assert [row.probe["replaced"] for row in of(found, "probe")] == [50]


class Remembers(Prober):
    """A prober whose server keeps one copy inside the tail: `edge` tokens before its end, as a hybrid model does."""

    def __init__(self, probe: Probe, edge: int) -> None:
        bench: Any = SimpleNamespace(run="r")
        super().__init__(bench=bench, point="p", repeat=1, probe=probe, recording=CALL, pool=(1, 2, 3), fields={})
        self.edge = edge
        self.asked: list[int] = []

    async def hold(self, request: object) -> None:
        pass

    async def ask(self, request: Any, finish: object = None, **said: Any) -> RequestRow:
        self.asked.append(said["replaced"])
        inside = said["replaced"] <= self.edge
        return made.row(cache_n=said["tokens"] - self.edge if inside else said["history"] - 4)


@pytest.mark.parametrize("edge", [0, 1, 2, 516, 1028, 2048, 7505, 7506])
def test_bisecting_asks_the_last_edit_within_the_reach_and_the_first_past_it(edge: int) -> None:
    prober = Remembers(Probe(kind="reach"), edge)
    asyncio.run(reach.ask(prober))
    assert {n for n in (edge, edge + 1) if n} <= set(prober.asked)
    # 7,507 numbers are halved 13 times, after the one that tells whether there is an edge at all
    assert len(prober.asked) == len(set(prober.asked)) <= 14


def test_no_edit_is_asked_twice() -> None:
    prober = Remembers(Probe(kind="reach", replaced=[4, 20, 4]), 10)
    asyncio.run(reach.ask(prober))
    assert prober.asked == [4, 20]


def test_an_edge_cannot_be_told_from_a_request_that_failed() -> None:
    class Fails(Remembers):
        async def ask(self, request: Any, finish: object = None, **said: Any) -> RequestRow:
            return made.row(cache_n=None, outcome="error", error="HTTP 500: no")

    with pytest.raises(RunStopped, match=r"^no edge can be told, 7507 tokens replaced: HTTP 500: no$"):
        asyncio.run(reach.ask(Fails(Probe(kind="reach"), 5)))


def test_the_chat_route_edits_the_end_of_the_last_message(tmp_path: Path) -> None:
    found, truth = probed(tmp_path / "run", "reach", history=200, tail=80, route="chat", replaced=[30])
    (row,) = of(found, "probe")
    _, whole, edit = (request.json["messages"] for request in truth.requests if request.path.endswith("completions"))
    assert whole[:-1] == edit[:-1]
    assert sorted(whole[-1]["content"].split()) == sorted(edit[-1]["content"].split())
    assert whole != edit
    assert row.cache_n is not None
    assert row.prompt_n is not None
    assert 278 <= row.probe["tokens"] == row.cache_n + row.prompt_n <= 280
    assert 198 <= row.probe["history"] <= 200
    # a word and a space are two tokens to the truth server; the same word twice in a row makes the edit shorter
    assert 20 <= row.probe["replaced"] == row.prompt_n <= 30


def test_checkpoints_extend_repeat_and_edit(tmp_path: Path) -> None:
    found, truth = probed(tmp_path / "run", "checkpoints", history=100, tail=60)
    history, extended, repeated, edited = prompts(truth)
    assert extended[:100] == history
    assert repeated == extended
    assert edited[:136] == extended[:136]
    assert edited[136] != extended[136]
    rows = of(found, "probe")
    assert [row.probe["case"] for row in rows] == ["extension", "repeat", "edit"]
    assert [row.cache_n for row in rows] == [100, 159, 136]


def test_prefill_prompts_share_nothing(tmp_path: Path) -> None:
    found, truth = probed(tmp_path / "run", "prefill", {"repeat": 2}, lengths=[20, 300])
    assert [(row.probe["length"], row.cache_n, row.prompt_n) for row in of(found, "probe")] == [
        (20, 0, 20), (300, 0, 300),
    ] * 2  # fmt: skip
    assert len({tuple(prompt[:8]) for prompt in prompts(truth)}) == 6
    # ids that any model has: the call's own words
    assert max(max(prompt) for prompt in prompts(truth)) > 10_000


def test_the_floor_by_new_tokens_by_messages_and_without_tools(tmp_path: Path) -> None:
    found, truth = probed(tmp_path / "run", "floor", history=100, new_tokens=[1, 24], messages=[4, 99])
    rows = of(found, "probe")
    assert [(row.probe["new"], row.cache_n, row.prompt_n) for row in rows[:2]] == [(1, 100, 1), (24, 100, 24)]
    assert [(len(p)) for p in prompts(truth)] == [100, 101, 100, 124]
    chats = [(row.probe["messages"], row.probe["tools"]) for row in rows[2:]]
    # the call's messages up to the caller's third words, and to the last ones
    assert chats == [(4, len(CALL.tools)), (10, len(CALL.tools)), (4, 0), (10, 0)]
    assert all(row.prompt_n == 1 for row in rows[2:])  # all but the last token: the truth server has no T-4
    assert all(row.probe["render_ms"] > 0 for row in rows[2:])


def test_tool_cases_come_back_as_tool_calls(tmp_path: Path) -> None:
    call = CALL.turns[1].tools[0][0]
    right = Faults(tool_calls=((call.name, '{"phone":"555"}'),))
    found, truth = probed(tmp_path / "run", "tools", choose=lambda _: right)
    (row,) = of(found, "probe")
    assert (row.turn, row.probe["wanted"], row.probe["called"]) == (2, [call.name], [call.name])
    assert row.misses == 1  # a tool's name alone is no fixture
    assert row.finish == "tool_calls"
    asked = truth.requests[-1].json
    assert asked["tools"]
    assert (asked["messages"][-1]["role"], asked["max_tokens"]) == ("user", 256)
    found, _ = probed(tmp_path / "text", "tools")
    assert [(row.probe["called"], row.misses) for row in of(found, "probe")] == [([], 0)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"context": 150},
            r"^probe: reach needs 151 tokens of context; the server has 150 per slot: .*-c\) of 3072 or",
        ),
        ({"slots": 2, "slot": 2}, r"^probe\.slot: the server has slots 0 to 1; got 2$"),
        ({"plain": True}, r"^probe: reach needs llama-server's own counts and routes, and http\S+ is none$"),
    ],
)
def test_what_cannot_be_asked_is_refused(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        probed(tmp_path / "run", "reach", history=100, tail=50, **options)


def test_a_call_without_tool_calls_has_no_cases(tmp_path: Path) -> None:
    bare = msgspec.structs.replace(CALL, turns=CALL.turns[:1])
    with pytest.raises(BadInput, match=r"^probe: tools needs a call with tool calls; 'a short call' has none$"):
        probed(tmp_path / "run", "tools", recordings={"call": bare})


def test_tools_can_be_asked_of_any_server(tmp_path: Path) -> None:
    found, _ = probed(tmp_path / "run", "tools", plain=True)
    assert [row.outcome for row in of(found, "probe")] == ["ok"]


def test_a_failed_request_is_a_row_and_a_state_that_cannot_be_set_up_ends_the_run(tmp_path: Path) -> None:
    def last(request: Any) -> Faults:
        return Faults(status=500) if request.path == "/completion" and len(request.json["prompt"]) == 20 else Faults()

    found, _ = probed(tmp_path / "a", "prefill", lengths=[20, 30], choose=last)
    assert [row.outcome for row in of(found, "probe")] == ["error", "ok"]
    with pytest.raises(RunStopped, match=r"^slot 0 could not be brought to its state: HTTP 500: "):
        probed(tmp_path / "b", "reach", history=20, tail=30, replaced=[4], choose=last)


def test_points_of_a_sweep_may_ask_different_things(tmp_path: Path) -> None:
    sweep = {"sweep": {"probe.kind": ["prefill", "tools"]}, "probe": {"kind": "prefill"}, "fit": 400}
    found, _ = truthful.measured(tmp_path / "run", {"recording": "call", "repeat": 1} | sweep)
    assert [(row.point, row.group) for row in of(found, "probe")] == [
        ("kind=prefill", "prefill"), ("kind=prefill", "prefill"), ("kind=prefill", "prefill"), ("kind=tools", "tools"),
    ]  # fmt: skip
