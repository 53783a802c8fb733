"""How long a server goes on with a reply that nobody listens to any more."""

import asyncio
from collections.abc import Callable
from typing import Any

from ..types import RequestRow, RunStopped
from .line import Line

WITHIN_S = 10.0
LOOK_S = 0.02


async def watch(line: Line, slot: int, since: float, row: RequestRow, again: Callable[[], bool]) -> None:
    """Note how long `slot` stays busy after a stream was closed at `since` (loop time); None: longer than we look.

    Nothing is noted where the server does not tell, or the caller asked `again` before we could look.
    """
    now = asyncio.get_running_loop().time
    task: Any = None
    after: float | None = None
    while after is None and now() - since < WITHIN_S:
        try:
            slots = await line.server.slots()
        except RunStopped:
            return  # the server's end is told by the requests themselves
        found = next((entry for entry in slots or [] if entry.get("id") == slot), None)
        if found is None:
            return
        if task is None and again():
            return  # the task in the slot may be the next one's
        task = found.get("id_task") if task is None else task
        # Another task in the slot means that the one we left is gone.
        if not found.get("is_processing") or found.get("id_task") != task:
            after = round(now() - since, 6)
        else:
            await asyncio.sleep(LOOK_S)
    who = {"group": row.group, "caller": row.caller, "call": row.call, "turn": row.turn}
    line.note("released", **line.labels, **who, after_s=after)
