"""A model's memory for the terminal: its weights, what a slot takes, what fits; several models side by side."""

import re
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..plan.memory import Plan, Slots
from ..types import ServerSettings
from .grid import grid
from .words import listed, number, several

LEFT_OUT = "computed, not measured; not in it: compute buffers, the driver's own memory, anything else on the card"
_CACHE_RAM = 8192  # MiB, llama.cpp's own
_MANY = 5  # tensor types that are listed one by one
_FEW = 3  # and sorts of tensors


def render(found: Sequence[Plan]) -> RenderableType:
    """One model in full, or several in a table with what sets them apart."""
    parts = _one(found[0]) if len(found) == 1 else _several(found)
    return Group(*(Text(part) if isinstance(part, str) else part for part in parts))


def _one(plan: Plan) -> Iterator[RenderableType]:
    yield Text(_title(plan), style="bold")
    yield from _kinds(plan)
    yield from ("", _weights(plan), "", _memory(plan), "", _host(plan))
    yield from _fallen([plan])
    yield from ("", *_doubts([plan]), LEFT_OUT)
    yield from (Text(line, style="bold") for line in _answer(plan))


def _several(found: Sequence[Plan]) -> Iterator[RenderableType]:
    yield _compared(found)
    yield from _fallen(found)
    yield ""
    yield from _slots_apart(found)
    yield from _doubts(found)
    yield LEFT_OUT


def _title(plan: Plan) -> str:
    asked = f", {plan.file_type}" if plan.file_type else ""
    files = f" in {len(plan.files)} files" if len(plan.files) > 1 else ""
    weights = sum(kind.weights for kind in plan.weights)
    return (
        f"{_plain(plan.model)}: {_plain(plan.shape.architecture)}{asked}, {number(weights / 1e9)} B weights, "
        f"{_gb(plan.bytes)} GB{files}"
    )


def _kinds(plan: Plan) -> Iterator[str]:
    shape = plan.shape
    kinds = [
        f"{len(shape.full)} hold the whole context" if shape.full else "",
        f"{len(shape.windowed)} a window of {shape.window:,} tokens" if shape.windowed else "",
        f"{shape.states} a recurrent state" if shape.states else "",
    ]
    yield f"{several(shape.layers, 'layer')}: {listed(kinds) or 'none holds anything'}"
    yield f"read: {plan.read:,} bytes of header in {several(plan.requests, 'piece')}, no weights"


def _weights(plan: Plan) -> Table:
    table = grid("weights", "tensors", "GB", "MiB", "bits each")
    for kind in plan.weights[:_MANY]:
        bits = 8 * kind.bytes / kind.weights
        table.add_row(kind.type, f"{kind.tensors:,}", _gb(kind.bytes), _mib(kind.bytes), number(bits))
    if rest := plan.weights[_MANY:]:
        size, count = sum(kind.bytes for kind in rest), sum(kind.tensors for kind in rest)
        bits = 8 * size / sum(kind.weights for kind in rest)
        table.add_row(f"{len(rest)} others", f"{count:,}", _gb(size), _mib(size), number(bits))
    weights, count = (sum(getattr(kind, name) for kind in plan.weights) for name in ("weights", "tensors"))
    table.add_row("all", f"{count:,}", _gb(plan.bytes), _mib(plan.bytes), number(8 * plan.bytes / max(weights, 1)))
    return table


def _memory(plan: Plan) -> Table:
    """On the card: a slot's parts, and those of all slots."""
    slots, shape = plan.slots, plan.shape
    table = grid("on the card, MiB", "a slot", several(slots.slots, "slot"))
    of = "unified" if plan.settings.kv_unified else "a slot"
    parts = [
        (f"KV, {plan.per_token:,} B a token, {slots.cells:,} tokens {of}", slots.kv, bool(shape.full)),
        (
            f"window, {plan.per_window_token:,} B a token, {slots.window_cells:,} {of}",
            slots.window,
            bool(shape.windowed),
        ),
        (f"state, {shape.state:,} B a layer, {several(shape.states, 'layer')}, f32", slots.state, shape.states > 0),
    ]
    for name, size, there in parts:
        if there:
            table.add_row(name, _mib(size / slots.slots), _mib(size))
    table.add_row("a slot in all", _mib(slots.bytes / slots.slots), _mib(slots.bytes))
    table.add_row("weights, without the input layer's", "", _mib(plan.on_card))
    table.add_row("in all", "", _mib(plan.total))
    return table


