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

    from loadsim.stats.probe import Prefill

    ABOUT = """How fast cold prompts are evaluated, by their length. Reads runs of lab/prefill: the article's section 5
    has one sample of it."""


@app.function
def table(found: Sequence[tuple[Point, Prefill]]) -> Table:
    rows = study.table("", "cold\nprompt", "n", "tokens/s", "least", "most", "eval, ms", "least", "most")
    for point, prefill in found:
        for at, one in enumerate(prefill.prompts):
            figures = (*study.spread(one.parts.rate), *study.spread(one.parts.eval))
            rows.add_row("" if at else point.label, study.whole(one.length), str(one.parts.rows), *figures)
    return rows


@app.function
def notes(found: Sequence[tuple[Point, Prefill]]) -> list[str]:
    warm = {
        f"{point.label}: of {one.length:,} tokens {study.span(one.parts.cache_n)} were in the cache, so it was not cold"
        for point, prefill in found
        for one in prefill.prompts
        if one.parts.cache_n and one.parts.cache_n[1]
    }
    return sorted(warm)


@app.function
def picture(found: Sequence[tuple[Point, Prefill]]) -> Figure:
    figure, axes = study.drawing("Prefill of one cold prompt", "prompt tokens", "tokens/s: median, least and most")
    for point, prefill in found:
        known = [(one.length, one.parts.rate) for one in prefill.prompts if one.parts.rate]
        study.bars(axes, known, point.label)
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


@app.cell
def _():
    given = study.given("prefill", ABOUT)
    found = study.probed(given, Prefill)
    return found, given


@app.cell
def _(found, given):
    study.show(given, [table(found), *notes(found)], picture(found))
    return


if __name__ == "__main__":
    app.run()
