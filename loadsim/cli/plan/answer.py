"""`loadsim plan answer`: what was found, on one page."""

from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console

from ...plan import cards, found
from ...plan.answer import Page, Searched, page, slots_for
from ...plan.inputs import from_header, from_search, real_pace
from ...plan.memory import MOST_SLOTS
from ...plan.memory import plan as planned
from ...plan.source import read as read_header
from ...report.onepage import markdown, text
from ...results.read import read
from ...run import run
from ...scenario.load import server_of
from ...types import BadInput, ServerSettings
from .load import Load, load_flags, work_out

_POSITIVE = click.IntRange(1, (1 << 31) - 1)


@click.command()
@click.argument("search", metavar="[SEARCH]", required=False, type=click.Path(path_type=Path))
@click.option("--model", metavar="MODEL", help="A GGUF file or its URL, of which only the header is read.")
@click.option("--card", help="rtx3090, 24GiB ..., or here: this machine's.")
@click.option("--reserve", default="1GiB", show_default=True, help="Kept free of the card.")
@click.option("--slots", type=click.IntRange(1, MOST_SLOTS), help="Callers at a time; else as found, needed, or fit.")
@click.option(
    "--context", type=_POSITIVE, help="Tokens that each slot has room for; else as SEARCH has them, or 32768."
)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="A server setting, without SEARCH: ubatch=512.")
@load_flags
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True)
def answer(
    search: Path | None,
    model: str | None,
    card: str | None,
    reserve: str,
    slots: int | None,
    context: int | None,
    sets: tuple[str, ...],
    form: str,
    **flags: Any,
) -> None:
    """Say on one page how to start the server, what limits it, and where each figure comes from.

    SEARCH is the folder of a run of `loadsim plan callers`. It, --model with --card, --calls-per-hour with --call, and
    --price each add what they tell; any of them may be left out.
    """
    if card and not model:
        raise BadInput("--card: of which model? Give --model")
    if search and (sets or context):
        raise BadInput("--set, --context: the server's settings are those of SEARCH; give the one or the other")
    asked = Load(**flags)
    searched, asked = _searched(search, asked) if search else (None, asked)
    told = searched.context if searched else None
    settings = (searched and searched.settings) or _settings(sets, context or told or 32768)
    settings = _at(settings, slots or settings.slots)
    header = run(read_header(model)) if model else None
    chosen_card, kept = cards.card(card) if card else None, _size(reserve)
    fit = planned(header, settings, chosen_card, kept).fit if header else None
    fits = fit.slots if fit else None
    load, _ = work_out(asked, slots or fits or 1)
    chosen = slots_for(slots, fits, searched, load.needed if load else None)
    if asked.price and not chosen and not searched:
        raise BadInput("a price of how many slots? Give --slots")
    n = chosen[0] if chosen else settings.slots
    memory = from_header(planned(header, _at(settings, n), chosen_card, kept)) if header else None
    given = _at(settings, n) if (sets or context) and chosen else None
    show(page(chosen, memory, searched, *(work_out(asked, n) if chosen else (None, None)), given), form)


def _searched(folder: Path, asked: Load) -> tuple[Searched, Load]:
    """What a search found, and the load with the times of its callers who had the pace of people, if there were any."""
    done = found.read(folder)
    if done is None:
        raise BadInput(f"{folder} holds no search: it has no {found.FILE}; loadsim plan callers makes one")
    if asked.calls and asked.run is None and (pace := real_pace(done)) is not None:
        asked = msgspec.structs.replace(asked, run=folder, point=pace.point)
    return from_search(done, read(folder)), asked


def show(answer: Page, form: str) -> None:
    """Print the page."""
    if form == "text":
        Console(highlight=False, markup=False).print(text(answer), crop=False)
    elif form == "markdown":
        click.echo(markdown(answer), nl=False)
    else:
        click.echo(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())


def _settings(sets: tuple[str, ...], context: int) -> ServerSettings:
    """The server's as the flags say, else as loadsim would start it."""
    for change in sets:
        if change.split("=")[0].strip().removeprefix("server.") in ("slots", "context"):
            raise BadInput(f"--set {change}: give --slots, and with --context the room of each")
    asked = server_of(sets)
    settings = ServerSettings(**{name: getattr(asked, name) for name in ServerSettings.__struct_fields__})
    return msgspec.structs.replace(settings, context=context * settings.slots)


def _at(settings: ServerSettings, slots: int) -> ServerSettings:
    """So many slots, each with the room that one has."""
    return msgspec.structs.replace(settings, slots=slots, context=settings.context // settings.slots * slots)


def _size(text: str) -> int:
    try:
        return cards.reserve(text)
    except ValueError as error:
        raise BadInput(f"--reserve: {error}") from None
