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
    from study import Load, Point

    from loadsim.stats.join import place
    from loadsim.stats.spread import Range, middle, ranged

    Met = Sequence[tuple[Point, Load]]

    ABOUT = """What a cold caller who joins costs those who talk, by -ub or -b: who waits, for how long, and where.
    Reads runs of lab/cold_join, lab/cold_join_twelve, lab/batch_below_ubatch and lab/ubatch_4096: the table of the
    article's section 5."""

    NOTES = (
        "stall before the first token: of how many warm callers, over all repeats, the longest wait lay there; of the "
        "others it lay inside the reply.",
        "steps: tokens that a warm caller gets while the cold prompt is evaluated, the median of those who speak all "
        "the time (- where none does) and the most of all; predicted from the prompt's length, -b and -ub: warm "
        "prompts that are evaluated meanwhile bring some more.",
    )


@app.function
def cold(found: Met) -> Table:
    columns = ("prompt\ntokens", "first token\ns, p50", "max", "prompt\neval, s", "tokens/s")
    rows = study.table("cold\ncaller", "n", *columns)
    for point, load in found:
        for who in load.summary.load:
            if who.name in load.setting.cold:
                joins = [join for join in load.joins if join.group == who.name]
                rates = (join.prompt / join.seconds for join in joins if join.prompt and join.seconds)
                prompt = study.whole(middle(join.prompt for join in joins))
                figures = (who.ttft.p50, who.ttft.max, who.prompt_eval, middle(rates))
                rows.add_row(point.label, str(who.rows), prompt, *map(study.number, figures))
    return rows


@app.function
def warm(found: Met) -> Table:
    columns = ("first token\nms, p50", "max", "tokens/s\np50", "slowest", "gap, ms\nmax")
    rows = study.table("warm\ncallers", "n", *columns)
    for point, load in found:
        others = [who for who in load.everyone if who.name not in load.setting.cold]
        for who in others:
            rows.add_row(
                f"{point.label}, alone" if who is load.summary.baseline else point.label,
                str(who.rows),
                *map(study.ms, (who.ttft.p50, who.ttft.max)),
                *map(study.number, (who.decode, who.decode_slowest)),
                study.ms(who.gap.max),
            )
    return rows


@app.function
def stalls(found: Met) -> Table:
    columns = ("stall before\nfirst token", "steps\np50", "most", "predicted", "tokens/s\np50", "slowest")
    rows = study.table("while the cold\nprompt is evaluated", "n", *columns)
    for point, load in found:
        joins, lay = load.joins, place(load.joins)
        hit = lay.before + lay.inside
        slowest = min((join.slowest for join in joins if join.slowest is not None), default=None)
        rows.add_row(
            point.label,
            str(len(joins)),
            f"{lay.before} of {hit}" if hit else "-",
            study.whole(middle(join.steps for join in joins)),
            study.whole(max((join.most for join in joins), default=None)),
            whole_span(ranged(load.predicted(join) for join in joins)),
            *map(study.number, (middle(join.decode for join in joins), slowest)),
        )
    return rows


@app.function
def whole_span(of: Range | None) -> str:
    return study.span(None if of is None else (int(of.low), int(of.high)))


@app.function
def picture(found: Met) -> Figure:
    figure, axes = study.drawing("A cold caller joins", "", "s")
    for color, name, of in (
        ("C0", "the cold caller's first token", "ttft"),
        ("C1", "longest wait of a warm caller for a first token", "wait"),
        ("C3", "largest gap inside a warm caller's reply", "gap"),
    ):
        drawn = [(at, seconds) for at, (_, load) in enumerate(found) for seconds in values(load, of)]
        if drawn:
            axes.plot(*zip(*drawn, strict=True), "o", color=color, alpha=0.7, label=name)
    axes.set_xticks(range(len(found)), [point.label for point, _ in found])
    axes.set(xlim=(-0.5, len(found) - 0.5))
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


@app.function
def values(load: Load, of: str) -> list[float]:
    """A figure of each join, where it is known."""
    return [value for join in load.joins if (value := getattr(join, of)) is not None]


@app.cell
def _():
    given = study.given("cold_join", ABOUT)
    found = study.loaded(given, lambda load: bool(load.setting.cold) and load.setting.joined, "lab/cold_join")
    return found, given


@app.cell
def _(found, given):
    tables = (cold(found), warm(found), stalls(found))
    study.show(given, [*tables, *NOTES, *study.left_out(given, found)], picture(found))
    return


if __name__ == "__main__":
    app.run()
