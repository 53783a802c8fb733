"""What the doctor saw of a server and of this machine, and what that means for a load. Pure: nothing is asked here."""

import re
from collections.abc import Iterator

import msgspec

from ..recording.wrong import line
from ..types import ServerInfo
from .machine import NOT_TOLD, Client, Finding, machine

FULL_HIT = 16  # tokens that are evaluated of a prompt that is there whole: 1 or 4, and what the template's end costs
_CLOCK_TIME = re.compile(r"strftime_now\([^)]*%-?[HIMSTXc]")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One trial request, as it ended. `thinks`: its output began with reasoning. None: the server does not tell."""

    error: str | None = None
    status: int | None = None
    first_s: float | None = None
    thinks: bool = False
    cache_n: int | None = None
    prompt_n: int | None = None
    slot: int | None = None

    @property
    def size(self) -> int:
        """Tokens of its prompt."""
        return (self.cache_n or 0) + (self.prompt_n or 0)


class Trials(msgspec.Struct, frozen=True, kw_only=True):
    """Trial requests with prompts of some 1,200 tokens; None: not sent.

    On slot 0, one after the other: `cold`, the same once more as `repeat`, with an answer and a message more as
    `extension`, that message replaced as `edit`, and after a request to slot 1 an extension of that as `back`. `one`
    and `other` are two callers with one system prompt whose slots the server chooses. `broke`: why no more were sent.
    """

    cold: Asked | None = None
    repeat: Asked | None = None
    extension: Asked | None = None
    edit: Asked | None = None
    back: Asked | None = None
    one: Asked | None = None
    other: Asked | None = None
    broke: str | None = None


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """What the template makes of the recording. `tool`: the name looked for, None: the call has no tools; `shown`: the
    prompt names it. `kept` of `size` tokens of a prompt begin the next turn's, at the turn that keeps least. `error`:
    the call cannot be rendered."""

    tool: str | None = None
    shown: bool | None = None
    kept: int | None = None
    size: int | None = None
    error: str | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """All that the doctor saw. What was not asked, or not told, is None.

    callers: the most that the scenario has at a time; `pinned`: their slots are asked for by number; `pauses`: they
    pause for one caller alone. prompt, reply: tokens of its longest ones. unreached: why there is no server to ask;
    refused: it wants another key; misfit: why the scenario cannot run on it. busy: slots that somebody used before the
    doctor came.
    """

    callers: int
    pinned: bool
    pauses: bool = False
    client: Client
    unreached: str | None = None
    refused: str | None = None
    round_trip_s: float | None = None
    info: ServerInfo | None = None
    misfit: str | None = None
    prompt: int | None = None
    reply: int | None = None
    hello: Asked | None = None
    trials: Trials = Trials()
    template: Template = Template()
    busy: int | None = None
    metrics: bool = False


def findings(facts: Facts) -> list[Finding]:
    """Every check in the order in which a person would mend things."""
    return [*_server(facts), *machine(facts.client, facts.callers)]


def verdict(facts: Facts, found: list[Finding]) -> str:
    """The last line."""
    bad = sum(finding.level == "bad" for finding in found)
    if bad:
        return f"not ready: {bad} {'thing' if bad == 1 else 'things'} to mend"
    return f"ready for {facts.callers} {'caller' if facts.callers == 1 else 'callers'}"


def _server(facts: Facts) -> Iterator[Finding]:
    info = facts.info
    if facts.unreached is not None:
        yield Finding(
            "bad", line(facts.unreached), "nothing else can be asked", "start the server, let it load, or mend --url"
        )
        return
    if facts.refused is not None or info is None:
        yield _key(facts.refused or "the server does not say what it is")
        return
    plain = info.slots is None
    yield _reached(facts)
    yield Finding("ok", f"build {line(info.build)}" if info.build else f"{NOT_TOLD}the server's build")
    if facts.misfit is not None:
        yield _misfit(facts.misfit, plain)
    yield _slots(facts, info)
    yield _context(facts, info)
    yield from _answers(facts)
    yield from _template(facts, info)
    yield from _caches(facts)
    if not plain:
        yield Finding(
            "ok",
            f"{NOT_TOLD}whether slots share one cache (--kv-unified)",
            "without it, busy slots that are not neighbours take a step each",
            "to see the cost: loadsim scenario … --set callers.warm.count=3 --set 'sweep={callers.warm.slots: "
            "[neighbours, spread]}'",
        )
    yield from _routes(facts, plain)


def _key(said: str) -> Finding:
    return Finding("bad", line(said), "every request will be refused", "set LOADSIM_API_KEY to the server's key")


def _reached(facts: Facts) -> Finding:
    trip = "" if facts.round_trip_s is None else f" in {facts.round_trip_s * 1e3:.1f} ms"
    # A plain server may ask for the key on its chat route alone.
    entered = facts.hello is not None and facts.hello.status not in (401, 403)
    return Finding("ok", f"reached{trip}, connection and all{'; no key is refused' if entered else ''}")


def _misfit(said: str, plain: bool) -> Finding:
    if not plain or not said.startswith("reply:"):
        return Finding("bad", line(said), "the scenario will not run on this server", "name what the server has")
    mend = "loadsim scenario … --set 'reply={free: 120}' --set fit=null"
    return Finding("warning", line(said), "as it stands, the scenario will not run on this server", mend)


def _slots(facts: Facts, info: ServerInfo) -> Finding:
    callers = f"{facts.callers} {'caller' if facts.callers == 1 else 'callers'}"
    if info.slots is None:
        return Finding("ok", f"{NOT_TOLD}slots; {callers} may have to wait for each other")
    if info.slots < facts.callers:
        why = "who has no slot waits until another call is over, and then takes a slot that holds another's call"
        mend = f"-np {facts.callers}, with -c for all of them; or fewer callers"
        return Finding("bad", f"{info.slots} {'slot' if info.slots == 1 else 'slots'} for {callers}", why, mend)
    if facts.busy:
        why = "the doctor and the load take slots from whoever is on the line, and are slowed by them"
        return Finding("warning", f"{facts.busy} of {info.slots} slots are busy", why, "wait until nobody calls")
    if facts.pauses and info.slots == facts.callers:
        why = "in each pause a caller's slot is taken and warmed again, and the next prompt holds their last reply too"
        what = f"{info.slots} slots for {callers}, and none for one caller alone (baseline.every)"
        return Finding("warning", what, why, f"-np {facts.callers + 1}, with -c for all of them")
    return Finding("ok", f"{info.slots} slots for {callers}")


def _context(facts: Facts, info: ServerInfo) -> Finding:
    if info.context is None:
        return Finding("ok", f"{NOT_TOLD}context; a call that outgrows it fails")
    if facts.prompt is None or facts.reply is None:
        return Finding("ok", f"context {info.context:,} a slot; {NOT_TOLD}the call's tokens")
    needed = facts.prompt + facts.reply
    call = f"the call needs {needed:,} ({facts.prompt:,} + {facts.reply:,} of reply)"
    if needed <= info.context:
        return Finding("ok", f"context {info.context:,} a slot; {call}")
    whole = -(-needed // 256) * 256 * max(info.slots or 1, facts.callers)
    why = "the longest prompts are refused, or the reply ends in mid-word"
    return Finding("bad", f"context {info.context:,} a slot; {call}", why, f"-c {whole} or more, or a shorter call")


def _answers(facts: Facts) -> Iterator[Finding]:
    hello = facts.hello
    if hello is None:
        return
    if hello.status in (401, 403):
        yield _key(hello.error or "the key is refused")
    elif hello.first_s is None:
        said = line(hello.error or "the reply was empty")
        why = "a server can say that all is well (/health) while no token comes"
        yield Finding("bad", f"no token: {said}", why, "look at the server's log; start it again")
    else:
        yield Finding("ok", f"a real token after {hello.first_s * 1e3:,.0f} ms")
        if hello.thinks:
            why = "the caller hears nothing while the model thinks, and its next prompt has no thoughts in it: a rewind"
            mend = (
                "request: {chat_template_kwargs: {enable_thinking: false}}, in the agent too; or --reasoning-budget 0"
            )
            yield Finding("warning", "the model thinks before it speaks", why, mend)
        else:
            yield Finding("ok", "no thinking before the first word")


def _template(facts: Facts, info: ServerInfo) -> Iterator[Finding]:
    template = facts.template
    if template.error is not None:
        why = "requests of this call will be refused, or rendered as another call"
        yield Finding("bad", line(template.error), why, "--jinja, or a --chat-template-file that takes this call")
        return
    if template.tool is not None:
        if template.shown is None:
            yield Finding("ok", f"{NOT_TOLD}whether the template takes tools")
        elif template.shown:
            yield Finding("ok", f"the template takes tools ({line(template.tool)} stands in the prompt)")
        else:
            why = "the model never sees the tools, prompts are shorter than the agent's, and nothing is called"
            mend = "--jinja, or a --chat-template-file that takes tools"
            yield Finding("bad", f"the template drops tools: no {line(template.tool)} in the prompt", why, mend)
    yield _prefix(template)
    if info.template is not None and _CLOCK_TIME.search(info.template):
        why = "a prompt rendered a moment later is another one, from the place of the clock on"
        mend = "a --chat-template-file without strftime_now; give the time in the system prompt, to the day"
        yield Finding("warning", "the template writes the time of day into the prompt", why, mend)


def _prefix(template: Template) -> Finding:
    if template.kept is None or template.size is None:
        return Finding("ok", f"{NOT_TOLD}whether each turn's prompt begins with the last one")
    lost = template.size - template.kept
    if not lost:
        return Finding("ok", "each turn's prompt begins with the whole of the last one")
    kept = f"{template.kept:,} of {template.size:,} tokens"
    if lost <= template.size // 10:
        what = f"a turn's prompt keeps {kept} of the last one"
        why = "its end is written in another way once a reply stands behind it: each turn is a rewind, no extension"
        return Finding("warning", what, why, "checkpoints must be on; or a template that writes the end in one way")
    why = "what comes behind the first change is evaluated again at every turn, and grows with the call"
    mend = "a --chat-template-file that leaves earlier messages as they are (no date, no dropped reasoning or tools)"
    return Finding("bad", f"a turn's prompt keeps only {kept} of the last one", why, mend)


def _caches(facts: Facts) -> Iterator[Finding]:
    trials = facts.trials
    if trials.broke is not None:
        why = "what the cache does is not known"
        yield Finding("bad", f"a trial of the cache broke off: {line(trials.broke)}", why, "look at the server's log")
        return
    cold, repeat, extension, edit = trials.cold, trials.repeat, trials.extension, trials.edit
    if cold is not None and cold.cache_n is None:
        yield Finding("ok", f"{NOT_TOLD}what the prompt cache does")
    if cold is None or repeat is None or extension is None or edit is None:
        return
    extends = _held(extension, cold)
    if not (extends or _held(repeat, cold)):
        why = "every turn evaluates the whole call again: seconds of silence that grow with the call"
        mend = (
            "cache_prompt true in requests and no --no-cache-prompt; else --ctx-checkpoints 32 (0 does this too, with "
        )
        mend += "a template that rewrites a prompt's end)"
        yield Finding("bad", f"nothing is cached: a prompt sent twice cost {repeat.prompt_n:,} tokens twice", why, mend)
        return
    yield _cache(repeat, extension, cold)
    yield _checkpoints(edit, cold)
    yield from _idle(trials, extends)
    yield from _chosen(facts)


def _cache(repeat: Asked, extension: Asked, cold: Asked) -> Finding:
    how, asked = "sent twice, it gives", repeat
    if cold.size - (repeat.cache_n or 0) > FULL_HIT:
        how, asked = "an extension finds", extension
    return Finding("ok", f"the prompt cache is on: {how} {asked.cache_n or 0:,} of {asked.size:,} tokens")


def _checkpoints(edit: Asked, cold: Asked) -> Finding:
    """By what it does, not by the model's name: a plain model needs no copies, and finds the common prefix."""
    found = f"{edit.cache_n or 0:,} of {edit.size:,} tokens"
    if _held(edit, cold):
        return Finding("ok", f"an edited prompt finds {found}")
    why = "after a cut, or a reply that does not come back to the letter, the whole call is evaluated again: a hybrid, "
    why += "recurrent or SWA model goes back only to a saved copy"
    mend = "--ctx-checkpoints 32 (the default; 0 is the trap); for SWA also --swa-full"
    if (edit.cache_n or 0) <= FULL_HIT:
        return Finding("bad", f"no checkpoints: an edited prompt finds {found}", why, mend)
    return Finding("warning", f"few checkpoints: an edited prompt finds {found}", why, mend)


