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

    from loadsim.stats.counts import Tally, counts
    from loadsim.stats.headline import in_headline, last_attempts
    from loadsim.stats.slope import Growth, Slope, growth, slope
    from loadsim.stats.spread import Range, ranged, since
    from loadsim.types import RequestRow

    Met = Sequence[tuple[Point, Load]]

    ABOUT = """How the first token grows, and the share falls, with callers who all talk at once.
    Reads runs of lab/callers_12 and lab/callers_24: the table of the article's section 6."""

    NOTES = (
        "share: of one caller's decode rate, measured around the same repeat; the median over repeats, with its range.",
        "slope: by least squares over the repeats' medians; n is load points times repeats; from, to: the 95 % "
        "interval by Student's t; R²: the part of the variance that the line explains.",
    )


@app.function
def first_token(found: Met) -> Table:
    rows = study.table("first\ntoken, ms", "callers", "n", "least", "p50", "max", "before\nheaders", "prompt\neval")
    for point, load in found:
        for who in load.summary.load:
            waits = ranged(since(row.sent_s, row.first_token_s) for row in answered(point, who.name))
            least = study.ms(None if waits is None else waits.low)
            parts = (who.ttft.p50, who.ttft.max, who.before_headers, who.prompt_eval)
            rows.add_row(point.label, str(who.callers), str(who.rows), least, *map(study.ms, parts))
    return rows


@app.function
def decode(found: Met) -> Table:
    rows = study.table("decode,\ntokens/s", "callers", "one\ncaller", "p50", "slowest", "all", "share", "least", "most")
    for point, load in found:
        for who in load.summary.load:
            alone = load.summary.baseline
            rates = (alone.decode if alone else None, who.decode, who.decode_slowest, who.total)
            share = load.summary.shares[who.name].mean.both
            rows.add_row(point.label, str(who.callers), *map(study.number, rates), *percents(share))
    return rows


@app.function
def percents(of: Range | None) -> tuple[str, str, str]:
    if of is None:
        return "-", "-", "-"
    return study.percent(of.mid), study.percent(of.low), study.percent(of.high)


@app.function
def answered(point: Point, group: str | None = None) -> list[RequestRow]:
    """The rows of a load point that count."""
    load = [row for row in point.run.rows if row.point == point.name and row.row == "load"]
    rows = last_attempts(row for row in load if row.outcome != "superseded")
    return [row for row in rows if in_headline(row) and group in (None, row.group)]


@app.function
def by_run(found: Met) -> list[tuple[str, Met]]:
    """Each run's load points: a card that heats up has no slope over two runs."""
    runs: dict[int, list[tuple[Point, Load]]] = {}
    for point, load in found:
        runs.setdefault(id(point.run), []).append((point, load))
    return [(of[0][0].run.path.resolve().name, of) for of in runs.values()]


@app.function
def samples(of: Met) -> Growth:
    """The samples of one run, of the load points that have an answer."""
    names = {point.name for point, _ in of}
    return growth(row for row in of[0][0].run.rows if row.point in names)


@app.function
def slopes(found: Met) -> Table:
    rows = study.table("slope, ms\nper caller", "", "from", "to", "at one\ncaller", "R²", "n")
    for name, of in (runs := by_run(found)):
        grown = samples(of)
        for part, by_callers in (
            ("first token", grown.first_token),
            ("before headers", grown.before_headers),
            ("prompt eval", grown.prompt_eval),
        ):
            rows.add_row(part if len(runs) == 1 else f"{name}: {part}", *line(slope(by_callers)))
    return rows


@app.function
def line(found: Slope | None) -> tuple[str, ...]:
    if found is None:
        return ("-",) * 6
    fit = "-" if found.fit is None else f"{found.fit:.4f}"
    return *map(study.ms, (found.per, found.low, found.high, found.at(1))), fit, str(found.n)


@app.function
def predicted(found: Met) -> Table:
    """What was counted before the load against what came: where all agree, one number stands for both."""
    parts = ("prompt\ntokens", "found in\nthe slots", "evaluated", "reply\ntokens", "stamped", "slots")
    rows = study.table("predicted\n= measured", *parts, "")
    for point, load in found:
        groups = point.run.facts["points"][point.name].get("groups", {})
        reply = point.setting.get("reply")
        fixed = reply == "recorded" or bool(reply and reply.get("exactly"))
        for who in load.summary.load:
            of = [row for row in point.run.rows if row.point == point.name and row.group == who.name]
            told = bool(point.setting.get("request.verbose")) or point.setting.chosen(who.name)
            held = counts(of, groups.get(who.name, []), fixed=fixed, slots_told=told)
            tallies = (held.prompt, held.reused, held.evaluated, held.reply, held.stamped, held.slots)
            rows.add_row(point.label, *map(tally, tallies), "agree" if held.agree else "DIFFER")
    return rows


@app.function
def tally(of: Tally) -> str:
    if of.agrees is False:
        return f"{of.predicted:,}\n≠ {of.measured:,}"
    return study.whole(of.measured) if of.agrees else "-"


@app.function
def picture(found: Met) -> Figure:
    figure, (waits, shares) = study.drawings(
        ("The first token", "callers", "ms"), ("The share of one caller's decode rate", "callers", "%")
    )
    for point, load in found:
        callers = sum(who.callers for who in load.summary.load)
        times = [since(row.sent_s, row.first_token_s) for row in answered(point)]
        known = [1e3 * t for t in times if t is not None]
        waits.plot([callers] * len(known), known, ".", color="grey", alpha=0.35)
    for name, of in by_run(found):
        medians = samples(of).first_token
        (dots,) = waits.plot([n for n, _ in medians], [1e3 * t for _, t in medians], "o", label=f"{name}: medians")
        if (fitted := slope(medians)) is not None:
            ends = (medians[0][0], medians[-1][0])
            label = f"{study.ms(fitted.per)} ms per caller"
            waits.plot(ends, [1e3 * fitted.at(n) for n in ends], "-", color=dots.get_color(), label=label)
        known_shares = [
            (who.callers, Range(100 * share.mid, 100 * share.low, 100 * share.high, share.n))
            for _, load in of
            for who in load.summary.load
            if (share := load.summary.shares[who.name].mean.both) is not None
        ]
        study.bars(shares, sorted(known_shares, key=lambda each: each[0]), name)
    for axes in (waits, shares):
        axes.set_ylim(bottom=0)
    waits.legend()
    return figure


@app.cell
def _():
    given = study.given("callers", ABOUT)
    found = study.loaded(given, lambda load: not load.setting.cold, "lab/callers_12")
    return found, given


@app.cell
def _(found, given):
    tables = (first_token(found), decode(found), slopes(found), predicted(found))
    study.show(given, [*tables, *NOTES, *study.left_out(given, found)], picture(found))
    return


if __name__ == "__main__":
    app.run()
