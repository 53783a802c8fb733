"""GGUF headers, versions 2 and 3, from their first bytes. What a header claims is checked before it is believed.

A header is "GGUF", u32 version, u64 tensors, u64 keys, the keys with their values, then each tensor's name, shape, type
and offset; the weights follow, aligned. Tokenizers make it MiBs long. All numbers are little-endian.
"""

import struct
from collections.abc import Iterator
from typing import NoReturn

import msgspec

from ..types import BadInput
from .quants import QUANTS

LIMIT = 32 << 20  # bytes: no header is longer; one that claims to be is a lie or no header
_MOST = 100_000  # tensors or keys; the largest models have some thousands of either
_DIMENSIONS = 4
_KEPT = 4096  # elements: per-layer arrays are shorter, tokenizers' longer
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_SIZES = {kind: struct.calcsize("<" + code) for kind, code in _SCALARS.items()}

_LENGTH = struct.Struct("<Q")

_Found = tuple[str, tuple[int, ...], int, int]
Value = int | float | bool | str | list[int | float | bool]


class Short(Exception):
    """The header goes on: at least `need` bytes from its start must be there."""

    def __init__(self, need: int) -> None:
        super().__init__(need)
        self.need = need


class Tensor(msgspec.Struct, frozen=True):
    """A tensor as the header tells it. `shape` begins with the row; `type` is a name of quants.QUANTS, or `type 99`.

    `offset` is in the weights, `bytes` what it takes there.
    """

    name: str
    shape: tuple[int, ...]
    type: str
    offset: int
    bytes: int

    @property
    def weights(self) -> int:
        count = 1
        for length in self.shape:
            count *= length
        return count


class Header(msgspec.Struct, frozen=True):
    """A file's header of `length` bytes. `metadata` lacks long arrays and arrays of strings: those are tokenizers'.

    `data`: where the weights begin, in bytes from the file's start.
    """

    version: int
    metadata: dict[str, Value]
    tensors: tuple[Tensor, ...]
    length: int
    data: int

    @property
    def ends(self) -> int:
        """How long the whole file must be, in bytes."""
        return max((self.data + tensor.offset + tensor.bytes for tensor in self.tensors), default=self.length)


def parse(data: bytes, name: str, size: int | None = None) -> Header:
    """The header that begins `data`; `size` is the whole file's, where known.

    Raises Short where it goes on, and BadInput where it is none that can be used.
    """
    return _Reader(data, name).header(size)


