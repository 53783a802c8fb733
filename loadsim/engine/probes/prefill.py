"""How fast cold prompts are evaluated, by their length."""

from .prober import Prober

FIRST = 64  # tokens of a prompt that wakes the server, which is slow at its first


async def ask(prober: Prober) -> None:
    """A cold prompt of each length, none of which shares anything with another."""
    last = prober.fresh(FIRST, "first")
    await prober.hold(prober.exact(last))
    for length in prober.probe.lengths:
        last = prober.fresh(length, length, unlike=last[0])
        await prober.ask(prober.exact(last), length=length)
