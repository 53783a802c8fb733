"""What a model takes: the article's figures from headers of the same shape, and the rules that lead to them."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace

from loadsim.plan.cards import Card
from loadsim.plan.gguf import Value
from loadsim.plan.memory import Plan, plan
from loadsim.plan.source import Model, read
from loadsim.types import BadInput, ServerSettings
from tests.plan.models import A4B_INFOS, A4B_KEYS, NANO_KEYS, Infos, nano_infos, write_header

MIB, GIB = 1 << 20, 1 << 30
TWELVE = ServerSettings(slots=12, context=393216, ubatch=2048, cache_ram=8192)
RTX3090 = Card(name="rtx3090", memory=24 * GIB)


def model(folder: Path, architecture: str, keys: dict[str, Any], infos: Infos = ()) -> Model:
    path = write_header(folder / f"{architecture}.gguf", architecture, keys, infos)
    return asyncio.run(read(str(path)))


@pytest.fixture
def nano(tmp_path: Path) -> Model:
    return model(tmp_path, "nemotron_h_moe", NANO_KEYS, nano_infos())


@pytest.fixture
def a4b(tmp_path: Path) -> Model:
    return model(tmp_path, "gemma4", A4B_KEYS, A4B_INFOS)


def planned(found: Model, settings: ServerSettings = TWELVE, card: Card | None = None, **more: Any) -> Plan:
    return plan(found, settings, card, more.pop("reserve", 0), **more)


def test_the_articles_slot(nano: Model) -> None:
    found = planned(nano)
    assert found.per_token == 6144
    assert found.slots.kv == 12 * 192 * MIB
    assert (found.shape.states, len(found.shape.full)) == (23, 6)
    assert round(found.slots.state / 12 / MIB, 1) == 47.6
    assert round(found.marginal / MIB) == 240
    # 32 x 47.6 MiB x 12 slots
    assert round(found.host.checkpoints / GIB, 1) == 17.9
    assert found.host.ram_cache == 8 * GIB


def test_the_articles_experts(nano: Model) -> None:
    """46 expert tensors of 128 x 2,688 x 1,856 weights, whose rows do not divide by 256: 16.5 GB at 18 bytes for 32."""
    found = planned(nano)
    experts = [t for t in nano.tensors if "_exps" in t.name]
    assert (len(experts), {t.type for t in experts}) == (46, {"IQ4_NL"})
    assert round(sum(t.bytes for t in experts) / 1e9, 1) == 16.5
    fallback, output = found.fallbacks
    assert (fallback.type, fallback.wanted) == ("IQ4_NL", "IQ4_XS")
    assert [(sort.name, sort.row, sort.tensors) for sort in fallback.sorts[:2]] == [
        ("ffn_up_exps", 2688, 23),
        ("ffn_down_exps", 1856, 23),
    ]
    assert round(sum(sort.bytes for sort in fallback.sorts[:2]) / 1e9, 1) == 16.5
    # at IQ4_XS's 136 bytes for 256 they would be a seventeenth less
    assert fallback.more == pytest.approx(fallback.bytes / 18, abs=1)
    assert (output.type, output.wanted, output.tensors) == ("Q8_0", "Q6_K", 1)
    assert found.file_type == "IQ4_XS"


def test_the_articles_two_loads_of_one_card(nano: Model) -> None:
    """12 slots loaded left 3,910 MiB free of 24,576, and 24 slots 1,032: 12 slots more took 2,878 MiB."""
    few, many = planned(nano), planned(nano, replace(TWELVE, slots=24, context=2 * 393216))
    assert round((many.total - few.total) / MIB) in range(2875, 2879)
    assert round((many.slots.bytes - few.slots.bytes) / MIB) in range(2875, 2879)


def test_the_articles_other_model(a4b: Model) -> None:
    """5 global layers (2 heads x 512) 640 MiB + 25 windowed ones (8 heads x 256, 1,536 cells) 300 MiB."""
    found = planned(a4b, replace(TWELVE, ubatch=512))
    assert (found.slots.kv, found.slots.window) == (12 * 640 * MIB, 12 * 300 * MIB)
    assert found.slots.window_cells == 1536
    assert found.marginal == 940 * MIB
    # a checkpoint holds the window's 1,024 tokens
    assert found.host.checkpoint == 200 * MIB


def test_a_checkpoint_of_the_articles_12b(tmp_path: Path) -> None:
    """Gemma 3 12B: snapshots of 320 MiB."""
    keys = {"block_count": 48, "embedding_length": 3840, "attention.head_count": 16, "attention.head_count_kv": 8}
    keys |= {"attention.key_length": 256, "attention.value_length": 256, "attention.sliding_window": 1024}
    found = planned(model(tmp_path, "gemma3", keys))
    assert found.host.checkpoint == 320 * MIB
    assert planned(model(tmp_path, "gemma3", keys), swa_full=True).host.checkpoint == 0


def test_the_input_layer_stays_with_the_host_unless_it_is_the_output_too(nano: Model, a4b: Model) -> None:
    embedding = 131072 * 2688 // 32 * 18
    found = planned(nano)
    assert (found.host.input, found.bytes - found.on_card) == (embedding, embedding)
    tied = planned(a4b)
    assert (tied.host.input, tied.on_card) == (tied.bytes, tied.bytes)


def test_the_most_slots_that_fit(nano: Model) -> None:
    found = planned(nano, card=RTX3090, reserve=GIB)
    assert found.fit is not None
    room = 24 * GIB - GIB - found.on_card
    assert found.fit.slots * found.marginal <= room < (found.fit.slots + 1) * found.marginal
    assert found.fit.left == room - 12 * found.marginal
    # the article: 24 fit
    assert 24 <= found.fit.slots <= 28
    small = planned(nano, card=Card(name="a", memory=16 * GIB)).fit
    assert small is not None
    assert (small.slots, small.left < 0) == (0, True)
    large = planned(nano, replace(TWELVE, context=12 * 256), card=Card(name="b", memory=80 * GIB)).fit
    assert large is not None
    assert (large.slots, large.limit) == (256, True)


@pytest.mark.parametrize("unified", [False, True])
@pytest.mark.parametrize("kind", ["nano", "a4b"])
def test_what_fits_fits_and_one_more_does_not(kind: str, unified: bool, request: pytest.FixtureRequest) -> None:
    found, settings = request.getfixturevalue(kind), replace(TWELVE, kv_unified=unified)
    card = Card(name="x", memory=30 * GIB)
    fit = planned(found, settings, card).fit
    assert fit is not None
    assert 0 < fit.slots < 256
    for slots, fits in ((fit.slots, True), (fit.slots + 1, False)):
        other = planned(found, replace(settings, slots=slots, context=slots * 32768), card)
        assert other.fit is not None
        assert (other.fit.left >= 0) == (other.total <= card.memory) == fits


def test_q8_0_takes_34_bytes_for_32(nano: Model) -> None:
    both = planned(nano, replace(TWELVE, cache_type_k="q8_0", cache_type_v="q8_0"))
    assert both.slots.kv == planned(nano).slots.kv * 34 / 64
    keys_only = planned(nano, replace(TWELVE, cache_type_k="q8_0"))
    assert keys_only.per_token == 6144 // 2 * 34 // 64 + 6144 // 2
    assert both.slots.state == planned(nano).slots.state


def test_layers_for_drafts_hold_nothing(tmp_path: Path) -> None:
    keys = {"block_count": 47, "nextn_predict_layers": 1, "embedding_length": 4096, "attention.head_count": 96}
    keys |= {"attention.head_count_kv": 8, "attention.key_length": 128, "attention.value_length": 128}
    assert planned(model(tmp_path, "glm4moe", keys)).per_token == 46 * 8 * 256 * 2


def test_heads_share_a_width_where_the_file_gives_none(tmp_path: Path) -> None:
    keys = {"block_count": 32, "embedding_length": 4096, "attention.head_count": 32, "attention.head_count_kv": 8}
    assert planned(model(tmp_path, "llama", keys)).per_token == 32 * 8 * 2 * 128 * 2
    del keys["attention.head_count_kv"]
    assert planned(model(tmp_path, "llama", keys)).per_token == 32 * 32 * 2 * 128 * 2


def test_latent_attention_keeps_no_values(tmp_path: Path) -> None:
    keys = {"block_count": 27, "embedding_length": 2048, "attention.head_count": 16, "attention.head_count_kv": 1}
    keys |= {"attention.key_length": 576, "attention.value_length": 512, "attention.key_length_mla": 192}
    assert planned(model(tmp_path, "deepseek2", keys)).per_token == 27 * 576 * 2


def test_an_unknown_architecture_is_estimated_and_says_how(tmp_path: Path) -> None:
    keys = {"block_count": 10, "embedding_length": 512, "attention.head_count": 8, "attention.head_count_kv": 2}
    found = planned(model(tmp_path, "novel", keys))
    assert found.per_token == 10 * 2 * 2 * 64 * 2
    assert found.shape.estimated == "10 layers hold heads_kv x (key + value length) per token of the whole context"
    windowed = planned(model(tmp_path, "novel", {**keys, "attention.sliding_window": 128}))
    assert "the window that it names is not used, so this is the most it can be" in (windowed.shape.estimated or "")
    pattern = {"attention.sliding_window": 128, "attention.sliding_window_pattern": 5}
    found = planned(model(tmp_path, "novel", {**keys, **pattern}))
    assert (len(found.shape.full), len(found.shape.windowed)) == (2, 8)
    mixed = {"attention.head_count_kv": [0, 2] * 5, "ssm.conv_kernel": 4, "ssm.inner_size": 1024, "ssm.state_size": 16}
    found = planned(model(tmp_path, "novel", {**keys, **mixed}))
    assert (len(found.shape.full), found.shape.states, found.shape.state) == (5, 5, 4 * (3 * 1024 + 16 * 1024))
    assert "5 without KV heads a Mamba state" in (found.shape.estimated or "")


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no layers": ({"embedding_length": 8}, r"lacks llama.block_count"),
    "too many": ({"block_count": 1 << 30}, r"llama.block_count gives 1,073,741,824 layers; 1 to 4096 are"),
    "a word": ({"block_count": "many"}, r"has no whole number for llama.block_count"),
    "no width": ({"block_count": 1, "attention.head_count": 2}, r"lacks llama.embedding_length"),
    "few heads": (
        {"block_count": 3, "attention.head_count_kv": [1, 2]},
        r"has no whole number for each of 3 layers in llama.att",
    ),
    "nothing kept": ({"block_count": 4, "embedding_length": 64}, r"by its keys no layer holds anything of a call"),
    "signed": (
        {"block_count": 2, "attention.head_count_kv": [1, -2]},
        r"has no whole number for each of 2 layers in llama.attention.head_count_kv",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_keys_that_cannot_be_are_named(name: str, tmp_path: Path) -> None:
    keys, said = BAD[name]
    with pytest.raises(BadInput, match=rf"^llama.gguf:? {said}"):
        planned(model(tmp_path, "llama", keys))


KNOWN = [
    "llama gemma2 gemma3 gemma3n gemma4 cohere2 gpt-oss llama4 lfm2 granitehybrid jamba qwen3next qwen35 nemotron_h",
    "falcon-h1 mamba mamba2 deepseek2 novel",
]
KEYS = [
    "block_count embedding_length nextn_predict_layers feed_forward_length full_attention_interval shortconv.l_cache",
    "attention.head_count attention.head_count_kv attention.key_length attention.value_length attention.key_length_swa",
    "attention.sliding_window attention.sliding_window_pattern attention.shared_kv_layers attention.recurrent_layers",
    "attention.key_length_mla ssm.conv_kernel ssm.inner_size ssm.state_size ssm.group_count",
]
NUMBERS = st.integers(0, 8) | st.integers(-(1 << 63), (1 << 64) - 1)
VALUES = NUMBERS | st.booleans() | st.floats() | st.text(max_size=3) | st.lists(NUMBERS | st.booleans(), max_size=9)


@hypothesis_settings(max_examples=200)
@given(
    st.sampled_from(" ".join(KNOWN).split()),
    st.dictionaries(st.sampled_from(" ".join(KEYS).split()), VALUES),
    st.integers(1, 8) | VALUES,
)
def test_any_keys_are_a_plan_or_one_line(architecture: str, keys: dict[str, Any], layers: Any) -> None:
    metadata: dict[str, Value] = {"general.architecture": architecture}
    metadata |= {f"{architecture}.{key}": value for key, value in {**keys, "block_count": layers}.items()}
    found = Model(
        name="m.gguf", files=("m.gguf",), metadata=metadata, tensors=(), read=0, requests=1, size=None, needs=0
    )
    try:
        made = planned(found, card=RTX3090)
    except BadInput as error:
        assert str(error).isprintable()
    else:
        assert msgspec.json.decode(msgspec.json.encode(made), type=Plan) == made


def test_the_settings_that_llama_cpp_refuses(nano: Model) -> None:
    with pytest.raises(BadInput, match=r"^--slots 257: llama.cpp has at most 256$"):
        planned(nano, replace(TWELVE, slots=257))


@pytest.mark.parametrize(
    ("file_type", "kind", "row", "wanted"),
    [
        (30, "IQ4_NL", 1856, "IQ4_XS"),
        (29, "IQ4_NL", 1856, "IQ2_S"),
        (15, "IQ4_NL", 1856, "IQ4_XS"),
        (10, "Q4_0", 1856, "Q2_K"),
        (12, "Q4_0", 1856, "Q3_K"),
        (15, "Q5_0", 1856, "Q4_K"),
        (15, "Q8_0", 1856, "Q6_K"),
        (15, "Q5_0", 2048, None),
        (8, "Q5_0", 1856, None),
        (15, "F32", 1856, None),
    ],
)
def test_what_stands_in_for_what(file_type: int, kind: str, row: int, wanted: str | None, tmp_path: Path) -> None:
    keys = {"general.file_type": file_type, "block_count": 1, "attention.head_count": 1, "embedding_length": 64}
    found = planned(model(tmp_path, "llama", keys, [("blk.0.ffn_up.weight", (row, 256), kind)]))
    assert [fallback.wanted for fallback in found.fallbacks] == ([wanted] if wanted else [])
