"""`loadsim scenario`: run one, and print what its callers met."""

import asyncio
import contextlib
from datetime import datetime
from pathlib import Path

import click
import msgspec
from rich.console import Console

from ..engine.preflight import Recordings, names
from ..engine.progress import Progress
from ..engine.run import LOG
from ..engine.run import run as run_scenario
from ..recording.load import load as load_recording
from ..report.live import LiveView
from ..report.table import holds, render
from ..results.read import read
from ..results.write import Ended, Recorder, claim, default_folder
from ..run import run
from ..scenario.load import load
from ..scenario.model import Scenario
from ..scenario.schema import schema as json_schema
from ..shipped import find
from ..types import BadInput, RunStopped
from .key import api_key


@click.command()
@click.argument("file", required=False)
@click.option("--url", help="The server to load, such as http://gpu-box:8080, in place of the scenario's.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override any key: callers.warm.count=4.")
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder; else results/<scenario>-<time>.")
@click.option("--no-text", is_flag=True, help="Leave the replies' texts out of the run.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of scenario files, for editors.")
def scenario(
    file: str | None, url: str | None, sets: tuple[str, ...], out: Path | None, no_text: bool, schema: bool
) -> None:
    """Run the scenario FILE: a path, or a name in scenarios/ or among those shipped.

    An API key for the server is read from LOADSIM_API_KEY.
    """
    if schema:
        click.echo(msgspec.json.format(msgspec.json.encode(json_schema()), indent=2).decode())
        return
    if file is None:
        raise click.UsageError("name a scenario, such as twelve_callers")
    wanted = load(file, sets, url)
    recordings = load_recordings(wanted, find("scenarios", file).parent)
    console = Console(highlight=False, markup=False)
    key = api_key()
    made = out is None or claim(out)
    folder = out or default_folder(Path(file).stem, datetime.now())
    try:
        run(record(wanted, recordings, folder, console, not no_text, key))
    finally:
        # However it ended, what was measured is shown; what never began leaves nothing.
        began = (folder / "requests.jsonl").is_file()
        answered = began and show(folder, console)
        if not began and not (folder / LOG).exists():
            _take_away(folder, made)
    if not answered:
        raise SystemExit(1)


async def record(
    wanted: Scenario, recordings: Recordings, folder: Path, console: Console, text: bool, key: str | None
) -> None:
    """Run a scenario into `folder`, and note there how it ended."""
    origin = asyncio.get_running_loop().time()
    recorder = Recorder(folder, origin, text)
    progress = Progress()
    try:
        with LiveView(console, progress):
            await run_scenario(wanted, recordings, recorder, progress, origin, key)
    except BaseException as error:
        recorder.close(*_end(error))
        # The embedded server's log explains a run that could not start; after bad input or Ctrl-C it says nothing.
        if not recorder.rows and not isinstance(error, RunStopped):
            (folder / LOG).unlink(missing_ok=True)
        raise
    recorder.close("complete")


def load_recordings(wanted: Scenario, near: Path) -> Recordings:
    """The recordings that a scenario names, from its own folder first."""
    return {name: load_recording(name, near) for name in names(wanted)}


def _take_away(folder: Path, made: bool) -> None:
    """Remove a run's files, and the folder if we made it; what the user made stays."""
    with contextlib.suppress(OSError):
        for file in folder.iterdir():
            file.unlink()
        if made:
            folder.rmdir()


def _end(error: BaseException) -> tuple[Ended, str]:
    """How a run ended that did not complete, and why."""
    if isinstance(error, asyncio.CancelledError):
        return "interrupted", "stopped by hand"
    return "stopped", str(error) if isinstance(error, BadInput | RunStopped) else f"{type(error).__name__}: {error}"


def show(folder: Path, console: Console) -> bool:
    """Print a run's table; whether it is complete and has an answer."""
    found = read(folder)
    console.print(render(found))
    console.print(f"\nThe run lies in {folder}", soft_wrap=True)
    return holds(found)
