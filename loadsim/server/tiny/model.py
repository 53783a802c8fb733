"""Writes the tiny model: a hybrid of Nemotron 3 Nano's make-up (Mamba2, experts, attention) in some 1.5 MB of GGUF.

It costs and checkpoints like its big sister in miniature, and it babbles: every block adds next to nothing to the
residual stream, so that the last token alone decides what comes out, through embedding and output matrix. Those two are
a low-rank factorisation of the word-pair statistics of an agent's replies. The words, the commas and the lengths are
the agent's; the sense is gone.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import gguf
import msgspec
import numpy as np
from numpy.typing import NDArray

from loadsim import shipped

from .bpe import Bpe

_HERE = Path(__file__).parent

_LAYERS = "MEM*E"  # M Mamba2, E experts, * attention
_WIDTH = 64
_INNER, _STATE, _GROUPS, _CONV, _SSM_HEADS = 128, 16, 1, 4, 4
_HEADS, _KV_HEADS, _HEAD = 2, 1, 32
_EXPERTS, _EXPERT = 4, 64
_CONTEXT = 1 << 20  # what the model claims to be trained for; its positions carry no meaning
_QUIET = 0.02  # scale of what a block adds to the residual stream

_UNSEEN = 1e-9  # probability of a token that the agent never says
_LINGER = 1.2  # taken from the end's log probability: usual samplers sharpen, and would end replies early
_SMOOTHING = 0.005  # unseen pairs share this many observations per context

Matrix = NDArray[np.float32]


def model_path(replies: Sequence[str] | None = None) -> Path:
    """The model that speaks like `replies` (default: the agent of the shipped call `front_desk`), written if need be.

    It lies in the user's cache folder under a name made from all that it depends on. The first call takes a second or
    two; calls at the same time, from any number of processes, are safe.
    """
    replies = _shipped_replies() if replies is None else replies
    files = (_HERE / name for name in ("tokenizer.json", "template.jinja", "bpe.py", "model.py"))
    digest = hashlib.sha256(b"\0".join([*(file.read_bytes() for file in files), *(text.encode() for text in replies)]))
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))  # one that is not absolute counts for nothing, as XDG has it
    cache = (named if named.is_absolute() else Path.home() / ".cache") / "loadsim"
    path = cache / f"tiny-{digest.hexdigest()[:16]}.gguf"
    if not path.exists():
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=cache) as drafts:
                draft = Path(drafts) / path.name
                write_model(draft, replies)
                draft.replace(path)
        except OSError as error:
            why = f"cannot write the model into {cache}: {error.strerror}; XDG_CACHE_HOME may name another folder"
            raise OSError(error.errno, why) from error
    return path


def write_model(path: Path, replies: Sequence[str]) -> None:
    """Write the GGUF of a model that speaks like `replies`, the agent's texts, one per turn."""
    bpe = msgspec.json.decode((_HERE / "tokenizer.json").read_bytes(), type=Bpe)
    writer = gguf.GGUFWriter(path, "nemotron_h_moe")
    _add_shape(writer)
    _add_tokenizer(writer, bpe)
    embedding, output = babble(bpe, replies)
    tensors: dict[str, NDArray[np.generic]] = {
        "token_embd.weight": embedding.astype(np.float16),
        "output.weight": output.astype(np.float16),
        "output_norm.weight": np.ones(_WIDTH, np.float32),
        **_blocks(np.random.default_rng(0)),
    }
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def babble(bpe: Bpe, replies: Sequence[str]) -> tuple[Matrix, Matrix]:
    """Embedding and output matrix, both (tokens, width), whose product is the log probability of the next token.

    With c(i, j) counts of pairs and u the unigram, P(j | i) ~ u(j) + c(i, j) / s. Its log is log u(j), one column of
    the matrices, plus log(1 + c(i, j) / (s u(j))), zero wherever a pair was never seen: a truncated SVD, with frequent
    contexts weighing more, takes most columns. The end of the turn has a column of its own and so keeps to where the
    agent ends. The last column brings every embedding to unit RMS, so that the model's final norm changes nothing; the
    output ignores it.
    """
    end = bpe.ids["<|im_end|>"]
    start = bpe.encode("\n")  # a prompt ends with "assistant\n"
    spoken = [[*start, *bpe.encode(text), end] for text in replies]
    size, rank = len(bpe.tokens), _WIDTH - 3
    counts = np.zeros((size, size), np.float32)
    for tokens in spoken:
        np.add.at(counts, (tokens[:-1], tokens[1:]), 1)
    unigram = np.maximum(counts.sum(0) / max(counts.sum(), 1), _UNSEEN)
    weight = np.sqrt(counts.sum(1))
    seen = weight > 0
    lift = np.log1p(counts[seen] / (_SMOOTHING * unigram))
    ends = lift[:, end].copy()
    lift[:, end] = 0
    left, right = _truncated_svd(lift * weight[seen, None], rank)

    embedding = np.zeros((size, _WIDTH), np.float32)
    output = np.zeros((size, _WIDTH), np.float32)
    embedding[seen, :rank] = left / weight[seen, None]
    embedding[seen, rank] = ends
    output[:, :rank] = right
    output[end] = 0
    output[end, rank] = 1

    bias = np.sqrt(_WIDTH) / 2
    room = np.sqrt(_WIDTH - bias**2)
    scale = room / np.linalg.norm(embedding, axis=1).max(initial=1e-3)
    embedding *= scale
    output /= scale
    embedding[:, rank + 1], output[:, rank + 1] = bias, np.log(unigram) / bias
    output[end, rank + 1] -= _LINGER / bias
    embedding[:, -1] = np.sqrt(np.maximum(room**2 - np.square(embedding[:, :-2]).sum(1), 0))
    return embedding, output


