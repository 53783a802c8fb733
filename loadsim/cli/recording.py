"""`loadsim recording`: look at a recorded call, check one, or make one of another product's file."""

from pathlib import Path
from typing import Any

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..engine.preflight import prompt_tokens
from ..recording.check import check as findings
from ..recording.importers import FORMATS
from ..recording.importers import read as imported
from ..recording.load import load
from ..recording.model import Recording, Reply, Utterance
from ..recording.redact import redact
from ..recording.show import Row, Spread, Tokens, Totals, measure, rows, totals
from ..report.words import number
from ..run import run
from ..server import embedded
from ..server.http import HttpServer
from ..types import BadInput, ServerSettings
from .key import api_key
from .served import served


@click.group()
def recording() -> None:
    """Look at a recorded call, check one, or import one.

    FILE is a path, or for show and check the name of a shipped recording, such as front_desk.
    """


@recording.command()
@click.argument("file")
@click.option("--url", help="Count tokens with this server, such as http://gpu-box:8080; else with the embedded one.")
def show(file: str, url: str | None) -> None:
    """Print the turns of FILE: when they are spoken, their words, their tokens, cuts and tool calls.

    An API key for --url is read from LOADSIM_API_KEY.
    """
    call = load(file)
    try:
        tokens, counted = run(count(call, url))
    except embedded.MissingPackagesError as error:
        tokens, counted = None, f"no token counts: {error}"
    console = Console(highlight=False)
    console.print(Text(f"{plain(call.title)}: {plain(call.source)}"))
    console.print(table(rows(call, tokens), call.greeting))
    console.print(Text("\n".join([*summary(totals(call, tokens)), counted])))


@recording.command()
@click.argument("file")
def check(file: str) -> None:
    """Print what is wrong with FILE, one finding per line.

    Exit code 0: no errors, perhaps warnings; 1: errors; 2: FILE cannot be read as a recording.
    """
    if not told(load(file)):
        raise SystemExit(1)


@recording.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--from", "form", required=True, type=click.Choice(list(FORMATS)), help="Whose file it is.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write; FILE's name with .recording.json, here.")
@click.option("--redact", "masked", is_flag=True, help="Mask names, numbers and addresses.")
@click.option("--title", help="What the call is; FILE's name.")
def import_(file: Path, form: str, out: Path | None, masked: bool, title: str | None) -> None:
    """Make a recording of FILE, a call as another product keeps it, and print what is in it and what is wrong.

    openai: chat messages. pipecat: its context, or turn events. livekit: a session report. vapi, retell: a call object.
    Times that FILE does not have are drawn from how people talk. Tools are taken with their results.

    Exit code 0: written; 1: written, but with errors to mend; 2: FILE cannot be used, or the result is there already.
    """
    made = imported(raw(file), file, form, title)
    call, target = made.recording, out or Path(f"{file.stem}.recording.json")
    hidden = redact(call) if masked else None
    call = hidden.recording if hidden else call
    write(target, msgspec.json.format(msgspec.json.encode(call), indent=1) + b"\n")
    click.echo(f"{plain(str(target))}: {summary(totals(call))[0]}; {calls(call)}")
    for note in made.notes:
        click.echo(plain(f"- {note}"))
    if hidden:
        counts = ", ".join(f"{kind} {count}" for kind, count in hidden.counts.items()) or "nothing"
        click.echo(f"masked: {counts}. This finds much, not all: a person must read it before it leaves the house.")
    if not told(call):
        raise SystemExit(1)


def told(call: Recording) -> bool:
    """Print what is wrong with a call, a line each; whether it can be used as it is."""
    found = findings(call)
    for finding in found:
        click.echo(plain(str(finding)))
    if not found:
        click.echo(f"nothing wrong in {len(call.turns)} turns")
    return all(finding.warning for finding in found)


