"""`loadsim plan memory`: what a model and its slots take, from its header."""

from typing import get_args

import click
import msgspec
from rich.console import Console

from ...plan import cards
from ...plan.memory import Plan
from ...plan.memory import plan as planned
from ...plan.source import Model, read
from ...report.memory import render
from ...run import run
from ...types import BadInput, CacheType, ServerSettings

_MOST = (1 << 31) - 1
_POSITIVE = click.IntRange(1, _MOST)
_TYPES = click.Choice(get_args(CacheType))


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--slots", type=click.IntRange(1, 256), default=12, show_default=True, help="Callers at a time, -np.")
@click.option("--context", type=_POSITIVE, default=32768, show_default=True, help="Tokens that each slot has room for.")
@click.option("--cache-type", type=_TYPES, default="f16", show_default=True, help="Of keys and values, -ctk and -ctv.")
@click.option("--cache-type-v", type=_TYPES, help="Of the values, if another one.")
@click.option("--batch", type=_POSITIVE, default=2048, show_default=True, help="-b.")
@click.option("--ubatch", type=_POSITIVE, default=2048, show_default=True, help="-ub.")
@click.option("--kv-unified", is_flag=True, help="One cache for all slots.")
@click.option("--swa-full", is_flag=True, help="Windowed layers keep the whole context.")
@click.option("--checkpoints", type=click.IntRange(0, _MOST), default=32, show_default=True, help="--ctx-checkpoints.")
@click.option(
    "--cache-ram", type=click.IntRange(-1, _MOST), default=8192, show_default=True, help="MiB; -1 is without limit."
)
@click.option("--card", help="rtx3090, a100-80gb, 24GiB ...; or here, this machine's, which is taken if none is named.")
@click.option("--reserve", default="1GiB", show_default=True, help="Kept free for what cannot be computed.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, sizes in bytes.")
def memory(
    models: tuple[str, ...],
    slots: int,
    context: int,
    cache_type: CacheType,
    cache_type_v: CacheType | None,
    batch: int,
    ubatch: int,
    kv_unified: bool,
    swa_full: bool,
    checkpoints: int,
    cache_ram: int,
    card: str | None,
    reserve: str,
    as_json: bool,
) -> None:
    """Print what MODEL takes on a card: its weights, and what each slot adds; with several, side by side.

    MODEL is a GGUF file, any part of a split one, or its URL, of which only the header is read.
    """
    settings = ServerSettings(
        slots=slots,
        context=slots * context,
        batch=batch,
        ubatch=ubatch,
        checkpoints=checkpoints,
        cache_ram=cache_ram,
        kv_unified=kv_unified,
        cache_type_k=cache_type,
        cache_type_v=cache_type_v or cache_type,
    )
    chosen = cards.card(card) if card else cards.here()
    try:
        kept = cards.reserve(reserve)
    except ValueError as error:
        raise BadInput(f"--reserve: {error}") from None
    found = [planned(model, settings, chosen, kept, swa_full) for model in run(_read(models))]
    if as_json:
        click.echo(to_json(found))
    else:
        Console(highlight=False, markup=False).print(render(found))


async def _read(models: tuple[str, ...]) -> list[Model]:
    return [await read(model) for model in models]


def to_json(found: list[Plan]) -> str:
    """One model as an object, several as a list."""
    data = msgspec.json.encode(found[0] if len(found) == 1 else found)
    return msgspec.json.format(data, indent=2).decode()