class _Reader:
    """Walks over the bytes; nothing is taken that has not been fetched, nothing made that the bytes do not hold."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        self._at = 0

    def header(self, size: int | None) -> Header:
        version = self._version()
        n_tensors, n_keys = self._number("Q"), self._number("Q")
        for count, what in ((n_tensors, "tensors"), (n_keys, "keys")):
            if count > _MOST:
                self._bad(f"claims {count:,} {what}; a model has at most {_MOST:,}")
        metadata: dict[str, Value] = {}
        seen: set[bytes] = set()
        for _ in range(n_keys):
            raw = self._string("a key's name")
            if raw in seen:
                self._bad(f"has the key {_shown(raw)} twice")
            seen.add(raw)
            value = self._value(self._number("I"), raw)
            if value is not None:
                metadata[_text(raw)] = value
        found = [self._tensor() for _ in range(n_tensors)]
        data = self._aligned(metadata)
        room = None if size is None else size - data
        return Header(version, metadata, tuple(_sized(found, room)), self._at, data)

    def _version(self) -> int:
        if not b"GGUF".startswith(self._data[:4]):
            self._no_gguf()
        self._take(4)
        version = self._number("I")
        if version not in (2, 3):
            big_endian = version and not version & 0xFFFF
            self._bad(
                "is a big-endian GGUF file; only little-endian ones are read"
                if big_endian
                else f"is GGUF version {version:,}; only 2 and 3 are read"
            )
        return version

    def _no_gguf(self) -> NoReturn:
        begins = self._data[:16].lower()
        why = f"it begins with {_shown(self._data[:4])}"
        if begins.startswith((b"<!doc", b"<html")):
            why = "it is a web page; give the address that downloads the file"
        elif begins.startswith(b"version https://"):
            why = "it is a Git LFS pointer; fetch the file itself"
        self._bad(f"is no GGUF file: {why}")

    def _value(self, kind: int, key: bytes) -> Value | None:
        """A key's value; None: one that no plan needs, and which is only passed over."""
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        if kind == _STRING:
            return _text(self._string(f"the text of {_shown(key)}"))
        if kind != _ARRAY:
            self._bad(f"has type {kind:,} for the key {_shown(key)}; 0 to 12 are known")
        kind, count = self._number("I"), self._number("Q")
        if kind == _STRING:
            self._pass_over(count, key)
            return None
        if kind not in _SCALARS:
            self._bad(f"has an array of type {kind:,} for the key {_shown(key)}; 0 to 8 and 10 to 12 are known")
        raw = self._take(_SIZES[kind] * count, f"{count:,} numbers in {_shown(key)}")
        return list(struct.unpack(f"<{count}{_SCALARS[kind]}", raw)) if count <= _KEPT else None

    def _pass_over(self, count: int, key: bytes) -> None:
        """Texts that nobody needs: a tokenizer has some 500,000."""
        what = f"{count:,} texts in {_shown(key)}"
        self._room(8 * count, what)
        data, at, end = self._data, self._at, len(self._data) - 8
        for _ in range(count):
            if at > end:
                self._room(at + 8 - self._at, what)  # which raises
            at += 8 + _LENGTH.unpack_from(data, at)[0]
        self._room(at - self._at, what)
        self._at = at

    def _tensor(self) -> _Found:
        """Name, shape, type and offset."""
        raw = self._string("a tensor's name")
        dimensions = self._number("I")
        if not 1 <= dimensions <= _DIMENSIONS:
            self._bad(f"has tensor {_shown(raw)} with {dimensions:,} dimensions; 1 to {_DIMENSIONS} are allowed")
        shape = struct.unpack(f"<{dimensions}Q", self._take(8 * dimensions))
        kind, offset = self._number("I"), self._number("Q")
        weights = 1
        for length in shape:
            weights *= length
        if not 0 < weights < 1 << 60 or offset >= 1 << 60:
            self._bad(
                f"has tensor {_shown(raw)} of shape {list(shape)} at {offset:,}: more than any file holds, or none"
            )
        quant = QUANTS.get(kind)
        if quant and shape[0] % quant.block:
            self._bad(f"has tensor {_shown(raw)} with rows of {shape[0]:,}, not whole blocks of {quant.block}")
        return _text(raw), shape, kind, offset

    def _aligned(self, metadata: dict[str, Value]) -> int:
        step = metadata.get("general.alignment", 32)
        if not isinstance(step, int) or not 0 < step <= LIMIT:
            self._bad(f"has general.alignment {str(step)[:20]}; expected a whole number, such as 32")
        return -(-self._at // step) * step

    def _number(self, code: str) -> int:
        """One number; also a float or a bool, which an int stands for here."""
        value: int = struct.unpack("<" + code, self._take(struct.calcsize("<" + code)))[0]
        return value

    def _string(self, what: str) -> bytes:
        length = self._number("Q")
        return self._take(length, f"{length:,} bytes for {what}")

    def _take(self, count: int, what: str = "") -> bytes:
        self._room(count, what)
        start, self._at = self._at, self._at + count
        return self._data[start : self._at]

    def _room(self, count: int, what: str) -> None:
        """See that `count` more bytes are there."""
        need = self._at + count
        if need > LIMIT:
            claims = f"claims {what}, and so " if what else ""
            self._bad(f"{claims}has a header of over {LIMIT >> 20} MiB, more than any model needs")
        if need > len(self._data):
            raise Short(need)

    def _bad(self, why: str) -> NoReturn:
        raise BadInput(f"{self._name} {why}")


def _sized(found: list[_Found], room: int | None) -> Iterator[Tensor]:
    """The tensors with their bytes: by their type, or for a type of tomorrow by where the next one begins.

    `room`: all that there is for weights, which the last one then has.
    """
    starts = sorted({offset for *_, offset in found})
    after = dict(zip(starts, [*starts[1:], room or 0], strict=False))
    for name, shape, kind, offset in found:
        tensor = Tensor(name, shape, f"type {kind}", offset, max(after[offset] - offset, 0))
        quant = QUANTS.get(kind)
        yield msgspec.structs.replace(tensor, type=quant.name, bytes=quant.size(tensor.weights)) if quant else tensor


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _shown(raw: bytes) -> str:
    """Bytes as a person may read them in one line."""
    text = _text(raw)
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
