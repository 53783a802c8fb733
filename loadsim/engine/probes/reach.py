"""How far back the end of a prompt may change before its whole tail is evaluated again.

A history is sent, then the history with a tail, then the same prompt with its last tokens replaced by as many others;
history and tail are sent again between edits.
"""

from collections.abc import Awaitable, Callable

import msgspec

from ...caller.call import Request
from ...recording.messages import Message, prompt_messages
from ...types import BadInput, RunStopped
from .prober import Prober


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that can be edited. `tokens`: its length; `start`: tokens before the tail.

    `edit` gives the prompt with about so many of its last tokens replaced, and with how many really.
    """

    history: Request
    whole: Request
    tokens: int
    start: int
    edit: Callable[[int], Awaitable[tuple[int, Request]]]


async def ask(prober: Prober) -> None:
    """An edit per number, or as many as it takes to find the last that does not lose the tail."""
    probe = prober.probe
    prompt = await _chat(prober) if probe.route == "chat" else _exact(prober)
    await prober.hold(prompt.history)
    known: dict[int, bool] = {}

    async def inside(replaced: int) -> bool:
        """Whether the edit keeps more than the history."""
        really, edited = await prompt.edit(replaced)
        if really not in known:
            await prober.hold(prompt.whole)
            row = await prober.ask(
                edited, route=probe.route, replaced=really, tokens=prompt.tokens, history=prompt.start
            )
            if row.cache_n is None and probe.replaced == "bisect":
                raise RunStopped(f"no edge can be told, {really} tokens replaced: {row.error or 'no cache_n'}")
            known[really] = (row.cache_n or 0) >= prompt.start
        return known[really]

    if probe.replaced != "bisect":
        for replaced in probe.replaced:
            await inside(replaced)
        return
    low, high = 0, probe.tail
    if await inside(high):
        return
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if await inside(middle) else (low, middle)


def _exact(prober: Prober) -> Prompt:
    probe = prober.probe
    history = prober.fresh(probe.history, "history")
    whole = history + prober.fresh(probe.tail, "tail")

    async def edit(replaced: int) -> tuple[int, Request]:
        other = prober.fresh(replaced, "edit", replaced, unlike=whole[-replaced])
        return replaced, prober.exact(whole[:-replaced] + other)

    return Prompt(
        history=prober.exact(history),
        whole=prober.exact(whole),
        tokens=len(whole),
        start=len(history),
        edit=edit,
    )


async def _chat(prober: Prober) -> Prompt:
    """The same through the template: the tail is the last message, and an edit puts its last words in another order,
    which most tokenizers give the same number of tokens."""
    probe = prober.probe
    said = prompt_messages(prober.recording, len(prober.recording.turns))
    words = list(dict.fromkeys(word for m in said if m["role"] != "tool" for word in m["content"].split()))
    chance = prober.chance("words")

    def drawn(most: int) -> list[str]:
        return chance.choices(words, k=most)

    first, last = drawn(probe.history), drawn(probe.tail)

    def messages(history: int, tail: list[str]) -> list[Message]:
        return [
            {"role": "user", "content": " ".join(first[:history])},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": " ".join(tail)},
        ]

    async def start(history: int) -> int:
        one, other = [await prober.count(messages(history, [word])) for word in ("One.", "Two.")]
        return _shared(one, other)

    size = await _most(len(first), start, probe.history)

    async def length(tail: int) -> int:
        return len(await prober.count(messages(size, last[:tail])))

    last = last[: await _most(len(last), length, probe.history + probe.tail)]
    whole = await prober.count(messages(size, last))
    begins = await start(size)
    if not size or begins + 1 >= len(whole):
        raise BadInput("probe.route: the server's template cannot be measured: take route: tokens")

    def other(count: int) -> list[str]:
        return [*last[: len(last) - count], *last[len(last) - count + 1 :], last[len(last) - count]]

    async def replaced(count: int) -> int:
        return len(whole) - _shared(whole, await prober.count(messages(size, other(count)))) if count else 0

    async def edit(wanted: int) -> tuple[int, Request]:
        count = max(await _most(len(last), replaced, wanted), 2)
        return await replaced(count), prober.chat(messages(size, other(count)))

    return Prompt(
        history=prober.chat(messages(size, ["Hello."])),
        whole=prober.chat(messages(size, last)),
        tokens=len(whole),
        start=begins,
        edit=edit,
    )


async def _most(count: int, size: Callable[[int], Awaitable[int]], target: int) -> int:
    """The most of something, up to `count`, that is no larger than the target."""
    low, high = 0, count + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if await size(middle) <= target else (low, middle)
    return low


def _shared(one: list[int], other: list[int]) -> int:
    """How many tokens both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
