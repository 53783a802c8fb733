"""What stands in the history of a reply that was cut off."""

import re

from ..types import Heard
from .speech import sentences

# A share comes from a division: a word that ends where the share ends by a hair is heard.
_HAIR = 1e-6

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def kept(mode: Heard, text: str, heard: float) -> str:
    """What of a reply's `text` stands in the history when the share `heard` (0 to 1) of its characters was heard.

    `spoken_words`, `spoken_sentences`: the whole ones within the share, a beginning of `text` without white space at
    its end; "" where there is none. `generated`: all. `retranscribed`: what a recogniser writes of the spoken words.
    A reply heard whole stands there as it is, but for `retranscribed`.
    """
    if mode == "retranscribed":
        return retranscribe(kept("spoken_words", text, heard))
    if mode == "generated" or heard >= 1:
        return text
    limit = heard * len(text) + _HAIR
    pieces = sentences(text) if mode == "spoken_sentences" else re.findall(r"\s*\S+", text)
    end = 0
    for piece in pieces:
        if end + len(piece.rstrip()) > limit:
            break
        end += len(piece)
    return text[:end].rstrip()


def retranscribe(text: str) -> str:
    """`text` as a speech recogniser writes it down: lower case, words and digits parted by single spaces.

    Of all other characters only apostrophes inside words stay; "3.5%" becomes "3 5". Again on its own result it
    changes nothing. It breaks the prefix at a reply's first word where that has a capital letter or a mark.
    """
    return " ".join(_WORD.findall(text.replace("’", "'").lower()))
