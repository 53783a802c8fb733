"""What a warm turn's time is made of: by new tokens with exact prompts, by messages through the template."""

import asyncio

from ...recording.messages import Message, prompt_messages
from .prober import Prober


async def ask(prober: Prober) -> None:
    """A history that grows by each number of tokens; then chats of each length, that the slot holds whole.

    A prompt that its slot holds whole is evaluated for its last 4 tokens, as one that grows by 4 is.
    """
    probe, recording = prober.probe, prober.recording
    base = prober.fresh(probe.history, "base")
    for new in probe.new_tokens:
        await prober.hold(prober.exact(base))
        await prober.ask(prober.exact(base + prober.fresh(new, new)), new=new)
    whole = prompt_messages(recording, len(recording.turns))
    for tools in (recording.tools, ()) if recording.tools else ((),):
        for count in dict.fromkeys(len(_first(whole, count)) for count in probe.messages):
            request = prober.chat(whole[:count], tools)
            await prober.hold(request)
            began = asyncio.get_running_loop().time()
            await prober.server.render(request.messages, tools)
            rendered = asyncio.get_running_loop().time() - began
            await prober.ask(request, messages=count, tools=len(tools), render_ms=round(rendered * 1e3, 3))


def _first(whole: list[Message], count: int) -> list[Message]:
    """So many messages or the next fewer that end in the caller's; the system prompt and one more at the least."""
    ends = [at for at, message in enumerate(whole, 1) if message["role"] == "user"]
    return whole[: max((at for at in ends if at <= count), default=ends[0])]
