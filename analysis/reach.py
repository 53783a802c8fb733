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

    from loadsim.stats.probe import Reach

    ABOUT = """How far back the end of a prompt may change before its whole tail is evaluated again, by -ub.
    Reads runs of lab/reach: the table of the article's section 4."""

    UNITS = (
        "edge: in the server's tokens. The article's reach at -ub 512 is shorter, 320 to 360: that fits edits counted "
        "in units of about 1.5 server tokens, since 516 / 1.5 is 344."
    )


@app.function
def table(found: Sequence[tuple[Point, Reach]]) -> Table:
    rows = study.table(
        "", "restore\npoint", "before\nthe end", "edge", "past it\nreused", "within:\neval, ms", "past it:\neval, ms"
    )
    for point, reach in found:
        back = None if reach.restored is None else reach.tokens - reach.restored
        counts = (study.whole(reach.restored), study.whole(back), edge(reach), study.span(reach.past))
        rows.add_row(point.label, *counts, study.mid(reach.kept), study.mid(reach.lost))
    return rows


@app.function
def evals(found: Sequence[tuple[Point, Reach]]) -> Table:
    return study.spreads(
        "prompt eval, ms",
        [
            (f"{point.label}, {where}", samples)
            for point, reach in found
            for where, samples in (("within", reach.kept), ("past it", reach.lost))
        ],
    )


@app.function
def edge(reach: Reach) -> str:
    """The most that may be replaced; a range where no edit lies between."""
    if reach.edge is None:
        return "none"
    if reach.beyond is None:
        return f"{reach.edge:,}+"
    return study.span((reach.edge, reach.beyond - 1))


@app.function
def notes(found: Sequence[tuple[Point, Reach]]) -> list[str]:
    prompts = {(reach.tokens, reach.history, reach.route): None for _, reach in found}
    said = [
        f"A prompt of {tokens:,} tokens, {history:,} of them history"
        + (", through the chat route." if route == "chat" else ", as token ids.")
        for tokens, history, route in prompts
    ]
    return [" ".join(said), UNITS]


@app.function
def picture(found: Sequence[tuple[Point, Reach]]) -> Figure:
    figure, axes = study.drawing("What an edit costs", "tokens replaced at the prompt's end", "prompt eval, ms")
    for point, reach in found:
        edits = [(edit.replaced, edit.parts.eval.mid) for edit in reach.edits if edit.parts.eval]
        (line,) = axes.plot(*zip(*edits, strict=True), "o-", label=f"{point.label}: edge {edge(reach)}")
        if reach.edge is not None:
            axes.axvline(reach.edge, color=line.get_color(), linestyle=":")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


@app.cell
def _():
    given = study.given("reach", ABOUT)
    found = study.probed(given, Reach)
    return found, given


@app.cell
def _(found, given):
    study.show(given, [table(found), evals(found), *notes(found)], picture(found))
    return


if __name__ == "__main__":
    app.run()
