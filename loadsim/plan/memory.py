"""How much memory a model and its slots take, from the header and the server's settings. Pure; everything in bytes.

Not in it are compute buffers and what driver and runtime hold: they depend on build, card and graph, which no header
tells. A card's `reserve` keeps room for them.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from ..types import BadInput, ServerSettings
from .cards import Card
from .gguf import Tensor
from .quants import BY_NAME, FILES, WIDE, wanted
from .shape import Heads, Shape, shape
from .source import Model

MOST_SLOTS = 256  # llama.cpp has no more sequences
_MOST_CONTEXT = (1 << 31) - 1  # tokens, of all slots
_CELLS = 256  # its caches come in multiples of so many tokens


class Weights(msgspec.Struct, frozen=True):
    """Tensors of one type: how many, their weights and their bytes."""

    type: str
    tensors: int
    weights: int
    bytes: int


class Sort(msgspec.Struct, frozen=True):
    """Tensors of one name in several layers, such as `ffn_up_exps`, with rows of `row` weights."""

    name: str
    row: int
    tensors: int
    bytes: int


class Fallback(msgspec.Struct, frozen=True, kw_only=True):
    """Tensors whose rows do not divide by 256: of type `type` in place of `wanted`, and how many bytes more that is."""

    type: str
    wanted: str
    bytes: int
    more: int
    sorts: tuple[Sort, ...]

    @property
    def tensors(self) -> int:
        return sum(sort.tensors for sort in self.sorts)


class Slots(msgspec.Struct, frozen=True, kw_only=True):
    """What a number of slots take on the card. `cells`: tokens of room in a cache, of each slot or of all together."""

    slots: int
    cells: int
    window_cells: int
    kv: int
    window: int
    state: int

    @property
    def bytes(self) -> int:
        return self.kv + self.window + self.state


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of the host, at most: `checkpoints` of all slots, `ram_cache` (None: without limit), `input` weights."""

    checkpoint: int
    checkpoints: int
    ram_cache: int | None
    input: int


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A card's answer. `slots`: the most that fit; `left`: bytes free with those asked for, negative where they do not.

    `limit`: no more slots exist, though they would fit.
    """

    card: Card
    reserve: int
    slots: int
    left: int
    limit: bool


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A model's memory under some settings; bytes.

    `on_card`: its weights there, all but the input layer's. `per_token`: of the whole context, all layers; `marginal`:
    what one slot more takes.
    """

    model: str
    files: tuple[str, ...]
    read: int
    requests: int
    size: int | None
    needs: int
    file_type: str | None
    settings: ServerSettings
    swa_full: bool
    shape: Shape
    weights: tuple[Weights, ...]
    bytes: int
    on_card: int
    fallbacks: tuple[Fallback, ...]
    unknown: tuple[str, ...]
    per_token: int
    per_window_token: int
    slots: Slots
    total: int
    marginal: int
    host: Host
    fit: Fit | None


def plan(model: Model, settings: ServerSettings, card: Card | None, reserve: int, swa_full: bool = False) -> Plan:
    """The memory of a model. Raises BadInput where llama.cpp would not load it so."""
    kept = shape(model.metadata, model.name)
    if settings.slots > MOST_SLOTS:
        raise BadInput(f"--slots {settings.slots:,}: llama.cpp has at most {MOST_SLOTS}")

    each = settings.context // settings.slots
    if settings.context > _MOST_CONTEXT:
        raise BadInput(
            f"--context {each}: {settings.slots} slots of that are {settings.context:,} tokens, over llama.cpp's limit"
        )

    per_token = _per_token(kept.full, model.name, settings)
    per_window = _per_token(kept.windowed, model.name, settings)

    def take(slots: int) -> Slots:
        return _slots(kept, settings, slots, swa_full, per_token, per_window)

    size = sum(tensor.bytes for tensor in model.tensors)
    source = _input(model)
    on_card = size - sum(n for name, n in source.items() if not (name == "token_embd.weight" and _tied(model)))
    asked = take(settings.slots)
    if max(model.needs, on_card + take(MOST_SLOTS).bytes) >= 1 << 63:
        raise BadInput(f"{model.name} claims sizes that no card and no disk has")
    return Plan(
        model=model.name,
        files=model.files,
        read=model.read,
        requests=model.requests,
        size=model.size,
        needs=model.needs,
        file_type=_file_type(model),
        settings=settings,
        swa_full=swa_full,
        shape=kept,
        weights=tuple(by_type(model)),
        bytes=size,
        on_card=on_card,
        fallbacks=tuple(fallbacks(model)),
        unknown=tuple(sorted({tensor.type for tensor in model.tensors} - BY_NAME.keys())),
        per_token=per_token,
        per_window_token=per_window,
        slots=asked,
        total=on_card + asked.bytes,
        marginal=take(settings.slots + 1).bytes - asked.bytes,
        host=_host(kept, settings, swa_full, per_window, sum(source.values())),
        fit=None if card is None else _fit(card, reserve, on_card, settings, lambda slots: take(slots).bytes),
    )


