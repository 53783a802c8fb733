"""Texts as speech: what can be said, where a speaker pauses, what was heard of a cut reply, what is a murmur."""

import re
import unicodedata

import msgspec

from .draft import Said

_MURMURS = {"mhm", "mm", "mmm", "hm", "hmm", "uh", "huh", "um", "ah", "oh", "ohh", "aha", "yeah", "yes", "yep", "yup"}
_MURMURS |= {"ok", "okay", "k", "right", "sure", "exactly", "absolutely", "i", "see", "alright"}
MURMUR_WORDS = 3


def spoken(text: str) -> str:
    """The text in one line, without characters that no voice speaks."""
    return " ".join("".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in text).split())


def has_controls(text: str) -> bool:
    """Whether there is anything in the text that is no voice's, line breaks among it."""
    return any(unicodedata.category(c) in ("Cc", "Cs") for c in text.strip())


def is_murmur(text: str) -> bool:
    """Whether a text is a sign of listening, such as "mhm" or "yeah, right", and no answer."""
    words = re.findall(r"\w+", text.lower())
    return 0 < len(words) <= MURMUR_WORDS and all(word in _MURMURS for word in words)


def apart(said: Said, silence: float) -> list[Said]:
    """The utterance in parts, if its words' times show silences of so many seconds; they are one turn with pauses."""
    texts = said.text.split()
    if len(texts) != len(said.words):
        return [said]
    found, first = [], 0
    for at in range(1, len(texts) + 1):
        if at == len(texts) or said.words[at].start - said.words[at - 1].end >= silence:
            words = said.words[first:at]
            found.append(
                msgspec.structs.replace(
                    said, text=" ".join(texts[first:at]), words=words, start=words[0].start, end=words[-1].end
                )
            )
            first = at
    return found


def heard_of(said: Said, start: float, end: float, cut: float) -> str | None:
    """The words that were heard by the time of the cut: by their times, else by the share that was spoken.

    None if all were heard, or none.
    """
    texts = said.text.split()
    if len(texts) == len(said.words):
        heard = sum(word.end <= cut for word in said.words)
    else:
        heard = round(len(texts) * (cut - start) / (end - start))
    return " ".join(texts[:heard]) if 0 < heard < len(texts) and start < cut < end else None
