import pytest

from loadsim.plan.slo import STATISTICS
from loadsim.stats.metrics import METRICS, OF_ONE, ONE_CALLER, parts, samples
from tests.stats.rows import alone, playout, reply, row


def test_a_repeat_is_one_sample_however_many_callers_it_has() -> None:
    """First tokens after 0.1, 0.2 and 0.3 s; then a token each 20 ms, or 40."""
    rows = [reply(10, first, first + step, first + 2 * step, caller=i, repeat=r, group="warm", first_speech_s=10.5)
            for r in (1, 2) for i, (first, step) in enumerate([(0.1, 0.02), (0.2, 0.02), (0.3, 0.04)])]  # fmt: skip
    found = samples(rows, False)["warm"]

    assert len(found) == 2
    figures = found[0].figures
    assert figures["ttft p50"] == pytest.approx(0.2)
    assert figures["ttft p95"] == pytest.approx(0.3)
    assert figures["ttfs p50"] == pytest.approx(0.5)
    assert figures["gap p50"] == pytest.approx(0.02)
    assert figures["gap p95"] == pytest.approx(0.04)
    assert figures["decode p50"] == pytest.approx(50)
    assert figures["decode slowest"] == pytest.approx(25)


def test_the_share_is_of_the_same_repeats_one_caller() -> None:
    """One caller's tokens come every 10 ms, the load's every 20 ms; in repeat 2 every 5 ms."""
    rows = [alone(n, "before", 0.01) for n in range(3)] + [alone(n, "before", 0.005, repeat=2) for n in range(3)]
    rows += [row(repeat=1), row(repeat=2)]
    found = samples(rows, False)

    assert [each.figures["share"] for each in found["warm"]] == pytest.approx([0.5, 0.25])
    assert [each.figures["decode p50"] for each in found[ONE_CALLER]] == pytest.approx([100, 200])
    assert set(found[ONE_CALLER][0].figures) == set(OF_ONE)


def test_what_is_counted() -> None:
    rows = [
        row(caller=0, playout=playout(0, 1, underruns=1)),
        row(caller=1, playout=playout(0, 1)),
        row(caller=2, outcome="error", token_s=[], planned=None),
        row(caller=3, planned=False, kind="cold"),
        row(caller=4, outcome="error", abandoned=True, token_s=[], planned=None),
        row(caller=5, outcome="superseded", token_s=[], planned=None),
        row(caller=6, outcome="error", token_s=[], planned=None),
        row(caller=6, attempt=1),  # answered at the second try
    ]
    (found,) = samples(rows, False)["warm"]

    assert found.counts == {"errors": (1, 6), "underruns": (1, 2), "other kind": (1, 4), "hung up": (1, 6)}


def test_what_is_not_known_is_none_and_what_has_no_replies_is_not_counted() -> None:
    (found,) = samples([row(outcome="error", token_s=[], first_token_s=None, planned=None)], False)["warm"]

    assert set(found.figures.values()) == {None}
    assert found.counts == {"errors": (1, 1), "hung up": (0, 1)}


def test_a_warm_row_alone_is_no_sample() -> None:
    assert samples([row(row="warm")], False) == {}


def test_a_long_load_gives_ten_blocks_of_equal_time() -> None:
    rows = [row(sent_s=100 + i, turn=i) for i in range(400)]
    rows += [alone(1, "before", 0.01, sent_s=50.0), alone(1, "after", 0.01, sent_s=900.0)]
    found = parts(rows, True)

    assert len(found) == 10
    assert [len(block) for block in found] == [41, *[40] * 8, 41]
    assert found[0][-1].side == "before" and found[-1][-1].side == "after"
    assert len(parts(rows, False)) == 1


def test_blocks_have_twenty_replies_at_the_least() -> None:
    assert len(parts([row(sent_s=float(i), turn=i) for i in range(70)], True)) == 3
    assert len(parts([row(sent_s=float(i), turn=i) for i in range(30)], True)) == 1
    assert len(parts([row(sent_s=5.0, turn=i) for i in range(400)], True)[-1]) == 0  # all at one time: no length


def test_two_long_loads_give_five_blocks_each_and_five_give_themselves() -> None:
    rows = [row(sent_s=float(i), turn=i, repeat=r) for r in (1, 2) for i in range(200)]
    many = [row(sent_s=float(i), turn=i, repeat=r) for r in range(5) for i in range(200)]

    assert len(parts(rows, True)) == 10
    assert len(parts(many, True)) == 5


def test_measures_have_the_names_that_targets_have() -> None:
    """A measure that targets know too has one of their statistics."""
    for name in METRICS:
        measure, _, statistic = name.partition(" ")
        if measure in STATISTICS:
            assert statistic in (STATISTICS[measure] or ("",))