def _host(plan: Plan) -> str:
    host, settings = plan.host, plan.settings
    parts = [f"{_gib(host.input)} GiB of input weights" if host.input else ""]
    if host.checkpoints:
        each = f"{settings.checkpoints} x {_mib(host.checkpoint)} MiB a slot"
        parts.append(f"checkpoints up to {_gib(host.checkpoints)} GiB ({each})")
    if host.ram_cache is None:
        parts.append("a RAM cache without limit")
    elif host.ram_cache:
        parts.append(f"a RAM cache of up to {_gib(host.ram_cache)} GiB")
    return f"in the host's memory: {listed(parts) or 'nothing of note'}"


def _fallen(found: Sequence[Plan]) -> Iterator[RenderableType]:
    """What the quantizer could not make as asked, file by file, and which tensors those are."""
    if not any(plan.fallbacks for plan in found):
        return
    table = grid("fell back", "to", "for", "tensors", "GB", "GB more")
    names = short_names(found) if len(found) > 1 else [found[0].file_type or ""]
    for name, plan in zip(names, found, strict=True):
        for i, fallback in enumerate(plan.fallbacks[:_MANY]):
            sizes = _gb(fallback.bytes), _gb(fallback.more)
            row = "" if i else _plain(name), fallback.type, fallback.wanted, f"{fallback.tensors:,}", *sizes
            table.add_row(*row)
    yield from ("", table, "")
    sorts = max((plan.fallbacks[0].sorts for plan in found if plan.fallbacks), key=len)
    most = [f"{_plain(sort.name)} (rows of {sort.row:,}, {_gb(sort.bytes)} GB)" for sort in sorts[:_FEW]]
    rest = f", {len(sorts) - _FEW} sorts more" if len(sorts) > _FEW else ""
    yield f"rows that no block of 256 fits: {', '.join(most)}{rest}"


def _answer(plan: Plan) -> Iterator[str]:
    fit, settings = plan.fit, plan.settings
    each = settings.context // settings.slots
    flags = f"-np {settings.slots} -c {settings.context} -b {settings.batch} -ub {settings.ubatch}"
    yield f"llama-server {flags}{_cache_flags(plan)}: one slot more takes {_mib(plan.marginal)} MiB"
    if fit is None:
        yield "no card to fit it on: name one, --card rtx3090, or its memory, --card 24GiB"
        return
    has = f"{_plain(fit.card.name)} has {_mib(fit.card.memory)} MiB, {_mib(fit.reserve)} of them kept free"
    asked = several(settings.slots, "slot")
    if fit.left < 0:
        most = "none" if not fit.slots else f"{several(fit.slots, 'slot')} at most"
        yield f"{has}: {asked} are {_mib(-fit.left)} MiB too many; of {each:,} tokens there is room for {most}"
    else:
        most = f"{fit.slots}, llama.cpp's limit," if fit.limit else f"{fit.slots} at most"
        yield f"{has}: {asked} leave {_mib(fit.left)} MiB; {most} fit at {each:,} tokens each"


def _cache_flags(plan: Plan) -> str:
    settings = plan.settings
    flags = f" -ctk {settings.cache_type_k} -ctv {settings.cache_type_v}"
    flags += " --kv-unified" * settings.kv_unified + " --swa-full" * plan.swa_full
    usual = ServerSettings(cache_ram=_CACHE_RAM)
    flags += f" --ctx-checkpoints {settings.checkpoints}" * (settings.checkpoints != usual.checkpoints)
    return flags + f" --cache-ram {settings.cache_ram}" * (settings.cache_ram != usual.cache_ram)


