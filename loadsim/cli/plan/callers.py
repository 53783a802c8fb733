"""`loadsim plan callers`: the largest number of callers that meets every target, by measuring."""

from functools import partial
from pathlib import Path

import click
from rich.console import Console

from ...engine.ending import Ending
from ...engine.preflight import Recordings
from ...engine.progress import Progress
from ...plan.ahead import Ahead
from ...plan.found import Measured, Paced, read
from ...plan.kept import Kept
from ...plan.lines import SENTENCES, ahead, answer, before_paced, heading, line
from ...plan.search import Wish, search
from ...plan.slo import targets
from ...plan.variant import searched
from ...scenario.load import load
from ...types import FolderGone
from ..pages import leave
from ..scenario import began, prepare, run_to_disk


@click.command()
@click.argument("file", metavar="SCENARIO")
@click.option("--slo", "slos", multiple=True, metavar="TARGET", help="What callers must have: 'ttft p95 <= 800 ms'.")
@click.option("--group", help="The group whose number is searched; else the only one, or the only warm one.")
@click.option("--together-only", is_flag=True, help="Leave out the confirmation with the pace of people.")
@click.option("--most", type=click.IntRange(min=1), default=256, show_default=True, help="Callers at the most.")
@click.option("--repeats", type=click.IntRange(min=3), default=12, show_default=True, help="Of a point, at the most.")
@click.option("--url", help="The server to load, such as http://gpu-box:8080, in place of the scenario's.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override any key of the scenario.")
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder; else results/<scenario>-<time>.")
@click.option("--no-text", is_flag=True, help="Leave the replies' texts out of the run.")
def callers(
    file: str,
    slos: tuple[str, ...],
    group: str | None,
    together_only: bool,
    most: int,
    repeats: int,
    url: str | None,
    sets: tuple[str, ...],
    out: Path | None,
    no_text: bool,
) -> None:
    """Find the largest number of callers in SCENARIO that meets every target.

    \b
    Targets, each with --slo:
      ttft p95 <= 800 ms       p50, p90, p95 or max; also ttfs, to the first
                               speakable chunk, and stall, a reply's largest gap
      underruns < 1 %          replies that fall silent; also errors
      decode >= 1.5 x voice    the slowest reply; p5 or p50; also tokens/s
      share >= 10 %            of one caller's rate
    Without --slo: ttft p95 <= 800 ms, ttfs p95 <= 1.2 s, underruns < 1 %.

    All callers talk at once. The number doubles until a target is missed, then
    the middle is taken; a load point is repeated until it is clear of noise. A
    server that loadsim starts gets as many slots as it needs. What was found is
    then confirmed with callers who have the pace of people.

    Exit code 0: there is an answer; 1: the search had to stop; 2: bad input.
    """
    wanted = load(file, sets, url)
    wish = Wish(
        scenario=wanted,
        group=searched(wanted, group),
        targets=targets(slos),
        default=not slos,
        most=most,
        repeats=repeats,
        together_only=together_only,
    )
    console = Console(highlight=False, markup=False)
    start = prepare(file, wanted, out)
    try:
        work = partial(look, wish, start.recordings, start.key, console)
        run_to_disk(partial(start.begin, Kept, not no_text), work, console, phases=False)
    except FolderGone:
        raise  # what may stand there now is not ours
    except BaseException:
        tell(start.folder, start.made, console)
        raise
    if not tell(start.folder, start.made, console):
        raise SystemExit(1)


def tell(folder: Path, made: bool, console: Console) -> bool:
    """Say what was found, however the search ended; whether it came to its end."""
    if not began(folder, made):
        return False
    found = read(folder)
    for text in ["", *answer(found)] if found else []:
        console.print(text, style="bold")
    leave(folder, console)
    return found is not None and not found.stopped


async def look(
    wish: Wish,
    recordings: Recordings,
    key: str | None,
    console: Console,
    recorder: Kept,
    progress: Progress,
    ending: Ending,
) -> None:
    """Search, and say what is measured."""

    def say(what: Measured | Paced | Ahead) -> None:
        match what:
            case Paced():
                console.print(f"\n{before_paced(what)}\n")
            case Ahead():
                console.print(ahead(what), soft_wrap=True)
            case Measured():
                console.print(line(what, wish.targets), soft_wrap=True)

    for text in heading(wish.group or "", wish.targets, wish.default):
        console.print(text, soft_wrap=not text.startswith(SENTENCES))
    await search(wish, recordings, recorder, progress, key, say, ending=ending)
