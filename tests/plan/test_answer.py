"""The plan on one page: what it says from what was found, and from what is missing."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from loadsim.plan.answer import Memory, Page, Searched, Target, page, slots_for
from loadsim.plan.command import Keeps
from loadsim.plan.cost import cost
from loadsim.plan.fact import given
from loadsim.plan.traffic import Traffic, traffic
from loadsim.plan.units import Price
from loadsim.types import BadInput, ServerSettings

MIB = 1 << 20
TWELVE = ServerSettings(slots=12, context=393216)


def memory(**fields: Any) -> Memory:
    """The article's card: a hybrid of which a slot takes 240 MiB."""
    plain: dict[str, Any] = {
        "model": "hybrid-IQ4_XS", "file": "hybrid-IQ4_XS.gguf", "settings": TWELVE, "weights": 17137 * MIB,
        "keeps": Keeps(state=True, checkpoint=50_000_000), "slot": 240 * MIB, "total": (17137 + 2880) * MIB,
        "card": "rtx3090", "room": 24576 * MIB, "reserve": 1024 * MIB, "fits": 26,
    }  # fmt: skip
    return Memory(**plain | fields)


def searched(**fields: Any) -> Searched:
    plain: dict[str, Any] = {
        "run": "twelve", "callers": 12, "high": 12, "slots": 12, "reason": "13 fails: TTFT p95 842 ms of 800",
        "missed": "ttft", "settings": TWELVE, "pinned": True, "repeats": 5, "confirmed": True, "paced": "meets",
        "targets": [Target(text="ttft p95 <= 800 ms", measure="ttft", value="612 ms", limit="800 ms", left=0.235)],
    }  # fmt: skip
    return Searched(**plain | fields)


def load() -> Traffic:
    return traffic(given(180), given(270), 12, 0.01, given(1.7), given(12.4))


def command(of: Page) -> str:
    return " ".join(of.command)


def test_the_articles_command() -> None:
    found = page((12, "as given"), memory(), searched())
    assert command(found) == (
        "llama-server -m hybrid-IQ4_XS.gguf -ngl 99 -np 12 -c 393216 -b 2048 -ub 2048 --no-cache-idle-slots "
        "--cache-ram 0 --ctx-checkpoints 32"
    )
    assert [f"{flag.name} {flag.value}".strip() for flag in found.flags][:2] == ["-np 12", "-c 393216"]
    assert all(flag.why for flag in found.flags)


@pytest.mark.parametrize(
    ("settings", "keeps", "has", "lacks"),
    [
        ({"kv_unified": True}, Keeps(), ["--kv-unified"], ["--ctx-checkpoints", "--swa-full", "-fa"]),
        ({"cache_type_k": "q8_0", "cache_type_v": "q8_0"}, Keeps(), ["-fa on", "-ctk q8_0 -ctv q8_0"], []),
        ({"cache_type_k": "q8_0"}, Keeps(), ["-ctk q8_0 -ctv f16"], ["-fa"]),  # only quantized values need it
        ({}, Keeps(window=True), ["--ctx-checkpoints 32"], ["--swa-full"]),
        ({}, Keeps(window=True, swa_full=True), ["--swa-full"], ["--ctx-checkpoints"]),
        ({"cache_ram": 8192}, Keeps(), [], ["--cache-ram"]),  # the server's own default
        ({"cache_idle_slots": True}, Keeps(), [], ["--no-cache-idle-slots"]),
        ({"similarity": 0.5}, Keeps(), ["-sps 0.5"], ["-t "]),
        ({"threads": 3}, Keeps(), ["-t 3"], ["-sps"]),
        ({"checkpoint_min_step": 256}, Keeps(state=True), ["--checkpoint-min-step 256"], []),
        ({"checkpoint_min_step": 256}, Keeps(), [], ["--checkpoint-min-step"]),
        ({"batch": 4096, "ubatch": 512}, Keeps(), ["-b 4096 -ub 512"], []),
    ],
)
def test_flags_follow_the_settings_and_the_model(
    settings: dict[str, Any], keeps: Keeps, has: list[str], lacks: list[str]
) -> None:
    given_settings = ServerSettings(**{"slots": 12, "context": 393216} | settings)
    said = command(page((12, "as given"), memory(settings=given_settings, keeps=keeps)))
    assert all(flag in said for flag in has)
    assert not any(flag in said for flag in lacks)


def test_other_numbers_of_slots_keep_each_ones_context() -> None:
    assert "-np 5 -c 163840" in command(page((5, "as given"), memory()))


