"""What the doctor concludes, from facts made by hand: each fault is found, told with its numbers, and can be mended."""

import msgspec
import pytest

from loadsim.engine.findings import Asked, Facts, Template, Trials, findings, verdict
from loadsim.engine.machine import UNKNOWN, Client, Finding
from loadsim.telemetry.lag import LagReport
from loadsim.telemetry.peek import Seen
from loadsim.telemetry.source import ELSEWHERE
from loadsim.types import CardFacts, ServerInfo

LAG = LagReport(
    lag_p50_ms=0.1, lag_p99_ms=0.5, lag_max_ms=1.0, samples=200, gc_pauses=0, gc_longest_ms=0.0, gc_total_ms=0.0,
    cpu_share=0.01,
)  # fmt: skip
CARD = Seen(every=2.0, cards=(CardFacts(card=0, name="NVIDIA GeForce RTX 3090", missing=("memory_c", "fan")),))
CLIENT = Client(clock_s=1e-7, lag=LAG, files=1024, cards=CARD)
INFO = ServerInfo(url="http://box", build="b10902", slots=12, context=32768, template="{{ messages }}")
# As the embedded server answered: a cold prompt of 1,298 tokens, the same, an extension, an edit, back after slot 1.
TRIALS = Trials(
    cold=Asked(first_s=0.3, cache_n=0, prompt_n=1298),
    repeat=Asked(first_s=0.1, cache_n=1294, prompt_n=4),
    extension=Asked(first_s=0.1, cache_n=1298, prompt_n=18),
    edit=Asked(first_s=0.1, cache_n=1302, prompt_n=13),
    back=Asked(first_s=0.1, cache_n=1315, prompt_n=18),
    one=Asked(first_s=0.1, cache_n=0, prompt_n=1300, slot=10),
    other=Asked(first_s=0.1, cache_n=0, prompt_n=1300, slot=9),
)
GOOD = Facts(
    callers=12,
    pinned=True,
    client=CLIENT,
    round_trip_s=0.11,
    info=INFO,
    prompt=10_464,
    reply=45,
    hello=Asked(first_s=0.05, cache_n=0, prompt_n=20, slot=11),
    trials=TRIALS,
    template=Template(tool="find_customer", shown=True, kept=5000, size=5000),
    busy=0,
    metrics=True,
)
PLAIN = Asked(first_s=0.1)


def changed(part: str = "", **values: object) -> Facts:
    """The good facts with some values changed, in them or in one of their parts."""
    if not part:
        return msgspec.structs.replace(GOOD, **values)
    return msgspec.structs.replace(GOOD, **{part: msgspec.structs.replace(getattr(GOOD, part), **values)})


def lost(cache_n: int, prompt_n: int) -> Asked:
    return Asked(first_s=0.1, cache_n=cache_n, prompt_n=prompt_n)


def faults(facts: Facts) -> list[Finding]:
    return [finding for finding in findings(facts) if finding.level != "ok"]


def test_a_good_server_has_a_line_per_check_and_is_ready() -> None:
    found = findings(GOOD)
    assert {finding.level for finding in found} == {"ok"}
    assert verdict(GOOD, found) == "ready for 12 callers"
    said = "\n".join(finding.what for finding in found)
    for what in (
        "110.0 ms",
        "no key is refused",
        "b10902",
        "12 slots for 12",
        "32,768",
        "10,509 (10,464 + 45",
        "50 ms",
        "find_customer",
    ):
        assert what in said
    for what in ("1,294 of 1,298", "1,302 of 1,315", "1,315 of 1,333", "slots 10 and 9", "3090", "0.5 ms late"):
        assert what in said
    assert max(map(len, said.splitlines())) <= 80 - 8


