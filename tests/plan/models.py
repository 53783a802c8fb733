"""GGUF headers without weights in the shapes of real models, and tiny models with weights that llama.cpp loads.

`python -m tests.plan.models nano.gguf` writes the header that the README's plan is for.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import gguf
import msgspec
import numpy as np

from loadsim.server.tiny import model as tiny
from loadsim.server.tiny.bpe import Bpe

Keys = dict[str, Any]
Infos = Iterable[tuple[str, tuple[int, ...], str]]
"""Tensors: name, shape with the row first, type."""


def write_header(path: Path, architecture: str, keys: Mapping[str, Any], infos: Infos, tokens: int = 0) -> Path:
    """A file that ends where the weights would begin. `keys` without a dot before them are the architecture's own."""
    writer = _writer(path, architecture, keys)
    if tokens:
        writer.add_token_list([f"token {n}" for n in range(tokens)])
        writer.add_token_scores([0.0] * tokens)
        writer.add_token_types([1] * tokens)
    for name, shape, kind in infos:
        quant = gguf.GGMLQuantizationType[kind]
        block, size = gguf.GGML_QUANT_SIZES[quant]
        writer.add_tensor_info(name, shape[::-1], np.dtype(np.float32), int(np.prod(shape)) // block * size, quant)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    return path


def _writer(path: Path, architecture: str, keys: Mapping[str, Any]) -> Any:
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in keys.items():
        name = key if key.startswith(("general.", "split.", "tokenizer.")) else f"{architecture}.{key}"
        if isinstance(value, list):
            writer.add_array(name, value)
        elif isinstance(value, bool):
            writer.add_bool(name, value)
        elif isinstance(value, int):
            writer.add_uint32(name, value)
        elif isinstance(value, float):
            writer.add_float32(name, value)
        else:
            writer.add_string(name, value)
    return writer


NANO_LAYERS = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
NANO_KEYS = {
    "general.file_type": 30,  # IQ4_XS
    "block_count": 52,
    "context_length": 1 << 20,
    "embedding_length": 2688,
    "attention.head_count": 32,
    "attention.head_count_kv": [2 if kind == "*" else 0 for kind in NANO_LAYERS],
    "attention.key_length": 128,
    "attention.value_length": 128,
    "feed_forward_length": [1856 if kind == "E" else 0 for kind in NANO_LAYERS],
    "ssm.conv_kernel": 4,
    "ssm.inner_size": 4096,
    "ssm.state_size": 128,
    "ssm.time_step_rank": 64,
    "ssm.group_count": 8,
    "expert_count": 128,
}


def nano_infos(wide: str = "IQ4_XS", narrow: str = "IQ4_NL") -> list[tuple[str, tuple[int, ...], str]]:
    """Nemotron 3 Nano 30B-A3B's matrices: `wide` where rows divide by 256, else `narrow`."""
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (2688, 131072)}
    for number, kind in enumerate(NANO_LAYERS):
        if kind == "M":
            layer: dict[str, tuple[int, ...]] = {"ssm_in": (2688, 10304), "ssm_out": (4096, 2688)}
        elif kind == "*":
            layer = {"attn_q": (2688, 4096), "attn_k": (2688, 256), "attn_v": (2688, 256), "attn_output": (4096, 2688)}
        else:
            layer = {
                "ffn_up_exps": (2688, 1856, 128),
                "ffn_down_exps": (1856, 2688, 128),
                "ffn_up_shexp": (2688, 3712),
                "ffn_down_shexp": (3712, 2688),
            }
        shapes |= {f"blk.{number}.{name}": shape for name, shape in layer.items()}
    infos = [(f"{name}.weight", shape, narrow if shape[0] % 256 else wide) for name, shape in shapes.items()]
    norms = [(f"blk.{number}.attn_norm.weight", (2688,), "F32") for number in range(52)]
    return [*infos, ("output.weight", (2688, 131072), "Q8_0"), *norms]


A4B_KEYS = {
    "block_count": 30,
    "context_length": 1 << 18,
    "embedding_length": 2816,
    "attention.head_count": 16,
    "attention.head_count_kv": [2 if (layer + 1) % 6 == 0 else 8 for layer in range(30)],
    "attention.key_length": 512,
    "attention.value_length": 512,
    "attention.key_length_swa": 256,
    "attention.value_length_swa": 256,
    "attention.sliding_window": 1024,
    "attention.sliding_window_pattern": [(layer + 1) % 6 != 0 for layer in range(30)],
}
A4B_INFOS = [("token_embd.weight", (2816, 262144), "Q6_K")]