def raw(file: Path) -> bytes:
    """A file's bytes."""
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:
        raise BadInput(f"{plain(str(file))}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def write(target: Path, text: bytes) -> None:
    """A new file; never over one that is there."""
    try:
        with target.open("xb") as file:
            file.write(text)
    except FileExistsError:
        raise BadInput(f"{plain(str(target))} exists already; choose another name with --out") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{plain(str(target))}: cannot be written ({reason})") from None


def calls(call: Recording) -> str:
    """How many tools there are, and how often they were called."""
    made = sum(len(step) for turn in call.turns for step in turn.tools)
    return f"{len(call.tools)} tools, called {made} times"


async def count(call: Recording, url: str | None) -> tuple[Tokens | None, str]:
    """A call's tokens, if the server counts them, and a line that says who counted."""
    async with served(url, ServerSettings(slots=1, context=4096)) as asked:
        server = HttpServer(asked.url, api_key() if url else None)
        try:
            await server.ready()
            info = await server.info()
            empty = len(await server.tokenize("") or [])

            async def prompt(messages: list[dict[str, Any]]) -> int:
                return len(await prompt_tokens(server, messages, call.tools) or [])

            async def text(said: str) -> int:
                return len(await server.tokenize(said) or []) - empty

            if not await prompt([{"role": "user", "content": "Hello."}]):
                return None, f"no token counts: {asked.url} has no /apply-template and /tokenize"
            tokens = await measure(call, prompt, text)
            return tokens, f"tokens counted by {info.model}, {url or 'the embedded server'}"
        finally:
            await server.close()


def table(found: list[Row], greeting: Reply | None = None) -> Table:
    """A line for the caller and one for the agent, with the called tools between them; a greeting stands first.

    Times with a ~ are not the call's own, but drawn.
    """
    counted = found[0].new is not None
    view = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, expand=True)
    for name in ("turn", "seconds", "words", *(["tokens"] if counted else [])):
        view.add_column(name, justify="right", no_wrap=True)
    view.add_column("caller; agent below", no_wrap=True, overflow="ellipsis", ratio=1)
    if greeting:
        mark = "(cut) " if greeting.heard is not None else ""
        view.add_row(*_said("", greeting, mark + greeting.in_history, "" if counted else None))
    for row in found:
        turn = row.turn
        marks = [*(["cut"] if turn.agent.heard is not None else []), *(plain(m.text) for m in turn.backchannels)]
        mark = f"({', '.join(marks)}) " if marks else ""
        view.add_row(*_said(f"{row.number}", turn.caller, turn.caller.text, f"{row.new:+,}" if counted else None))
        for names in row.tools:
            view.add_row(*[""] * (3 + counted), Text(f"-> {plain(names)}", style="dim"))
        view.add_row(*_said("", turn.agent, mark + turn.agent.in_history, f"{row.reply:,}" if counted else None))
    return view


def _said(turn: str, said: Utterance | Reply, text: str, tokens: str | None) -> list[str | Text]:
    heard = said.in_history if isinstance(said, Reply) else said.text
    cells = [turn, f"{'~' * said.drawn}{said.start:.1f}-{said.end:.1f}", f"{len(heard.split())}"]
    return [*cells, *([] if tokens is None else [tokens]), Text(plain(text), style="" if turn else "cyan")]


def summary(call: Totals) -> list[str]:
    """The totals in sentences."""
    lines = [
        f"{call.turns} turns in {call.seconds / 60:.1f} min, {call.tool_turns} with tools; {call.cuts} cuts, "
        f"{call.backchannels} backchannels; caller {call.caller_pace:.1f} words/s, agent {call.agent_pace:.1f}"
    ]
    if call.drawn:
        lines += [f"~: {call.drawn} times are not the call's own, but drawn from how people talk"]
    if call.prompt is not None:
        spans = (("spoken turns", call.spoken), ("turns with tools and those behind them", call.tools))
        lines += [f"new tokens of {name}: {_spread(spread)}" for name, spread in spans if spread]
        lines += [f"reply tokens: {_spread(call.replies)}"] if call.replies else []
        lines += [f"prompt at the last caller message: {call.prompt:,} tokens"]
    return lines


def _spread(spread: Spread) -> str:
    return f"{spread.least:,} to {spread.most:,}, median {number(spread.median)}"


def plain(text: str) -> str:
    """Somebody else's text in one line that does nothing to a terminal."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
