"""A file server on this machine that gives ranges, and fails to in every way that is asked of it by the path."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Served:
    """Files by their names; `asked`: the paths and ranges that came; `sent`: bytes of bodies written."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.asked: list[tuple[str, str]] = []
        self.sent = 0
        self.url = ""


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Served]:
    """Serve the files at `/how/name`, where how is `plain` or what goes wrong."""
    served = Served(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            served.asked.append((self.path, asked))
            _, how, name = self.path.split("?")[0].split("/", 2)
            data = served.files.get(name)
            if data is None:
                return self.answer(404, b"nothing")
            start, end = (int(n) for n in asked.removeprefix("bytes=").split("-"))
            if how == "moved":
                return self.answer(302, b"", location=f"/plain/{name}")
            if how == "circle":
                return self.answer(302, b"", location=self.path)
            if how == "away":
                return self.answer(302, b"", location="ftp://127.0.0.1/model.gguf")
            if how == "page":
                return self.answer(200, b"<!doctype html>", content_type="text/html; charset=utf-8")
            if how == "no-http":
                return self.answer(206, b"x", content_length="long")
            if how == "silent":
                time.sleep(1)
                return None
            if how == "whole":
                return self.answer(200, data)
            if how.isdigit():
                return self.answer(int(how), b"no")
            if how in ("416", "unsatisfiable") or start >= len(data):
                return self.answer(416, b"", content_range=f"bytes */{len(data)}")
            if how == "crumbs":
                end = min(end, start + 9)
            if how == "pieces":
                end = min(end, start + 399_999)
            piece = data[start : end + 1]
            size = "*" if how == "unsized" else len(data)
            told = f"bytes {start}-{start + len(piece) - 1}/{size}"
            if how == "other":
                told = f"bytes {start + 1}-{start + len(piece)}/{size}"
            if how == "zipped":
                return self.answer(206, piece, content_range=told, content_encoding="gzip")
            if how == "upper":
                return self.answer(206, piece, content_range=told.replace("bytes", "Bytes"), content_encoding="")
            if how == "lies":  # it tells the first byte alone, and gives others after it
                return self.answer(206, piece[:1] + b"?" * 99, content_range=f"bytes {start}-{start}/{size}")
            if how == "slow":
                self.answer(206, piece[:1], len(piece), content_range=told)
                time.sleep(1)
                return None
            if how == "broken":
                return self.answer(206, piece[:-1], len(piece), content_range=told)
            if how == "more":
                piece = data[start:]
            return self.answer(206, piece, content_range=told)

        def answer(self, status: int, body: bytes, length: int | None = None, **headers: str) -> None:
            self.send_response(status)
            if "content_length" not in headers:
                self.send_header("Content-Length", str(len(body) if length is None else length))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            try:
                for at in range(0, len(body), 1 << 16):
                    served.sent += self.wfile.write(body[at : at + (1 << 16)])
            except OSError:
                pass  # they have what they wanted

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        served.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
