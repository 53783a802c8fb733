"""A scenario as data: which server, which recording, which callers. The defaults are what a bare file means.

A docstring's `key: text` lines are the keys' descriptions in the schema that editors read.
"""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta, field

from ..types import Chunk, Count, Heard, Natural, ServerSettings
from .units import Celsius, Duration, Percent, Start, VoiceRate

Share = Annotated[float, Meta(ge=0, le=1)]
Counts = Annotated[list[Count], Meta(min_length=1)]


class Server(ServerSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the server is, and the settings of one that loadsim starts.

    url: where the server is, or `embedded` for one that loadsim starts with the other keys' settings.
    launch: a command that starts the server, such as `llama-server -m model.gguf -np {slots} -c {context} -ub {ubatch}
        --port {port}`; no shell runs it. The other keys' settings take the placeholders' places; `{port}` is a free
        port, or the one of `url` where that says where the server will be.
    restart: start a server of ours again when it dies under a load, and let callers with `again` call again; without,
        its death ends the load point.
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
    launch: str | None = None
    restart: bool = False


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Callers that do the same.

    count: how many callers.
    start: when calls begin. `together`; `6 s` spread evenly over that time; `call` over the length of the recorded
        call; `at 5 s` all at that time; `every 10 s` one after the other; `poisson 10 s` at random, so far apart on
        average.
    every: time from one turn's start to the next one of the same caller; a late reply delays it.
    cache: `warm` callers find their history in their slot, `cold` ones share nothing with any slot.
    turns: `last` is one fresh message after the recorded call, `last 3` the two turns before it too; `40-42` are turns
        by number; `all` is every one.
    slots: `neighbours` pins callers to slots side by side, `spread` to slots far apart, `low` to those below all
        others, `high` above; `server` lets it choose.
    again: call again after the end of a call, until the scenario's `duration`, or its last phase, is over.
    recordings: calls that the group's callers take in turn, in place of the scenario's one.
    """

    count: Count
    start: Start = Start("together")
    every: Duration = Duration(0)
    cache: Literal["warm", "cold"] = "warm"
    turns: str = "last"
    slots: Literal["neighbours", "spread", "low", "high", "server"] = "neighbours"
    again: bool = False
    recordings: list[str] = []


class Pace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a caller's next turn comes. `pace: speech` is short for `{by: speech}`.

    by: `at_once` asks as soon as the reply has ended, or as `every` says; `speech` follows what is heard and said.
    times: `recorded` times of the call, or `drawn` from how people talk on the telephone.
    gap: from the end of the agent's speech to the caller's first word; null as `times` says.
    words_per_s: an utterance lasts its words over this; null as `times` says.
    endpointing: from the caller's last word to the request.
    time_scale: divides all of a call's waiting, for a trial; the load is not a real one then.
    """

    SHORT: ClassVar[str] = "by"

    by: Literal["at_once", "speech"] = "at_once"
    times: Literal["recorded", "drawn"] = "recorded"
    gap: Duration | None = None
    words_per_s: Annotated[float, Meta(ge=0.1)] | None = None
    endpointing: Duration = Duration(0.5)
    time_scale: Annotated[float, Meta(ge=1)] = 1.0


class Voice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a reply is heard.

    rate: how fast the voice speaks, `4.5 tokens/s` or `150 words/min`.
    chunk: what the voice begins with: a `clause`, a `sentence`, or `livekit`, a sentence of 20 characters or more.
    tts: from the first chunk's text to its sound.
    network: the way there and back.
    """

    rate: VoiceRate = VoiceRate(4.5, "tokens/s")
    chunk: Chunk = "clause"
    tts: Duration = Duration(0.15)
    network: Duration = Duration(0.11)


class BargeIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Callers who talk while the agent speaks. `barge_in: drawn` is short for `{by: drawn}`.

    by: `none`; `recorded`, where the recording's caller did; or `drawn`. With `pace: at_once` a cut changes what stands
        in the history, and nobody waits for its moment.
    probability: of a turn to be cut, if drawn.
    trigger: how long the caller speaks before the agent falls silent and the stream is closed.
    heard: what of a reply stands in the history after a cut. `spoken_words` the words that were heard;
        `spoken_sentences` the whole sentences; `generated` all that was generated; `retranscribed` a transcript of the
        agent's speech, which also takes the place of every whole reply.
    backchannels: `none`; `recorded` ones; or `drawn`.
    false_interruption: probability that a backchannel silences the agent for a while.
    resume: how long.
    """

    SHORT: ClassVar[str] = "by"

    by: Literal["none", "recorded", "drawn"] = "none"
    probability: Share = 0.07
    trigger: Duration = Duration(0.2)
    heard: Heard = "spoken_words"
    backchannels: Literal["none", "recorded", "drawn"] = "none"
    false_interruption: Share = 0.0
    resume: Duration = Duration(2)


class Speculation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Requests that are sent before it is known that the caller has ended. `speculation: drawn` is short for
    `{by: drawn}`.

    by: `none`; at the `recorded` pauses of an utterance; or at `drawn` ones.
    probability: of a pause inside an utterance, if drawn.
    eager: from the caller's last word to the request; the voice still waits for `endpointing`.
    tries: requests of one turn at the most.
    """

    SHORT: ClassVar[str] = "by"

    by: Literal["none", "recorded", "drawn"] = "none"
    probability: Share = 0.25
    eager: Duration = Duration(0.2)
    tries: Count = 3


class Probe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question to the server, asked by one caller in place of a load. `probe: reach` is short for `{kind: reach}`.

    kind: `reach`, how far back a prompt's end may change before its tail is evaluated again; `checkpoints`, what is
        reused of a prompt that is repeated, edited or extended; `prefill`, how fast cold prompts are evaluated;
        `floor`, what a warm turn's time is made of; `tools`, whether the recording's tool calls come back as such.
    slot: the server's slot that is used.
    history: tokens of the prompt that comes first.
    tail: tokens that follow it.
    replaced: how many of the last tokens are replaced by as many others; `bisect` looks for the edge.
    route: `tokens`, exact prompts as token ids; `chat`, messages through the template.
    lengths: tokens of each cold prompt.
    new_tokens: by how many tokens a warm prompt grows.
    messages: how many of the call's messages are sent.
    """

    SHORT: ClassVar[str] = "kind"

    kind: Literal["reach", "checkpoints", "prefill", "floor", "tools"]
    slot: Natural = 0
    history: Annotated[int, Meta(ge=16)] = 10371
    tail: Annotated[int, Meta(ge=16)] = 7507
    replaced: Literal["bisect"] | Counts = "bisect"
    route: Literal["tokens", "chat"] = "tokens"
    lengths: Counts = field(default_factory=lambda: [1000, 4000, 10394])
    new_tokens: Counts = field(default_factory=lambda: [1, 4, 5, 6, 8, 12, 16, 24, 60, 105])
    messages: Counts = field(default_factory=lambda: [4, 54, 82])


class Baseline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One caller alone, measured before and after each repeat; the first reply of each side is dropped.

    replies: how many on each side, 0 for no baseline.
    slot: the slot it uses; null for the first caller's or, with `every`, for one that nobody else has, if there is one.
    every: within a load that has a `duration` or `phases`, measure it again so often; longer than a turn takes, and
        than one caller takes to be measured. The callers pause where their
        turn ends, and time stands still for them; the duration does not count the pauses.
    """

    replies: Natural = 6
    slot: Natural | None = None
    every: Duration | None = None


class Phase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a load, with so many callers.

    name: what tables call it, such as `warm-up`, `ramp`, `spike` or `recovery`; 20 characters at the most.
    for: how long it lasts.
    callers: how many are on calls, of all groups' in the file's order; two numbers are the first and the last of a
        ramp.
    """

    name: str
    for_: Duration = field(name="for")
    callers: Natural | Annotated[list[Natural], Meta(min_length=2, max_length=2)]

    @property
    def ends(self) -> tuple[int, int]:
        """Callers at its beginning and at its end."""
        return (self.callers, self.callers) if isinstance(self.callers, int) else (self.callers[0], self.callers[1])


class Abort(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ends the run before its time; looked at while the callers talk.

    errors: so many of the requests of the last `window` have failed, `20 %`, of 10 at the least.
    card: a card's core is so hot, `92 C`, where there is a card log.
    """

    errors: Percent | None = None
    card: Celsius | None = None


class ReplyLength(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long replies are, where the recorded ones do not say.

    free: the server ends its reply itself, after so many tokens at the most.
    exactly: every reply has so many tokens.
    """

    free: Count | None = None
    exactly: Count | None = None


class Timeouts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When waiting ends.

    loading: for the server to load its model.
    connect: for the connection to open.
    first_token: from the request's send to its first token.
    silence: between two tokens. If no reply under way gets one for so long, the run says so.
    outage: without a token for any caller; then the run ends. Until then callers with `again` go on calling. Not under
        `first_token` or `silence`.
    """

    loading: Duration = Duration(300)
    connect: Duration = Duration(10)
    first_token: Duration = Duration(120)
    silence: Duration = Duration(30)
    outage: Duration = Duration(300)


class Telemetry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is logged beside the rows: the cards, this machine and the server.

    every: time between two samples; null for no logs at all.
    card: `auto` logs this machine's cards where the server runs here on a card; `none` logs none; else a command whose
        output is read, such as `ssh gpu-box loadsim card --every {every}`; no shell runs it. `{every}` is the seconds
        between two samples.
    cards: the numbers of the cards to be logged, as nvidia-smi counts them; null for those that the server uses where
        loadsim started it, else all.
    """

    every: Duration | None = Duration(2)
    card: str = "auto"
    cards: Annotated[list[Natural], Meta(min_length=1)] | None = None


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One scenario file.

    recording: a file of recordings/, or a path.
    callers: groups of callers, by name.
    probe: one question to the server, in place of callers.
    server: where the server is, and the settings of one that loadsim starts.
    fit: stretch or trim the call to this many prompt tokens.
    baseline: one caller alone, measured before and after each repeat.
    repeat: how often each load point is measured.
    seed: the order of everything drawn.
    reply: `recorded` gives each reply its recorded length (`max_tokens` and `ignore_eos`); `{free: 120}` a cap;
        `{exactly: 120}` that length.
    pace: when a caller's next turn comes: `at_once` or `speech`.
    voice: how a reply is heard.
    barge_in: callers who talk while the agent speaks.
    speculation: requests that are sent before it is known that the caller has ended.
    retry: what the agent does when a request fails or is late: `none`; `livekit`, 10 s and 3 retries after 0.1, 2 and
        2 s; `pipecat`, one retry after 5 s.
    patience: how long a caller hears nothing before they hang up; null for ever.
    history: `replay` sends the recorded replies, `conversation` the server's own, with its tool calls.
    duration: how long callers begin turns; null until all calls are over.
    phases: parts of the load, one after the other, each with its number of callers; they take the place of `duration`.
        Who is too many hangs up where the turn ends.
    window: figures over time are for so long each, where the load has a duration.
    abort: what ends the run before its time.
    request: fields passed to the server as they are.
    timeout: when waiting ends.
    telemetry: what is logged beside the rows.
    sweep: values for a key such as `callers.warm.slots` or `server.ubatch`, one load point each. A server that loadsim
        starts is started again where one of its keys changes.
    sweep_by: `grid` makes a load point of every combination of the keys' values, `zip` one of all first values, one of
        all second ones, and so on.
    order: `file` measures the points as they stand, `random` in an order that the seed decides, so that a card that
        heats up does not look like load.
    """

    recording: str
    callers: Annotated[dict[str, Group], Meta(min_length=1)] = {}
    probe: Probe | None = None
    server: Server = Server()
    fit: Count | None = None
    baseline: Baseline = Baseline()
    repeat: Count = 5
    seed: int = 1
    reply: Literal["recorded"] | ReplyLength = "recorded"
    pace: Pace = Pace()
    voice: Voice = Voice()
    barge_in: BargeIn = BargeIn()
    speculation: Speculation = Speculation()
    retry: Literal["none", "livekit", "pipecat"] = "none"
    patience: Duration | None = None
    history: Literal["replay", "conversation"] = "replay"
    duration: Duration | None = None
    phases: Annotated[list[Phase], Meta(min_length=1)] = []
    window: Duration = Duration(60)
    abort: Abort = Abort()
    request: dict[str, Any] = {}
    timeout: Timeouts = Timeouts()
    telemetry: Telemetry = Telemetry()
    sweep: dict[str, Annotated[list[Any], Meta(min_length=1)]] = {}
    sweep_by: Literal["grid", "zip"] = "grid"
    order: Literal["file", "random"] = "file"

    @property
    def lasts(self) -> float | None:
        """Seconds in which callers begin turns, before any time scale; None: until all calls are over."""
        return sum(phase.for_ for phase in self.phases) if self.phases else self.duration