def test_a_launch_stays_as_it_was_with_its_settings() -> None:
    launch = "ssh box llama-server -m m.gguf -np {slots} -c {context} -fa on --port {port}"
    found = page((12, "x"), memory(), searched(launch=launch))
    assert command(found) == "ssh box llama-server -m m.gguf -np 12 -c 393216 -fa on --port 8080"
    assert [flag.name for flag in found.flags] == ["-np", "-c"]
    own = page((12, "x"), memory(), searched(launch=f"{launch} -ub 512"))
    assert [flag.name for flag in own.flags] == ["-np", "-c"]  # 512 is not the setting's
    assert any("started without --no-cache-idle-slots" in said for said in found.cautions)
    whole = page((12, "x"), memory(), searched(launch=f"{launch} -ub {{ubatch}} --no-cache-idle-slots"))
    assert [flag.name for flag in whole.flags] == ["-np", "-c", "-ub", "--no-cache-idle-slots"]
    assert not any("started without" in said for said in whole.cautions)
    threads = page((12, "x"), None, searched(launch=f"{launch} -t {{threads}}", settings=replace(TWELVE, threads=8)))
    assert threads.flags[-1].name == "-t"


def test_a_launch_without_a_place_for_slots_starts_what_was_measured() -> None:
    fixed = searched(launch="llama-server -np 12 -c 393216")
    said = "the command has no {slots}: it starts the server that was measured, whatever slots were given"
    assert said in page((20, "as given"), None, fixed).cautions
    assert said not in page((12, "x"), None, fixed).cautions
    assert said not in page((20, "as given"), None, searched(launch="llama-server -np {slots}")).cautions


def test_anothers_server_tells_no_flags_but_a_slots_context() -> None:
    found = page((12, "x"), None, searched(settings=None, context=32768))
    assert command(found) == "llama-server -m model.gguf -ngl 99 -np 12 -c 393216"
    assert command(page((12, "x"), None, searched(settings=None))).endswith("-ngl 99 -np 12")
    assert any("does not tell its flags" in said for said in found.cautions)
    assert not any("does not tell its flags" in said for said in page((12, "x"), None, searched()).cautions)


@pytest.mark.parametrize(
    ("found", "limit", "because"),
    [
        (searched(), "first token", "measured: 13 fails: TTFT p95 842 ms of 800"),
        (searched(missed="ttfs"), "first token", None),
        (searched(missed="decode"), "decode", None),
        (searched(missed="share"), "decode", None),
        (searched(missed="stall"), "stalls", None),
        (searched(missed="underruns"), "stalls", None),
        (searched(missed="errors"), "errors", None),
        (searched(missed=None, full=True, reason="13 fails: no memory"), "memory", "measured: 13 fails: no memory"),
        (searched(missed=None, reason=None, slots=26), "memory", "computed: 26 slots fit on rtx3090"),
        (searched(missed=None, reason=None, high=None), "not known", "no more than 12 callers were tried"),
        (searched(missed=None, reason=None, high=None, bounded=True), "slots",
         "measured: all 12 of the server are taken; start it with a larger -np"),
        (searched(missed=None, stopped="the card is at 90 C"), "not known",
         "the search was broken off: the card is at 90 C"),
    ],
)  # fmt: skip
def test_what_limits_it(found: Searched, limit: str, because: str | None) -> None:
    said = page((12, "x"), memory(), found)
    assert said.limit == limit
    assert because in (None, said.because)


def test_memory_alone_limits_what_is_not_measured() -> None:
    said = page((26, "x"), memory())
    assert (said.limit, said.because) == (
        "memory",
        "computed: 26 slots fit on rtx3090; whether so many are also served in time is not measured",
    )
    assert page((12, "x"), memory(card=None, room=None, fits=None)).limit == "not known"
    assert page(None, memory(fits=0)).because == "computed: not even one slot fits on rtx3090"
    assert page((1, "x"), memory(fits=1)).because.startswith("computed: 1 slot fits on rtx3090; whether")


def test_headroom_of_the_card_of_the_targets_and_of_the_slots() -> None:
    found = page((12, "x"), memory(), searched(), load())
    left = {line.name: line for line in found.headroom}
    assert left["memory"].fact.value == (24576 - 1024 - 17137 - 2880) * MIB
    assert left["slots that would still fit"].fact.value == 14
    assert (left["ttft p95 <= 800 ms"].fact.value, left["ttft p95 <= 800 ms"].more) == (0.235, "612 ms of 800 ms")
    assert left["slots that are free"].fact.value == pytest.approx(12 - load().line)
    assert [left[name].fact.origin for name in left] == ["computed", "computed", "measured", "computed"]


def test_every_figure_says_where_it_comes_from() -> None:
    paid = cost(12, Price(sign="$", hour=0.26), load=load(), given=0.55)
    found = page((12, "x"), memory(), searched(), load(), paid)
    origins = {(topic, line.name): line.fact.origin for topic, lines in found.figures.items() for line in lines}
    assert origins["memory", "a slot"] == "computed"
    assert origins["callers", "meet every target"] == "measured"
    assert origins["offered load", "calls"] == origins["offered load", "a call"] == "given"
    assert origins["offered load", "refused, if nobody waits"] == "computed"
    values = {line.name: line.fact.value for line in found.figures["cost of a voice minute"]}
    assert round(values["every slot taken"], 5) == 0.00036
    assert round(values["with 55 % of the slots taken"], 5) == 0.00066
    assert {line.name: line.fact.value for line in found.figures["memory"]}["checkpoints"] == 12 * 32 * 50_000_000
    assert found.sign == "$"


