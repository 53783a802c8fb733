"""Ctrl-C as the engine hears of it: no turn begins any more, and those under way are finished."""

import asyncio


class Ending:
    """The wish that a run ends with the turns under way; `asked` is set by it. `under_way`: there are such turns."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.under_way = False

    def ask(self) -> bool:
        """False: nothing is under way that would be waited for, or it was asked for before."""
        if self.asked.is_set() or not self.under_way:
            return False
        self.asked.set()
        return True
