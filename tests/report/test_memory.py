"""A model's memory as it is printed: it reads at 80 columns, and says what it computes and what it does not."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from loadsim.plan.cards import Card
from loadsim.plan.memory import Plan, plan
from loadsim.plan.source import read
from loadsim.report.memory import render, short_names
from loadsim.types import ServerSettings
from tests.plan.models import A4B_INFOS, A4B_KEYS, NANO_KEYS, Infos, nano_infos, write_header

TWELVE = ServerSettings(slots=12, context=393216, ubatch=512, cache_ram=8192)
RTX3090 = Card(name="rtx3090", memory=24 << 30)


def planned(path: Path, architecture: str, keys: dict[str, Any], infos: Infos, card: Card | None = RTX3090) -> Plan:
    write_header(path, architecture, keys, infos)
    return plan(asyncio.run(read(str(path))), TWELVE, card, 1 << 30)


@pytest.fixture
def nano(tmp_path: Path) -> Plan:
    return planned(tmp_path / "phone-i1-IQ4_XS.gguf", "nemotron_h_moe", NANO_KEYS, nano_infos())


@pytest.fixture
def a4b(tmp_path: Path) -> Plan:
    return planned(tmp_path / "a4b.gguf", "gemma4", A4B_KEYS, A4B_INFOS)


def test_the_command_has_every_setting_that_is_not_the_servers_own(nano: Plan) -> None:
    assert "--ctx-checkpoints" not in printed(nano)
    other = replace(nano, settings=replace(TWELVE, checkpoints=0, cache_ram=-1))
    assert "--ctx-checkpoints 0 --cache-ram -1: one slot more" in " ".join(printed(other).split())


def test_one_file_twice_has_its_name(nano: Plan) -> None:
    assert short_names([nano, nano]) == ["phone-i1-IQ4_XS.gguf"] * 2


def printed(*found: Plan, width: int = 80) -> str:
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as capture:
        console.print(render(found))
    return capture.get()


def words(*found: Plan) -> str:
    return " ".join(printed(*found).split())


def test_one_model_in_full(nano: Plan) -> None:
    text = words(nano)
    for said in (
        "phone-i1-IQ4_XS.gguf: nemotron_h_moe, IQ4_XS, 31.6 B weights, 17.9 GB",
        "52 layers: 6 hold the whole context and 23 a recurrent state",
        "bytes of header in 1 piece, no weights",
        "IQ4_NL 134 17.4 16,575 4.50",
        "KV, 6,144 B a token, 32,768 tokens a slot 192 2,304",
        "state, 2,170,880 B a layer, 23 layers, f32 47.6 571",
        "a slot in all 240 2,875",
        "checkpoints up to 17.9 GiB (32 x 47.6 MiB a slot) and a RAM cache of up to 8.00 GiB",
        "IQ4_XS IQ4_NL IQ4_XS 134 17.4 0.966",
        "ffn_up_exps (rows of 2,688, 8.26 GB), ffn_down_exps (rows of 1,856, 8.26 GB)",
        "not in it: compute buffers",
        "llama-server -np 12 -c 393216 -b 2048 -ub 512 -ctk f16 -ctv f16: one slot more takes 240 MiB",
        "rtx3090 has 24,576 MiB, 1,024 of them kept free: 12 slots leave 3,772 MiB; 27 at most fit at 32,768 tokens",
    ):
        assert said in text


def test_windows_are_told(a4b: Plan) -> None:
    text = words(a4b)
    assert "30 layers: 5 hold the whole context and 25 a window of 1,024 tokens" in text
    assert "window, 204,800 B a token, 1,536 a slot 300 3,600" in text
    assert "fell back" not in text
    assert "-ctk f16 -ctv f16 --kv-unified --swa-full:" in words(
        replace(a4b, settings=replace(TWELVE, kv_unified=True), swa_full=True)
    )


def test_what_does_not_fit_is_told(nano: Plan, tmp_path: Path) -> None:
    assert nano.fit is not None
    text = words(replace(nano, fit=replace(nano.fit, left=-(200 << 20), slots=1)))
    assert "12 slots are 200 MiB too many; of 32,768 tokens there is room for 1 slot at most" in text
    assert "no card to fit it on: name one, --card rtx3090, or its memory" in words(replace(nano, fit=None))
    assert "256, llama.cpp's limit, fit at" in words(replace(nano, fit=replace(nano.fit, slots=256, limit=True)))


def test_doubts_are_told(nano: Plan) -> None:
    assert f"cut, or a header alone; the plan is for the whole: {nano.model} has" in words(nano)
    text = words(
        replace(nano, size=nano.needs, unknown=("type 99",), shape=replace(nano.shape, estimated="9 layers hold it"))
    )
    assert "cut" not in text
    assert "estimated, since nemotron_h_moe is not known here: 9 layers hold it" in text
    assert "not known here, and sized by their places in the file: type 99 in phone" in text


def test_several_models_side_by_side(nano: Plan, tmp_path: Path) -> None:
    keys = {**NANO_KEYS, "general.file_type": 15}
    other = planned(tmp_path / "phone-i1-Q4_K_M.gguf", "nemotron_h_moe", keys, nano_infos("Q4_K", "Q5_0"))
    text = words(nano, other)
    for said in (
        "IQ4_XS 17.9 4.54 IQ4_NL 17.4 17.8 1.05 27",
        "Q4_K_M 21.8 5.52 Q5_0 21.2 21.6 3.95 12",
        "Q4_K_M Q5_0 Q4_K 134 21.2 3.86",
        "a slot takes 240 MiB in each",
        "slots of 32,768 tokens that fit on rtx3090, 24,576 MiB, 1,024 of them kept free",
        "cut, or a header alone; the plan is for the whole: IQ4_XS has",
    ):
        assert said in text


def test_models_with_different_slots(nano: Plan, a4b: Plan) -> None:
    assert "a slot takes, MiB: phone-i1-IQ4_XS 240, a4b 940" in words(nano, a4b)


@pytest.mark.parametrize(
    ("models", "short"),
    [
        (["phone-i1-IQ4_XS.gguf", "phone-i1-IQ3_M.gguf"], ["IQ4_XS", "IQ3_M"]),
        (["a-Q4_K_M.gguf", "a-Q4_K_S.gguf"], ["M", "S"]),
        (["a.gguf", "b.gguf"], ["a", "b"]),
        (["a-b.gguf", "a.gguf"], ["a-b", "a"]),
        (["x" * 60 + "1.gguf", "y.gguf"], [".." + "x" * 21 + "1", "y"]),
    ],
)
def test_names_are_short_where_they_are_alike(nano: Plan, models: list[str], short: list[str]) -> None:
    assert short_names([replace(nano, model=name) for name in models]) == short


def test_names_of_two_folders_are_told_apart(nano: Plan) -> None:
    found = [replace(nano, model="m.gguf", files=(f"{folder}/m.gguf",)) for folder in "ab"]
    assert short_names(found) == ["a", "b"]


@pytest.mark.parametrize("width", [80, 100, 200])
def test_nothing_is_cut_at_80_columns(nano: Plan, a4b: Plan, width: int) -> None:
    huge = replace(a4b, model="m" * 200 + ".gguf", slots=replace(a4b.slots, kv=1 << 50, cells=(1 << 31) - 256))
    for found in ([nano], [a4b], [huge], [nano, a4b, huge]):
        text = printed(*found, width=width)
        assert "\N{HORIZONTAL ELLIPSIS}" not in text
        assert max(map(len, text.splitlines())) <= width


def test_a_name_from_a_file_cannot_steer_the_terminal(nano: Plan) -> None:
    evil = replace(nano, model="a\x1b[31m.gguf", shape=replace(nano.shape, architecture="x\x1b]0;y\x07", estimated="z"))
    assert "\x1b" not in printed(evil) + printed(evil, nano)
