"""Masks a call's names, numbers and addresses, each by the same stand-in throughout, with as many words as before.

A rule of thumb and no guarantee: names that nobody introduces and no tool returns stay, so a person has to read the
result. Declarations of tools are left alone.
"""

import re
from collections import Counter
from random import Random
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from .model import Recording, Reply, ToolCall, Utterance
from .personal import LETTERS, choices, codes, names
from .standins import TEENS, TENS, UNITS, StandIns

Said = TypeVar("Said", Utterance, Reply)

_ANY = "|".join([*UNITS, *TEENS, *TENS])
_SPELLED = rf"\b(?i:{_ANY})(?:[ ,-]+(?i:{_ANY}|oh))+\b"
_NUMBER = r"\d+(?:[-. ]\d+)*"
_URL = r"(?:https?://|www\.)[^\s\"'<>\\]+"
_EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_DOT = r"(?i:dot|underscore|dash|hyphen)"
_SPOKEN_EMAIL = rf"\b[\w-]+(?: {_DOT} [\w-]+)* (?i:at) [\w-]+(?: (?i:dot) [a-z]{{2,4}})+\b"
# Names that are words too: small ones are taken for the word.
_WORDS_TOO = set(
    re.findall(
        r"\w+",
        """april august art best bill black brown case day dean drew faith frank gene grace green hope jack joy june
        king long mark may page pat price rich rose sue summer white will young""",
    )
)
_KEY = r'"[^"\d\\]*\d{0,2}[^"\d\\]*"(?=\s*:)'  # of JSON in a text; one with a longer number is no mere name


class Redacted(msgspec.Struct, frozen=True):
    """The masked call, and how many different names, numbers, codes and addresses were masked."""

    recording: Recording
    counts: dict[str, int]


def redact(recording: Recording) -> Redacted:
    """The call without what tells who called. The same call is masked in the same way."""
    mask = _Mask(recording)
    turns = tuple(
        replace(
            turn,
            caller=mask.said(turn.caller),
            agent=mask.said(turn.agent),
            tools=tuple(tuple(map(mask.call, step)) for step in turn.tools),
            backchannels=tuple(map(mask.said, turn.backchannels)),
        )
        for turn in recording.turns
    )
    masked = replace(
        recording,
        title=mask.text(recording.title),
        source=mask.text(recording.source),
        system=mask.text(recording.system),
        turns=turns,
        greeting=recording.greeting and mask.said(recording.greeting),
        fresh=mask.text(recording.fresh),
    )
    return Redacted(masked, {kind: count for kind, count in sorted(mask.counts.items()) if count})


class _Mask:
    """Masks texts and values of one call."""

    def __init__(self, recording: Recording) -> None:
        known, odd = names(recording), codes(recording)
        self._free = set(choices(recording.tools))
        self._ins = StandIns(Random(msgspec.json.encode(recording)), known)
        found = {
            "escape": r"\\u[0-9a-fA-F]{4}",  # of JSON in a text
            "key": _KEY,
            "url": _URL,
            "email": _EMAIL,
            "spoken": _SPOKEN_EMAIL,
            "code": _either(odd),
            "name": _either(form for name in known for form in _forms(name)),
            "letters": LETTERS,
            "spelled": _SPELLED,
            "number": _NUMBER,
        }
        self._find = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in found.items() if pattern))

    @property
    def counts(self) -> Counter[str]:
        return self._ins.counts

    def text(self, text: str) -> str:
        return text if text in self._free else self._find.sub(self._put, text)

    def said(self, said: Said) -> Said:
        masked = replace(said, text=self.text(said.text))
        if isinstance(masked, Reply) and masked.heard is not None:
            # The same words as in the text: a number may be cut in two.
            heard = re.match(rf"(?:\s*\S+){{{len(masked.heard.split())}}}", masked.text)
            masked = replace(masked, heard=heard[0] if heard else masked.text)
        return masked

    def call(self, call: ToolCall) -> ToolCall:
        return replace(call, arguments=self.value(call.arguments), result=self.value(call.result))

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            keys = {key: self.text(key) if re.search(r"\d{3}", key) else key for key in value}
            return {keys[key]: self.value(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner) for inner in value]
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        written = repr(value)
        return value if "e" in written else type(value)(self._find.sub(self._put, written))

    def _put(self, match: re.Match[str]) -> str:
        text = match[0]
        match match.lastgroup:
            case "escape" | "key":
                return text
            case "url":
                return self._ins.url(text)
            case "email":
                return self._ins.email(text)
            case "spoken":
                return re.sub(r"[\w-]+", lambda word: self._mail_word(word[0]), text)
            case "code":
                return self._ins.code(text)
            case "name":
                return self._ins.name(text)
            case "letters":
                return self._ins.letters(text)
            case "spelled":
                return self._ins.spelled(text)
            case _:
                return self._ins.number(text)

    def _mail_word(self, word: str) -> str:
        plain = word.lower()
        if plain in {"at", "dot", "underscore", "dash", "hyphen", "com", "net", "org", "co", "uk", "de", "edu"}:
            return word
        return self._ins.number(word) if word.isdigit() else self._ins.name(word)


def _either(words: Any) -> str:
    """A pattern for any of the words, standing alone or between underscores; nothing for none."""
    each = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return rf"(?<![^\W_])(?:{each})(?![^\W_])" if each else ""


def _forms(name: str) -> set[str]:
    return {name.title(), name.upper(), name.capitalize()} | (set() if name in _WORDS_TOO else {name})