def _truncated_svd(matrix: Matrix, rank: int) -> tuple[Matrix, Matrix]:
    """Left (rows, rank) and right (columns, rank) with left @ right.T ~ matrix: randomised, two power steps."""
    basis = matrix @ np.random.default_rng(0).standard_normal((matrix.shape[1], rank + 16)).astype(np.float32)
    for _ in range(2):
        basis = matrix @ (matrix.T @ np.linalg.qr(basis)[0])
    basis = np.linalg.qr(basis)[0]
    u, s, vt = np.linalg.svd(basis.T @ matrix, full_matrices=False)
    left, right = basis @ (u * s)[:, :rank], vt[:rank].T
    missing = [(0, 0), (0, rank - left.shape[1])]  # a matrix of fewer rows has no more ranks
    return np.pad(left, missing), np.pad(right, missing)


def _add_shape(writer: gguf.GGUFWriter) -> None:
    """The keys from which llama.cpp tells the kinds of layers: Mamba2 has neither KV heads nor feed-forward."""
    writer.add_name("loadsim tiny")
    writer.add_block_count(len(_LAYERS))
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv([_KV_HEADS if kind == "*" else 0 for kind in _LAYERS])
    writer.add_feed_forward_length([_EXPERT if kind == "E" else 0 for kind in _LAYERS])
    writer.add_key_length(_HEAD)
    writer.add_value_length(_HEAD)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_layer_norm_eps(1e-5)
    writer.add_ssm_conv_kernel(_CONV)
    writer.add_ssm_inner_size(_INNER)
    writer.add_ssm_state_size(_STATE)
    writer.add_ssm_time_step_rank(_SSM_HEADS)
    writer.add_ssm_group_count(_GROUPS)
    writer.add_expert_count(_EXPERTS)
    writer.add_expert_used_count(1)
    writer.add_expert_shared_count(1)
    writer.add_expert_feed_forward_length(_EXPERT)
    writer.add_expert_shared_feed_forward_length(_EXPERT)
    writer.add_expert_group_count(1)
    writer.add_expert_group_used_count(1)
    writer.add_expert_weights_norm(True)
    writer.add_expert_weights_scale(1.0)


