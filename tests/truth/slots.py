"""llama-server's slots, as far as prompts and waiting go."""

import itertools
from typing import Any

from .prompt import common_prefix

SIMILAR = 0.1  # llama-server's -sps: share of the request that a slot must hold to be chosen for it


class Slot:
    """One slot: `tokens` is its last prompt; `cache_n` and `prompt_n` are that prompt's; `decoded` counts its reply."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.tokens: list[int] = []
        self.busy = False
        self.task = -1
        self.cache_n = 0
        self.prompt_n = 0
        self.decoded = 0
        self.remain = 0

    def as_json(self, context: int) -> dict[str, Any]:
        """As in GET /slots."""
        token = {"has_next_token": self.busy, "has_new_line": False, "n_remain": self.remain, "n_decoded": self.decoded}
        return {
            "id": self.number,
            "n_ctx": context,
            "speculative": False,
            "is_processing": self.busy,
            "id_task": self.task,
            "next_token": [token],
        }


class Slots:
    """Hands out slots. With `defer` a busy slot is not given; without, requests share it and none waits."""

    def __init__(self, count: int, defer: bool) -> None:
        self.all = [Slot(number) for number in range(count)]
        self._defer = defer
        self._tasks = itertools.count()

    def take(self, tokens: list[int], wanted: int | None, cache_prompt: bool = True) -> Slot | None:
        """A slot with `cache_n` and `prompt_n` set for this prompt; None: it has to wait.

        The wanted slot; else the one that holds most of the prompt, if over a tenth; else the least recently used.
        At least one token is evaluated, as its logits are needed.
        """
        slot = self._choose(tokens, wanted)
        if slot is None:
            return None
        kept = common_prefix(slot.tokens, tokens) if cache_prompt else 0
        slot.cache_n = min(kept, max(len(tokens) - 1, 0))
        slot.prompt_n = len(tokens) - slot.cache_n
        slot.tokens, slot.busy, slot.task, slot.decoded = tokens, True, next(self._tasks), 0
        return slot

    def _choose(self, tokens: list[int], wanted: int | None) -> Slot | None:
        free = [slot for slot in self.all if not (slot.busy and self._defer)]
        if wanted is not None and 0 <= wanted < len(self.all):
            slot = self.all[wanted]
            return slot if slot in free else None
        if not free:
            return None
        shared, _, alike = max((common_prefix(slot.tokens, tokens), -slot.number, slot) for slot in free)
        return alike if shared > SIMILAR * len(tokens) else min(free, key=lambda slot: slot.task)