def _idle(trials: Trials, extends: bool) -> Iterator[Finding]:
    back, edit = trials.back, trials.edit
    if back is None or edit is None:
        yield Finding("ok", "one slot: no other can take its cache")
    elif not extends:
        # Without copies such a template's prompts are never found, whether the slot was idle or not.
        yield Finding("ok", f"{NOT_TOLD}whether idle slots keep their cache")
    elif _held(back, edit):
        yield Finding("ok", f"an idle slot keeps its cache: {back.cache_n:,} of {back.size:,} tokens are still there")
    else:
        what = f"an idle slot lost its cache: {back.cache_n:,} of {back.size:,} tokens were left"
        why = "a caller's turn after somebody else's evaluates the call again, or copies it on the inference thread; "
        why += "a pinned request finds nothing in the RAM cache"
        yield Finding("bad", what, why, "--no-cache-idle-slots (or no --kv-unified; --cache-ram 0 spares the copies)")


def _chosen(facts: Facts) -> Iterator[Finding]:
    one, other = facts.trials.one, facts.trials.other
    if one is None or other is None:
        return
    if one.slot is None or other.slot is None:
        yield Finding("ok", f"{NOT_TOLD}which slot a caller gets who asks for none")
    elif one.slot != other.slot:
        yield Finding("ok", f"two callers of one system prompt who pin nothing get slots {one.slot} and {other.slot}")
    else:
        why = (
            "a slot is chosen by likeness: between two turns another caller with the same system prompt takes it, even "
        )
        why += "while slots are empty, and the call is evaluated again"
        mend = "the agent sends id_slot, one per call; -sps helps where it lies above what two calls share"
        mend += " (this scenario pins its callers)" if facts.pinned else ""
        yield Finding("warning", f"two callers who pin nothing both get slot {one.slot}", why, mend)


def _held(asked: Asked, before: Asked) -> bool:
    """Whether most of the prompt before was found."""
    return (asked.cache_n or 0) > before.size // 2


def _routes(facts: Facts, plain: bool) -> Iterator[Finding]:
    if plain:
        yield Finding("ok", f"{NOT_TOLD}slots and metrics; there are no such routes")
        return
    if facts.busy is None:
        why = "when a slot is free again after a cut is not seen, nor who is on the line"
        yield Finding("warning", "no /slots", why, "start the server without --no-slots")
    if not facts.metrics:
        why = "requests that wait for a slot, and slots busy per step, are not seen"
        yield Finding("warning", "no /metrics", why, "--metrics")
    if facts.busy is not None and facts.metrics:
        yield Finding("ok", "/slots and /metrics are there")
