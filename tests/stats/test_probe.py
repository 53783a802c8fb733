"""What a probe's rows say, against the article's figures and rows worked out by hand."""

from typing import Any

import pytest

from loadsim.stats.probe import Prefill, Reach, Tools, batches, probes
from loadsim.stats.spread import Range
from loadsim.stats.summary import summarize
from loadsim.types import RequestRow
from tests.stats.rows import row

HISTORY, TOKENS = 10_371, 17_878


def ask(kind: str, said: dict[str, Any], **fields: Any) -> RequestRow:
    plain = {"row": "probe", "group": kind, "turn": 0, "probe": said, "token_s": [0.2], "token_server_ms": [0.0]}
    return row(**plain | fields)


def edit(replaced: int, cache_n: int | None, **fields: Any) -> RequestRow:
    said = {"route": "tokens", "replaced": replaced, "tokens": TOKENS, "history": HISTORY}
    prompt_n = None if cache_n is None else TOKENS - cache_n
    return ask("reach", said, **{"cache_n": cache_n, "prompt_n": prompt_n, "prompt_ms": 100.0} | fields)


def reach(*rows: RequestRow) -> Reach:
    (probed,) = probes(rows)
    assert isinstance(probed.found, Reach)
    return probed.found


def test_the_articles_restore_point_and_edge() -> None:
    found = reach(edit(517, 10_367), edit(4, 17_874), edit(516, 17_362), edit(60, 17_362), edit(7_507, 10_367))
    assert (found.restored, found.past, found.edge, found.beyond) == (17_362, (10_367, 10_367), 516, 517)
    assert [(one.replaced, one.inside) for one in found.edits] == [
        (4, True), (60, True), (516, True), (517, False), (7_507, False),
    ]  # fmt: skip
    assert not found.cut


def test_a_reach_without_an_end_and_one_without_a_beginning() -> None:
    plain = reach(edit(60, TOKENS - 60), edit(7_507, TOKENS - 7_507))  # a plain KV cache is cut anywhere
    assert (plain.cut, plain.edge, plain.beyond, plain.past) == (True, 7_507, None, None)
    none = reach(edit(60, 0), edit(7_507, 0))
    assert (none.edge, none.beyond, none.past, none.restored, none.cut) == (None, 60, (0, 0), None, False)


def test_an_edit_at_the_very_edge_is_no_cut_of_the_cache() -> None:
    found = reach(edit(516, 17_362), edit(517, 10_367))  # 516 before the end, where the copy stands too
    assert (found.cut, found.edge, found.restored) == (False, 516, 17_362)


def test_one_loss_in_several_repeats_is_past_the_reach() -> None:
    found = reach(edit(516, 17_362), edit(516, 10_367, repeat=2, prompt_ms=300.0), edit(300, 17_362))
    assert (found.edge, found.beyond) == (300, 516)
    parts = found.edits[1].parts
    assert (parts.rows, parts.cache_n, parts.prompt_n, parts.eval) == (
        2, (10_367, 17_362), (516, 7_511), Range(200.0, 100.0, 300.0, 2),
    )  # fmt: skip
    # within the reach was one row, past it two: what may be lost is lost
    assert (found.kept, found.lost) == (Range(100.0, 100.0, 100.0, 1), Range(200.0, 100.0, 300.0, 2))


def test_what_the_server_does_not_tell_is_missing() -> None:
    found = reach(edit(60, None))
    assert (found.edits[0].inside, found.edge, found.beyond, found.restored) == (None, None, None, None)


def test_a_probe_holds_when_all_was_answered() -> None:
    good, bad = edit(60, 17_362), edit(70, None, outcome="error", error="HTTP 500: no", point="q")
    one, other = probes([good, edit(61, 17_362), bad, row()])
    assert (one.point, one.holds, one.rows) == ("p", True, 2)
    assert (other.holds, other.answered, other.errors) == (False, 0, ["HTTP 500: no"])
    # it is no load: nobody asks what share of one caller's rate it had
    assert [point.point for point in summarize([good, bad])] == []


def test_times_are_split_and_rates_are_the_prompts() -> None:
    said = {"length": 1000}
    (probed,) = probes(
        ask("prefill", said, prompt_n=1000, cache_n=0, prompt_ms=ms, repeat=n) for n, ms in enumerate((100, 200, 400))
    )
    assert isinstance(probed.found, Prefill)
    (found,) = probed.found.prompts
    assert found.parts.rate is not None
    assert (found.parts.rate.mid, found.parts.rate.low, found.parts.rate.high) == (5000, 2500, 10_000)
    assert (found.parts.eval, found.parts.rows) == (Range(200, 100, 400, 3), 3)
    # the rows of these tests: sent at 10 s, headers at 10.05, the first token at 10.2
    assert found.parts.before is not None and found.parts.before.mid == pytest.approx(50)
    assert found.parts.ttft is not None and found.parts.ttft.mid == pytest.approx(200)


@pytest.mark.parametrize(
    ("new", "sizes", "wanted"),
    [
        # breaks 4 and 4 + ub tokens before the end
        (1, (2048, 512), 1), (4, (2048, 512), 1), (5, (2048, 512), 2), (105, (2048, 512), 2), (516, (2048, 512), 2),
        (517, (2048, 512), 3), (2565, (2048, 512), 4), (105, None, 2), (4, None, 1), (9, (2, 2), 5),
    ],
)  # fmt: skip
def test_batches_by_the_t_4_break(new: int, sizes: tuple[int, int] | None, wanted: int) -> None:
    assert batches(new, sizes) == wanted


def test_tool_cases_are_counted() -> None:
    def case(called: list[str], **more: Any) -> RequestRow:
        said = {"turn": 47, "step": 0, "wanted": ["book", "book"], "called": called}
        return ask("tools", said, **more)

    (probed,) = probes([case(["book", "book"]), case(["book"], misses=1), case([])])
    assert isinstance(probed.found, Tools)
    (found,) = probed.found.cases
    assert (found.rows, found.called, found.same, found.misses) == (3, 2, 1, 1)
