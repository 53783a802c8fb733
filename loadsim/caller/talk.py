"""One call, from its first turn to its end: the caller speaks, the agent asks the server, the caller listens."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, Literal

import msgspec

from ..recording.messages import step_messages
from ..recording.model import Recording
from ..scenario.retry import RETRIES
from ..server.api import Reply, Speakable
from ..types import ChatRequest, Kind, RequestRow, Spoke
from . import tools
from .call import CONNECT_S, Caller, never
from .cuts import kept
from .history import History, Lines, lines, wording
from .line import TOKENS_PER_WORD, Line
from .listener import Listener, heard_share, silent_at
from .pace import Length, Manner, manner
from .release import watch

FAILED = ("error", "timeout")
AFTER_REPLY: frozenset[Kind] = frozenset({"extension", "rewind"})
ANY: frozenset[Kind] = frozenset()

Why = Literal["ended", "failed", "hung_up", "time", "left", "stopped"]
"""How a call ends: all was said; a request failed; the caller lost patience; the scenario's time was over; its phase
has fewer callers; the run, or its load, was broken off."""


class Call:
    """A call of `caller`'s, who says `turns` of a recording; `number` counts the caller's calls.

    `leaves`: seconds of the load's own time from which they say no turn. `salted` gives each turn's salt; `opening` is
    a cold caller's; `chance` each turn's random numbers; `expects`: the kinds planned for the first prompt. `asked`,
    `failed`: requests so far, and those that got no answer; `error`: the first one's.
    """

    def __init__(
        self,
        line: Line,
        caller: Caller,
        recording: Recording,
        turns: range,
        *,
        number: int = 0,
        slot: int | None,
        every: float = 0.0,
        leaves: float | None = None,
        salted: Callable[[int], str],
        opening: str | None,
        chance: Callable[[int], random.Random],
        expects: frozenset[Kind],
    ) -> None:
        self.asked = self.failed = 0
        self.error: str | None = None
        self.ended_at = 0.0
        self.turn = turns[0] - 1  # the last one that was begun
        self._line = line
        self.caller = caller
        self.recording = recording
        self._turns = turns
        self._number = number
        self._slot = slot
        self._every = every
        self._leaves = leaves
        self._salted = salted
        self._chance = chance
        self._expects = expects
        self._planned = bool(expects)
        self._history = History(recording, turns[0], opening, wording(line.scenario.barge_in.heard))
        self._results = tools.results(recording) if line.scenario.history == "conversation" else {}
        self._silent = 0.0  # loop time at which the agent's words before a tool call have sounded
        self._live: Reply | None = None
        if number:
            caller.prompt = None  # another call: nothing of it is in any prompt yet
        self._answered = False  # somebody has spoken whom the caller can answer
        self._cut_in = False
        self._cut_tokens: int | None = None

    async def hold(self, start: float) -> Why:
        """The whole call, which begins at `start` (loop time); leaves its counts, and an event of how it ended."""
        self._free, self._due = start, start - self._every
        why: Why = "ended"
        self._said = 0
        try:
            for number in self._turns:
                found = await self._turn(lines(self.recording, number))
                if found is not None:
                    why = found
                    break
                self._said += 1
        except asyncio.CancelledError:
            self._ends("stopped")
            raise
        self.ended_at = max(self._free, asyncio.get_running_loop().time())
        self._ends(why)
        return why

    @property
    def waiting(self) -> bool:
        """Nothing of it is under way at the server."""
        return self._live is None or self._live.outcome is not None

    def _ends(self, why: Why) -> None:
        if why in ("time", "left", "stopped") and not self.asked:
            return  # it never began
        again = {"again": True} if self._line.scenario.callers[self.caller.group].again else {}
        self._line.note(
            "call",
            **self._line.labels,
            **again,
            group=self.caller.group,
            caller=self.caller.number,
            call=self._number,
            planned=len(self._turns),
            said=self._said,
            why=why,
        )

    @property
    def said(self) -> list[dict[str, Any]]:
        """The call so far, up to the caller's last words: what a slot is warmed with that lost it. Nothing yet: []."""
        messages = self._history.messages
        last = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=-1)
        return messages[: last + 1]

    # -- one turn

    async def _turn(self, turn: Lines) -> Why | None:
        """What the caller says and the reply to it; how the call ended, if it did."""
        scenario, now = self._line.scenario, asyncio.get_running_loop().time
        does = manner(
            scenario.pace,
            scenario.barge_in,
            scenario.speculation,
            self.recording,
            turn,
            self._length(turn),
            self._chance(turn.number),
        )
        if scenario.pace.by == "at_once":
            begins = max(self._due + self._every, self._free, now() if self._answered else 0.0)
        elif self._cut_in or not self._answered:
            begins = self._free
        else:
            begins = max(self._free + does.gap / scenario.pace.time_scale, now())
        if why := self._over(begins):
            return why
        floor = self._line.floor
        if floor is None:
            return await self._say(turn, does, begins)
        # What is due at once is asked for on a connection that stands by then.
        begins = await floor.enter(begins, CONNECT_S if scenario.pace.by == "at_once" else 0.0)
        try:
            return self._over(begins) or await self._say(turn, does, begins)
        finally:
            floor.leave()

    def _over(self, begins: float) -> Why | None:
        """Why no turn begins any more at that time."""
        if self._line.over is not None and self._line.over.is_set():
            return "stopped"
        floor = self._line.floor
        if floor is None:
            return None
        if floor.until is not None and begins >= floor.until:
            return "time"
        return "left" if self._leaves is not None and begins >= floor.at(self._leaves) else None

    async def _say(self, turn: Lines, does: Manner, begins: float) -> Why | None:
        """The turn from `begins` on."""
        self.turn = turn.number
        scenario, now = self._line.scenario, asyncio.get_running_loop().time
        text = turn.words + self._salted(turn.number)
        spoke = None
        self._attempt = 0
        if scenario.pace.by == "at_once":
            self._due = begins
        else:
            spoke = await self._speak(turn, does, begins)
            early = scenario.speculation.eager if scenario.speculation.by != "none" else scenario.pace.endpointing
            self._due = max(spoke.end_s + self._line.origin + early / scenario.pace.time_scale, now())
        self._history.caller(text)
        cut_tokens, self._cut_tokens = self._cut_tokens, None
        self._silent, spoken = 0.0, 0.0
        for step in range(tools.MOST_STEPS + 1 if scenario.history == "conversation" else len(turn.steps) + 1):
            labels = {"turn": turn.number, "step": step, "spoke": spoke, "cut_tokens": None if step else cut_tokens}
            row, reply = await self._request(turn, step, _later(does, spoken), labels, None if step else self._due)
            if row.abandoned:
                return "hung_up"
            if row.outcome not in ("ok", "empty", "cut"):
                return "failed"
            if row.playout is not None:
                spoken += row.playout.tokens / row.playout.rate
                self._silent = silent_at(row, self._line.origin, now())
            # A caller who cuts in ends the turn, also in the words before a tool call.
            called = None if row.cut else self._called(turn, step, reply)
            if called is None:
                break
            self._history.tools(called)
        self._free = now() if scenario.pace.by == "at_once" else self._silent or now()
        self._answered, self._cut_in = True, row.cut is not None
        self._cut_tokens = row.cut.unheard if row.cut else None
        self._history.agent(self._in_history(turn, row, reply))
        return None

    async def _speak(self, turn: Lines, does: Manner, begins: float) -> Spoke:
        """The caller's words from `begins` on; requests that are sent at a pause and given up when they go on."""
        scale = self._line.scenario.pace.time_scale
        eager = self._line.scenario.speculation.eager / scale
        words, talked, paused, at = turn.words.split(), 0.0, 0.0, begins
        for part in does.parts:
            talked, at = talked + part.seconds, at + part.seconds / scale
            resumes = at + part.pause / scale
            if at + eager < resumes:
                spoke = self._spoke(begins, at, does, talked + paused, paused)
                await self._speculate(turn, " ".join(words[: part.words]), at + eager, resumes, spoke)
            paused, at = paused + part.pause, resumes
        return self._spoke(begins, at, does, talked + paused, paused)

    def _spoke(self, begins: float, ends: float, does: Manner, seconds: float, paused: float) -> Spoke:
        origin = self._line.origin
        return Spoke(
            start_s=round(begins - origin, 6),
            end_s=round(ends - origin, 6),
            gap=round(does.gap, 6) if self._answered and not self._cut_in else None,
            seconds=round(seconds, 6),
            pauses=round(paused, 6),
        )

    async def _speculate(self, turn: Lines, text: str, due: float, resumes: float, spoke: Spoke) -> None:
        """A request for what has been said so far; the caller goes on at `resumes`, and it is given up."""

        async def listen(reply: Reply) -> None:
            try:
                async with asyncio.timeout_at(resumes):
                    await reply.ended.wait()
            except TimeoutError:
                reply.hang_up("superseded")

        def finish(row: RequestRow, _: Reply) -> None:
            # Whatever became of it, nobody waited for it.
            row.attempt, row.outcome = self._attempt, "superseded"

        messages = [*self._history.messages, {"role": "user", "content": text}]
        request = self._line.request(self.recording, messages, turn.recorded(0), self._slot, due)
        await self._send(request, never, ANY, listen, finish, turn=turn.number, spoke=spoke)
        self._attempt += 1

    # -- one request

    async def _request(
        self, turn: Lines, step: int, does: Manner, labels: dict[str, Any], due: float | None
    ) -> tuple[RequestRow, Reply]:
        """A reply, asked for as often as the agent's client does."""
        scenario, now = self._line.scenario, asyncio.get_running_loop().time
        spoke: Spoke | None = labels["spoke"]
        recorded = turn.recorded(step)
        speaks = step >= len(turn.steps) or scenario.history == "conversation"
        begun = spoke.end_s + self._line.origin if spoke else due
        if step == 0:
            self._since = begun
        attempts = RETRIES[scenario.retry]
        for number, attempt in enumerate(attempts):
            if number:
                due = now() + attempt.after
            ends = begun + scenario.pace.endpointing / scenario.pace.time_scale if spoke and begun else 0.0
            listener = msgspec.structs.replace(
                self._line.listener(recorded),
                floor=max(ends, self._silent),
                cut=does.cut if speaks else None,
                trigger=scenario.barge_in.trigger,
                halts=does.halts,
                since=max(self._since, self._silent) if self._since is not None else None,
                patience=scenario.patience,
                limit=attempt.limit,
                limit_name=scenario.retry,
                scale=scenario.pace.time_scale,
            )

            def finish(row: RequestRow, reply: Reply, listener: Listener = listener) -> None:
                row.attempt = self._attempt
                if scenario.history == "conversation":
                    row.misses = tools.answer(reply.calls.values(), self._results)[1]
                if speaks:
                    listener.finish(row, reply, self._line.origin)
                else:
                    row.abandoned, row.first_speech_s = listener.abandoned, None

            request = self._line.request(self.recording, self._history.messages, recorded, self._slot, due)
            speakable = self._line.speakable(listener.chunk) if speaks else never
            expects = self._expects if not (number or self._attempt) else ANY
            leave = None if scenario.patience is None or listener.since is None else listener.since + scenario.patience
            row, reply = await self._send(request, speakable, expects, listener.listen, finish, leave, **labels)
            self._expects = AFTER_REPLY if self._planned else ANY
            self._attempt += 1
            late = row.outcome == "timeout" and row.first_token_s is None
            failed = scenario.retry == "livekit" and row.outcome == "error" and row.first_token_s is None
            refused = reply.status is not None and 400 <= reply.status < 500
            if row.abandoned or not (late or (failed and not refused)):
                break
        self._attempt = 0
        return row, reply

    async def _send(
        self,
        request: ChatRequest,
        speakable: Speakable,
        expects: frozenset[Kind],
        listen: Callable[[Reply], Coroutine[Any, Any, None]],
        finish: Callable[[RequestRow, Reply], None],
        leave: float | None = None,
        **labels: Any,
    ) -> tuple[RequestRow, Reply]:
        line = self._line

        async def listening(reply: Reply) -> None:
            self._live = reply
            await listen(reply)

        row, reply = await self.caller.ask(
            line.server,
            request,
            line.emit,
            line.origin,
            expects=expects,
            speakable=speakable,
            listen=listening,
            finish=finish,
            leave=leave,
            row="load",
            call=self._number,
            **line.labels,
            **labels,
        )
        self.asked += 1
        if row.outcome in FAILED:
            self.failed += 1
            self.error = self.error or row.error
        closed = row.finish is None and row.outcome in ("cut", "superseded", "timeout")
        if closed and request.slot is not None and row.sent_s is not None and reply.ended.t is not None:
            again = lambda: self._live is not reply and self._live is not None and self._live.sent is not None  # noqa: E731
            line.spawn(watch(line, request.slot, reply.ended.t, row, again))
        return row, reply

    # -- the reply's words

    def _length(self, turn: Lines) -> Length:
        """How long the recorded reply sounds, by the voice's rate."""
        line, reply = self._line, turn.reply
        rate = line.rate(reply.text)
        seconds = line.tokens.get(reply.text, len(reply.text.split()) * TOKENS_PER_WORD) / rate
        heard = None if reply.heard is None else line.tokens.get(reply.heard)
        return Length(reply=seconds, heard=None if heard is None else heard / rate)

    def _called(self, turn: Lines, step: int, reply: Reply) -> list[dict[str, Any]] | None:
        """The messages of a tool step; None where the reply is the turn's last."""
        if self._line.scenario.history == "replay":
            return step_messages(turn.steps[step]) if step < len(turn.steps) else None
        if not reply.calls or step == tools.MOST_STEPS:
            return None
        return tools.answer(reply.calls.values(), self._results, "".join(reply.text))[0]

    def _in_history(self, turn: Lines, row: RequestRow, reply: Reply) -> str:
        """What of the reply later prompts carry."""
        barge_in = self._line.scenario.barge_in
        if self._line.scenario.history == "conversation":
            text = "".join(reply.text)
            share = heard_share(row, len(reply.spoken_s))
        elif barge_in.by == "recorded" and turn.reply.heard is not None and row.cut is not None:
            text = turn.reply.text
            if barge_in.heard == "spoken_words":
                return turn.reply.heard
            share = len(turn.reply.heard) / len(text)
        elif barge_in.by == "recorded":
            text, share = turn.reply.text, 1.0
        else:
            text = turn.reply.in_history
            share = heard_share(row, self._line.tokens.get(turn.reply.text) or len(reply.token_s))
        return kept(barge_in.heard, text, share)


def _later(does: Manner, spoken: float) -> Manner:
    """What is left of a turn's manner once the agent has spoken for so many seconds, before a tool call."""
    if not spoken:
        return does
    cut = None if does.cut is None else max(does.cut - spoken, 0.0)
    halts = tuple((at - spoken, silence) for at, silence in does.halts if at >= spoken)
    return msgspec.structs.replace(does, cut=cut, halts=halts)
