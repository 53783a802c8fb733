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

    from loadsim.results.read import Run
    from loadsim.stats.drift import Alone, alone, change, course

    Found = Sequence[tuple[str, Run, list[Alone]]]

    ABOUT = """What one caller alone gets in the course of a run: does the card slow down as it heats up?
    Reads runs of lab/hot_card, or any with one caller measured around the load, in the order in which they were
    measured: the table of the article's section 7."""

    NOTE = (
        "Nothing but the card's state should differ between these rows; what it was, only the card's own log tells: "
        "clocks, power, temperatures, also of the memory."
    )


@app.function
def table(found: Found) -> Table:
    rows = study.table(
        "one caller", "minutes", "n", "first token\nms, p50", "tokens/s\np50", "slowest", "of the\nfirst"
    )
    for name, _, rests in found:
        begin = rests[0].at
        first = next((rest.decode for rest in rests if rest.decode is not None), None)
        for rest in rests:
            where = f"{name}{rest.point}, {rest.repeat}, {rest.side}"
            times = (study.ms(rest.first_token), study.number(rest.decode), study.number(rest.slowest))
            share = study.percent(rest.decode / first if rest.decode and first else None)
            rows.add_row(where, f"{(rest.at - begin) / 60:.1f}", str(rest.replies), *times, share)
    return rows


@app.function
def sentences(found: Found) -> list[str]:
    said = []
    for name, _, rests in found:
        told, by = [rest for rest in rests if rest.decode is not None], change(rests)
        if by is not None:
            first, last = told[0], told[-1]
            moved = f"{'fell' if by < 0 else 'rose'} by {study.percent(abs(by))}"
            rates = f"from {study.number(first.decode)} to {study.number(last.decode)} tokens/s"
            minutes = f"in {(last.at - first.at) / 60:.1f} minutes"
            said.append(f"{name}One caller's decode rate {moved} {minutes}, {rates}.")
    return said


@app.function
def picture(found: Found) -> Figure:
    figure, axes = study.drawing("One caller alone, and callers under load", "minutes", "tokens/s per caller")
    for name, run, rests in found:
        begin = rests[0].at
        times = [(rest.at - begin) / 60 for rest in rests]
        rates = [rest.decode for rest in rests]
        (dots,) = axes.plot(times, [rate or float("nan") for rate in rates], "o", label=f"{name}one caller")
        step = max((rests[-1].at - begin) / 60, 1.0)  # some sixty steps
        under = [(each.at, each.decode) for each in course(run.rows, step) if each.decode is not None]
        if under:
            at, rate = zip(*under, strict=True)
            label = f"{name}under load, median over {step:.0f} s"
            axes.plot([(t - begin) / 60 for t in at], rate, "-", color=dots.get_color(), alpha=0.6, label=label)
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


@app.function
def rested(to: study.Given) -> list[tuple[str, Run, list[Alone]]]:
    """The runs in which one caller was alone twice; their names where there are several."""
    found = []
    for run in to.runs:
        if len(rests := alone(run.rows)) > 1:
            found.append((f"{run.path.resolve().name}: " if len(to.runs) > 1 else "", run, rests))
    return found or study.nothing(to, "one caller was not alone twice", "lab/hot_card")


@app.cell
def _():
    given = study.given("hot_card", ABOUT)
    found = rested(given)
    return found, given


@app.cell
def _(found, given):
    study.show(given, [table(found), *sentences(found), NOTE], picture(found))
    return


if __name__ == "__main__":
    app.run()