def _add_tokenizer(writer: gguf.GGUFWriter, bpe: Bpe) -> None:
    kinds = dict.fromkeys(bpe.control, gguf.TokenType.CONTROL)
    kinds |= dict.fromkeys(bpe.markers, gguf.TokenType.USER_DEFINED)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(bpe.tokens)
    writer.add_token_types([kinds.get(token, gguf.TokenType.NORMAL) for token in bpe.tokens])
    writer.add_token_merges(bpe.merges)
    writer.add_bos_token_id(bpe.ids["<|endoftext|>"])
    writer.add_pad_token_id(bpe.ids["<|endoftext|>"])
    writer.add_eos_token_id(bpe.ids["<|im_end|>"])
    writer.add_add_bos_token(False)
    writer.add_chat_template((_HERE / "template.jinja").read_text())


def _blocks(rng: np.random.Generator) -> dict[str, Matrix]:
    """Random weights of every layer, in GGUF's names; the matrices that write to the residual stream are quiet."""

    def random(*shape: int, scale: float = 1.0) -> Matrix:
        return rng.normal(0, scale / np.sqrt(shape[-1]), shape).astype(np.float32)

    channels = _INNER + 2 * _GROUPS * _STATE
    tensors: dict[str, Matrix] = {}
    for number, kind in enumerate(_LAYERS):
        layer = {"attn_norm.weight": np.ones(_WIDTH, np.float32)}
        if kind == "M":
            layer |= {
                "ssm_in.weight": random(_INNER + channels + _SSM_HEADS, _WIDTH),
                "ssm_conv1d.weight": random(channels, _CONV),
                "ssm_conv1d.bias": np.zeros(channels, np.float32),
                "ssm_dt.bias": np.zeros(_SSM_HEADS, np.float32),
                "ssm_a": -np.arange(1, _SSM_HEADS + 1, dtype=np.float32)[:, None],
                "ssm_d": np.ones((_SSM_HEADS, 1), np.float32),
                "ssm_norm.weight": np.ones((_GROUPS, _INNER // _GROUPS), np.float32),
                "ssm_out.weight": random(_WIDTH, _INNER, scale=_QUIET),
            }
        elif kind == "*":
            layer |= {
                "attn_q.weight": random(_HEADS * _HEAD, _WIDTH),
                "attn_k.weight": random(_KV_HEADS * _HEAD, _WIDTH),
                "attn_v.weight": random(_KV_HEADS * _HEAD, _WIDTH),
                "attn_output.weight": random(_WIDTH, _HEADS * _HEAD, scale=_QUIET),
            }
        else:
            layer |= {
                "ffn_gate_inp.weight": random(_EXPERTS, _WIDTH),
                "exp_probs_b.bias": np.zeros(_EXPERTS, np.float32),
                "ffn_up_exps.weight": random(_EXPERTS, _EXPERT, _WIDTH),
                "ffn_down_exps.weight": random(_EXPERTS, _WIDTH, _EXPERT, scale=_QUIET),
                "ffn_up_shexp.weight": random(_EXPERT, _WIDTH),
                "ffn_down_shexp.weight": random(_WIDTH, _EXPERT, scale=_QUIET),
            }
        tensors |= {f"blk.{number}.{name}": tensor for name, tensor in layer.items()}
    return tensors


class _Reply(msgspec.Struct):
    text: str


class _Turn(msgspec.Struct):
    agent: _Reply


class _Recording(msgspec.Struct):
    turns: list[_Turn]


def _shipped_replies() -> list[str]:
    recording = msgspec.json.decode(shipped.find("recordings", "front_desk").read_bytes(), type=_Recording)
    return [turn.agent.text for turn in recording.turns]
