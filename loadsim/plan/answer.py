"""The plan on one page: what to start, what limits it, what is left, and where every figure comes from. Pure.

Memory is computed from a header, what callers hear is measured by a search, offered load and cost are computed from
what the user says; any of them may be missing, and the page says what would tell it.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from ..report.words import several
from ..types import BadInput, ServerSettings
from .command import IDLE, Flag, Keeps, argv, flags, known, launched, said
from .cost import Cost
from .fact import Fact
from .memory import MOST_SLOTS
from .traffic import Traffic

Unit = Literal["", "bytes", "s", "share", "tokens", "callers", "slots", "cards", "an hour", "at a time", "money"]
Limit = Literal["memory", "first token", "decode", "stalls", "errors", "slots", "not known"]

# What a target's measure says of the card. A voice that runs dry while the rest decodes fast enough met a stall.
MEASURES: dict[str, Limit] = {
    "ttft": "first token", "ttfs": "first token", "decode": "decode", "share": "decode", "stall": "stalls",
    "underruns": "stalls", "errors": "errors",
}  # fmt: skip


PACED = {
    None: "measured with callers who all talk at once, which is the worst case; not with the pace of people",
    "misses": "callers with the pace of people missed a target with so many: see the run's answer",
    "unclear": "with callers who have the pace of people it is not clear yet: too few replies were heard",
}


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What a model takes on a card with `settings`, computed from its header; bytes.

    weights: on the card; slot: of one slot; total: with all slots. card: its name; room: its memory; reserve: what is
    kept free of it; fits: the most slots; None without a card. file: as the command names it. guessed: how an unknown
    architecture was estimated.
    """

    model: str
    file: str
    settings: ServerSettings
    keeps: Keeps
    weights: int
    slot: int
    total: int
    card: str | None = None
    room: int | None = None
    reserve: int = 0
    fits: int | None = None
    guessed: str | None = None

    @property
    def left(self) -> int | None:
        """Bytes of the card that are free, beside the reserve; negative where the slots do not fit."""
        return None if self.room is None else self.room - self.reserve - self.total


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A target at the number of callers that was found. `text`: as it is written; `measure`: its first word; `value`,
    `limit`: as a person reads them; `left`: the part of the limit that is not used up, None: not known."""

    text: str
    measure: str
    value: str
    limit: str
    left: float | None = None


class Searched(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found: `callers` meet every target, up to `high` may (None: no number was found to fail).

    slots: theirs, and those of others who were on the line beside them. run: its folder's name; reason: why more fail;
    missed: the measure that they fail by; full: the server does not start with more slots; bounded: it is another's,
    and has no more; stopped: what broke the search off. settings, launch: of the server, None where it is not ours, and
    then perhaps the `context` of a slot, in tokens. pinned: callers asked for their slots by `id_slot`. targets: at
    that number, over `repeats`; confirmed: on a server with as many slots; paced: whether callers
    who talk as people do meet them too, None where that was left out. embedded: the tiny model on this machine's CPU.
    """

    run: str
    callers: int
    high: int | None
    slots: int
    reason: str | None = None
    missed: str | None = None
    full: bool = False
    bounded: bool = False
    stopped: str | None = None
    settings: ServerSettings | None = None
    launch: str | None = None
    context: int | None = None
    pinned: bool | None = None
    targets: list[Target] = []
    repeats: int = 0
    confirmed: bool = False
    paced: Literal["meets", "misses", "unclear"] | None = None
    embedded: bool = False


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A figure with its name. `more`: what it is beside."""

    name: str
    fact: Fact
    unit: Unit = ""
    more: str = ""


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the answer holds only if the agent sends `id_slot` (None: not measured), why, and a request's body."""

    needed: bool | None
    why: str
    request: dict[str, Any]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. `slots`: the callers at a time that it is for; None: nothing tells. limit: what ends it, `because`;
    headroom: what is left; figures: by topic; sign: of the money; cautions: what to know before believing it; missing:
    what is not known, and what would tell."""

    slots: int | None
    model: str
    command: list[str]
    flags: list[Flag]
    limit: Limit
    because: str
    headroom: list[Line]
    figures: dict[str, list[Line]]
    pin: Pin
    sign: str
    cautions: list[str]
    missing: list[str]


def slots_for(
    asked: int | None, fits: int | None, searched: Searched | None, needed: int | None = None
) -> tuple[int, str] | None:
    """How many slots the answer is for, and why so many: as asked, as measured, as many as the load needs, or as fit.
    None: nothing tells."""
    if asked is not None:
        return asked, "as given"
    if searched is not None:
        return (searched.slots, f"measured: {searched.run} met every target on so many") if searched.callers else None
    if needed is not None and needed > MOST_SLOTS and fits is None:
        return MOST_SLOTS, f"computed: the offered load needs {needed:,}, and a server has no more"
    if needed is not None and needed <= (needed if fits is None else fits):
        return needed, "computed: the offered load needs so many"
    return (fits, "computed: so many slots fit on the card") if fits else None


def page(
    slots: tuple[int, str] | None,
    memory: Memory | None = None,
    searched: Searched | None = None,
    load: Traffic | None = None,
    cost: Cost | None = None,
    given: ServerSettings | None = None,
) -> Page:
    """`slots`: as of `slots_for`; memory and load are for as many. `given`: settings that stand without a model or a
    search too. Raises BadInput where nothing was given, or the
    search found that not even one caller is served as the targets ask."""
    if memory is None and searched is None and load is None and cost is None:
        raise BadInput("nothing to answer from: give a model, a search's run, or an offered load")
    if searched is not None and not searched.callers and slots is None:
        raise BadInput(
            f"in {searched.run} no number of callers meets the targets for sure: {searched.reason or searched.stopped}"
        )
    settings = searched.settings if searched and searched.settings else memory.settings if memory else given
    found: list[Flag] = []
    if slots is not None and settings is not None:
        found = [*flags(*slots, settings, memory.keeps if memory else None)]
    elif slots is not None:
        found = [*known(*slots, searched.context if searched else None)]
    launch = searched.launch if searched else None
    command: list[str] = []
    if slots is not None and settings is not None and launch is not None:
        command = launched(launch, settings, slots[0])
        found = [flag for flag in found if said(flag, launch)]
    elif slots is not None:
        command = argv(memory.file if memory else "model.gguf", found)
    limit, because = _limit(memory, searched)
    return Page(
        slots=slots[0] if slots else None,
        model=memory.model if memory else "",
        command=command,
        flags=found,
        limit=limit,
        because=because,
        headroom=[*_headroom(slots[0] if slots else 0, memory, searched, load)],
        figures=_figures(memory, searched, load, cost),
        pin=_pin(slots[0] if slots else 1, searched),
        sign=cost.sign if cost else "",
        cautions=[*_cautions(slots[0] if slots else 0, memory, searched, load, settings)],
        missing=[*_missing(slots[0] if slots else 0, memory, searched, load, cost)],
    )


def _limit(memory: Memory | None, searched: Searched | None) -> tuple[Limit, str]:
    fits = memory.fits if memory else None
    if searched is not None and searched.missed is not None:
        return MEASURES.get(searched.missed, "not known"), f"measured: {searched.reason or searched.missed}"
    if searched is not None and searched.full:
        return "memory", f"measured: {searched.reason or 'the server does not start with more slots'}"
    if fits is not None and (searched is None or fits <= searched.slots):
        heard = "" if searched or not fits else "; whether so many are also served in time is not measured"
        held = f"{several(fits, 'slot')} {'fits' if fits == 1 else 'fit'}" if fits else "not even one slot fits"
        return "memory", f"computed: {held} on {memory.card if memory else 'the card'}{heard}"
    if searched is None:
        return "not known", "nothing was measured, and no card is named"
    if searched.stopped is not None:
        return "not known", f"the search was broken off: {searched.stopped}"
    if searched.bounded:
        return "slots", f"measured: all {searched.slots} of the server are taken; start it with a larger -np"
    return "not known", f"no more than {searched.callers} callers were tried"


def _headroom(slots: int, memory: Memory | None, searched: Searched | None, load: Traffic | None) -> Iterator[Line]:
    if memory is not None and memory.left is not None and memory.fits is not None:
        beside = f"of {memory.card}, less what is kept free"
        yield Line(name="memory", fact=Fact(memory.left, "computed"), unit="bytes", more=beside)
        yield Line(name="slots that would still fit", fact=Fact(max(memory.fits - slots, 0), "computed"), unit="slots")
    for target in searched.targets if searched else ():
        if target.left is not None:
            more = f"{target.value} of {target.limit}"
            yield Line(name=target.text, fact=Fact(target.left, "measured"), unit="share", more=more)
    if load is not None:
        free = Fact(load.slots - load.line, "computed")
        more = f"of {load.slots}, on average, at {load.calls_per_hour.value:g} an hour"
        yield Line(name="slots that are free", fact=free, unit="slots", more=more)


def _figures(
    memory: Memory | None, searched: Searched | None, load: Traffic | None, cost: Cost | None
) -> dict[str, list[Line]]:
    found = {
        "memory": [*_memory(memory)] if memory else [],
        "callers": [*_callers(searched)] if searched else [],
        "offered load": [*_load(load)] if load else [],
        "cost of a voice minute": [*_cost(cost, load)] if cost else [],
    }
    return {topic: lines for topic, lines in found.items() if lines}


def _memory(memory: Memory) -> Iterator[Line]:
    each = memory.settings.context // memory.settings.slots
    yield Line(name="weights", fact=Fact(memory.weights, "computed", "the header"), unit="bytes")
    yield Line(
        name="a slot", fact=Fact(memory.slot, "computed", "the header"), unit="bytes", more=f"of {each:,} tokens"
    )
    yield Line(
        name=f"in all, {several(memory.settings.slots, 'slot')}", fact=Fact(memory.total, "computed"), unit="bytes"
    )
    if memory.keeps.uncut and memory.settings.checkpoints:
        copies = memory.settings.slots * memory.settings.checkpoints * memory.keeps.checkpoint
        more = "in the host's memory, at most"
        yield Line(name="checkpoints", fact=Fact(copies, "computed"), unit="bytes", more=more)


def _callers(searched: Searched) -> Iterator[Line]:
    by = f"{searched.run}, {searched.repeats} repeats"
    more = f"{searched.high} may too, nearer than the noise" if (searched.high or 0) > searched.callers else ""
    yield Line(name="meet every target", fact=Fact(searched.callers, "measured", by), unit="callers", more=more)


def _load(load: Traffic) -> Iterator[Line]:
    yield Line(name="calls", fact=load.calls_per_hour, unit="an hour")
    yield Line(name="a call", fact=load.call, unit="s")
    yield Line(name="calls, were none refused", fact=Fact(load.erlangs, "computed"), unit="at a time")
    yield Line(name="refused, if nobody waits", fact=Fact(load.blocked, "computed", "Erlang B"), unit="share")
    yield Line(name="wait, if all do", fact=Fact(load.waits, "computed", "Erlang C"), unit="share")
    target = f"at {load.target * 100:.6g} % refused"
    yield Line(name="slots needed", fact=Fact(load.needed, "computed", "Erlang B"), unit="slots", more=target)
    yield Line(name="cards needed", fact=Fact(load.cards, "computed"), unit="cards", more=f"of {load.slots} slots")
    if load.talking is not None:
        talk = load.talking
        yield Line(
            name="a request is with the server", fact=talk.busy, unit="s", more=f"of {talk.turn.value:.3g} s a turn"
        )
        usual = Fact(talk.full_usual, "computed", "binomial")
        more = f"or fewer, for 95 % of the time, of {load.slots} on the line"
        yield Line(name="served at once", fact=usual, unit="callers", more=more)


def _cost(cost: Cost, load: Traffic | None) -> Iterator[Line]:
    by = "the price given"
    yield Line(name="every slot taken", fact=Fact(cost.full, "computed", by), unit="money")
    if cost.offered is not None and cost.occupancy is not None:
        more = f"{cost.occupancy * 100:.3g} % of the slots"
        yield Line(name="at the offered load", fact=Fact(cost.offered, "computed", by), unit="money", more=more)
    if cost.cards is not None and load is not None and load.cards > 1:
        name = f"at the offered load, on {load.cards} cards"
        yield Line(name=name, fact=Fact(cost.cards, "computed", by), unit="money")
    if cost.at is not None and cost.given is not None:
        name = f"with {cost.given * 100:.6g} % of the slots taken"
        yield Line(name=name, fact=Fact(cost.at, "computed", by), unit="money")


def _pin(slots: int, searched: Searched | None) -> Pin:
    """The body is what the agent adds `id_slot` to."""
    request = {
        "messages": [{"role": "user", "content": "..."}],
        "stream": True,
        "id_slot": slots - 1,
    }
    takes = "left to itself, the server gives a caller who shares a tenth of the prompt another live caller's slot"
    pinned = searched.pinned if searched else None
    if pinned is None:
        return Pin(needed=None, why=f"not measured; send it: {takes}", request=request)
    if pinned:
        return Pin(needed=True, why=f"it was measured with every caller in a slot of its own: {takes}", request=request)
    return Pin(needed=False, why="it was measured with the server choosing the slots", request=request)


def _cautions(
    slots: int,
    memory: Memory | None,
    searched: Searched | None,
    load: Traffic | None,
    settings: ServerSettings | None,
) -> Iterator[str]:
    if searched is not None:
        if searched.embedded:
            yield "measured with a tiny model on a CPU: it shows that the parts work, not what a card does"
        if searched.settings is None:
            yield "measured on a server that does not tell its flags: those beside -np and -c were not measured"
        if searched.launch is not None and slots != searched.slots and "{slots}" not in searched.launch:
            yield "the command has no {slots}: it starts the server that was measured, whatever slots were given"
        if slots > searched.slots:
            yield f"{slots} slots were given; {searched.callers} callers were measured to meet every target"
        if searched.launch is not None and IDLE not in searched.launch:
            yield f"the server was started without {IDLE}: a slot's whole state is copied when slots change hands"
        if not searched.confirmed:
            yield f"not measured on a server with {searched.slots} slots and no more"
        if searched.paced != "meets":
            yield PACED[searched.paced]
    if memory is not None:
        if memory.left is not None and memory.left < 0:
            yield f"does not fit: {-memory.left / (1 << 20):,.0f} MiB too many; {memory.fits} slots fit"
        if memory.guessed:
            yield f"the model's memory is estimated: {memory.guessed}"
        if memory.keeps.uncut and memory.settings.checkpoints == 0:
            yield "no checkpoints: after a cut the whole call is evaluated again; --ctx-checkpoints 32 keeps copies"
        yield "not in the memory: compute buffers, the driver's own, anything else on the card"
    if load is not None and load.blocked > load.target:
        yield f"the offered load needs {load.needed} slots: {load.cards} cards of {load.slots}, or fewer calls"
    scattered = load is not None and load.talking is not None and load.talking.full_usual > 1
    if scattered and settings is not None and not settings.kv_unified:
        yield (
            "callers served together have slots apart, and each stretch of neighbouring slots costs a step of its own: "
            "measure with --kv-unified too"
        )


def _missing(
    slots: int, memory: Memory | None, searched: Searched | None, load: Traffic | None, cost: Cost | None
) -> Iterator[str]:
    if not slots:
        yield "how to start it: for how many callers? --slots, or --card with --model"
    if memory is None:
        yield "memory: name the model, and --card"
    elif memory.fits is None:
        yield "whether it fits: name the card, --card"
    if searched is None:
        yield "what callers hear: loadsim plan callers SCENARIO, and name its run"
    if load is None:
        yield "refused calls: --calls-per-hour and --call"
    elif load.talking is None:
        yield "how many are served at once: --run with a paced run, or --busy and --turn"
    if cost is None:
        yield "cost: --price"
