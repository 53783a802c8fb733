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
def growths(found: Met) -> list[tuple[str, Growth]]:
    """The samples of each run: a card that heats up has no slope over two of them."""
    names: dict[int, tuple[str, list[RequestRow]]] = {}
    for point, _ in found:
        _, rows = names.setdefault(id(point.run), (point.run.path.resolve().name, []))
        rows += [row for row in point.run.rows if row.point == point.name]
    return [(name, growth(rows)) for name, rows in names.values()]


@app.function
def slopes(found: Met) -> Table:
    grown = growths(found)
    rows = study.table("slope, ms\nper caller", "", "from", "to", "at one\ncaller", "R²", "n")
    for name, samples in grown:
        for part, of in (
            ("first token", samples.first_token),
            ("before headers", samples.before_headers),
            ("prompt eval", samples.prompt_eval),
        ):
            rows.add_row(part if len(grown) == 1 else f"{name}: {part}", *line(slope(of)))
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
            held = counts(of, groups.get(who.name, []), fixed)
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
    for name, samples in growths(found):
        callers_, seconds = zip(*samples.first_token, strict=True)
        (dots,) = waits.plot(callers_, [1e3 * t for t in seconds], "o", label=f"{name}: repeats' medians")
        if (fitted := slope(samples.first_token)) is not None:
            ends = (min(callers_), max(callers_))
            label = f"{study.ms(fitted.per)} ms per caller"
            waits.plot(ends, [1e3 * fitted.at(n) for n in ends], "-", color=dots.get_color(), label=label)
    for run in dict.fromkeys(id(point.run) for point, _ in found):
        known_shares = [
            (who.callers, share)
            for point, load in found
            for who in load.summary.load
            if id(point.run) == run and (share := load.summary.shares[who.name].mean.both) is not None
        ]
        known_shares.sort(key=lambda each: each[0])
        spread = [[100 * (s.mid - s.low) for _, s in known_shares], [100 * (s.high - s.mid) for _, s in known_shares]]
        numbers = [n for n, _ in known_shares]
        shares.errorbar(numbers, [100 * s.mid for _, s in known_shares], yerr=spread, fmt="o-", capsize=3)
    waits.set(ylim=(0, None))
    shares.set(ylim=(0, None))
    waits.legend()
    return figure


@app.cell
def _():
    given = study.given("callers", ABOUT)
    found = study.loaded(given, "lab/callers_12", cold=False)
    return found, given


@app.cell
def _(found, given):
    tables = (first_token(found), decode(found), slopes(found), predicted(found))
    study.show(given, [*tables, *NOTES, *study.left_out(given, found)], picture(found))
    return


if __name__ == "__main__":
    app.run()
