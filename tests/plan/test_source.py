"""Headers from files and by HTTP ranges: only what is needed, and one line for whatever goes wrong."""

import asyncio
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadsim.plan.source import Model, read
from loadsim.types import BadInput
from tests.plan.models import NANO_KEYS, nano_infos, write_header
from tests.plan.served import Served, serving
from tests.plan.test_gguf import begun, key

MIB = 1 << 20


def header(folder: Path, tokens: int, name: str = "nano.gguf", **keys: object) -> Path:
    folder.mkdir(exist_ok=True)
    return write_header(folder / name, "nemotron_h_moe", {**NANO_KEYS, **keys}, nano_infos(), tokens)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A header of some 5 MB, as a tokenizer of 200,000 words makes it."""
    return header(tmp_path_factory.mktemp("large"), 200_000).read_bytes()


@pytest.fixture
def served(large: bytes) -> Iterator[Served]:
    with serving({"large.gguf": large + bytes(10 * MIB)}) as server:
        yield server


def got(place: str) -> Model:
    return asyncio.run(read(place))


def test_a_file_and_its_url_read_alike(served: Served, large: bytes, tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    path.write_bytes(served.files["large.gguf"])
    here, there = got(str(path)), got(f"{served.url}/plain/large.gguf")
    assert there.tensors == here.tensors
    assert there.metadata == here.metadata
    assert there.size == here.size == len(large) + 10 * MIB
    assert there.needs == here.needs > 17e9
    assert there.read == here.read


def test_no_more_is_fetched_than_a_header_needs(served: Served, large: bytes) -> None:
    model = got(f"{served.url}/plain/large.gguf")
    assert model.read == served.sent
    assert model.requests == len(served.asked)
    assert len(large) <= model.read < 2 * len(large)
    assert model.requests <= 7
    starts_ends = [asked.removeprefix("bytes=").split("-") for _, asked in served.asked]
    assert [int(start) for start, _ in starts_ends] == [0, *(int(end) + 1 for _, end in starts_ends[:-1])]
    assert starts_ends[0] == ["0", "65535"]


def test_a_redirect_is_followed_once(served: Served) -> None:
    model = got(f"{served.url}/moved/large.gguf")
    assert [path.split("/")[1] for path, _ in served.asked] == ["moved", *["plain"] * model.requests]


@pytest.mark.parametrize("how", ["pieces", "unsized", "more", "upper"])
def test_a_server_that_gives_less_or_more_than_asked_is_put_up_with(served: Served, how: str) -> None:
    model = got(f"{served.url}/{how}/large.gguf")
    assert len(model.tensors) == len(nano_infos())
    assert how == "pieces" or model.read == got(f"{served.url}/plain/large.gguf").read
    assert model.size == (None if how == "unsized" else len(served.files["large.gguf"]))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("whole", "large.gguf: the server gives no ranges, only the whole file (HTTP 200); download it first, or name"),
        ("unsatisfiable", "large.gguf is cut: the server has no bytes 0-65535: it has "),
        ("circle", "large.gguf is redirected in circles"),
        ("away", "large.gguf cannot be fetched: it is, or leads to, no http or https address"),
        ("other", "large.gguf: the server gave another range than bytes=0-65535 ('bytes 1-65536/"),
        ("page", "large.gguf is a web page; give the address that downloads the file"),
        ("zipped", "large.gguf: the server compresses what it gives (gzip): no range of the file"),
        ("no-http", "large.gguf cannot be fetched: the answer is no HTTP ("),
        ("lies", "large.gguf: the server gives it in crumbs, 64 bytes in 64 answers"),
        ("broken", "large.gguf cannot be fetched: the connection broke off"),
        ("crumbs", "large.gguf: the server gives it in crumbs, 640 bytes in 64 answers"),
        ("401", "large.gguf cannot be fetched (HTTP 401: is it private, or gated?)"),
        ("503", "large.gguf cannot be fetched (HTTP 503)"),
    ],
)
def test_what_a_server_may_do_is_one_line(served: Served, how: str, said: str) -> None:
    with pytest.raises(BadInput) as error:
        got(f"{served.url}/{how}/large.gguf?key=secret")
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)
    assert served.sent < 12 * MIB if how == "whole" else served.sent < MIB


@pytest.mark.parametrize(("how", "which"), [("silent", "_SILENCE_S"), ("slow", "_PIECE_S")])
def test_who_gives_nothing_or_too_slowly_is_given_up(
    how: str, which: str, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"loadsim.plan.source.{which}", 0.1)
    with pytest.raises(
        BadInput, match=r"^large.gguf cannot be fetched: nothing came for [0-9]+ s, or it came too slow"
    ):
        got(f"{served.url}/{how}/large.gguf")


def test_a_key_in_an_address_is_kept_out_of_the_plan(served: Served) -> None:
    model = got(f"{served.url.replace('//', '//me:secret@')}/plain/large.gguf?key=secret")
    assert model.files == (f"{served.url}/plain/large.gguf",)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(BadInput, match=r"pipe.gguf is no file$"):
        got(str(tmp_path / "pipe.gguf"))


def test_what_is_not_there_is_one_line(served: Served, tmp_path: Path) -> None:
    for place, said in (
        (f"{served.url}/plain/small.gguf", r"^small.gguf cannot be fetched \(HTTP 404\)$"),
        ("http://127.0.0.1:9/model.gguf", r"^model.gguf cannot be fetched \(Cannot connect to host 127.0.0.1:9 "),
        ("http://127.0.0.1:99999/model.gguf", r"^model.gguf cannot be fetched"),
        (str(tmp_path / "none.gguf"), r"none.gguf cannot be read \(No such file or directory\)$"),
        (str(tmp_path), r"cannot be read \(Is a directory\)$"),
        ("a\0b", r"cannot be read"),
        ("a\nb.gguf", r"^a\?b.gguf cannot be read"),
        ("", r"^'' cannot be read"),
        ("http://[", r"^'http://\[' is no address$"),
    ):
        with pytest.raises(BadInput, match=said):
            got(place)


LIES = {
    "a text": begun(keys=1) + key("k", 8, struct.pack("<Q", 1 << 60)),
    "texts": begun(keys=1) + key("k", 9, struct.pack("<IQ", 8, 1 << 60)),
    "tensors": begun(tensors=1 << 60),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_told_after_the_first_piece(lie: str, tmp_path: Path) -> None:
    data = LIES[lie] + bytes(MIB)
    with (
        serving({"lie.gguf": data}) as server,
        pytest.raises(BadInput, match=r"^lie.gguf claims 1,152,921,504,606,846"),
    ):
        got(f"{server.url}/plain/lie.gguf")
    assert server.sent == 65536
    (tmp_path / "lie.gguf").write_bytes(data)
    with pytest.raises(BadInput, match=r"^lie.gguf claims"):
        got(str(tmp_path / "lie.gguf"))


def test_a_header_without_end_is_read_to_32_mib_at_most() -> None:
    word = struct.pack("<Q", 60_000) + bytes(60_000)
    data = begun(keys=1) + key("k", 9, struct.pack("<IQ", 8, 1000)) + word * 1000
    with (
        serving({"long.gguf": data}) as server,
        pytest.raises(BadInput, match="over 32 MiB, more than any model needs"),
    ):
        got(f"{server.url}/plain/long.gguf")
    assert 16 * MIB <= server.sent <= 32 * MIB


def test_a_sets_headers_are_read_to_32_mib_at_most_in_all() -> None:
    words = key("k", 9, struct.pack("<IQ", 8, 300) + (struct.pack("<Q", 60_000) + bytes(60_000)) * 300)
    part = begun(keys=2) + key("split.count", 2, struct.pack("<H", 2)) + words
    names = [f"long-0000{number}-of-00002.gguf" for number in (1, 2)]
    with serving(dict.fromkeys(names, part)) as server, pytest.raises(BadInput) as error:
        got(f"{server.url}/plain/{names[0]}")
    assert str(error.value) == f"{names[1]}: headers of over 32 MiB, more than any model needs"
    assert len(part) < server.sent <= 32 * MIB


@pytest.mark.parametrize("length", [0, 3, 20, 60_000, 70_000, 1_500_000])
def test_a_cut_file_is_cut_wherever_it_lies(large: bytes, length: int, tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(large[:length])
    said = rf"^cut.gguf is cut: it ends after {length:,} bytes; its header goes on to [0-9,]+ or more$"
    with pytest.raises(BadInput, match=said):
        got(str(tmp_path / "cut.gguf"))
    with serving({"cut.gguf": large[:length]}) as server:
        for how in ("plain", "unsized"):
            with pytest.raises(BadInput, match=r"^cut.gguf is cut: "):
                got(f"{server.url}/{how}/cut.gguf")


def split_set(folder: Path) -> dict[str, bytes]:
    """A model in three parts, as gguf-split makes them: the first has the keys."""
    infos = nano_infos()
    files = {}
    for number in range(3):
        name = f"nano-{number + 1:05}-of-00003.gguf"
        keys = {"split.no": number, "split.count": 3, "split.tensors.count": len(infos)}
        files[name] = write_header(
            folder / name, "nemotron_h_moe", {**(NANO_KEYS if number == 0 else {}), **keys}, infos[number::3]
        ).read_bytes()
    return files


@pytest.mark.parametrize("number", [1, 2, 3])
def test_any_part_stands_for_its_set(number: int, tmp_path: Path) -> None:
    files = split_set(tmp_path)
    whole = got(str(header(tmp_path / "whole", 0)))
    here = got(str(tmp_path / f"nano-{number:05}-of-00003.gguf"))
    with serving(files) as server:
        there = got(f"{server.url}/plain/nano-{number:05}-of-00003.gguf?download=true")
        assert {path for path, _ in server.asked} == {f"/plain/{name}?download=true" for name in files}
    for model in (here, there):
        assert sorted(t.name for t in model.tensors) == sorted(t.name for t in whole.tensors)
        assert sum(t.bytes for t in model.tensors) == sum(t.bytes for t in whole.tensors)
        assert model.metadata["nemotron_h_moe.block_count"] == 52
        assert len(model.files) == 3
        assert model.size == sum(map(len, files.values()))
        assert model.name == "nano-00001-of-00003.gguf"


def test_a_part_that_lacks_or_is_of_another_set_is_told(tmp_path: Path) -> None:
    files = split_set(tmp_path)
    second = tmp_path / "nano-00002-of-00003.gguf"
    second.unlink()
    with pytest.raises(BadInput, match=r"nano-00002-of-00003.gguf cannot be read \(No such file"):
        got(str(tmp_path / "nano-00003-of-00003.gguf"))
    second.write_bytes(header(tmp_path / "other", 0).read_bytes())
    with pytest.raises(BadInput, match=r"^nano-00002-of-00003.gguf is of a model in one file, but its name says 3"):
        got(str(tmp_path / "nano-00001-of-00003.gguf"))
    second.write_bytes(files["nano-00001-of-00003.gguf"])
    with pytest.raises(BadInput, match=r"^nano-00001-of-00003.gguf has a tensor twice"):
        got(str(tmp_path / "nano-00001-of-00003.gguf"))
    alone = tmp_path / "renamed.gguf"
    alone.write_bytes(files["nano-00001-of-00003.gguf"])
    with pytest.raises(BadInput, match=r"^renamed.gguf is of a model in 3 parts, but its name says 1"):
        got(str(alone))
    with pytest.raises(BadInput, match=r"^nano-00004-of-00003.gguf: no part 4 of 3$"):
        got(str(tmp_path / "nano-00004-of-00003.gguf"))
