"""`loadsim scenario`: run one, and print what its callers met."""

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import click
import msgspec
from rich.console import Console

from ..engine.ending import Ending
from ..engine.preflight import Recordings, names
from ..engine.progress import Progress
from ..engine.run import run as run_scenario
from ..engine.serving import LOG
from ..recording.load import load as load_recording
from ..report.account import written
from ..report.live import LiveView
from ..report.point import points
from ..report.table import holds, render
from ..results.read import read
from ..results.resume import FILES, broken_off
from ..results.write import Ended, Recorder, claim, default_folder
from ..run import run
from ..scenario.load import load, restore
from ..scenario.model import Scenario
from ..scenario.schema import schema as json_schema
from ..shipped import find
from ..types import BadInput, FolderGone, RunInterrupted, RunStopped
from . import again
from .key import api_key
from .pages import leave

R = TypeVar("R", bound=Recorder)
T = TypeVar("T")


@click.command()
@click.argument("file", required=False)
@click.option("--url", help="The server to load, such as http://gpu-box:8080, in place of the scenario's.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override any key: callers.warm.count=4.")
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder; else results/<scenario>-<time>.")
@click.option("--no-text", is_flag=True, help="Leave the replies' texts out of the run.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="RUN", help="Go on with a run that broke off.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of scenario files, for editors.")
def scenario(
    file: str | None,
    url: str | None,
    sets: tuple[str, ...],
    out: Path | None,
    no_text: bool,
    resume: Path | None,
    schema: bool,
) -> None:
    """Run the scenario FILE: a path, or a name in scenarios/ or among those shipped.

    --resume measures the load points that a run which broke off has not, from where it was begun, and appends them.

    An API key for the server is read from LOADSIM_API_KEY.
    """
    if schema:
        click.echo(msgspec.json.format(msgspec.json.encode(json_schema()), indent=2).decode())
        return
    console = Console(highlight=False, markup=False)
    if resume is not None:
        if file or url or sets or out or no_text:
            raise click.UsageError("--resume goes on with a run as it was begun; it takes nothing else")
        go_on(resume, console)
        return
    if file is None:
        raise click.UsageError("name a scenario, such as twelve_callers")
    wanted = load(file, sets, url)
    start = prepare(file, wanted, out)
    try:
        run_to_disk(
            partial(start.begin, Recorder, not no_text), partial(measure, wanted, start.recordings, start.key), console
        )
    except FolderGone:
        raise  # what may stand there now is not ours to show, nor to take away
    except BaseException:
        # However it ended, what was measured is shown; what never began leaves nothing.
        if began(start.folder, start.made):
            show(start.folder, console, keep=True)
        raise
    if not (began(start.folder, start.made) and show(start.folder, console, keep=True)):
        raise SystemExit(1)


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What a new run begins with. `folder`: its own, which we `made`; `near`: where its scenario lies; `key`: the
    server's; `command`: what was asked for, to be asked again."""

    recordings: Recordings
    near: Path
    folder: Path
    made: bool
    key: str | None
    command: list[str]

    def begin(self, kind: Callable[[Path, float, bool], R], text: bool) -> R:
        """A recorder of that kind; `text`: it keeps the replies' texts."""
        recorder = kind(self.folder, asyncio.get_running_loop().time(), text)
        recorder.describe(command=self.command, folder=os.path.relpath(self.near), digests=digests(self.recordings))
        return recorder


def prepare(file: str, wanted: Scenario, out: Path | None) -> Start:
    """Load what the scenario in `file` names, and make the run's folder. Raises BadInput."""
    near = find("scenarios", file).parent
    recordings = load_recordings(wanted, near)
    key = api_key()
    asked = again.words()
    made = out is None or claim(out)
    folder = out or default_folder(Path(file).stem, datetime.now())
    return Start(recordings=recordings, near=near, folder=folder, made=made, key=key, command=asked)


def go_on(folder: Path, console: Console) -> None:
    """Measure what a run that broke off has not, and show the whole."""
    facts = broken_off(folder)
    wanted = restore(facts["scenario"], str(folder / "run.json"))
    recordings = load_recordings(wanted, Path(facts.get("folder", ".")))
    for name, digest in digests(recordings).items():
        if facts.get("digests", {}).get(name, digest) != digest:
            raise BadInput(f"{folder}: recording {name} is not what the run began with; start it anew")
    key = api_key()
    try:
        run_to_disk(
            lambda: Recorder.resume(folder, asyncio.get_running_loop().time()),
            partial(measure, wanted, recordings, key),
            console,
        )
    except (BadInput, FolderGone):
        raise
    except BaseException:
        show(folder, console, keep=True)
        raise
    if not show(folder, console, keep=True):
        raise SystemExit(1)


async def measure(
    wanted: Scenario,
    recordings: Recordings,
    key: str | None,
    recorder: Recorder,
    progress: Progress,
    ending: Ending,
) -> None:
    """Run a scenario into a recorder."""
    await run_scenario(wanted, recordings, recorder, progress, recorder.start, key, ending)


def run_to_disk(
    begin: Callable[[], R],
    work: Callable[[R, Progress, Ending], Awaitable[T]],
    console: Console,
    phases: bool = True,
) -> T:
    """Do the work with the recorder that `begin` makes; the first Ctrl-C lets the turns under way end. `phases`: also
    where there is no terminal, say what is measured."""
    ending = Ending()

    def finish() -> bool:
        asked = ending.ask()
        if asked:
            click.echo("loadsim: finishing turns, Ctrl-C again ends now", err=True)
        return asked

    return run(record(begin, lambda recorder, progress: work(recorder, progress, ending), console, phases), finish)


async def record(
    begin: Callable[[], R],
    work: Callable[[R, Progress], Awaitable[T]],
    console: Console,
    phases: bool,
) -> T:
    """Do the work with the recorder that `begin` makes, and note there how it ended."""
    recorder = begin()
    progress = Progress()
    try:
        with LiveView(console, progress, phases):
            found = await work(recorder, progress)
    except BaseException as error:
        recorder.close(*_end(error))
        # Our server's log explains a run that could not start; after bad input or Ctrl-C it says nothing.
        if not recorder.rows and not isinstance(error, RunStopped):
            (recorder.path / LOG).unlink(missing_ok=True)
        raise
    recorder.close("complete")
    return found


def digests(recordings: Recordings) -> dict[str, str]:
    """What tells whether a recording is still the same."""
    return {name: hashlib.sha256(msgspec.json.encode(call)).hexdigest() for name, call in recordings.items()}


def load_recordings(wanted: Scenario, near: Path) -> Recordings:
    """The recordings that a scenario names, from its own folder first."""
    return {name: load_recording(name, near) for name in names(wanted)}


def began(folder: Path, made: bool) -> bool:
    """Whether a run came to be. Of one that did not nothing of its own stays, nor the folder if
    we made it, but a server's log."""
    if (folder / "requests.jsonl").is_file():
        return True
    if (folder / LOG).exists():
        return False
    with contextlib.suppress(OSError):
        for name in (*FILES, LOG):
            (folder / name).unlink(missing_ok=True)
        if made:
            folder.rmdir()
    return False


def _end(error: BaseException) -> tuple[Ended, str]:
    """How a run ended that did not complete, and why."""
    if isinstance(error, asyncio.CancelledError):
        return "interrupted", "stopped by hand"
    if isinstance(error, RunInterrupted):
        return "interrupted", "stopped by hand; the turns under way were finished"
    return "stopped", str(error) if isinstance(error, BadInput | RunStopped) else f"{type(error).__name__}: {error}"


def show(folder: Path, console: Console, keep: bool = False) -> bool:
    """Print a run's table; whether it is complete and has an answer. `keep`: write its page, and say where both lie."""
    found = read(folder)
    measured = points(found)
    console.print(render(found, measured))
    console.print(written(found))
    if keep:
        leave(folder, console, found, measured)
    return holds(found, measured)
