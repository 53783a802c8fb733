# mypy: allow-untyped-defs
# (the cells are as marimo writes them)

import marimo

__generated_with = "0.25.2"
app = marimo.App()

with app.setup:
    from collections.abc import Sequence

    import study
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import RenderableType
    from rich.table import Table
    from study import Point

    from loadsim.stats import probe
    from loadsim.stats.floor import Batches, Cost, fit, step
    from loadsim.stats.probe import Chat, Floor

    ABOUT = """What a warm turn is made of: render, before headers, prompt eval, first token; by new tokens, by
    messages, with tools and without. Reads runs of lab/floor and lab/step: sections 2 and 9 of the article."""

    WORDS = (
        "batches: into how many the new tokens are cut, by the break 4 tokens before a prompt's end. render: "
        "/apply-template alone, there and back; the time before the headers holds another one."
    )


@app.function
def batches(point: Point) -> Batches:
    """How new tokens are cut. Without checkpoints there are no copies, and no breaks for them."""
    if point.setting.get("server.checkpoints") == 0:
        return lambda _: 1
    return lambda new: probe.batches(new, point.setting.batches)


@app.function
def tables(point: Point, floor: Floor) -> list[RenderableType]:
    """All that is said of one load point."""
    said: list[RenderableType] = [study.heading(point)]
    if floor.grown:
        said += [by_new_tokens(point, floor), *sentences(floor, batches(point))]
    if floor.chats:
        said += [by_messages(floor)]
    return said


@app.function
def by_new_tokens(point: Point, floor: Floor) -> Table:
    rows = study.table(
        "new tokens", "n", "batches", "before\nheaders, ms", "prompt\neval, ms", "least", "most", "first\ntoken, ms"
    )
    for one in floor.grown:
        times = (study.mid(one.parts.before), *study.spread(one.parts.eval), study.mid(one.parts.ttft))
        rows.add_row(study.whole(one.new), str(one.parts.rows), str(batches(point)(one.new)), *times)
    return rows


@app.function
def sentences(floor: Floor, cut: Batches) -> list[str]:
    """The step where one batch becomes two, and the fit over all."""
    said = []
    if found := step(floor.grown, cut):
        more = study.number(found.two_ms - found.one_ms)
        said.append(
            f"The step: {study.several(found.one, 'new token')} in one batch take {study.number(found.one_ms)} ms, "
            f"{found.two} in two take {study.number(found.two_ms)}: {more} ms more."
        )
    if made := fit(floor.grown, cut):
        batch = f" + {cost(made.batch)} for each further batch" if made.batch else ""
        r2 = "" if made.r2 is None else f"; R² {made.r2:.3f}"
        said.append(
            f"Fit: {study.number(made.base)} ms + {cost(made.token)} per new token{batch}, over {made.n} numbers of "
            f"new tokens, 95 % intervals in brackets{r2}."
        )
    return said


@app.function
def cost(of: Cost) -> str:
    return f"{study.number(of.ms)} ms ({study.number(of.low)} to {study.number(of.high)})"


@app.function
def by_messages(floor: Floor) -> Table:
    rows = study.table(
        "messages", "tools", "n", "render,\nms", "before\nheaders", "prompt\neval", "least", "most", "first\ntoken"
    )
    for chat in floor.chats:
        times = (study.mid(chat.render), study.mid(chat.parts.before), *study.spread(chat.parts.eval))
        counts = (str(chat.messages), str(chat.tools), str(chat.parts.rows))
        rows.add_row(*counts, *times, study.mid(chat.parts.ttft))
    return rows


@app.function
def picture(found: Sequence[tuple[Point, Floor]]) -> Figure:
    figure, (left, right) = study.drawings(
        ("Prompt eval by new tokens", "new tokens", "ms: median, least and most"),
        ("A warm turn by messages", "messages", "ms, medians"),
    )
    for point, floor in found:
        grown_by(left, point, floor)
    left.set_xscale("log", base=2)
    left.xaxis.set_major_formatter("{x:,.0f}")
    left.set_ylim(bottom=0)
    turns = [(point, chat) for point, floor in found for chat in floor.chats]
    split(right, [chat for _, chat in turns])
    names = [
        f"{chat.messages}" + ("\n+ tools" if chat.tools else "") + (f"\n{point.label}" if len(found) > 1 else "")
        for point, chat in turns
    ]
    right.set_xticks(range(len(turns)), names, fontsize=8)
    for axes in (left, right):
        if axes.get_legend_handles_labels()[1]:
            axes.legend()
    return figure


@app.function
def grown_by(axes: Axes, point: Point, floor: Floor) -> None:
    """The prompt evals and their fit, broken where a batch is added."""
    cut = batches(point)
    known = [(one.new, one.parts.eval) for one in floor.grown if one.parts.eval]
    for pieces in sorted({cut(new) for new, _ in known}):
        some = [(new, samples) for new, samples in known if cut(new) == pieces]
        study.bars(axes, some, f"{point.label}, {'1 batch' if pieces == 1 else f'{pieces} batches'}")
        if made := fit(floor.grown, cut):
            further = made.batch.ms * (pieces - 1) if made.batch else 0.0
            line = [made.base + made.token.ms * new + further for new, _ in some]
            axes.plot([new for new, _ in some], line, "--", color="gray", linewidth=1)


@app.function
def split(axes: Axes, chats: Sequence[Chat]) -> None:
    """The way to the first token in its parts, one on the other; the render, which is asked for apart, as a mark."""
    before, evals, all_ = (
        (
            [samples.mid if samples else 0.0 for samples in each]
            for each in zip(*((chat.parts.before, chat.parts.eval, chat.parts.ttft) for chat in chats), strict=True)
        )
        if chats
        else ([], [], [])
    )
    at = range(len(chats))
    rest = [max(whole - one - other, 0.0) for whole, one, other in zip(all_, before, evals, strict=True)]
    axes.bar(at, before, label="before headers")
    axes.bar(at, evals, bottom=before, label="prompt eval")
    axes.bar(at, rest, bottom=[one + other for one, other in zip(before, evals, strict=True)], label="rest")
    marks = [(place, chat.render.mid) for place, chat in enumerate(chats) if chat.render]
    axes.plot([place for place, _ in marks], [ms for _, ms in marks], "kD", markersize=4, label="render alone")


@app.cell
def _():
    given = study.given("floor", ABOUT)
    found = study.probed(given, Floor)
    return found, given


@app.cell
def _(found, given):
    study.show(given, [*(part for one in found for part in tables(*one)), WORDS], picture(found))
    return


if __name__ == "__main__":
    app.run()