@pytest.mark.parametrize(
    ("facts", "level", "what", "mend"),
    [
        (changed(refused="http://box refuses the API key (HTTP 401)"), "bad", "HTTP 401", "LOADSIM_API_KEY"),
        (changed(hello=Asked(error="HTTP 401: Invalid", status=401)), "bad", "HTTP 401", "LOADSIM_API_KEY"),
        (changed(hello=Asked(error="no first token within 30 s")), "bad", "no token: no first token within", "log"),
        (changed(hello=Asked()), "bad", "no token: the reply was empty", "log"),
        (changed(hello=Asked(first_s=0.1, thinks=True)), "warning", "thinks", "enable_thinking: false"),
        (changed(misfit="request.model: the server has no 'x'"), "bad", "request.model", ""),
        (changed("info", slots=11), "bad", "11 slots for 12 callers", "-np 12"),
        (changed(busy=3), "warning", "3 of 12 slots are busy", "nobody calls"),
        # 10,509 tokens are 42 cells of 256, for 12 slots
        (changed("info", context=10_508), "bad", "10,508 a slot; the call needs 10,509", "-c 129024"),
        (changed("template", shown=False), "bad", "no find_customer", "--jinja"),
        (changed("template", error="the template does not take this call"), "bad", "does not take", "--jinja"),
        (changed("template", kept=4990), "warning", "4,990 of 5,000", "checkpoints"),
        (changed("template", kept=60), "bad", "only 60 of 5,000", "--chat-template-file"),
        (changed("info", template="{{ strftime_now('%d %H:%M') }}"), "warning", "time of day", "strftime_now"),
        (changed("trials", broke="HTTP 500: failed"), "bad", "HTTP 500", "log"),
        (
            changed("trials", repeat=lost(0, 1298), extension=lost(0, 1316)),
            "bad", "sent twice cost 1,298 tokens twice", "cache_prompt",
        ),
        # without checkpoints, as the embedded server answers: the repeat too finds nothing
        (changed("trials", repeat=lost(0, 1298), edit=lost(0, 1315)), "bad", "0 of 1,315", "--ctx-checkpoints"),
        (changed("trials", edit=lost(0, 1315)), "bad", "no checkpoints", "--ctx-checkpoints"),
        (changed("trials", edit=lost(600, 715)), "warning", "few checkpoints", "--ctx-checkpoints"),
        (changed("trials", back=lost(0, 1333)), "bad", "0 of 1,333", "--no-cache-idle-slots"),
        (changed("trials", other=Asked(first_s=0.1, slot=10)), "warning", "both get slot 10", "id_slot"),
        (changed(busy=None), "warning", "no /slots", "--no-slots"),
        (changed(metrics=False), "warning", "no /metrics", "--metrics"),
        (changed("client", clock_s=0.001), "warning", "steps of 1 ms", "clock"),
        (changed("client", lag=msgspec.structs.replace(LAG, lag_p99_ms=7.0)), "warning", "7 ms late", "idle"),
        (changed("client", lag=msgspec.structs.replace(LAG, gc_longest_ms=30.0)), "warning", "30 ms", "idle"),
        (changed("client", files=87), "bad", "87 files may be open; 12 callers need 88", "ulimit -n"),
    ],
)  # fmt: skip
def test_each_fault_is_one_finding_that_says_what_why_and_what_mends_it(
    facts: Facts, level: str, what: str, mend: str
) -> None:
    (finding,) = faults(facts)
    assert finding.level == level
    assert what in finding.what
    assert finding.why
    assert mend in finding.mend
    ready = verdict(facts, findings(facts))
    assert ready == ("ready for 12 callers" if level == "warning" else "not ready: 1 thing to mend")


def test_without_checkpoints_the_cache_is_told_by_an_extension() -> None:
    facts = changed("trials", repeat=lost(0, 1298), edit=lost(0, 1315))
    assert "the prompt cache is on: an extension finds 1,298 of 1,316 tokens" in [f.what for f in findings(facts)]


@pytest.mark.parametrize(
    "facts",
    [
        changed("info", template="{{ strftime_now('%d %b %Y') }}"),  # changes at midnight only
        changed("info", context=10_509),
        changed("client", files=88),
        changed("client", cards=Seen(every=2.0, why="NVML: NVML Shared Library Not Found")),
        changed("client", cards=Seen(every=2.0, why=ELSEWHERE)),
        changed("client", cards=Seen(every=2.0)),
        changed("client", cards=Seen()),
        changed("trials", back=None, one=None, other=None),  # one slot
        changed("template", tool=None, shown=None),
    ],
)
def test_what_is_no_fault(facts: Facts) -> None:
    assert faults(facts) == []


