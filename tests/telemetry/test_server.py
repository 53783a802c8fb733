"""The server log: counters' growth, what a server lacks, and a server that does not answer in time."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from loadsim.telemetry.server import ServerLog, sample
from loadsim.types import RunStopped, ServerSample
from tests.virtual import run

METRICS = {
    "prompt_tokens_total": 1000.0,
    "prompt_tokens_cached_total": 10.0,
    "prompt_seconds_total": 1.5,
    "tokens_predicted_total": 100.0,
    "tokens_predicted_seconds_total": 2.25,
    "n_decode_total": 50.0,
    "predicted_tokens_seconds": 1636.66,
    "requests_processing": 2.0,
    "requests_deferred": 3.0,
}
LATER = METRICS | {
    "prompt_tokens_total": 1200.0,
    "prompt_tokens_cached_total": 10379.0,
    "prompt_seconds_total": 1.75,
    "tokens_predicted_total": 145.0,
    "tokens_predicted_seconds_total": 3.5,
    "n_decode_total": 97.0,
    "predicted_tokens_seconds": 0.0,
}
SLOTS = [{"id": n, "is_processing": n in (1, 3)} for n in range(4)]


def test_the_first_sample_knows_no_growth() -> None:
    assert sample(10.0, 0.004, SLOTS, METRICS, None) == ServerSample(
        t_s=10.0, took_s=0.004, busy=(1, 3), processing=2, deferred=3
    )


def test_growth_since_the_last_sample() -> None:
    assert sample(12.0, 0.004, SLOTS, LATER, (10.0, METRICS)) == ServerSample(
        t_s=12.0,
        took_s=0.004,
        busy=(1, 3),
        processing=2,
        deferred=3,
        over_s=2.0,
        prompt_tokens=200,
        cached_tokens=10369,
        generated_tokens=45,
        prompt_s=0.25,
        generated_s=1.25,
        decodes=47,
    )


def test_a_server_that_was_started_again_has_not_grown() -> None:
    found = sample(14.0, 0.004, None, METRICS, (12.0, LATER))
    assert (found.over_s, found.prompt_tokens, found.decodes) == (None, None, None)
    assert found.processing == 2


def test_counters_that_a_build_lacks_are_not_known() -> None:
    old = {name: value for name, value in METRICS.items() if "cached" not in name}
    found = sample(12.0, 0.0, None, old, (10.0, old))
    assert (found.cached_tokens, found.prompt_tokens, found.busy) == (None, 0, None)


class Server:
    """Answers what it is given, or raises it; `slow`: seconds until then. Counts who asks at a time."""

    def __init__(self, slots: Any = None, metrics: Any = None, slow: float = 0.0) -> None:
        self.answers = {"slots": slots, "metrics": metrics}
        self.slow = slow
        self.asked: list[str] = []
        self.now = self.most = 0

    async def slots(self) -> Any:
        return await self._answer("slots")

    async def metrics(self) -> Any:
        return await self._answer("metrics")

    async def _answer(self, name: str) -> Any:
        self.asked.append(name)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.slow)
        finally:
            self.now -= 1
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer


def logged(server: Server, seconds: float, every: float = 0.05) -> tuple[list[ServerSample], list[tuple[str, str]]]:
    async def main() -> tuple[list[ServerSample], list[tuple[str, str]]]:
        samples: list[ServerSample] = []
        notes: list[tuple[str, str]] = []
        clock = asyncio.get_running_loop().time
        log = ServerLog(server, every, clock, samples.append, lambda *said: notes.append(said))
        await asyncio.sleep(seconds)
        await log.stop()
        return samples, notes

    return run(main())


def test_one_question_of_each_kind_per_sample() -> None:
    server = Server(SLOTS, METRICS)
    samples, notes = logged(server, 0.52)
    # Each over the time since the one before, not since the first.
    for before, after in pairwise(samples):
        assert after.over_s == pytest.approx(after.t_s - before.t_s, abs=1e-5)
    assert len(samples) == 11  # at 0, 50, …, 500 ms
    assert server.asked[:4] == ["metrics", "slots"] * 2
    assert server.most == 1
    assert notes == []
    assert samples[0].over_s is None
    assert all(found.over_s is not None and found.prompt_tokens == 0 for found in samples[1:])


def test_a_late_answer_is_waited_for_and_the_samples_due_meanwhile_are_left_out() -> None:
    server = Server(SLOTS, METRICS, slow=0.06)  # 120 ms for both: each third of those due each 50 ms
    samples, _ = logged(server, 0.7)
    assert [round(found.t_s, 6) for found in samples] == [0.06, 0.21, 0.36, 0.51]
    assert server.most == 1
    assert {round(found.took_s, 6) for found in samples} == {0.06}  # the first of the two


@pytest.mark.parametrize(("slots", "metrics", "only"), [(None, METRICS, "metrics"), (SLOTS, None, "slots")])
def test_a_route_that_is_not_there_is_asked_for_once(slots: Any, metrics: Any, only: str) -> None:
    server = Server(slots, metrics)
    samples, notes = logged(server, 0.3)
    assert len(samples) > 3
    assert notes == []
    other = "slots" if only == "metrics" else "metrics"
    assert server.asked.count(other) == 1
    assert server.asked.count(only) == len(samples)
    assert {found.busy for found in samples} == {None if only == "metrics" else (1, 3)}


def test_a_plain_server_is_left_alone_and_that_is_said_once() -> None:
    server = Server()
    samples, notes = logged(server, 0.3)
    assert samples == []
    assert sorted(server.asked) == ["metrics", "slots"]
    assert notes == [("none", "the server has neither /metrics (--metrics) nor /slots")]


def test_a_server_that_is_gone_is_said_once_and_asked_on() -> None:
    server = Server(SLOTS, RunStopped("no server at http://x: refused"))
    samples, notes = logged(server, 0.3)
    assert samples == []
    assert len(server.asked) > 3
    assert notes == [("silent", "no server at http://x: refused")]


def test_a_server_that_loads_again_is_not_one_without_the_route() -> None:
    server = Server(SLOTS, METRICS)

    async def main() -> list[ServerSample]:
        samples: list[ServerSample] = []
        log = ServerLog(server, 0.05, asyncio.get_running_loop().time, samples.append, lambda *said: None)
        await asyncio.sleep(0.12)
        server.answers = {"slots": None, "metrics": None}  # 503
        await asyncio.sleep(0.12)
        before = len(samples)
        server.answers = {"slots": SLOTS, "metrics": METRICS}
        await asyncio.sleep(0.12)
        await log.stop()
        assert before < len(samples)
        return samples

    assert {found.processing for found in run(main())} == {2}