def write_model(path: Path, architecture: str, keys: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> Path:
    """A model with weights, all ones or near nothing: `shapes` with the row first, and the tiny model's tokenizer."""
    writer = _writer(path, architecture, keys)
    tiny._add_tokenizer(writer, msgspec.json.decode((tiny._HERE / "tokenizer.json").read_bytes(), type=Bpe))
    for name, shape in shapes.items():
        writer.add_tensor(name, np.full(shape[::-1], 1.0 if "norm" in name else 0.01, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


WIDTH = 64
TOKENS = len(msgspec.json.decode((tiny._HERE / "tokenizer.json").read_bytes(), type=Bpe).tokens)
_ENDS = {"token_embd.weight": (WIDTH, TOKENS), "output_norm.weight": (WIDTH,)}
_BASE = {"context_length": 1 << 17, "embedding_length": WIDTH, "attention.layer_norm_rms_epsilon": 1e-5}
_FEED = {"ffn_norm": (WIDTH,), "ffn_gate": (WIDTH, 96), "ffn_up": (WIDTH, 96), "ffn_down": (96, WIDTH)}


def _attention(heads: int, key_value: int, width: int) -> dict[str, tuple[int, ...]]:
    return {
        "attn_norm": (WIDTH,),
        "attn_q": (WIDTH, heads * width),
        "attn_k": (WIDTH, key_value * width),
        "attn_v": (WIDTH, key_value * width),
        "attn_output": (heads * width, WIDTH),
    }


def _layers(layers: Iterable[Mapping[str, tuple[int, ...]]]) -> dict[str, tuple[int, ...]]:
    found = {}
    for number, layer in enumerate(layers):
        for name, shape in layer.items():
            whole = name if "." in name or name in ("ssm_a", "ssm_d") else f"{name}.weight"
            found[f"blk.{number}.{whole}"] = shape
    return _ENDS | found


def llama(path: Path, head: int = 32) -> Path:
    """Three layers, four heads on two of keys and values."""
    keys: Keys = {**_BASE, "block_count": 3, "attention.head_count": 4, "attention.head_count_kv": 2}
    keys |= {"feed_forward_length": 96, "attention.key_length": head, "attention.value_length": head}
    keys |= {"rope.dimension_count": head}
    return write_model(path, "llama", keys, _layers([{**_attention(4, 2, head), **_FEED}] * 3))


def gemma3(path: Path) -> Path:
    """Eight layers, all but the sixth with a window of 512."""
    keys: Keys = {**_BASE, "block_count": 8, "attention.head_count": 2, "attention.head_count_kv": 1}
    keys |= {"feed_forward_length": 96, "attention.key_length": 64, "attention.value_length": 64}
    keys |= {"attention.sliding_window": 512}
    norms = {"attn_q_norm": (64,), "attn_k_norm": (64,), "post_attention_norm": (WIDTH,), "post_ffw_norm": (WIDTH,)}
    return write_model(path, "gemma3", keys, _layers([{**_attention(2, 1, 64), **norms, **_FEED}] * 8))


def gemma4(path: Path) -> Path:
    """Six layers with their own caches, of two widths, and two that share them."""
    windowed = [True, True, False, True, True, False, True, False]
    keys: Keys = {**_BASE, "block_count": 8, "attention.head_count": 2, "feed_forward_length": 96}
    keys |= {"attention.head_count_kv": [2 if window else 1 for window in windowed]}
    keys |= {"attention.key_length": 128, "attention.value_length": 128, "attention.sliding_window": 256}
    keys |= {"attention.key_length_swa": 64, "attention.value_length_swa": 64, "attention.shared_kv_layers": 2}
    keys |= {"attention.sliding_window_pattern": windowed, "embedding_length_per_layer_input": 0}
    keys |= {"rope.dimension_count": 128, "rope.dimension_count_swa": 64}
    layers = []
    for window in windowed:
        width = 64 if window else 128
        norms = {"attn_q_norm": (width,), "attn_k_norm": (width,)}
        norms |= {"post_attention_norm": (WIDTH,), "post_ffw_norm": (WIDTH,)}
        layers.append({**_attention(2, 2 if window else 1, width), **norms, **_FEED})
    return write_model(path, "gemma4", keys, _layers(layers) | {"rope_freqs.weight": (64,)})


def gemma2(path: Path) -> Path:
    """Four layers, every second with a window whose length the file does not tell."""
    keys: Keys = {**_BASE, "block_count": 4, "attention.head_count": 2, "attention.head_count_kv": 1}
    keys |= {"feed_forward_length": 96, "attention.key_length": 32, "attention.value_length": 32}
    keys |= {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}
    norms = {"post_attention_norm": (WIDTH,), "post_ffw_norm": (WIDTH,)}
    return write_model(path, "gemma2", keys, _layers([{**_attention(2, 1, 32), **norms, **_FEED}] * 4))


def cohere2(path: Path) -> Path:
    """Eight layers, every fourth without a window."""
    keys: Keys = {**_BASE, "block_count": 8, "attention.head_count": 2, "attention.head_count_kv": 1}
    keys |= {"feed_forward_length": 96, "attention.key_length": 32, "attention.value_length": 32}
    keys |= {"attention.layer_norm_epsilon": 1e-5, "logit_scale": 1.0, "attention.sliding_window": 512}
    keys |= {"rope.dimension_count": 32}
    feed = {name: shape for name, shape in _FEED.items() if name != "ffn_norm"}
    return write_model(path, "cohere2", keys, _layers([{**_attention(2, 1, 32), **feed}] * 8))


def gpt_oss(path: Path) -> Path:
    """Four layers with experts, every second with a window."""
    keys: Keys = {**_BASE, "block_count": 4, "attention.head_count": 2, "attention.head_count_kv": 1}
    keys |= {"feed_forward_length": 96, "attention.key_length": 32, "attention.value_length": 32}
    keys |= {"attention.sliding_window": 128, "expert_count": 2, "expert_used_count": 1}
    keys |= {"expert_feed_forward_length": 96, "rope.dimension_count": 32}
    layer = {**_attention(2, 1, 32), "post_attention_norm": (WIDTH,), "attn_sinks.weight": (2,)}
    layer |= {"attn_q.bias": (64,), "attn_k.bias": (32,), "attn_v.bias": (32,), "attn_output.bias": (WIDTH,)}
    layer |= {"ffn_gate_inp": (WIDTH, 2), "ffn_gate_inp.bias": (2,), "ffn_gate_exps.bias": (96, 2)}
    layer |= {"ffn_gate_exps": (WIDTH, 96, 2), "ffn_up_exps": (WIDTH, 96, 2), "ffn_down_exps": (96, WIDTH, 2)}
    layer |= {"ffn_up_exps.bias": (96, 2), "ffn_down_exps.bias": (WIDTH, 2)}
    return write_model(path, "gpt-oss", keys, _layers([layer] * 4) | {"output.weight": (WIDTH, TOKENS)})


def granitehybrid(path: Path) -> Path:
    """Four layers: one attends, the others keep a state."""
    inner, state, groups, conv, heads = 128, 32, 1, 4, 4
    keys: Keys = {**_BASE, "block_count": 4, "attention.head_count": 2, "attention.head_count_kv": [0, 1, 0, 0]}
    keys |= {"feed_forward_length": 96, "rope.dimension_count": 32}
    keys |= {"ssm.conv_kernel": conv, "ssm.inner_size": inner, "ssm.state_size": state}
    keys |= {"ssm.time_step_rank": heads, "ssm.group_count": groups}
    recurrent = {"attn_norm": (WIDTH,), **_mamba2(inner, state, groups, conv, heads), **_FEED}
    attention = {**_attention(2, 1, 32), **_FEED}
    return write_model(path, "granitehybrid", keys, _layers([recurrent, attention, recurrent, recurrent]))


def deepseek2(path: Path) -> Path:
    """Three layers of latent attention: one vector of 64 and 32 numbers per token."""
    rank, rope, nope, value, heads = 64, 32, 32, 32, 2
    keys: Keys = {**_BASE, "block_count": 3, "attention.head_count": heads, "attention.head_count_kv": 1}
    keys |= {"feed_forward_length": 96, "attention.key_length": rank + rope, "attention.value_length": rank}
    keys |= {"attention.key_length_mla": nope + rope, "attention.value_length_mla": value, "rope.dimension_count": rope}
    keys |= {
        "attention.kv_lora_rank": rank,
        "attention.q_lora_rank": 32,
        "leading_dense_block_count": 3,
        "expert_feed_forward_length": 96,
    }
    keys |= {"expert_count": 2, "expert_used_count": 1, "expert_shared_count": 1, "vocab_size": TOKENS}
    layer = {
        "attn_norm": (WIDTH,),
        "attn_q_a": (WIDTH, 32),
        "attn_q_a_norm": (32,),
        "attn_q_b": (32, heads * (nope + rope)),
        "attn_kv_a_mqa": (WIDTH, rank + rope),
        "attn_kv_a_norm": (rank,),
        "attn_k_b": (nope, rank, heads),
        "attn_v_b": (rank, value, heads),
        "attn_output": (heads * value, WIDTH),
        **_FEED,
    }
    return write_model(path, "deepseek2", keys, _layers([layer] * 3) | {"output.weight": (WIDTH, TOKENS)})


def _mamba2(inner: int, state: int, groups: int, conv: int, heads: int) -> dict[str, tuple[int, ...]]:
    channels = inner + 2 * groups * state
    return {
        "ssm_in": (WIDTH, inner + channels + heads),
        "ssm_conv1d": (conv, channels),
        "ssm_conv1d.bias": (channels,),
        "ssm_dt.bias": (heads,),
        "ssm_a": (1, heads),
        "ssm_d": (1, heads),
        "ssm_norm": (inner // groups, groups),
        "ssm_out": (inner, WIDTH),
    }


def mamba2(path: Path) -> Path:
    """Four layers of state only."""
    inner, state, groups, conv, heads = 256, 64, 2, 4, 4
    keys: Keys = {**_BASE, "block_count": 4, "ssm.conv_kernel": conv, "ssm.inner_size": inner, "ssm.state_size": state}
    keys |= {"ssm.time_step_rank": heads, "ssm.group_count": groups}
    layer = {"attn_norm": (WIDTH,), **_mamba2(inner, state, groups, conv, heads)}
    return write_model(path, "mamba2", keys, _layers([layer] * 4))


def falcon_h1(path: Path) -> Path:
    """Three layers with keys, values and a state in each."""
    inner, state, groups, conv, heads = 128, 32, 1, 4, 4
    keys: Keys = {**_BASE, "block_count": 3, "attention.head_count": 4, "attention.head_count_kv": 2}
    keys |= {"feed_forward_length": 96, "attention.key_length": 32, "attention.value_length": 32}
    keys |= {"ssm.conv_kernel": conv, "ssm.inner_size": inner, "ssm.state_size": state, "rope.dimension_count": 32}
    keys |= {"ssm.time_step_rank": heads, "ssm.group_count": groups}
    layer = {**_attention(4, 2, 32), **_mamba2(inner, state, groups, conv, heads), **_FEED}
    shapes = _layers([layer] * 3)
    return write_model(
        path, "falcon-h1", keys, {name.replace("ffn_norm.weight", "ffn_norm"): shapes[name] for name in shapes}
    )


def lfm2(path: Path) -> Path:
    """Three layers of short convolutions, and one of attention."""
    keys: Keys = {**_BASE, "block_count": 4, "attention.head_count": 2, "attention.head_count_kv": [0, 0, 1, 0]}
    keys |= {"feed_forward_length": 96, "shortconv.l_cache": 3, "rope.dimension_count": 32}
    short = {"attn_norm": (WIDTH,), "shortconv.conv.weight": (3, WIDTH), "shortconv.in_proj.weight": (WIDTH, 3 * WIDTH)}
    short |= {"shortconv.out_proj.weight": (WIDTH, WIDTH), **_FEED}
    attention = {**_attention(2, 1, 32), "attn_q_norm": (32,), "attn_k_norm": (32,), **_FEED}
    shapes = _layers([short, short, attention, short]) | {"token_embd_norm.weight": (WIDTH,)}
    del shapes["output_norm.weight"]
    return write_model(path, "lfm2", keys, shapes)


def qwen35(path: Path) -> Path:
    """Eight layers: every fourth attends, the others keep a state."""
    heads, key_heads, state, conv = 4, 2, 32, 4
    inner = heads * state
    keys: Keys = {**_BASE, "block_count": 8, "attention.head_count": 2, "attention.head_count_kv": 1}
    keys |= {"feed_forward_length": 96, "attention.key_length": 64, "attention.value_length": 64}
    keys |= {"ssm.conv_kernel": conv, "ssm.inner_size": inner, "ssm.state_size": state, "ssm.group_count": key_heads}
    keys |= {"ssm.time_step_rank": heads, "full_attention_interval": 4, "rope.dimension_count": 16}
    keys |= {"rope.dimension_sections": [4, 2, 2, 0]}
    channels = inner + 2 * key_heads * state
    feed = {"post_attention_norm": (WIDTH,), **{name: shape for name, shape in _FEED.items() if name != "ffn_norm"}}
    linear = {
        "attn_norm": (WIDTH,),
        "attn_qkv": (WIDTH, channels),
        "attn_gate": (WIDTH, inner),
        "ssm_conv1d": (conv, channels),
        "ssm_dt.bias": (heads,),
        "ssm_a": (heads,),
        "ssm_beta": (WIDTH, heads),
        "ssm_alpha": (WIDTH, heads),
        "ssm_norm": (state,),
        "ssm_out": (inner, WIDTH),
        **feed,
    }
    full = {**_attention(2, 1, 64), "attn_q": (WIDTH, 2 * 2 * 64), "attn_q_norm": (64,), "attn_k_norm": (64,), **feed}
    return write_model(path, "qwen35", keys, _layers([linear, linear, linear, full] * 2))


if __name__ == "__main__":
    write_header(Path(sys.argv[1]), "nemotron_h_moe", NANO_KEYS, nano_infos(), tokens=131072)
