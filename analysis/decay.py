# mypy: allow-untyped-defs
# (the cells are as marimo writes them)

import marimo

__generated_with = "0.25.2"
app = marimo.App()

with app.setup:
    from collections.abc import Callable, Sequence

    import study
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

    from loadsim.report.decay import decays, sentence
    from loadsim.report.decay import table as ends
    from loadsim.results.read import Run
    from loadsim.stats.cause import FELL, State, ratio
    from loadsim.stats.decay import Decay, Window

    Found = Sequence[tuple[str, Run, Decay]]

    WINDOWS = 10
    LINES = 24
    ABOUT = """Does decoding slow down in the course of a run, and do the card's clocks, its power, its temperatures,
    the server's memory or this machine say why? Reads runs of lab/hot_card, or any with one caller measured around or
    within the load: the question that section 7 of the article leaves open."""

    NOTES = (
        "one caller, load: decode rates, medians of a window's replies. share: of one caller who was alone within a "
        "window of it, after some load, so that both met the same card. Windows are the scenario's, else a minute, or "
        f"a tenth of a run that is shorter; of more than {LINES}, every so many are shown.",
        f"fell: by {FELL:.0%} or more, and by more than replies, and neighbouring times, differ (95 %). a minute: "
        "slope by least squares, with its 95 % interval by Student's t. R²: the part of the variance that a line "
        "explains.",
    )


@app.function
def course(name: str, of: Decay) -> Table:
    """Window by window."""
    heat, clock = ("CPU\nC", "CPU\nMHz") if of.cpu else ("core\nC", "SM\nMHz")
    rows = study.table(
        f"{name}\nminutes", "one\ncaller", "load", "share", heat, "mem.\nC", clock, "mem.\nMHz", "W", "server\nMiB"
    )
    begin = of.windows[0].at
    for window in of.windows[:: -(-len(of.windows) // LINES)]:
        state = window.state
        rss = None if state.rss is None else state.rss / (1 << 20)
        logged = (state.heat, state.memory_heat, state.clock, state.memory_clock, state.power, rss)
        rates = (study.number(window.one), study.number(window.load), study.percent(window.share))
        told = [study.whole(None if value is None else round(value)) for value in logged]
        told[0] = "unknown" if state.heat is None else told[0]
        rows.add_row(f"{(window.at - begin) / 60:.1f}", *rates, *told)
    return rows


@app.function
def against(of: Decay) -> Table | None:
    """Decode against what the logs say."""
    units = {"temperature": "a degree", "clock": "a MHz", "power": "a watt", "memory": "a MiB"}
    rows = study.table("decode against", "n", "tokens/s", "", "from", "to", "correlation", "R²")
    for each in of.against:
        fit = each.line
        if fit is None or each.r is None:
            rows.add_row(each.name, str(each.n), "it did", "not vary", "-", "-", "-", "-")
            continue
        figures = (study.number(fit.per), units[each.name.split()[-1]], study.number(fit.low), study.number(fit.high))
        rows.add_row(each.name, str(each.n), *figures, f"{each.r:.3f}", study.number(fit.fit))
    return rows if rows.row_count else None


@app.function
def said(found: Found) -> list[Table | str]:
    """Of each run, or each of its server's settings."""
    parts: list[Table | str | None] = []
    for name, _, of in found:
        parts += [course(name, of), ends(of, "first and last"), against(of), sentence(of)]
    return [part for part in parts if part is not None]


@app.function
def picture(found: Found) -> Figure:
    """Rates, share, temperatures, clocks and power on one axis of time."""
    names = ("tokens/s", "share", "temperature, C", "clock, of the first", "power, W")
    figure, (rates, shares, heats, clocks, powers) = study.stacked("Decode and the card over time", "minutes", *names)
    for name, _, of in found:
        label = "" if len(found) == 1 else f"{name}: "
        line(rates, of, lambda window: window.one, f"{label}one caller", marker="o")
        line(rates, of, lambda window: window.load, f"{label}under load, each")
        line(shares, of, lambda window: window.share, f"{label}share", marker="o")
        logged(heats, of, lambda state: state.heat, f"{label}{'CPU' if of.cpu else 'core'}")
        logged(heats, of, lambda state: state.memory_heat, f"{label}memory")
        clock(clocks, of, lambda state: state.clock, f"{label}{'CPU' if of.cpu else 'SM'}")
        clock(clocks, of, lambda state: state.memory_clock, f"{label}memory")
        logged(powers, of, lambda state: state.power, f"{label}draw")
        logged(powers, of, lambda state: state.limit, f"{label}limit")
    for axes in (rates, shares, heats, clocks, powers):
        if axes.has_data():
            axes.legend(fontsize="small", loc="best" if axes is heats else "lower left")
            if axes is not heats:
                axes.set_ylim(0, axes.dataLim.y1 * 1.1)
        else:
            axes.text(0.5, 0.5, "unknown", transform=axes.transAxes, ha="center", va="center")
    return figure


@app.function
def line(axes: Axes, of: Decay, get: Callable[[Window], float | None], label: str, marker: str = "") -> None:
    begin = of.windows[0].at
    seen = [((each.at - begin) / 60, value) for each in of.windows if (value := get(each)) is not None]
    if seen:
        axes.plot(*zip(*seen, strict=True), marker=marker, label=label)


@app.function
def logged(axes: Axes, of: Decay, get: Callable[[State], float | None], label: str) -> None:
    line(axes, of, lambda window: get(window.state), label)


@app.function
def clock(axes: Axes, of: Decay, get: Callable[[State], float | None], label: str) -> None:
    """Of its first value: a memory's clock is several times a core's."""
    first = next((value for each in of.windows if (value := get(each.state))), None)
    if first is not None:
        logged(axes, of, lambda state: ratio(first, get(state)), f"{label}, {first:,.0f} MHz")


@app.function
def decayed(to: study.Given) -> list[tuple[str, Run, Decay]]:
    """What is looked at together, with its name where there are several."""
    found = [(run, points, of) for run in to.runs for points, of in decays(run, WINDOWS).items()]
    named = []
    for run, points, of in found:
        parts = (run.path.resolve().name if len(to.runs) > 1 else "", points if len(decays(run, WINDOWS)) > 1 else "")
        named.append((": ".join(filter(None, parts)) or "over time", run, of))
    return named or study.nothing(to, "no decode rate was measured twice", "lab/hot_card")


@app.cell
def _():
    given = study.given("decay", ABOUT)
    found = decayed(given)
    return found, given


@app.cell
def _(found, given):
    study.show(given, [*said(found), *NOTES], picture(found))
    return


if __name__ == "__main__":
    app.run()
