"""A server that counts what it is asked for, so that a row that is missing can be missed."""

from typing import Any

from ..server.api import Reply, Server, Speakable
from ..types import ChatRequest, CompletionRequest, ServerInfo


class Counted:
    """`server`, with the number of replies that it was `asked` for so far: each must come to a row."""

    def __init__(self, server: Server) -> None:
        self.asked = 0
        self._server = server

    def chat(self, request: ChatRequest, speakable: Speakable) -> Reply:
        self.asked += 1
        return self._server.chat(request, speakable)

    def complete(self, request: CompletionRequest, speakable: Speakable) -> Reply:
        self.asked += 1
        return self._server.complete(request, speakable)

    async def info(self) -> ServerInfo:
        return await self._server.info()

    async def health(self) -> str:
        return await self._server.health()

    async def render(self, messages: list[dict[str, Any]], tools: tuple[dict[str, Any], ...]) -> str | None:
        return await self._server.render(messages, tools)

    async def tokenize(self, text: str) -> list[int] | None:
        return await self._server.tokenize(text)

    async def slots(self) -> list[dict[str, Any]] | None:
        return await self._server.slots()

    async def close(self) -> None:
        await self._server.close()
