# mypy: allow-untyped-defs
# (the cells are as marimo writes them)

import marimo

__generated_with = "0.25.2"
app = marimo.App()

with app.setup:
    from collections.abc import Sequence

    import study
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator
    from rich.table import Table
    from study import Point

    from loadsim.stats.probe import ToolCase, Tools

    ABOUT = """Whether the recording's tool calls come back as tool calls. Reads runs of lab/tools: the counts of the
    article's section 9."""


@app.function
def table(found: Sequence[tuple[Point, Tools]]) -> Table:
    rows = study.table("", "turn", "step", "recorded calls", "n", "tool\ncalls", "the same\ntools", "fixture\nmisses")
    for point, tools in found:
        for at, case in enumerate(tools.cases):
            counts = map(str, (case.rows, case.called, case.same, case.misses))
            where = (str(case.turn), str(case.step + 1))
            rows.add_row("" if at else point.label, *where, ", ".join(case.wanted), *counts)
        if len(tools.cases) > 1:
            rows.add_row("", "all", "", f"{len(tools.cases)} cases", *map(str, sums(tools.cases)))
    return rows


@app.function
def sums(cases: Sequence[ToolCase]) -> tuple[int, int, int, int]:
    """Answers, those with tool calls, those with the recorded tools, and misses."""
    rows, called = sum(case.rows for case in cases), sum(case.called for case in cases)
    return rows, called, sum(case.same for case in cases), sum(case.misses for case in cases)


@app.function
def notes(found: Sequence[tuple[Point, Tools]]) -> list[str]:
    """The article's sentence."""
    said = []
    for point, tools in found:
        rows, called, same, misses = sums(tools.cases)
        wrong = f"{misses} fixture {'miss' if misses == 1 else 'misses'}"
        said.append(f"{point.label}: {called} of {rows} as tool_calls, {same} with the recorded tools, {wrong}")
    return [*said, "misses: calls that the recording has no result for."]


@app.function
def picture(found: Sequence[tuple[Point, Tools]]) -> Figure:
    figure, axes = study.drawing("Tool cases", "", "answers")
    cases = [(f"{point.label}\n" if len(found) > 1 else "", case) for point, tools in found for case in tools.cases]
    for place, name in enumerate(("rows", "called", "same", "misses")):
        label = {"rows": "asked", "called": "tool calls", "same": "the same tools", "misses": "fixture misses"}[name]
        heights = [getattr(case, name) for _, case in cases]
        axes.bar([at + place * 0.2 for at in range(len(cases))], heights, 0.2, label=label)
    names = [f"{label}turn {case.turn}" + (f".{case.step + 1}" if case.step else "") for label, case in cases]
    axes.set_xticks([at + 0.3 for at in range(len(cases))], names, rotation=30)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()
    return figure


@app.cell
def _():
    given = study.given("tools", ABOUT)
    found = study.probed(given, Tools)
    return found, given


@app.cell
def _(found, given):
    study.show(given, [table(found), *notes(found)], picture(found))
    return


if __name__ == "__main__":
    app.run()