def _compared(found: Sequence[Plan]) -> Table:
    table = grid("", "GB", "bits\neach", "largest\ntype", "its GB", "fell\nback, GB", "that\ncosts", "slots\nthat fit")
    for name, plan in zip(short_names(found), found, strict=True):
        weights = sum(kind.weights for kind in plan.weights)
        largest = plan.weights[0] if plan.weights else None
        table.add_row(
            _plain(name),
            _gb(plan.bytes),
            number(8 * plan.bytes / max(weights, 1)),
            largest.type if largest else "-",
            _gb(largest.bytes) if largest else "-",
            _gb(sum(fallback.bytes for fallback in plan.fallbacks)) if plan.fallbacks else "-",
            _gb(sum(fallback.more for fallback in plan.fallbacks)) if plan.fallbacks else "-",
            f"{plan.fit.slots}" if plan.fit else "-",
        )
    return table


def short_names(found: Sequence[Plan]) -> list[str]:
    """What sets the names apart: without what all begin and end with, cut where words meet."""
    names = [plan.model for plan in found]
    if len(set(names)) < len(names):
        names = [plan.files[0] for plan in found]
    words = [re.split(r"(?<=[-._/])", name) for name in names]
    while len(words[0]) > 1 and all(len(name) > 1 and name[0] == words[0][0] for name in words):
        words = [name[1:] for name in words]
    while len(words[0]) > 1 and all(len(name) > 1 and name[-1] == words[0][-1] for name in words):
        words = [name[:-1] for name in words]
    short = ["".join(name).rstrip("-._/") for name in words]
    if len(set(short)) < len(short):  # one file twice
        short = [plan.model for plan in found]
    return [name if len(name) <= 24 else f"..{name[-22:]}" for name in short]


def _slots_apart(found: Sequence[Plan]) -> Iterator[str]:
    """What a slot takes, once if it is the same for all."""
    first = found[0]
    if len({_each(plan.slots) for plan in found}) == 1:
        yield f"a slot takes {_mib(_each(first.slots))} MiB in each"
    else:
        slots = (
            f"{_plain(name)} {_mib(_each(plan.slots))}" for name, plan in zip(short_names(found), found, strict=True)
        )
        yield f"a slot takes, MiB: {', '.join(slots)}"
    if first.fit:
        each = first.settings.context // first.settings.slots
        yield (
            f"slots of {each:,} tokens that fit on {_plain(first.fit.card.name)}, {_mib(first.fit.card.memory)} MiB, "
            f"{_mib(first.fit.reserve)} of them kept free"
        )
    else:
        yield "no card to fit them on: name one, --card rtx3090, or its memory, --card 24GiB"
    yield f"read: {sum(plan.read for plan in found):,} bytes of headers, no weights"


def _each(slots: Slots) -> float:
    return slots.bytes / slots.slots


def _doubts(found: Sequence[Plan]) -> Iterator[str]:
    """Where a figure is less sure than it looks."""
    names = short_names(found) if len(found) > 1 else [plan.model for plan in found]
    rules: dict[str, str] = {}
    cut, unknown = [], []
    for name, plan in zip(map(_plain, names), found, strict=True):
        if plan.shape.estimated:
            rules[plan.shape.architecture] = plan.shape.estimated
        if plan.size is not None and plan.size < plan.needs:
            cut.append(f"{name} has {plan.size:,} bytes of {plan.needs:,}")
        unknown += [f"{kind} in {name}" for kind in plan.unknown]
    for architecture, rule in rules.items():
        yield f"estimated, since {_plain(architecture)} is not known here: {rule}"
    if cut:
        yield f"cut, or a header alone; the plan is for the whole: {', '.join(cut)}"
    if unknown:
        yield f"not known here, and sized by their places in the file: {', '.join(unknown)}"


def _plain(text: str) -> str:
    """A name out of a file, fit for a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _gb(size: float) -> str:
    return number(size / 1e9)


def _gib(size: float) -> str:
    return number(size / (1 << 30))


def _mib(size: float) -> str:
    """Whole, or with three figures where it is small."""
    mib = size / (1 << 20)
    return f"{mib:,.0f}" if mib >= 100 or mib == int(mib) else number(mib)
