"""Probes: one caller with a question, what each answer was, and a picture where a figure hangs on a number."""

from collections.abc import Iterator, Sequence

from rich.table import Table as Printed

from ...stats.probe import Floor, Parts, Prefill, Probed, Reach, probes
from ...stats.spread import Range
from ..logs import log_lines
from ..probe import answers, figures, server
from ..setting import setting
from .copied import copied
from .parts import Axis, Chart, Role, Section, Series, Shown, Table

Found = list[tuple[str, Probed]]


def probed(shown: list[Shown]) -> Section | None:
    """None: no run has a probe's row."""
    found = [(one, each) for one in shown for each in probes(one.run.rows)]
    if not found:
        return None
    words: list[str] = []
    tables: list[Table] = []
    for one in shown:
        words += answers(one.run)
    for one, each in found:
        said = setting(one.run, each.point)
        name = f"{one.name(each.point)}{server(said)}"
        for part in figures(each, said):
            if isinstance(part, Printed):
                table = copied(name, [("", part)], shown=True)
                tables += [table] if table is not None else []
            elif part.plain.strip():
                words.append(part.plain)
        words += [f"{one.name(each.point)}: not answered: {error}" for error in each.errors]
        words += [f"{one.name(each.point)}: {line}" for line in log_lines(one.run, said, each.point)]
    named = [(one.name(each.point), each) for one, each in found]
    charts = [*_reach(named), *_prefill(named), *_floor(named)]
    return Section(id="probes", title="Probes", words=list(dict.fromkeys(words)), parts=[*charts, *tables])


def _reach(found: Found) -> Iterator[Chart]:
    reaches = [(name, each.found) for name, each in found if isinstance(each.found, Reach)]
    series = []
    for name, reach in reaches:
        ends = [(edit.replaced, edit.parts.cache_n) for edit in reach.edits if edit.parts.cache_n is not None]
        if ends:
            x = [float(replaced) for replaced, _ in ends]
            series.append(Series(label=name, x=x, y=[float(low) for _, (low, _) in ends], draw="steps"))
            series.append(Series(label=f"{name}, measured", x=x, y=[float(low) for _, (low, _) in ends], draw="points"))
    if not series:
        return
    said = [
        f"{name}: {reach.restored:,} tokens are restored up to {reach.edge:,} replaced ones"
        for name, reach in reaches
        if reach.restored is not None and reach.edge is not None
    ]
    yield Chart(
        id="probes-reach",
        title="What an edit leaves in the slot",
        said=f"{'; '.join(said) or 'No edit keeps the tail'}.",
        x=Axis(label="tokens replaced at the prompt's end", unit="tokens"),
        y=Axis(label="cache_n", unit="tokens", low=0),
        series=series,
    )


def _prefill(found: Found) -> Iterator[Chart]:
    by = [(name, [(one.length, one.parts) for one in each.found.prompts]) for name, each in found
          if isinstance(each.found, Prefill)]  # fmt: skip
    yield from _times("probes-prefill", "The evaluation of cold prompts", "prompt", by)


def _floor(found: Found) -> Iterator[Chart]:
    by = [(name, [(one.new, one.parts) for one in each.found.grown]) for name, each in found
          if isinstance(each.found, Floor)]  # fmt: skip
    yield from _times("probes-floor", "What a warm turn costs at the least", "new tokens", by)


def _times(id_: str, title: str, label: str, by: Sequence[tuple[str, list[tuple[int, Parts]]]]) -> Iterator[Chart]:
    """Milliseconds over tokens: the median of each number of tokens, and how far its repeats reach."""
    series: list[Series] = []
    told = []
    for name, prompts in by:
        for part, role in (("prompt eval", "load"), ("first token", "other")):
            known = [(float(n), of) for n, parts in prompts if (of := _part(parts, part)) is not None]
            if known:
                series += _drawn(f"{name} {part}" if len(by) > 1 else part, known, role)  # type: ignore[arg-type]
        evals = [(n, parts.eval) for n, parts in prompts if parts.eval is not None]
        if evals:
            (few, least), (many, most) = evals[0], evals[-1]
            told.append(f"{name}: prompt eval {least.mid:,.3g} ms at {few:,} tokens, {most.mid:,.3g} ms at {many:,}")
    if series:
        yield Chart(
            id=id_,
            title=title,
            said=f"{'; '.join(told)}.",
            x=Axis(label=label, unit="tokens", low=0),
            y=Axis(label="time", unit="ms", low=0),
            series=series,
        )


def _part(parts: Parts, name: str) -> Range | None:
    return parts.eval if name == "prompt eval" else parts.ttft


def _drawn(name: str, known: list[tuple[float, Range]], role: Role) -> list[Series]:
    x = [n for n, _ in known]
    low, mid, high = ([round(getattr(of, side), 3) for _, of in known] for side in ("low", "mid", "high"))
    band = Series(label=f"{name}, over repeats", x=x, y=low, top=high, draw="band", role=role)
    return [band, Series(label=name, x=x, y=mid, role=role)]
