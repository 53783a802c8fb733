"""When a voice can begin to speak, and where its sentences end."""

import itertools
import re

from ..types import Chunk

LIVEKIT_CHARS = 20  # LiveKit Agents joins a shorter sentence to the next (`min_sentence_len`)

_CLOSERS = r"""["'”’»)\]*_」』）]*"""
# A mark after a digit may stand in a number (3.5, 1,200, 10:30): only what follows tells.
_CLAUSE = re.compile(r"[?!;。！？，、；：]|(?<!\d)[.,:]|(?<=\d)[.,:](?=\D)")
_SENTENCE = re.compile(rf"[.?!]{_CLOSERS}(?=\s)|[。！？]")
_SENTENCES = re.compile(rf"(?:[.?!]{_CLOSERS}(?=\s)|[。！？]+{_CLOSERS})\s*")


def first_chunk(rule: Chunk, text: str, whole: bool = False) -> int | None:
    """How many characters the first speakable chunk of `text` has; None: it is not there yet.

    `clause` (TEN): up to the first `, . ? ! ; :`, at once; a `. , :` after a digit waits for what follows, and one
    between two digits is no end. `sentence` (Pipecat): up to the first `. ? !`, with the quotes and brackets that close
    there, once white space follows. `livekit`: the same at 20 characters or more, leading white space left out. The
    wide 。！？ end all three at once. A chunk holds a letter or a digit: nobody speaks "...". Abbreviations ("Dr. Ng")
    end a sentence here, as in a plain splitter.
    `whole`: nothing follows any more, so the rest is the chunk; None only for blank text. A chunk once there stays.
    """
    ends = (_CLAUSE if rule == "clause" else _SENTENCE).finditer(text)
    least = len(text) - len(text.lstrip()) + (LIVEKIT_CHARS if rule == "livekit" else 1)
    for end in (mark.end() for mark in ends):
        if end >= least and any(character.isalnum() for character in text[:end]):
            return end
    return (len(text.rstrip()) or None) if whole else None


def sentences(text: str) -> list[str]:
    """The sentences of `text`, each with the white space after it; joined they are the text again."""
    cuts = [0, *(end.end() for end in _SENTENCES.finditer(text)), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(cuts) if start < end]
