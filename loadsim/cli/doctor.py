"""`loadsim doctor`: whether a server is ready for a scenario's load, and what would mend it."""

import click
from rich.console import Console

from ..engine.doctor import examine
from ..engine.findings import Facts, findings, verdict
from ..engine.preflight import Recordings
from ..report.findings import render
from ..run import run
from ..scenario.load import load
from ..scenario.model import Scenario
from ..shipped import find
from ..types import ServerSettings
from .key import api_key
from .scenario import load_recordings
from .served import served


@click.command()
@click.argument("scenario", default="twelve_callers")
@click.option("--url", help="The server, such as http://gpu-box:8080, in place of the scenario's; or embedded.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override any key: callers.warm.count=4.")
def doctor(scenario: str, url: str | None, sets: tuple[str, ...]) -> None:
    """Ask a server that is about to be loaded whether it can hold SCENARIO, twelve_callers if none is named.

    It sends a few short requests, which take the place of what slots 0 and 1 and some others hold: not for a server
    with callers on it. An API key is read from LOADSIM_API_KEY.

    Exit code 0: ready, perhaps with warnings; 1: not ready; 2: bad input.
    """
    wanted = load(scenario, sets, url)
    recordings = load_recordings(wanted, find("scenarios", scenario).parent)
    console = Console(highlight=False, markup=False)
    with console.status("asking the server"):
        facts = run(_facts(wanted, recordings, api_key()))
    found = findings(facts)
    console.print(render(found, verdict(facts, found)))
    if any(finding.level == "bad" for finding in found):
        raise SystemExit(1)


async def _facts(wanted: Scenario, recordings: Recordings, key: str | None) -> Facts:
    url = None if wanted.server.url == "embedded" else wanted.server.url
    settings = ServerSettings(**{name: getattr(wanted.server, name) for name in ServerSettings.__struct_fields__})
    async with served(url, settings) as server:
        return await examine(server.url, wanted, recordings, key if url else None, server.build)
