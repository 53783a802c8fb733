"""Where a GGUF header is read from: a file, or a URL by HTTP ranges, alone or the parts of a split set.

Only a header's bytes are read, in growing pieces while it goes on; of a URL, no more than `gguf.LIMIT` in all.
"""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import msgspec

from ..types import BadInput
from .gguf import LIMIT, Header, Short, Tensor, Value, parse

_FIRST = 64 << 10  # bytes that are asked for first
_SILENCE_S = 30.0
_PIECE_S = 600.0  # a header's largest piece, 24 MiB, comes in that time over a line of 350 kbit/s
_MOST_PIECES = 64
_PART = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<end>\.gguf)", re.IGNORECASE)

Ranges = Callable[[int, int], Awaitable[tuple[bytes, int | None]]]
"""Gives the bytes from one place up to another, fewer only at the end, and how long the whole is, if that is told."""


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model as its headers tell it, which of a split set are several.

    `name`: of the first file. `files`: where each part lies. `read`: bytes read. `size`: of all files, in bytes; None:
    not told. `needs`: how long its files must be to hold the weights; longer than `size` where one is cut.
    """

    name: str
    files: tuple[str, ...]
    metadata: dict[str, Value]
    tensors: tuple[Tensor, ...]
    read: int
    requests: int
    size: int | None
    needs: int


async def read(place: str) -> Model:
    """The model at a path or a URL; any part of a split set stands for the whole. Raises BadInput."""
    if not re.match(r"https?://", place, re.IGNORECASE):
        return await _model(place, _file)
    timeout = aiohttp.ClientTimeout(total=_PIECE_S, sock_connect=_SILENCE_S, sock_read=_SILENCE_S)
    headers = {"Accept-Encoding": "identity"}
    async with aiohttp.ClientSession(
        timeout=timeout, headers=headers, trust_env=True, auto_decompress=False
    ) as session:
        return await _model(place, lambda url: _Remote(session, url).ranges)


async def _model(place: str, opened: Callable[[str], Ranges]) -> Model:
    """Reads every part's header; the keys are the first part's, as llama.cpp takes them."""
    try:
        parts = _parts(place)
    except ValueError:
        raise BadInput(f"{place[:80]!r} is no address") from None
    headers: list[Header] = []
    read = requests = size = 0
    known = True
    for part in parts:
        header, fetched, times, length = await _header(opened(part), _name(part), LIMIT - read)
        _whole(header, part, len(parts))
        headers.append(header)
        read, requests, known = read + fetched, requests + times, known and length is not None
        size += length or 0
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    if len({tensor.name for tensor in tensors}) < len(tensors):
        raise BadInput(f"{_name(parts[0])} has a tensor twice")
    return Model(
        name=_name(parts[0]),
        files=tuple(map(_bare, parts)),
        metadata=headers[0].metadata,
        tensors=tensors,
        read=read,
        requests=requests,
        size=size if known else None,
        needs=sum(header.ends for header in headers),
    )


def _whole(header: Header, part: str, parts: int) -> None:
    """See that a file is of a model in so many parts."""
    count = header.metadata.get("split.count", 1)
    if not isinstance(count, int) or max(count, 1) != parts:
        how = f"{count} parts" if isinstance(count, int) and count > 1 else "one file"
        raise BadInput(f"{_name(part)} is of a model in {how}, but its name says {parts}; keep the names as they were")


async def _header(ranges: Ranges, name: str, limit: int) -> tuple[Header, int, int, int | None]:
    """A header, the bytes read for it, in how many pieces, and the file's length."""
    data, size, want = bytearray(), None, _FIRST
    for times in range(1, _MOST_PIECES + 1):
        want = min(want, limit, want if size is None else size)
        more, told = await ranges(len(data), want) if want > len(data) else (b"", size)
        data, size = data + more, told if told is not None else size
        ended = not more or len(data) == size
        try:
            return parse(bytes(data), name, size), len(data), times, size
        except Short as short:
            if short.need > limit:
                raise BadInput(f"{name}: headers of over {LIMIT >> 20} MiB, more than any model needs") from None
            if ended:
                raise BadInput(
                    f"{name} is cut: it ends after {len(data):,} bytes; its header goes on to {short.need:,} or more"
                ) from None
            # Tokenizers come late: at first the pieces are small and grow fast.
            want = max(short.need, want * (4 if want < 1 << 20 else 2))
    raise BadInput(f"{name}: the server gives it in crumbs, {len(data):,} bytes in {_MOST_PIECES} answers")


