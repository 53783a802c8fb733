"""The tiny model's tokenizer: byte-level BPE as GPT-2's, read from `tokenizer.json` (control tokens, markers, merges).

llama.cpp does the real work from the same lists; encoding here serves the model writer, which counts token pairs.
"""

import re
from functools import cached_property
from itertools import pairwise

import msgspec

# GPT-2's split of a text into words, in Python's classes: a letter is a word character that is no digit and no "_".
_WORDS = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def _alphabet() -> list[str]:
    """A printable character for each byte: GPT-2's table, in which a space is "Ġ"."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = {byte: chr(0x100 + n) for n, byte in enumerate(b for b in range(0x100) if b not in plain)}
    return [moved.get(byte, chr(byte)) for byte in range(0x100)]


class Bpe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The three lists of the file. Ids: bytes, merges in order, then control tokens and markers.

    `control` tokens have no text; `markers` are tags such as `<tool_call>`, one token each and part of the text.
    No merge joins two digits, so that " 7" is one token wherever it stands and a salt of digits keeps its count.
    """

    control: tuple[str, ...]
    markers: tuple[str, ...]
    merges: tuple[str, ...]

    @cached_property
    def tokens(self) -> list[str]:
        """Every token in GPT-2's alphabet; the index is its id."""
        return [*_alphabet(), *(merge.replace(" ", "") for merge in self.merges), *self.control, *self.markers]

    @cached_property
    def ids(self) -> dict[str, int]:
        """Token to id."""
        return {token: number for number, token in enumerate(self.tokens)}

    @cached_property
    def _ranks(self) -> dict[tuple[str, ...], int]:
        return {tuple(merge.split(" ")): rank for rank, merge in enumerate(self.merges)}

    def encode(self, text: str) -> list[int]:
        """Token ids of plain text (no control tokens, no markers)."""
        alphabet = _alphabet()
        words = ("".join(alphabet[byte] for byte in word.encode()) for word in _WORDS.findall(text))
        return [self.ids[part] for word in words for part in self._merge(list(word))]

    def _merge(self, parts: list[str]) -> list[str]:
        """Join the pair of the lowest rank until no known pair is left."""
        while len(parts) > 1:
            ranks = [self._ranks.get(pair, len(self._ranks)) for pair in pairwise(parts)]
            at = min(range(len(ranks)), key=ranks.__getitem__)
            if ranks[at] == len(self._ranks):
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return parts
