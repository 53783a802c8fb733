"""`loadsim server`: the embedded server alone, for whoever wants to look at it or load it from elsewhere."""

import asyncio
import contextlib
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import msgspec

from ..engine.serving import start_embedded
from ..run import run
from ..scenario.load import server_of
from ..server.launch import last_line
from ..types import RunStopped, ServerSettings
from .key import api_key


@click.command()
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="A setting: slots=4, ubatch=512.")
def server(sets: tuple[str, ...]) -> None:
    """Run the embedded server, a tiny model on this machine's CPU, and print its URL. Ctrl-C ends it.

    KEY is one of a scenario's server keys. With LOADSIM_API_KEY set, that is the server's key.
    """
    asked = msgspec.structs.asdict(server_of(sets))
    settings = ServerSettings(**{name: asked[name] for name in ServerSettings.__struct_fields__})
    with contextlib.suppress(KeyboardInterrupt):  # as it is meant to end
        run(serve(settings, api_key()))


async def serve(settings: ServerSettings, key: str | None) -> None:
    """Serve until cancelled. Raises RunStopped where the server ends by itself."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        process = await start_embedded(settings, log, key)
        try:
            click.echo(process.ready["url"])
            await process.ended()
            raise RunStopped(f"the embedded server is gone; its last line: {last_line(log)}")
        finally:
            await asyncio.shield(process.stop())