def test_id_slot_is_needed_where_it_was_measured_with_it() -> None:
    assert page((12, "x"), None, searched()).pin.needed is True
    assert page((12, "x"), None, searched(pinned=False)).pin.needed is False
    unknown = page((12, "x"), memory()).pin
    assert unknown.needed is None
    assert unknown.request["id_slot"] == 11
    assert msgspec.json.decode(msgspec.json.encode(unknown.request)) == unknown.request


def test_what_to_know_before_believing_it() -> None:
    def said(**fields: Any) -> str:
        return "; ".join(page((12, "x"), memory(), searched(**fields)).cautions)

    assert "tiny model" in said(embedded=True)
    assert "tiny model" not in said()
    assert "not with the pace of people" in said(paced=None)
    assert "missed a target" in said(paced="misses")
    assert "not clear yet" in said(paced="unclear")
    assert "pace of people" not in said()
    assert "not measured on a server with 12 slots and no more" in said(confirmed=False)
    assert "12 slots were given; 9 callers were measured to meet every target" in said(callers=9, slots=9)
    cautions = page((12, "x"), memory(), searched(), load()).cautions
    assert "the offered load needs 22 slots: 2 cards of 12, or fewer calls" in cautions
    assert any("--kv-unified" in line for line in cautions)
    unified = ServerSettings(slots=12, context=393216, kv_unified=True)
    assert not any("--kv-unified" in line for line in page((12, "x"), memory(settings=unified), None, load()).cautions)
    none = ServerSettings(slots=12, context=393216, checkpoints=0)
    assert any("no checkpoints" in line for line in page((12, "x"), memory(settings=none)).cautions)
    small = page((12, "x"), memory(room=20_000 * MIB, fits=7))
    assert "does not fit: 1,041 MiB too many; 7 slots fit" in small.cautions
    assert "the model's memory is estimated: as llama" in page((12, "x"), memory(guessed="as llama")).cautions


def test_what_is_missing_says_what_would_tell() -> None:
    assert page((12, "x"), memory(), searched(), load(), cost(12, Price(sign="", hour=1.0))).missing == []
    assert page((12, "x"), memory(card=None, room=None, fits=None)).missing == [
        "whether it fits: name the card, --card",
        "what callers hear: loadsim plan callers SCENARIO, and name its run",
        "refused calls: --calls-per-hour and --call",
        "cost: --price",
    ]
    short = traffic(given(180), given(270), 12, 0.01)
    assert page(None, memory()).missing[0] == "how to start it: for how many callers? --slots, or --card with --model"
    assert page((12, "x"), None, None, short).missing[0] == "memory: name the model, and --card"
    assert any("served at once" in line for line in page((12, "x"), None, None, short).missing)


def test_how_many_slots_it_is_for() -> None:
    assert slots_for(8, 26, searched()) == (8, "as given")
    assert slots_for(None, 26, searched(slots=13)) == (13, "measured: twelve met every target on so many")
    assert slots_for(None, 26, None) == (26, "computed: so many slots fit on the card")
    assert slots_for(None, 26, None, 22) == (22, "computed: the offered load needs so many")
    assert slots_for(None, 12, None, 22) == (12, "computed: so many slots fit on the card")
    assert slots_for(None, None, None, 22) == (22, "computed: the offered load needs so many")
    many = "computed: the offered load needs 1,363, and a server has no more"
    assert slots_for(None, None, None, 1363) == (256, many)
    assert slots_for(None, 26, None, 1363) == (26, "computed: so many slots fit on the card")
    assert slots_for(None, 26, searched(), 22)[0] == 12  # type: ignore[index]
    assert slots_for(None, None, None) is None
    assert slots_for(None, 0, None) is None  # not even one fits
    assert slots_for(None, 26, searched(callers=0, slots=0)) is None  # not even one is served in time


def test_nothing_to_answer_from() -> None:
    with pytest.raises(BadInput, match=r"^nothing to answer from: give a model, a search's run, or an offered load$"):
        page(None)
    with pytest.raises(BadInput, match=r"^in twelve no number of callers meets the targets for sure: 1 fails: TTFT$"):
        page(None, None, searched(callers=0, slots=0, reason="1 fails: TTFT"))


def test_a_page_of_prices_alone() -> None:
    found = page(None, None, None, None, cost(12, Price(sign="$", hour=0.26)))
    assert (found.command, found.slots, found.limit) == ([], None, "not known")
    assert list(found.figures) == ["cost of a voice minute"]
