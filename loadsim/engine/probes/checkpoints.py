"""What is reused of a prompt that is extended, repeated, edited at its end."""

from .prober import Prober

EDITED = 24  # tokens at the end, or the whole tail if it has fewer


async def ask(prober: Prober) -> None:
    """The history first, then it with the tail, the same again, and with other last tokens."""
    probe = prober.probe
    history = prober.fresh(probe.history, "history")
    whole = history + prober.fresh(probe.tail, "tail")
    edited = min(EDITED, probe.tail)
    other = whole[:-edited] + prober.fresh(edited, "edit", unlike=whole[-edited])
    await prober.hold(prober.exact(history))
    for case, prompt, shared in (
        ("extension", whole, len(history)),
        ("repeat", whole, len(whole)),
        ("edit", other, len(whole) - edited),
    ):
        await prober.ask(prober.exact(prompt), case=case, tokens=len(prompt), shared=shared)