def _slots(kept: Shape, settings: ServerSettings, slots: int, swa_full: bool, per_token: int, per_window: int) -> Slots:
    """What so many slots take, each with the share of the context that `settings` gives one.

    A cache has room for pad256(context) tokens per slot, or in all if it is unified; of a windowed layer for
    pad256(min(context, window + ubatch)), the window once per slot if it is unified.
    """
    each = settings.context // settings.slots
    context = each * slots if settings.kv_unified else each
    caches = 1 if settings.kv_unified else slots
    cells = _padded(context)
    windows = kept.window * (slots if settings.kv_unified else 1)
    window_cells = cells if swa_full else _padded(min(cells, windows + min(settings.batch, settings.ubatch)))
    return Slots(
        slots=slots,
        cells=cells,
        window_cells=window_cells if kept.windowed else 0,
        kv=caches * cells * per_token,
        window=caches * window_cells * per_window,
        state=slots * kept.states * kept.state,
    )


def _per_token(layers: Sequence[Heads], name: str, settings: ServerSettings) -> int:
    """Bytes that a token takes in these layers."""
    types = settings.cache_type_k, settings.cache_type_v
    if types[0] != types[1] and any(not heads.value for heads in layers):
        raise BadInput(f"{name}: one vector is key and value here, of one cache type; not {types[0]} and {types[1]}")

    def row(heads: Heads) -> int:
        total = 0
        for what, length, cache_type in zip(("keys", "values"), (heads.key, heads.value), types, strict=True):
            quant = BY_NAME[cache_type.upper()]
            if length % quant.block:
                raise BadInput(
                    f"{name}: no cache of {cache_type}, in blocks of {quant.block}: its {what} are {length:,} long"
                )
            total += heads.count * quant.size(length)
        return total

    return sum(map(row, layers))


def _host(kept: Shape, settings: ServerSettings, swa_full: bool, per_window: int, source: int) -> Host:
    """A checkpoint holds what cannot be cut: a slot's states, and the window's tokens unless the cache keeps all."""
    context = settings.context // settings.slots
    window = 0 if swa_full else min(kept.window, context) * per_window
    checkpoint = kept.states * kept.state + window
    return Host(
        checkpoint=checkpoint,
        checkpoints=settings.slots * settings.checkpoints * checkpoint,
        ram_cache=None if settings.cache_ram < 0 else settings.cache_ram << 20,
        input=source,
    )


def _fit(card: Card, reserve: int, weights: int, settings: ServerSettings, take: Callable[[int], int]) -> Fit:
    """The most slots whose memory fits; more slots never take less."""
    room = card.memory - reserve - weights
    most = min(MOST_SLOTS, _MOST_CONTEXT // max(settings.context // settings.slots, 1))
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if take(middle) <= room else (low, middle)
    return Fit(
        card=card,
        reserve=reserve,
        slots=low if room >= 0 else 0,
        left=room - take(settings.slots),
        limit=low == most,
    )


def by_type(model: Model) -> Iterable[Weights]:
    """The tensors by their type, the largest share first."""
    found: dict[str, list[int]] = {}
    for tensor in model.tensors:
        sums = found.setdefault(tensor.type, [0, 0, 0])
        for i, n in enumerate((1, tensor.weights, tensor.bytes)):
            sums[i] += n
    return sorted((Weights(name, *sums) for name, sums in found.items()), key=lambda weights: -weights.bytes)


def fallbacks(model: Model) -> Iterable[Fallback]:
    """Which tensors the quantizer could not make what was asked for, and what that costs; the dearest first."""
    asked = model.metadata.get("general.file_type")
    found: dict[tuple[str, str], list[Tensor]] = {}
    for tensor in model.tensors:
        missed = wanted(tensor.type, tensor.shape[0], asked if isinstance(asked, int) else None)
        if missed:
            found.setdefault((tensor.type, missed), []).append(tensor)
    made = [_fallback(*types, tensors) for types, tensors in found.items()]
    return sorted(made, key=lambda fallback: -fallback.bytes)


def _fallback(kind: str, missed: str, tensors: list[Tensor]) -> Fallback:
    """What is known of tensors that fell back alike."""
    sorts: dict[tuple[str, int], list[int]] = {}
    for tensor in tensors:
        name = tensor.name.removesuffix(".weight").rsplit(".", 1)[-1]
        sorts.setdefault((name, tensor.shape[0]), []).append(tensor.bytes)
    size = sum(tensor.bytes for tensor in tensors)
    # Rows that no block of 256 fits would have taken so much if one did.
    would = sum(tensor.weights * BY_NAME[missed].bytes // WIDE for tensor in tensors)
    found = (Sort(name, row, len(sizes), sum(sizes)) for (name, row), sizes in sorts.items())
    return Fallback(
        type=kind,
        wanted=missed,
        bytes=size,
        more=size - would,
        sorts=tuple(sorted(found, key=lambda sort: -sort.bytes)),
    )


def _input(model: Model) -> dict[str, int]:
    """The input layer's tensors, by name: llama.cpp keeps them in the host's memory whatever `-ngl` says."""
    inputs = ("token_embd.weight", "per_layer_token_embd.weight", "position_embd.weight", "token_types.weight")
    return {tensor.name: tensor.bytes for tensor in model.tensors if tensor.name in inputs}


def _tied(model: Model) -> bool:
    """Without an output matrix of its own a model uses the embedding, which then lies on the card too."""
    return all(tensor.name != "output.weight" for tensor in model.tensors)


def _file_type(model: Model) -> str | None:
    asked = model.metadata.get("general.file_type")
    return FILES[asked][0] if isinstance(asked, int) and asked in FILES else None


def _padded(tokens: int) -> int:
    return -(-tokens // _CELLS) * _CELLS
