"""Barge-ins: how much was cut off, and what the next prompt cost."""

from collections.abc import Callable

import msgspec
import numpy as np

from ...stats.headline import ANSWERED
from ...stats.spread import middle
from ...types import RequestRow
from ..topics import PROMPT_COLUMNS, prompt_cells
from ..words import number, several
from .parts import Axis, Chart, Lanes, Section, Series, Shown, Table, Text
from .thin import kept

MOST_VALUES = 1500  # of a series
AGAIN = 32  # tokens evaluated a second time that are no more than a saved copy's distance from the prompt's end


class Prompt(msgspec.Struct, frozen=True):
    """A turn's first prompt; `cut`: tokens of the reply before it that nobody heard, None after a whole reply."""

    point: str
    row: RequestRow

    @property
    def cut(self) -> int | None:
        return self.row.cut_tokens

    @property
    def again(self) -> int | None:
        """Tokens evaluated beyond those by which the prompt grew; None: the server does not tell."""
        row = self.row
        known = row.cache_n is not None and row.prompt_n is not None and row.new_tokens is not None
        return max((row.prompt_n or 0) - (row.new_tokens or 0), 0) if known else None


def barge_ins(shown: list[Shown]) -> Section | None:
    """None: nobody cut in."""
    prompts = [
        Prompt(one.name(point.name), row)
        for one in shown
        for point in one.points
        if any(cuts.replies for cuts in point.cuts.values())
        for row in one.run.rows
        if row.point == point.name and row.row == "load" and row.step == 0 and row.outcome in ANSWERED
    ]
    tables = [
        [one.name(point.name) if len(point.cuts) == 1 else f"{one.name(point.name)}, {group}", *cells]
        for one in shown
        for point in one.points
        for group, cuts in point.cuts.items()
        if cuts.replies
        for cells in prompt_cells(cuts)
    ]
    if not tables:
        return None
    parts: list[Chart | Lanes | Table | Text] = []
    for id_, label, unit, value in FIGURES:
        if any(value(prompt.row) is not None for prompt in prompts if prompt.cut is not None):
            parts.append(_chart(prompts, id_, label, unit, value))
    columns = ["load point", *(f"{name}, p50" if name in PROMPT_COLUMNS[2:5] else name for name in PROMPT_COLUMNS)]
    columns[-1] = "eval, ms, p50"
    parts.append(Table(caption="Prompts after a cut and after whole replies", columns=columns, rows=tables))
    words = [
        "How deep a cut is: the tokens of a reply that were generated and not heard. Beside the prompts after a cut "
        "stand those after whole replies, at 0."
    ]
    return Section(id="barge-in", title="Barge-ins", words=[*words, *_reach(prompts)], parts=parts)


Value = Callable[[RequestRow], float | None]


def _evaluated(row: RequestRow) -> float | None:
    # A plain server tells how long the prompt is, and not how much of it was evaluated.
    return None if row.cache_n is None else row.prompt_n


FIGURES: tuple[tuple[str, str, str, Value], ...] = (
    ("barge-evaluated", "prompt tokens evaluated", "tokens", _evaluated),
    ("barge-ms", "time to evaluate the prompt", "ms", lambda row: row.prompt_ms),
    ("barge-cache", "prompt tokens found", "tokens", lambda row: row.cache_n),
)


def _chart(prompts: list[Prompt], id_: str, label: str, unit: str, value: Value) -> Chart:
    after = [prompt for prompt in prompts if prompt.cut is not None and value(prompt.row) is not None]
    others = [prompt for prompt in prompts if prompt.cut is None and value(prompt.row) is not None]
    names = dict.fromkeys(prompt.point for prompt in after)
    series = [_series(f"{name}, after a cut", [p for p in after if p.point == name], value, "load") for name in names]
    return Chart(
        id=id_,
        title=f"Cut depth and {label}",
        said=_said(label, unit, after, others, value),
        x=Axis(label="reply cut off, unheard", unit="tokens", low=0.0),
        y=Axis(label=label, unit=unit),
        series=[_series("after whole replies", others, value, "quiet"), *series],
    )


def _series(label: str, prompts: list[Prompt], value: Value, role: str) -> Series:
    ordered = sorted(prompts, key=lambda prompt: (prompt.cut or 0, value(prompt.row) or 0.0))
    if any(prompt.cut is not None for prompt in ordered):
        depths = np.array([prompt.cut or 0 for prompt in ordered], np.float64)
        places = kept(depths, np.array([value(prompt.row) for prompt in ordered], np.float64), MOST_VALUES)
    else:  # all at one depth: evenly by their value
        most = min(len(ordered), MOST_VALUES)
        places = [round(i * (len(ordered) - 1) / max(most - 1, 1)) for i in range(most)]
    stay = [ordered[i] for i in places]
    return Series(
        label=label if len(stay) == len(prompts) else f"{label}, {len(stay):,} of {len(prompts):,} drawn",
        x=[float(prompt.cut or 0) for prompt in stay],
        y=[value(prompt.row) for prompt in stay],
        draw="points",
        role=role,  # type: ignore[arg-type]
        notes=[_note(prompt) for prompt in stay],
    )


def _note(prompt: Prompt) -> str:
    row = prompt.row
    kind = f", {row.kind.replace('_', ' ')}" if row.kind else ""
    again = "" if prompt.again is None else f", {several(prompt.again, 'token')} evaluated again"
    return f"{prompt.point}, repeat {row.repeat}: {row.group} {row.caller}, turn {row.turn}{kind}{again}"


def _middle(prompts: list[Prompt], value: Value) -> float | None:
    return middle(value(prompt.row) for prompt in prompts)


def _said(label: str, unit: str, after: list[Prompt], others: list[Prompt], value: Value) -> str:
    what = f"{label[0].upper()}{label[1:]}"
    said = f"{what}: {number(_middle(after, value))} {unit} at p50 over {several(len(after), 'prompt')} after a cut"
    if others:
        said += f", {number(_middle(others, value))} over {len(others):,} after whole replies"
    return f"{said}."


def _reach(prompts: list[Prompt]) -> list[str]:
    """How deep a cut may be before more than the prompt's end is evaluated again, if the run shows it."""
    told = [(prompt.cut, prompt.again) for prompt in prompts]
    after = [(cut, again) for cut, again in told if cut is not None and again is not None]
    if not after:
        return []
    held = [cut for cut, again in after if again <= AGAIN]
    lost = [(cut, again) for cut, again in after if again > AGAIN]
    if not lost:
        most = max(again for _, again in after)
        return [
            f"The run does not show where a cut goes too deep: after cuts of up to {several(max(held), 'token')} no "
            f"prompt had more than {several(most, 'token')} evaluated again."
        ]
    worst = max(again for _, again in lost)
    shallow = min(cut for cut, _ in lost)
    cost = f"up to {several(worst, 'token')} were evaluated again"
    if not held:
        return [f"After each of {several(len(lost), 'cut')} the server went back further than the last prompt: {cost}."]
    if max(held) < shallow:
        return [
            f"The server went back to the last prompt's end after cuts of up to {several(max(held), 'token')}, and "
            f"further after those of {shallow:,} or more: {cost}."
        ]
    return [
        f"After {len(lost):,} of {several(len(after), 'cut')} the server went back further than the last prompt, the "
        f"shallowest of {several(shallow, 'token')}: {cost}. Depth alone does not decide it: the deepest after which "
        f"it did not has {several(max(held), 'token')}."
    ]
