"""The header parser: it reads what gguf writes, says in one line what else there is, and makes nothing big of it."""

import struct
import tracemalloc
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import gguf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadsim.plan.gguf import LIMIT, Header, Short, parse
from loadsim.plan.quants import QUANTS
from loadsim.types import BadInput
from tests.plan.models import NANO_KEYS, nano_infos, write_header


def text(raw: str) -> bytes:
    return struct.pack("<Q", len(raw.encode())) + raw.encode()


def begun(version: int = 3, tensors: int = 0, keys: int = 0) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys)


def key(name: str, kind: int, value: bytes) -> bytes:
    return text(name) + struct.pack("<I", kind) + value


def tensor(name: str, shape: tuple[int, ...], kind: int, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def one_key(name: str, kind: int, value: bytes) -> bytes:
    return begun(keys=1) + key(name, kind, value)


@cache
def whole() -> bytes:
    """A header with all that one has."""
    with TemporaryDirectory() as folder:
        path = write_header(Path(folder) / "nano.gguf", "nemotron_h_moe", NANO_KEYS, nano_infos()[:40], tokens=99)
        return path.read_bytes()


@pytest.fixture
def nano() -> bytes:
    return whole()


def test_the_types_are_those_of_the_gguf_package() -> None:
    ours = {number: (quant.name, quant.block, quant.bytes) for number, quant in QUANTS.items()}
    theirs = {int(kind): (kind.name, *sizes) for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
    assert {number: ours[number] for number in theirs} == theirs


def test_a_header_reads_back_as_gguf_reads_it(nano: bytes, tmp_path: Path) -> None:
    header = parse(nano, "nano")
    sized = tmp_path / "sized.gguf"
    sized.write_bytes(nano)
    with sized.open("r+b") as file:
        file.truncate(header.ends)  # gguf wants the weights too; a hole will do
    theirs = gguf.GGUFReader(sized)
    assert [(t.name, t.shape, t.type, t.bytes) for t in header.tensors] == [
        (t.name, tuple(map(int, t.shape)), t.tensor_type.name, t.n_bytes) for t in theirs.tensors
    ]
    assert [header.data + t.offset for t in header.tensors] == [t.data_offset for t in theirs.tensors]
    for name, field in theirs.fields.items():
        if name in header.metadata:
            assert header.metadata[name] == field.contents()
    assert header.metadata["nemotron_h_moe.attention.head_count_kv"] == NANO_KEYS["attention.head_count_kv"]
    assert set(theirs.fields) - set(header.metadata) == {"GGUF.version", "GGUF.tensor_count", "GGUF.kv_count"} | {
        "tokenizer.ggml.tokens"
    }
    assert header.length == len(nano)


def test_version_2_is_laid_out_alike(nano: bytes) -> None:
    assert parse(nano[:4] + struct.pack("<I", 2) + nano[8:], "two").tensors == parse(nano, "three").tensors


def test_a_header_may_go_on_at_every_byte(nano: bytes) -> None:
    for length in [*range(2000), *range(2000, len(nano), 97)]:
        with pytest.raises(Short) as short:
            parse(nano[:length], "nano")
        assert length < short.value.need <= len(nano)


def test_a_header_may_be_of_nothing() -> None:
    assert parse(begun(), "nothing") == Header(3, {}, (), 24, 32)


def test_a_type_of_tomorrow_is_sized_by_its_place() -> None:
    infos = tensor("a", (100,), 99) + tensor("b", (32,), 0, 4096) + tensor("c", (7,), 98, 8192)
    header = parse(begun(tensors=3) + infos, "new", size=20000)
    assert [(t.type, t.bytes) for t in header.tensors] == [
        ("type 99", 4096),
        ("F32", 128),
        ("type 98", 20000 - 8192 - header.data),
    ]


HUGE = 1 << 60
BAD = {
    "magic": (b"RIFF" + begun()[4:], "is no GGUF file: it begins with 'RIFF'"),
    "page": (b"<!DOCTYPE html><html>", "is no GGUF file: it is a web page; give the address that downloads the file"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid", "is no GGUF file: it is a Git LFS pointer"),
    "v1": (begun(version=1), "is GGUF version 1; only 2 and 3 are read"),
    "v4": (begun(version=4), "is GGUF version 4; only 2 and 3 are read"),
    "big-endian": (
        b"GGUF" + struct.pack(">IQQ", 3, 1, 1),
        "is a big-endian GGUF file; only little-endian ones are read",
    ),
    "tensors": (begun(tensors=HUGE), "claims 1,152,921,504,606,846,976 tensors; a model has at most 100,000"),
    "keys": (begun(keys=HUGE), "claims 1,152,921,504,606,846,976 keys; a model has at most 100,000"),
    "name": (
        begun(keys=1) + struct.pack("<Q", HUGE),
        "claims 1,152,921,504,606,846,976 bytes for a key's name, and so",
    ),
    "text": (
        one_key("k", 8, struct.pack("<Q", HUGE)),
        "bytes for the text of 'k', and so has a header of over",
    ),
    "texts": (
        one_key("k", 9, struct.pack("<IQ", 8, HUGE)),
        "claims 1,152,921,504,606,846,976 texts in 'k'",
    ),
    "text in texts": (
        one_key("k", 9, struct.pack("<IQQ", 8, 1, HUGE)),
        "has a header of over 32 MiB, more than any model needs",
    ),
    "numbers": (
        one_key("k", 9, struct.pack("<IQ", 0, HUGE)),
        "claims 1,152,921,504,606,846,976 numbers in 'k'",
    ),
    "type": (one_key("k", 13, b""), "has type 13 for the key 'k'; 0 to 12 are known"),
    "arrays": (one_key("k", 9, struct.pack("<IQ", 9, 1)), "has an array of type 9 for the key 'k'"),
    "twice": (begun(keys=2) + 2 * key("k", 7, b"\1"), "has the key 'k' twice"),
    "dimensions": (begun(tensors=1) + text("t") + struct.pack("<I", 5), "tensor 't' with 5 dimensions; 1 to 4 are"),
    "shape": (begun(tensors=1) + tensor("t", (HUGE, 16), 0), "has tensor 't' of shape [1152921504606846976, 16]"),
    "nothing": (begun(tensors=1) + tensor("t", (0, 16), 0), "has tensor 't' of shape [0, 16]"),
    "rows": (begun(tensors=1) + tensor("t", (100,), 12), "has tensor 't' with rows of 100, not whole blocks of 256"),
    "alignment": (one_key("general.alignment", 4, bytes(4)), "has general.alignment 0; expected a whole"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_one_line(name: str) -> None:
    data, said = BAD[name]
    with pytest.raises(BadInput) as error:
        parse(data, "model.gguf")
    assert str(error.value).startswith("model.gguf ")
    assert said in str(error.value)
    assert len(str(error.value)) < 200
    assert str(error.value).isprintable()


def parsed(data: bytes) -> Header | None:
    """The header, or None where there is none to be had: no other error, and no more memory than the bytes warrant."""
    tracemalloc.start()
    try:
        return parse(data, "x")
    except BadInput as error:
        assert str(error).isprintable()
        return None
    except Short as short:
        assert len(data) < short.need <= LIMIT
        return None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 64 * len(data) + 100_000


@settings(max_examples=300)
@given(st.binary(max_size=400))
def test_any_bytes_are_a_header_or_none(data: bytes) -> None:
    parsed(data)
    parsed(b"GGUF" + struct.pack("<I", 3) + data)
    parsed(begun(tensors=2, keys=2) + data)


@settings(max_examples=300)
@given(st.data())
def test_a_header_with_some_bytes_changed_is_a_header_or_none(data: st.DataObject) -> None:
    nano = whole()
    changed = bytearray(nano[: data.draw(st.integers(0, len(nano)))])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(max(len(changed) - 8, 0), data.draw(st.sampled_from([100, 3000, 1 << 20])))))
        new = data.draw(st.binary(min_size=1, max_size=8) | st.just(b"\xff" * 8) | st.just(struct.pack("<Q", HUGE)))
        changed[at : at + len(new)] = new
    parsed(bytes(changed))
