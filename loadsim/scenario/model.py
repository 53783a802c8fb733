"""A scenario as data: which server, which recording, which callers. The defaults are what a bare file means.

A docstring's `key: text` lines are the keys' descriptions in the schema that editors read.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..types import Count, Natural, ServerSettings
from .units import Duration, Start


class Server(ServerSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the server is, and the settings of one that loadsim starts.

    url: where the server is, or `embedded` for one that loadsim starts with the other keys' settings.
    slots: how many calls the server holds, `-np`.
    context: tokens over all slots, `-c`.
    batch: tokens that the server takes in one step, `-b`.
    ubatch: tokens that the card computes at a time, `-ub`.
    checkpoints: context checkpoints that a slot keeps.
    checkpoint_min_step: tokens between two checkpoints at the least.
    cache_ram: MiB of host memory for prompts that left their slot; 0 for none, -1 for no limit.
    cache_idle_slots: keep idle slots' prompts in that memory too.
    kv_unified: one cache that all slots share.
    cache_type_k: the number format of the cached keys.
    cache_type_v: the number format of the cached values.
    similarity: how alike, 0 to 1, a prompt must be to what a slot holds for the server to choose that slot.
    threads: CPU threads that the server computes with.
    """

    url: str = "embedded"


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Callers that do the same.

    count: how many callers.
    start: `together`, or the time over which the first turns are spread evenly.
    every: time from one turn's start to the next one of the same caller; a late reply delays it.
    cache: `warm` callers find their history in their slot, `cold` ones share nothing with any slot.
    turns: `last` is one fresh message after the recorded call, `last 3` the two turns before it too; `40-42` are turns
        by number; `all` is every one.
    slots: `neighbours` pins callers to slots side by side, `spread` to slots far apart; `server` lets it choose.
    """

    count: Count
    start: Start = Start(0)
    every: Duration = Duration(0)
    cache: Literal["warm", "cold"] = "warm"
    turns: str = "last"
    slots: Literal["neighbours", "spread", "server"] = "neighbours"


class Baseline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One caller alone, measured before and after each repeat; the first reply of each side is dropped.

    replies: how many on each side, 0 for no baseline.
    slot: the slot it uses; null for the first caller's.
    """

    replies: Natural = 6
    slot: Natural | None = None


class FreeReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The server ends its reply itself.

    free: tokens at the most.
    """

    free: Count


class Timeouts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When waiting ends.

    loading: for the server to load its model.
    connect: for the connection to open.
    first_token: from the request's send to its first token.
    silence: between two tokens.
    """

    loading: Duration = Duration(300)
    connect: Duration = Duration(10)
    first_token: Duration = Duration(120)
    silence: Duration = Duration(30)


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One scenario file.

    recording: a file of recordings/, or a path.
    callers: groups of callers, by name.
    server: where the server is, and the settings of one that loadsim starts.
    fit: stretch or trim the call to this many prompt tokens.
    baseline: one caller alone, measured before and after each repeat.
    repeat: how often each load point is measured.
    seed: the order of everything drawn.
    reply: `recorded` gives each reply its recorded length (`max_tokens` and `ignore_eos`); `{free: 120}` a cap.
    request: fields passed to the server as they are.
    timeout: when waiting ends.
    sweep: values for a key such as `callers.warm.slots`, one load point each.
    """

    recording: str
    callers: Annotated[dict[str, Group], Meta(min_length=1)]
    server: Server = Server()
    fit: Count | None = None
    baseline: Baseline = Baseline()
    repeat: Count = 5
    seed: int = 1
    reply: Literal["recorded"] | FreeReply = "recorded"
    request: dict[str, Any] = {}
    timeout: Timeouts = Timeouts()
    sweep: dict[str, Annotated[list[Any], Meta(min_length=1)]] = {}
