"""The setting: what was run, on what, and how to run it again. Secrets that a run of old may hold are masked."""

import shlex
import time
from collections.abc import Callable, Sequence
from typing import Any

import yaml

from ...results.read import Run
from ...scenario.secret import MASK, masked, masked_data
from ..logs import size
from ..setting import sets
from ..setting import setting as said
from ..words import lasting, ms, path_text, whole
from .parts import Section, Shown, Table, Text

Facts = dict[str, Any]


def setting(shown: list[Shown]) -> Section | None:
    """Always there: every run has its facts."""
    logs = [(one.name(point.name), line) for one in shown for point in one.points for line in point.logs]
    tables = [
        _table("The run", shown, _run, open_=True),
        _table("The server", shown, _server, open_=True),
        _table("Cards", shown, _cards, open_=True),
        _table("This machine", shown, _host),
        _table("Recordings", shown, _recordings),
        _table("Versions", shown, lambda run: masked_data(run.facts.get("versions") or {})),
        _points(shown),
        _logs(logs if len(shown) > 1 or len(logs) > 1 else []),
    ]
    texts = [text for one in shown for text in (_again(one), _scenario(one))]
    return Section(
        id="setting",
        title="Setting, and how to run it again",
        words=[line for _, line in logs] if len(shown) == len(logs) == 1 else [],
        parts=[*texts[:1], *(table for table in tables if table.rows), *texts[1:]],
    )


def _logs(lines: Sequence[tuple[str, str]]) -> Table:
    """What the logs of cards and of this machine said of each load point."""
    columns = ["load point", "the logs of cards and of this machine"]
    return Table(caption="Card and machine at each load point", columns=columns, rows=[list(line) for line in lines])


def _again(one: Shown) -> Text:
    """The commands, for a shell."""
    facts, lines = one.run.facts, []
    command = facts.get("command")
    key = "" if said(one.run, "").embedded else "LOADSIM_API_KEY=... "
    if key:
        lines.append("# without LOADSIM_API_KEY where the server wants no key")
    if command:
        lines += [
            key + shlex.join(masked(str(word)) for word in command),
            "",
            "# or, should the scenario have changed:",
        ]
    where = facts.get("folder")
    beside = f", beside its recordings (here: {where})" if where not in (None, ".") else ""
    lines.append(f"# the scenario as it was run, which stands below, in a file again.yaml{beside}")
    lines.append(key + shlex.join(["loadsim", *_words(one)]))
    return Text(caption=_titled(one, "Run it again"), text="\n".join(lines), open=True)


def _words(one: Shown) -> list[str]:
    if one.search is None:
        return ["scenario", "again.yaml"]
    targets = [word for text in one.search.targets for word in ("--slo", text)]
    only = ["--together-only"] if one.search.paced is None else []
    return ["plan", "callers", "again.yaml", "--group", one.search.group, *targets, *only]


def _scenario(one: Shown) -> Text:
    """The scenario with all defaults, as YAML that can be run."""
    scenario = masked_data(one.run.facts.get("scenario") or {})
    text = yaml.safe_dump(scenario, sort_keys=False, allow_unicode=True, width=100) if scenario else "not recorded\n"
    hidden = f"# {MASK}: a secret that the run's run.json holds; take it out there too\n" if MASK in text else ""
    return Text(caption=_titled(one, "The scenario as it was run"), text=hidden + text)


def _titled(one: Shown, title: str) -> str:
    return f"{one.label}: {title}" if one.label else title


def _table(title: str, shown: Sequence[Shown], of: Callable[[Run], Facts], open_: bool = False) -> Table:
    """Facts by their names, a column per run."""
    found = [of(one.run) for one in shown]
    names = list(dict.fromkeys(name for facts in found for name, value in facts.items() if value not in (None, "")))
    rows = [[name, *(_text(facts.get(name)) for facts in found)] for name in names]
    return Table(caption=title, columns=["", *(one.label or "value" for one in shown)], rows=rows, open=open_)


def _text(value: Any) -> str:
    match value:
        case None | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list() | tuple():
            return ", ".join(map(_text, value))
    return masked(str(value))


