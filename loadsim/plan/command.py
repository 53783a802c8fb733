"""The llama-server command line that a plan comes to, flag by flag, with why each stands there."""

from collections.abc import Iterable, Iterator

import msgspec

from ..scenario.launch import fill, words
from ..types import ServerSettings

IDLE = "--no-cache-idle-slots"
PLACES = {
    "-np": "slots", "-c": "context", "-b": "batch", "-ub": "ubatch", "-ctk": "cache_type_k", "-ctv": "cache_type_v",
    "--cache-ram": "cache_ram", "--ctx-checkpoints": "checkpoints", "-t": "threads",
}  # fmt: skip
QUANTIZED = ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0")


class Flag(msgspec.Struct, frozen=True):
    """A flag with its value, empty for one that has none, and why it is what it is."""

    name: str
    value: str
    why: str


class Keeps(msgspec.Struct, frozen=True, kw_only=True):
    """What a model keeps for a caller beside keys and values of the whole context: a recurrent state, or a window of
    some layers (`window`, with `swa_full`: they keep all). `checkpoint`: bytes of a saved copy of that."""

    state: bool = False
    window: bool = False
    swa_full: bool = False
    checkpoint: int = 0

    @property
    def uncut(self) -> bool:
        """Whether it cannot be cut at any token, so that an edit goes back to a saved copy."""
        return self.state or (self.window and not self.swa_full)


def known(slots: int, why: str, context: int | None) -> Iterator[Flag]:
    """The flags of a server that does not tell its settings, but perhaps the `context` of a slot."""
    yield Flag("-np", str(slots), why)
    if context is not None:
        yield Flag("-c", str(slots * context), f"{slots} x {context:,} tokens, as the server told of a slot")


def flags(slots: int, why: str, settings: ServerSettings, keeps: Keeps | None) -> Iterator[Flag]:
    """The flags for `slots` slots, each with the room that `settings` gives one. `why`: so many slots. `keeps`: None
    where the model is not known."""
    each = settings.context // settings.slots
    yield Flag("-np", str(slots), why)
    yield Flag("-c", str(slots * each), f"{slots} x {each:,} tokens: -c is the sum over the slots")
    yield Flag(
        "-b", str(settings.batch), "while a cold prompt is evaluated, callers get a token per so many of its tokens"
    )
    yield Flag("-ub", str(settings.ubatch), _ubatch(keeps))
    if settings.cache_type_k != "f16" or settings.cache_type_v != "f16":
        if settings.cache_type_v in QUANTIZED:
            yield Flag("-fa", "on", "quantized values need it")
        yield Flag("-ctk", settings.cache_type_k, "as planned")
        yield Flag("-ctv", settings.cache_type_v, "as planned")
    if settings.kv_unified:
        yield Flag("--kv-unified", "", "callers who are served together have slots apart; else each costs a step")
    if keeps is not None and keeps.swa_full:
        yield Flag("--swa-full", "", "windowed layers keep the whole context: an edit needs no saved copy")
    yield from _cache(settings, keeps)
    if settings.similarity is not None:
        yield Flag("-sps", f"{settings.similarity:g}", "so alike a prompt must be to what a slot holds, to be given it")
    if settings.threads != ServerSettings().threads:
        yield Flag("-t", str(settings.threads), "threads of the processor")


def _ubatch(keeps: Keeps | None) -> str:
    if keeps is not None and keeps.uncut:
        return "tokens computed at a time; an edit further back than that loses the tail"
    return "tokens computed at a time"


def _cache(settings: ServerSettings, keeps: Keeps | None) -> Iterator[Flag]:
    if not settings.cache_idle_slots:
        yield Flag(
            IDLE,
            "",
            "else a slot's whole state is copied, between two steps, when slots change hands",
        )
    if settings.cache_ram != 8192:
        yield Flag("--cache-ram", str(settings.cache_ram), "MiB of the host's memory for prompts that left their slot")
    if keeps is None or keeps.uncut:
        why = "saved copies a slot: with 0 an edited history is evaluated again as a whole"
        yield Flag("--ctx-checkpoints", str(settings.checkpoints), why)
        if settings.checkpoint_min_step is not None:
            step = str(settings.checkpoint_min_step)
            yield Flag("--checkpoint-min-step", step, "tokens between two saved copies, at the least")


def argv(model: str, found: Iterable[Flag]) -> list[str]:
    """The command as words."""
    taken = [word for flag in found for word in (flag.name, flag.value) if word]
    return ["llama-server", "-m", model, "-ngl", "99", *taken]


def launched(launch: str, settings: ServerSettings, slots: int) -> list[str]:
    """The command that the measured server was started by, as words: its own stay, its settings are filled in."""
    values = {name: getattr(settings, name) for name in ServerSettings.__struct_fields__}
    each = settings.context // settings.slots
    return fill(launch, values | {"slots": slots, "context": slots * each, "port": 8080})


def said(flag: Flag, launch: str) -> bool:
    """Whether a launch takes the flag, from our settings where it has a value."""
    return f"{{{PLACES[flag.name]}}}" in launch if flag.name in PLACES else flag.name in words(launch)
