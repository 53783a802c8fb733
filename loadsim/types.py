"""The structs that rooms pass to each other. Times are seconds, tokens are the server's count."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Kind = Literal["extension", "rewind", "full_hit", "cold"]
Outcome = Literal["ok", "cut", "superseded", "error", "empty", "timeout"]
RowName = Literal["baseline", "load", "warm", "probe"]
Side = Literal["before", "during", "after"]
Heard = Literal["spoken_words", "spoken_sentences", "generated", "retranscribed"]
Chunk = Literal["clause", "sentence", "livekit"]
CacheType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]
Count = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Milliseconds = Annotated[float, Meta(ge=0)]


class BadInput(Exception):
    """What the user gave cannot be used: one line that says what, where and what is allowed. Exit code 2."""


class RunStopped(Exception):
    """A run could not go on: one line that says why. What it had recorded is kept. Exit code 1."""


class RunAborted(RunStopped):
    """A rule of the scenario's `abort` ended the run, with all load points that it still had."""


class RunInterrupted(Exception):
    """A run was asked to end, and has, with the turns that were under way. Exit code 130."""


class Unwritable(RunStopped):
    """The system takes no more of a run's files: no load point could leave anything."""


class FolderGone(Unwritable):
    """A run's folder, or a file in it, was deleted or replaced while the run went on."""


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How loadsim starts a server of its own. The names are llama-server's flags in words.

    `context` is the sum over all slots (`-c`), in tokens; `cache_ram` is in MiB. None: llama.cpp's default. `threads`
    is one because more wait for each other by spinning: beside a busy client on two cores, two are ten times slower.
    """

    slots: Count = 12
    context: Annotated[int, Meta(ge=1, le=(1 << 31) - 1)] = 393216
    batch: Count = 2048
    ubatch: Count = 2048
    checkpoints: Natural = 32
    checkpoint_min_step: Natural | None = None
    cache_ram: Annotated[int, Meta(ge=-1)] = 0
    cache_idle_slots: bool = False
    kv_unified: bool = False
    cache_type_k: CacheType = "f16"
    cache_type_v: CacheType = "f16"
    similarity: Annotated[float, Meta(ge=0, le=1)] | None = None
    threads: Count = 1


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a server tells of itself; None: it does not say. `context` is per slot, in tokens."""

    url: str
    build: str | None = None
    model: str | None = None
    models: tuple[str, ...] = ()
    slots: int | None = None
    context: int | None = None
    template: str | None = None


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One streaming chat request.

    `due`: loop time at which it is to be written; the connection is opened before. None: at once.
    `slot`: the server's slot to use; None: the server chooses. `fields` are passed through as they are.
    """

    messages: list[dict[str, Any]]
    tools: tuple[dict[str, Any], ...] = ()
    max_tokens: int | None = None
    ignore_eos: bool = False
    slot: int | None = None
    due: float | None = None
    fields: dict[str, Any] = {}


class CompletionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One streaming request with an exact prompt: `tokens` are the ids that the server evaluates, no template between.

    The other fields are as in ChatRequest.
    """

    tokens: list[int]
    max_tokens: int | None = None
    ignore_eos: bool = False
    slot: int | None = None
    due: float | None = None
    fields: dict[str, Any] = {}


class Timings(msgspec.Struct, kw_only=True):
    """llama-server's `timings`, cumulative; tokens and milliseconds."""

    cache_n: Natural | None = None
    prompt_n: Natural | None = None
    prompt_ms: Milliseconds | None = None
    predicted_n: Natural | None = None
    predicted_ms: Milliseconds | None = None