def _parts(place: str) -> tuple[str, ...]:
    """All files of a split set, whichever is named; of one alone, itself."""
    split = urlsplit(place) if "://" in place else None
    match = _PART.fullmatch(split.path if split else place)
    if not match:
        return (place,)
    count = int(match["count"])
    if not 1 <= int(match["number"]) <= count:
        raise BadInput(f"{_name(place)}: no part {int(match['number'])} of {count}")
    names = [f"{match['stem']}-{number:05}-of-{count:05}{match['end']}" for number in range(1, count + 1)]
    return tuple(urlunsplit(split._replace(path=name)) if split else name for name in names)


def _name(place: str) -> str:
    """The file's name; of a URL without the query, which may hold a key."""
    path = urlsplit(place).path if "://" in place else place
    return "".join(c if c.isprintable() else "?" for c in path.rsplit("/", 1)[-1]) or path


def _bare(place: str) -> str:
    """Where a file lies; of a URL without its query and who fetches it, which may hold a key."""
    if "://" not in place:
        return place
    split = urlsplit(place)
    return urlunsplit((split.scheme, split.netloc.rsplit("@", 1)[-1], split.path, "", ""))


def _file(place: str) -> Ranges:
    """A file's bytes."""

    async def ranges(start: int, end: int) -> tuple[bytes, int | None]:
        return _piece(place, start, end)

    return ranges


def _piece(place: str, start: int, end: int) -> tuple[bytes, int]:
    path = Path(place)
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise BadInput(f"{_shown(place)} is no file")  # who reads a pipe waits for its writer
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(start)
            return file.read(end - start), size
    except (OSError, ValueError) as error:
        raise BadInput(f"{_shown(place)} cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _shown(place: str) -> str:
    """A path as it was given, in one line."""
    return "".join(c if c.isprintable() else "?" for c in place) if place.strip() else repr(place)


class _Remote:
    """A URL's bytes. Where it leads to is asked for once: the ranges after the first go there at once."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._name = _name(url)
        # Hugging Face shows a page at /blob/ and gives the file at /resolve/.
        self._url = re.sub(r"^(https://huggingface\.co/[^/]+/[^/]+)/blob/", r"\1/resolve/", url)

    async def ranges(self, start: int, end: int) -> tuple[bytes, int | None]:
        try:
            return await self._get(start, end)
        except aiohttp.TooManyRedirects:
            why = "is redirected in circles"
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):
            why = "cannot be fetched: it is, or leads to, no http or https address"
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, ConnectionResetError):
            why = "cannot be fetched: the connection broke off"
        except TimeoutError:  # before ClientError, which aiohttp's are too
            why = f"cannot be fetched: nothing came for {_SILENCE_S:.0f} s, or it came too slowly"
        except aiohttp.ClientResponseError as error:
            why = f"cannot be fetched: the answer is no HTTP ({' '.join(error.message.split())[:80]})"
        except aiohttp.ClientError as error:
            why = f"cannot be fetched ({' '.join(str(error).split())[:120]})"
        raise BadInput(f"{self._name} {why}")

    async def _get(self, start: int, end: int) -> tuple[bytes, int | None]:
        asked = f"bytes={start}-{end - 1}"
        async with self._session.get(self._url, headers={"Range": asked}) as answer:
            status, told = answer.status, answer.headers.get("Content-Range", "")
            match = re.fullmatch(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", told, re.IGNORECASE)
            if status == 416:
                length = re.fullmatch(r"bytes \*/(\d{1,18})", told)
                has = f": it has {int(length[1]):,}" if length else ""
                raise BadInput(f"{self._name} is cut: the server has no {asked.replace('=', ' ')}{has} (HTTP 416)")
            if status == 200 and answer.content_type == "text/html":
                raise BadInput(f"{self._name} is a web page; give the address that downloads the file")
            if status == 200:
                raise BadInput(
                    f"{self._name}: the server gives no ranges, only the whole file (HTTP 200); download it first, or "
                    "name a server that does"
                )
            if status != 206:
                hint = ": is it private, or gated?" if status in (401, 403) else ""
                raise BadInput(f"{self._name} cannot be fetched (HTTP {status}{hint})")
            if (coding := answer.headers.get("Content-Encoding", "")) not in ("", "identity"):
                raise BadInput(
                    f"{self._name}: the server compresses what it gives ({coding[:20]}): no range of the file"
                )
            if not match or int(match[1]) != start or int(match[2]) < start:
                raise BadInput(f"{self._name}: the server gave another range than {asked} ({told[:60]!r})")
            end = min(end, int(match[2]) + 1)
            self._url = str(answer.url)
            data = bytearray()
            while len(data) < end - start and (piece := await answer.content.read(end - start - len(data))):
                data += piece
            return bytes(data), None if match[3] == "*" else int(match[3])
