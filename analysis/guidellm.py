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

    from loadsim.stats.loop import Loop, loop
    from loadsim.stats.summary import Who

    Met = Sequence[tuple[Point, Load]]

    ABOUT = """What a general load generator says of the server: synthetic prompts of one length, in a closed loop.
    Reads runs of lab/guidellm: the rows at 1, 3 and 10 users that the article has of it, in its section 10."""

    NOTES = (
        "gap: pooled, one sample per gap, where guidellm gives a mean per request, in which stalls vanish.",
        "requests/s, tokens/s: while all users are in the loop; in flight: on average, the users if none ever idles.",
    )


@app.function
def waits(found: Met) -> Table:
    columns = (
        "n",
        "prompt\ntokens",
        "first token\nms, p50",
        "p95",
        "gap, ms\np50",
        "p95",
        "max",
        "reply's end\ns, p50",
        "p95",
    )
    rows = study.table("users", *columns)
    for name, who, looped in users(found):
        latency = (looped.latency.p50, looped.latency.p95) if looped else (None, None)
        times = (who.ttft.p50, who.ttft.p95, who.gap.p50, who.gap.p95, who.gap.max)
        prompt = study.span(who.prompt)
        rows.add_row(name, f"{who.rows:,}", prompt, *map(study.ms, times), *map(study.number, latency))
    return rows


@app.function
def rates(found: Met) -> Table:
    rows = study.table(
        "users", "in\nflight", "requests/s", "prompt\ntokens/s", "reply\ntokens/s", "of one user,\ntokens/s", "slowest"
    )
    for name, who, looped in users(found):
        loops = (
            (looped.in_flight, looped.per_second, looped.prompt_per_second, looped.tokens_per_second)
            if looped
            else (None,) * 4
        )
        rows.add_row(name, *map(study.number, (*loops, who.decode, who.decode_slowest)))
    return rows


@app.function
def users(found: Met) -> list[tuple[str, Who, Loop | None]]:
    """Each group of each load point."""
    return [
        (
            point.label,
            who,
            loop(row for row in point.run.rows if row.point == point.name and row.group == who.name),
        )
        for point, load in found
        for who in load.summary.load
    ]


@app.function
def picture(found: Met) -> Figure:
    figure, (delay, rate) = study.drawings(
        ("The first token", "users", "ms"), ("All users' replies", "users", "tokens/s")
    )
    for part, style in (("p50", "o-"), ("p95", "o--")):
        drawn = [(who.callers, 1e3 * t) for _, who, _ in users(found) if (t := getattr(who.ttft, part)) is not None]
        delay.plot(*zip(*sorted(drawn), strict=True), style, label=part)
    drawn = [(who.callers, looped.tokens_per_second) for _, who, looped in users(found) if looped]
    if drawn:
        rate.plot(*zip(*sorted(drawn), strict=True), "o-")
    for axes in (delay, rate):
        axes.set_ylim(bottom=0)
    delay.legend()
    return figure


@app.cell
def _():
    given = study.given("guidellm", ABOUT)
    found = study.loaded(given, lambda load: not load.setting.joined, "lab/guidellm")
    return found, given


@app.cell
def _(found, given):
    study.show(given, [waits(found), rates(found), *NOTES, *study.left_out(given, found)], picture(found))
    return


if __name__ == "__main__":
    app.run()
