# mypy: allow-untyped-defs
# (the cells are as marimo writes them)

import marimo

__generated_with = "0.25.2"
app = marimo.App()

with app.setup:
    from collections.abc import Sequence

    import study
    from matplotlib.figure import Figure
    from rich.table import Table
    from study import Point

    from loadsim.stats.probe import Checkpoints

    ABOUT = """What is reused of a prompt that the slot holds: extended, repeated as it is, edited at its end; by the
    number of checkpoints. Reads runs of lab/checkpoints: the table of the article's section 3."""


@app.function
def table(found: Sequence[tuple[Point, Checkpoints]]) -> Table:
    rows = study.table("", "prompt", "n", "held", "cache_n", "prompt_n", "eval, ms", "least", "most")
    for point, reuse in found:
        for at, case in enumerate(reuse.cases):
            counts = (study.whole(case.shared), study.span(case.parts.cache_n), study.span(case.parts.prompt_n))
            name = point.label if at == 0 else ""
            rows.add_row(name, case.case, str(case.parts.rows), *counts, *study.spread(case.parts.eval))
    return rows


@app.function
def notes(found: Sequence[tuple[Point, Checkpoints]]) -> list[str]:
    lost = [
        f"{point.label}: {' and '.join(cases)} evaluated from token 0"
        for point, reuse in found
        if (cases := [case.case for case in reuse.cases if case.reused is False])
    ]
    return ["; ".join(lost) or "At every point something of each prompt was reused.", "held: of the prompt, before it."]


@app.function
def picture(found: Sequence[tuple[Point, Checkpoints]]) -> Figure:
    figure, axes = study.drawing("What is evaluated of a cached prompt", "", "prompt_n, tokens")
    width = 0.8 / len(found)
    for at, (point, reuse) in enumerate(found):
        told = [(place, case.parts.prompt_n[1]) for place, case in enumerate(reuse.cases) if case.parts.prompt_n]
        bars = axes.bar([place + at * width for place, _ in told], [n for _, n in told], width, label=point.label)
        axes.bar_label(bars, fmt="{:,.0f}", fontsize=7)
    cases = [case.case for case in found[0][1].cases]
    axes.set_xticks([place + 0.4 - width / 2 for place in range(len(cases))], cases)
    axes.legend()
    return figure


@app.cell
def _():
    given = study.given("checkpoints", ABOUT)
    found = study.probed(given, Checkpoints)
    return found, given


@app.cell
def _(found, given):
    study.show(given, [table(found), *notes(found)], picture(found))
    return


if __name__ == "__main__":
    app.run()