def test_without_a_server_only_this_machine_is_looked_at() -> None:
    facts = Facts(callers=12, pinned=True, client=CLIENT, unreached="no server at http://box: refused")
    found = findings(facts)
    assert [finding.level for finding in found] == ["bad", "ok", "ok", "ok", "ok"]
    assert "no server at http://box" in found[0].what
    assert verdict(facts, found) == "not ready: 1 thing to mend"


def test_what_a_plain_server_does_not_tell_is_no_fault() -> None:
    facts = Facts(
        callers=1, pinned=True, client=CLIENT, info=ServerInfo(url="http://box"), hello=PLAIN,
        trials=Trials(cold=PLAIN), template=Template(tool="find"),
    )  # fmt: skip
    assert faults(facts) == []
    said = [finding.what for finding in findings(facts)]
    for untold in ("build", "slots", "context", "tools", "begins with", "prompt cache", "metrics"):
        assert any(what.startswith("not told: ") and untold in what for what in said), untold
    assert verdict(facts, findings(facts)) == "ready for 1 caller"
    model = msgspec.structs.replace(facts, misfit="request.model: the server has no 'x'")
    assert [finding.level for finding in faults(model)] == ["bad"]
    misfit = msgspec.structs.replace(facts, misfit="reply: recorded needs a server that counts tokens")
    (finding,) = faults(misfit)
    assert finding.level == "warning"
    assert "reply={free: 120}" in finding.mend


def test_two_faults_are_counted_and_warnings_are_not() -> None:
    facts = msgspec.structs.replace(changed("info", slots=4, context=100), metrics=False)
    assert [finding.level for finding in faults(facts)] == ["bad", "bad", "warning"]
    assert verdict(facts, findings(facts)) == "not ready: 2 things to mend"


def test_the_context_to_give_is_for_as_many_slots_as_callers() -> None:
    facts = changed("info", slots=4, context=100)
    assert faults(facts)[1].mend.startswith("-c 129024 ")  # 42 x 256 x 12


def test_a_prompt_that_is_found_only_when_it_comes_back_whole() -> None:
    """Then idle slots cannot be judged, and what else is there still is."""
    facts = changed("trials", extension=lost(0, 1316), back=lost(0, 1333))
    assert faults(facts) == []
    said = [finding.what for finding in findings(facts)]
    assert "not told: whether idle slots keep their cache" in said
    assert "the prompt cache is on: sent twice, it gives 1,294 of 1,298 tokens" in said


def test_what_a_server_says_cannot_move_the_terminal() -> None:
    facts = changed("info", build="b1\x1b[2J\nready")
    assert any(finding.what == "build b1?[2J?ready" for finding in findings(facts))


@pytest.mark.parametrize(
    ("seen", "level", "what", "why", "mend"),
    [
        (CARD, "ok", "card log every 2 s: NVIDIA GeForce RTX 3090", "not told: memory temperature", ""),
        (Seen(every=0.5, cards=(CardFacts(card=0, name="A"), CardFacts(card=1, name="B", missing=("core_c", "fan")))),
         "warning", "card log every 0.5 s: 0: A, 1: B", f"not told: core temperature; {UNKNOWN}",
         "a driver that tells it"),
        (Seen(every=2.0, why="NVML: Driver Not Loaded"), "ok", "no card log: NVML: Driver Not Loaded", UNKNOWN, ""),
        (Seen(every=2.0, why=ELSEWHERE), "ok", f"no card log: {ELSEWHERE}", UNKNOWN,
         "--set 'telemetry.card=ssh gpu-box loadsim card --every {every}', with loadsim installed there"),
        (Seen(every=2.0, why="it ended with status 255", foreign=True), "warning",
         "no card log: it ended with status 255", UNKNOWN,
         "mend telemetry.card; it must print a line per sample, as loadsim card"),
    ],
)  # fmt: skip
def test_what_is_said_of_the_card_log(seen: Seen, level: str, what: str, why: str, mend: str) -> None:
    found = findings(changed("client", cards=seen))[-1]
    assert (found.level, found.what, found.why, found.mend) == (level, what, why, mend)
