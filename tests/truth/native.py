"""llama-server's own `/completion` route: exact prompts as token ids, one event a token, no `[DONE]`."""

from collections.abc import Iterator

import msgspec

from .faults import Write, event
from .prompt import Message, tokenize
from .stream import ChatBody, Reply, timings

PATH = "/completion"


class CompletionBody(ChatBody, frozen=True, kw_only=True):
    """What the server reads of a request with a prompt in place of messages."""

    prompt: list[int] | str
    messages: list[Message] = msgspec.field(default_factory=list)

    @property
    def tokens(self) -> list[int]:
        return tokenize(self.prompt) if isinstance(self.prompt, str) else self.prompt


class Completion(Reply):
    """The same reply in the native route's events. A comment takes the place of the role chunk, for the headers."""

    def _good(self) -> Iterator[Write]:
        schedule, length, written = self.schedule, self.length, 0
        if schedule.headers == "at_once":
            yield Write(0.0, b":\n\n")
        for first, last in self.faults.groups(length.spoken):
            text = "".join(map(schedule.word, range(first, last + 1)))
            told = {"timings": self._timings(last)} if self.body.timings_per_token else {}
            data = {"index": 0, "content": text, "stop": False, "id_slot": -1, "tokens_predicted": last, **told}
            written = last
            yield Write(schedule.at(last), event(data), last - first + 1)
        end = {"content": "", "stop": True, "stop_type": "limit" if length.finish == "length" else "eos"}
        end |= {"id_slot": self.slot, "timings": self._timings(length.tokens)}
        yield Write(schedule.at(length.tokens), event(end), length.tokens - written, "done")

    def _timings(self, predicted: int) -> dict[str, float | int | None]:
        return timings(self.schedule, self.cache_n, self.prompt_n, predicted)
