"""What a model keeps per caller, from its metadata: which layers hold keys and values, a window of them, or a state.

Read from llama.cpp's loaders (`load_arch_hparams` of each architecture, `create_memory`, `n_embd_r`, `n_embd_s`).
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import msgspec

from ..types import BadInput
from .gguf import Value

_MOST_LAYERS = 4096

# Every layer holds keys and values of the whole context. phi3 names a window that llama.cpp ignores.
_PLAIN = frozenset(
    [
        "llama",
        "qwen2",
        "qwen2moe",
        "qwen2vl",
        "qwen3",
        "qwen3moe",
        "qwen3vl",
        "qwen3vlmoe",
        "mistral3",
        "gemma",
        "phi2",
        "phi3",
        "phimoe",
        "granite",
        "granitemoe",
        "smollm3",
        "starcoder2",
        "stablelm",
        "internlm2",
        "command-r",
        "glm4",
        "glm4moe",
        "ernie4_5",
        "ernie4_5-moe",
        "nemotron",
        "olmo",
        "olmoe",
        "deepseek",
        "hunyuan-dense",
        "hunyuan-moe",
        "apertus",
        "exaone",
        "minicpm",
        "baichuan",
        "xverse",
        "orion",
        "bailingmoe",
        "bailingmoe2",
        "dots1",
        "arcee",
    ]
)
# Of so many layers the last sees everything, the others a window: (that many, the window where the file names none).
_WINDOWED = {
    "gemma2": (2, 4096),
    "gemma3": (6, 0),
    "gemma3n": (5, 0),
    "gemma4": (0, 0),  # the file says which
    "cohere2": (4, 0),
    "gpt-oss": (2, 0),
    "llama4": (4, 8192),
    "lfm2": (0, 0),
    "lfm2moe": (0, 0),
}
_GEMMA3N_OWN = 20  # layers with a cache of their own; not in the file
_STATE_WHERE_NO_HEADS = frozenset(("granitehybrid", "jamba", "plamo2", "lfm2", "lfm2moe"))
_INTERVAL = frozenset(("qwen3next", "qwen35", "qwen35moe"))


class Heads(msgspec.Struct, frozen=True):
    """What a layer holds per token: so many heads, each with a key and a value of so many numbers."""

    count: int
    key: int
    value: int


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What layers hold. `full`: those that hold the whole context; `windowed`: those that hold a window of it.

    `window`: tokens that a windowed layer sees. `states`: layers with a recurrent state, of `state` bytes each and per
    caller (f32, whatever the cache types). `estimated`: by what rule, where the architecture is not known here.
    """

    architecture: str
    layers: int
    full: tuple[Heads, ...]
    windowed: tuple[Heads, ...] = ()
    window: int = 0
    states: int = 0
    state: int = 0
    estimated: str | None = None


def shape(metadata: dict[str, Value], name: str) -> Shape:
    """The shape of the model whose header has these keys. `name` begins what is said of a key that cannot be used."""
    return _Keys(metadata, name).shape()