class Spoke(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the caller said before a request, from `start_s` to `end_s` on the run's clock.

    `gap`: seconds planned between the end of the agent's speech and `start_s` (None: the call's first words, or they
    cut in); `seconds`: how long the words were to last, `pauses` of them silent. Both before any time scale.
    """

    start_s: float
    end_s: float
    gap: float | None = None
    seconds: float = 0.0
    pauses: float = 0.0


class Playout(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a caller hears of a reply; `start_s` and `end_s` of the agent's speech are on the run's clock.

    `tokens`: how many of the reply's tokens are heard, at `rate` tokens/s; `chunk`: those of the first speakable chunk.
    `underruns`: how often the buffer ran dry for 20 ms or more; `first_underrun_s`: seconds of speech before the first;
    `silent_s`: all waits for tokens, the shorter ones too. `least_s`: the least speech that lay ready while tokens were
    still to come; 0 where it ran dry, None where the whole reply had come before the voice began. `paused_s`: silence
    by false interruptions.
    """

    start_s: float
    end_s: float
    rate: float
    tokens: int
    chunk: int | None = None
    underruns: int = 0
    silent_s: float = 0.0
    first_underrun_s: float | None = None
    least_s: float | None = None
    paused_s: float = 0.0


class Cut(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A barge-in: the caller began to speak at `at_s` (run's clock), `after` seconds into the agent's speech.

    `heard`, `unheard`: tokens of the reply that the caller heard, and that were generated for nothing. `closed`: the
    stream still ran and was closed.
    """

    at_s: float
    after: float
    heard: int
    unheard: int
    closed: bool = False


class RequestRow(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One request as it ended; a line of requests.jsonl. Times are seconds on the run's clock; None: not known.

    `token_s`: arrival of each token after `sent_s`; `token_server_ms`: the server's own clock for the same tokens.
    `number`: the baseline's reply number, from 0; the first is dropped. `step`: the tool step within a turn, from 0.
    `slot`: the slot asked for; `served`: the slot that the server used, where it tells.
    `new_tokens`: by how many the prompt is longer than the caller's last one, at first all; a slot that holds the reply
    between them evaluates fewer. `planned`: the prompt was to its slot what the scenario planned.
    `call`: the caller's calls so far, from 0; `attempt`: requests for the same step before this one. `abandoned`: the
    caller hung up while waiting. `spoke`, `playout`, `cut`: what was said before, heard of the reply, and cut off from
    it; `cut_tokens`: what was cut off from the caller's last reply (`Cut.unheard`). `misses`: tool calls of the reply
    that the recording has no result for. `probe`: what a probe's row asked, such as `{"replaced": 516}`. `resumed`: how
    often the run had been resumed when the row was recorded. `id`: the row's number in the run, from 0, by which
    replies.jsonl refers to it; None in runs of old, where the line's number is meant. `phase`: the scenario's phase in
    which it was due. `draining`: it was sent while the load waited for its last turns to end, for a pause: fewer
    callers talked. One caller alone within a load has the `side` `during`, and as `call` the pause's number, from 1.
    """

    point: str
    repeat: int
    row: RowName
    group: str
    caller: int
    turn: int
    step: int = 0
    attempt: int = 0
    side: Side | None = None
    phase: str | None = None
    draining: bool = False
    number: int | None = None
    slot: int | None = None
    served: int | None = None
    kind: Kind | None = None
    planned: bool | None = None
    due_s: float | None = None
    connected_s: float | None = None
    sent_s: float | None = None
    headers_s: float | None = None
    first_token_s: float | None = None
    first_speech_s: float | None = None
    last_token_s: float | None = None
    end_s: float | None = None
    outcome: Outcome
    error: str | None = None
    finish: str | None = None
    chunks: int = 0
    prompt_n: int | None = None
    cache_n: int | None = None
    prompt_ms: float | None = None
    predicted_n: int | None = None
    predicted_ms: float | None = None
    max_tokens: int | None = None
    new_tokens: int | None = None
    call: int = 0
    abandoned: bool = False
    spoke: Spoke | None = None
    playout: Playout | None = None
    cut: Cut | None = None
    cut_tokens: int | None = None
    misses: int = 0
    resumed: int = 0
    id: int | None = None
    probe: dict[str, Any] = {}
    token_s: Sequence[float] = []
    token_server_ms: Sequence[float] = []


class CardFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A card as its driver names it; in run.json. `card` is its number as nvidia-smi counts them; watts and bytes.
    `slowdown_c`: the core's degrees Celsius at which the hardware slows down.

    None: not told. `missing`: fields of CardSample that the card, or its driver, does not have.
    """

    card: int
    name: str | None = None
    driver: str | None = None
    vbios: str | None = None
    memory_bytes: int | None = None
    limit_w: float | None = None
    default_limit_w: float | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    slowdown_c: float | None = None
    missing: tuple[str, ...] = ()


class CardSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One card at one moment; a line of card.jsonl. None: not told.

    `t_s`: when it came here, on the run's clock; `stamp_s`: when it was begun by the clock of the card's own machine,
    seconds since 1970, and `took_s`: how long the card's driver took to answer.
    `core_c`, `memory_c`: degrees Celsius. `sm_mhz`, `memory_mhz`: clocks. `power_w`, `limit_w`: draw and the limit in
    force. `reasons`: the clock event (throttle) reasons in force, none if empty. `busy`, `memory_busy`: shares of the
    driver's last window, 0 to 1, in which a kernel ran, and memory was read or written. `memory_bytes`: in use.
    `pcie_rx_bytes_s`, `pcie_tx_bytes_s`: into the card and out of it, over 20 ms; `pcie_generation`, `pcie_width`: of
    the link as it is now. `fan`: of its full speed, 0 to 1, the fastest one's. `energy_j`: since the driver was loaded.
    """

    t_s: float = 0.0
    stamp_s: float = 0.0
    took_s: float = 0.0
    card: int
    core_c: float | None = None
    memory_c: float | None = None
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    power_w: float | None = None
    limit_w: float | None = None
    reasons: tuple[str, ...] | None = None
    busy: float | None = None
    memory_busy: float | None = None
    memory_bytes: int | None = None
    pcie_rx_bytes_s: float | None = None
    pcie_tx_bytes_s: float | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    fan: float | None = None
    energy_j: float | None = None


class HostSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """This machine since the last sample; a line of host.jsonl. None: not told.

    `t_s`: on the run's clock. `cpu`, `cores`: busy shares of all cores and of each, 0 to 1; `load`: the load average
    over a minute; `memory_bytes`: in use, what can be given back left out. `lag_*`: how late loadsim's event loop came,
    and `gc_longest_ms` its collector's longest pause. `own_cpu`, `server_cpu`: CPU seconds over the wall's, 1 is one
    core, of loadsim without its samplers, and of the server and all in its process group, where loadsim started it;
    `own_rss_bytes`, `server_rss_bytes`: resident memory. `cpu_c`: the hottest sensor of the CPU, `sensors_c`: of each
    chip, degrees Celsius; `cpu_mhz`, `cpu_mhz_least`: mean and slowest core's clock.
    """

    t_s: float = 0.0
    cpu: float | None = None
    cores: tuple[float, ...] = ()
    load: float | None = None
    memory_bytes: int | None = None
    lag_p50_ms: float | None = None
    lag_p99_ms: float | None = None
    lag_max_ms: float | None = None
    gc_longest_ms: float | None = None
    own_cpu: float | None = None
    own_rss_bytes: int | None = None
    server_cpu: float | None = None
    server_rss_bytes: int | None = None
    cpu_c: float | None = None
    sensors_c: dict[str, float] = {}
    cpu_mhz: float | None = None
    cpu_mhz_least: float | None = None


class ServerSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """llama-server at one moment; a line of server.jsonl. None: not told.

    `t_s`: when its answer came, on the run's clock; `took_s`: how long the server took. `busy`: the numbers of the
    slots that are in use, `processing`: how many requests have a slot, `deferred`: how many wait for one.
    The rest is what was added to its counters in the `over_s` seconds since they were last read: prompt tokens
    evaluated, and those found in the cache, tokens generated, the seconds it spent on each, and calls of
    llama_decode.
    """

    t_s: float
    took_s: float
    busy: tuple[int, ...] | None = None
    processing: int | None = None
    deferred: int | None = None
    over_s: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    generated_tokens: int | None = None
    prompt_s: float | None = None
    generated_s: float | None = None
    decodes: int | None = None
