"""What a reply leaves behind."""

import asyncio
import gc

from loadsim.run import run
from loadsim.server.api import Reply
from loadsim.server.http import HttpServer
from loadsim.types import ChatRequest
from tests.calls import any_text
from tests.truth import serve


def test_a_reply_that_is_over_leaves_nothing_for_the_garbage_collector() -> None:
    async def main() -> list[Reply]:
        async with serve(first=0.01, step=0.002, tokens=8) as truth:
            server = HttpServer(truth.url, None)
            gc.collect()
            gc.set_debug(gc.DEBUG_SAVEALL)
            try:
                for number in range(4):
                    request = ChatRequest(messages=[{"role": "user", "content": "Hello."}], slot=0)
                    reply = server.chat(request, any_text)
                    await (reply.first if number % 2 else reply.ended).wait()
                    reply.hang_up()
                    del reply
                    await asyncio.sleep(0.05)
                gc.collect()
                return [each for each in gc.garbage if isinstance(each, Reply)]
            finally:
                gc.set_debug(0)
                gc.garbage.clear()
                await server.close()

    assert run(main()) == []