class _Keys:
    """A header's keys, read as llama.cpp reads them."""

    def __init__(self, metadata: dict[str, Value], name: str) -> None:
        self._all = metadata
        self._name = name
        architecture = metadata.get("general.architecture")
        if not isinstance(architecture, str) or not architecture:
            raise BadInput(f"{name} does not name its architecture; is it a model?")
        self.architecture = architecture
        self.layers = self._count("block_count") - self._count("nextn_predict_layers", 0)
        if not 0 < self.layers <= _MOST_LAYERS:
            raise BadInput(f"{name}: {architecture}.block_count gives {self.layers:,} layers; 1 to {_MOST_LAYERS} are")

    def shape(self) -> Shape:
        known = self.architecture in (_PLAIN | _WINDOWED.keys() | _STATE_WHERE_NO_HEADS | _INTERVAL) or (
            self.architecture in ("nemotron_h", "nemotron_h_moe", "falcon-h1", "mamba", "mamba2", "deepseek2")
        )
        window, slides = self._slides(known)
        attends, remembers = self._kinds(known)
        full: list[Heads] = []
        windowed: list[Heads] = []
        for layer in filter(attends, range(self.layers)):
            (windowed if slides(layer) else full).append(self._heads(layer, slides(layer)))
        states = sum(map(remembers, range(self.layers)))
        if not states and not any(heads.count * (heads.key + heads.value) for heads in (*full, *windowed)):
            raise BadInput(
                f"{self._name}: by its keys no layer holds anything of a call; is it a whole language model?"
            )
        return Shape(
            architecture=self.architecture,
            layers=self.layers,
            full=tuple(full),
            windowed=tuple(windowed),
            window=window if windowed else 0,
            states=states,
            state=self._state() if states else 0,
            estimated=None if known else self._rule(len(full), len(windowed), states),
        )

    def _kinds(self, known: bool) -> tuple[Callable[[int], bool], Callable[[int], bool]]:
        """Whether a layer holds keys and values, and whether it holds a state."""
        architecture = self.architecture
        if architecture in ("mamba", "mamba2"):
            return (lambda layer: False), (lambda layer: True)
        if architecture == "falcon-h1":
            return (lambda layer: True), (lambda layer: True)
        heads = self._key_value_heads
        if architecture in _INTERVAL:
            marked = self._flags("attention.recurrent_layers")
            every = self._count("full_attention_interval", 4)
            state = marked or [(layer + 1) % max(every, 1) != 0 for layer in range(self.layers)]
            return (lambda layer: not state[layer]), (lambda layer: state[layer])
        if architecture in ("nemotron_h", "nemotron_h_moe"):
            idle = self._per_layer("feed_forward_length")
            return (lambda n: heads[n] > 0 and not idle[n]), (lambda n: heads[n] == 0 and not idle[n])
        if architecture in _STATE_WHERE_NO_HEADS or (not known and self._has_state()):
            return (lambda layer: heads[layer] > 0), (lambda layer: heads[layer] == 0)
        own = self.layers
        if architecture == "gemma4":
            own -= self._count("attention.shared_kv_layers", 0)
        elif architecture == "gemma3n":
            own = min(own, _GEMMA3N_OWN)
        return (lambda layer: layer < own and heads[layer] > 0), (lambda layer: False)

    def _slides(self, known: bool) -> tuple[int, Callable[[int], bool]]:
        """The window, and whether a layer sees no more than that."""
        never = 0, lambda layer: False
        if known and self.architecture not in _WINDOWED:
            return never
        every, window = _WINDOWED.get(self.architecture, (0, 0))
        told = self._count("attention.sliding_window", window)
        if not told:
            return never
        if self.architecture != "llama4":  # which has this one window, whatever the file says
            window = told
        flags = self._all.get(self._key("attention.sliding_window_pattern"))
        if isinstance(flags, list):
            marked = self._flags("attention.sliding_window_pattern") or []
            return window, lambda layer: marked[layer]
        every = self._count("attention.sliding_window_pattern", every)
        if not every and self.architecture == "gemma4":
            raise BadInput(f"{self._name} lacks {self._key('attention.sliding_window_pattern')}")
        if not every:
            return never  # a window without a word on whose: an upper bound without it
        return window, lambda layer: layer % every < every - 1

    @cached_property
    def _query_heads(self) -> Sequence[int]:
        return self._per_layer("attention.head_count", [0] * self.layers)

    @cached_property
    def _key_value_heads(self) -> Sequence[int]:
        return self._per_layer("attention.head_count_kv", self._query_heads)

    def _heads(self, layer: int, slides: bool) -> Heads:
        """A layer's heads of keys and values."""
        first = self._query_heads[0]
        usual = self._count("embedding_length") // first if first else 0
        lengths = []
        for what in ("key", "value"):
            length = self._count(f"attention.{what}_length", usual)
            lengths.append(self._count(f"attention.{what}_length_swa", length) if slides else length)
        if self.architecture == "deepseek2" and self._count("attention.key_length_mla", 0):
            lengths[1] = 0  # latent attention keeps one vector for both
        return Heads(self._key_value_heads[layer], *lengths)

    def _state(self) -> int:
        """Bytes of one layer's state: the convolution's last inputs and the state itself, in f32."""
        if self._key("shortconv.l_cache") in self._all:
            return 4 * self._count("embedding_length") * max(self._count("shortconv.l_cache") - 1, 0)
        inner, size = self._count("ssm.inner_size"), self._count("ssm.state_size")
        conv, groups = self._count("ssm.conv_kernel"), self._count("ssm.group_count", 0)
        return 4 * (max(conv - 1, 0) * (inner + 2 * groups * size) + size * inner)

    def _has_state(self) -> bool:
        return self._key("ssm.inner_size") in self._all or self._key("shortconv.l_cache") in self._all

    def _rule(self, full: int, windowed: int, states: int) -> str:
        """How an architecture is estimated that is not known here."""
        said = [f"{full} layers hold heads_kv x (key + value length) per token of the whole context"]
        if windowed:
            said.append(f"{windowed} only of the window")
        elif self._count("attention.sliding_window", 0):
            said.append("the window that it names is not used, so this is the most it can be")
        if states:
            said.append(f"{states} without KV heads a Mamba state")
        return "; ".join(said)

    def _key(self, key: str) -> str:
        return f"{self.architecture}.{key}"

    def _count(self, key: str, default: int | None = None) -> int:
        """A whole number, 0 or more; of a list, its largest, as for sizes that differ by layer."""
        value = self._all.get(self._key(key), default)
        if isinstance(value, list) and value:
            value = max(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
            has = "lacks" if value is None else "has no whole number for"
            raise BadInput(f"{self._name} {has} {self._key(key)}")
        return value

    def _per_layer(self, key: str, default: Sequence[int] | None = None) -> Sequence[int]:
        """A number for each layer, from a list or one that holds for all."""
        value = self._all.get(self._key(key))
        if value is None and default is not None:
            return default
        if not isinstance(value, list):
            return [self._count(key)] * self.layers
        if len(value) < self.layers or not all(type(n) is int and 0 <= n < 1 << 31 for n in value):
            raise BadInput(f"{self._name} has no whole number for each of {self.layers} layers in {self._key(key)}")
        return [int(n) for n in value]

    def _flags(self, key: str) -> list[bool] | None:
        """A yes or no for each layer; None: the file does not say."""
        value = self._all.get(self._key(key))
        if value is None:
            return None
        if not isinstance(value, list) or len(value) < self.layers:
            raise BadInput(f"{self._name} has no yes or no for each of {self.layers} layers in {self._key(key)}")
        return [bool(flag) for flag in value]