def _run(run: Run) -> Facts:
    facts, began = run.facts, (run.facts.get("started") or {}).get("epoch_s")
    live = "it still goes on" if run.live else "it was killed"
    return {
        "folder": path_text(run.path.resolve()).rpartition("/")[2],
        "id": facts.get("id"),
        "started": None if began is None else time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(began)),
        "lasted": None if facts.get("seconds") is None else lasting(facts["seconds"]),
        "ended": facts.get("ended") or live,
        "why": facts.get("why"),
        "resumed, times": facts.get("resumed") or None,
        "rows": len(run.rows),
        "format": facts.get("format"),
    }


def _server(run: Run) -> Facts:
    told = run.facts.get("server") or {}
    boot = told.get("boot") or {}
    how = "embedded" if told.get("embedded") else "launched by loadsim" if told.get("command") else "ran already"
    return {
        "url": told.get("url"),
        "how": how if told else None,
        "command": told.get("command"),
        "build": told.get("build"),
        "model": told.get("model"),
        "slots": told.get("slots"),
        "context of a slot, tokens": told.get("context"),
        "ready after its start, s": None if boot.get("health_s") is None else f"{boot['health_s']:.3g}",
        "first token after its start, s": None if boot.get("first_token_s") is None else f"{boot['first_token_s']:.3g}",
        "round trip, ms": None if told.get("round_trip_s") is None else ms(told["round_trip_s"]),
    }


def _cards(run: Run) -> Facts:
    found: Facts = {}
    for card in run.facts.get("cards") or []:
        name = f"card {card.get('card', 0)}"
        memory = card.get("memory_bytes")
        generation, width = card.get("pcie_generation"), card.get("pcie_width")
        found |= {
            name: card.get("name"),
            f"{name}, driver": card.get("driver"),
            f"{name}, memory": None if memory is None else size(memory),
            f"{name}, power limit, W": _plain(card.get("limit_w")),
            f"{name}, default limit, W": _plain(card.get("default_limit_w")),
            f"{name}, slows down at, C": _plain(card.get("slowdown_c")),
            f"{name}, PCIe": None if generation is None or width is None else f"generation {generation}, x{width}",
            f"{name}, vBIOS": card.get("vbios"),
            f"{name}, not told": ", ".join(card.get("missing") or ()),
        }
    return found


def _plain(value: float | None) -> str | None:
    return None if value is None else whole(value)


def _host(run: Run) -> Facts:
    host = run.facts.get("host") or {}
    memory = host.get("memory_bytes")
    known = {"memory_bytes", "cpu", "cores"}
    return {
        "CPU": host.get("cpu"),
        "cores": host.get("cores"),
        "memory": None if memory is None else size(memory),
        **{name: value for name, value in host.items() if name not in known and not isinstance(value, dict)},
    }


def _recordings(run: Run) -> Facts:
    digests = run.facts.get("digests") or {}
    found: Facts = {}
    for name, call in (run.facts.get("recordings") or {}).items():
        tokens = call.get("tokens")
        parts = [call.get("title"), f"{call['turns']} turns" if call.get("turns") else None]
        parts += [
            f"{tokens:,} tokens" if tokens else None,
            f"SHA-256 {digests[name][:12]}" if name in digests else None,
        ]
        found[name] = "; ".join(part for part in parts if part)
    return found


def _points(shown: Sequence[Shown]) -> Table:
    """What each load point set, and what was counted for it before it began."""
    rows = []
    for one in shown:
        for name, facts in (one.run.facts.get("points") or {}).items():
            told_sets = ", ".join(f"{key}={value}" for key, value in sets(one.run, name).items())
            scripts = facts.get("groups") or {}
            told = "; ".join(f"{group}: {_script(script)}" for group, script in scripts.items())
            slots = ", ".join(map(str, facts.get("slots") or ()))
            measured = "yes" if one.run.measured(name) else "no"
            rows.append([one.name(name), masked(told_sets) or "-", slots or "-", told or "-", measured])
    columns = ["load point", "sets", "slots", "prompts, counted before the load", "measured to its end"]
    return Table(caption="Load points", columns=columns, rows=rows, open=False)


def _script(script: Any) -> str:
    """Of one recording, or of each that the group's callers take in turn."""
    told = script if isinstance(script, list) else [script]
    return ", ".join(
        f"{each['first_tokens']:,} tokens at first, {each.get('warm_tokens') or 0:,} of them warm"
        for each in told
        if isinstance(each, dict) and each.get("first_tokens")
    )
