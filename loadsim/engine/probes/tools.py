"""Whether the recording's tool calls come back as tool calls, with arguments that the recording has a result for."""

from ...caller import tools
from ...caller.history import asks, lines
from ...server.api import Reply
from ...types import RequestRow
from .prober import Prober

MOST_TOKENS = 256


async def ask(prober: Prober) -> None:
    """Every request of the call that was answered by tool calls, asked again."""
    recording = prober.recording
    known = tools.results(recording)
    for found in asks(recording, range(1, len(recording.turns) + 1), lambda _: ""):
        steps = lines(recording, found.turn).steps
        if found.step >= len(steps):
            continue
        wanted = [call.name for call in steps[found.step]]

        def finish(row: RequestRow, reply: Reply) -> None:
            row.probe["called"] = [call["name"] for call in reply.calls.values()]
            row.misses = tools.answer(reply.calls.values(), known)[1]

        request = prober.chat(found.messages, recording.tools, MOST_TOKENS)
        await prober.ask(request, finish, turn=found.turn, step=found.step, wanted=wanted)
