"""The load as it was, from rows that can be counted by hand."""

from loadsim.report.page.delivered import delivered
from tests.report.page.made import heard, section, shown_of, table
from tests.report.runs import run_of
from tests.stats.rows import row


def cells(found: object, caption: str, n: int = 0) -> dict[str, str]:
    one = table(found, caption)  # type: ignore[arg-type]
    return dict(zip(one.columns, one.rows[n], strict=True))


def test_outcomes_are_counted() -> None:
    rows = [heard(0.1, caller=0), heard(0.1, caller=1, outcome="cut"), row(caller=2, outcome="error", error="HTTP 500")]
    rows += [row(caller=3, outcome="timeout"), row(caller=4, outcome="superseded", first_token_s=None)]
    found = cells(delivered([shown_of(run_of(*rows))]), "How requests ended")
    assert found == {
        "replies": "p, warm", "n": "2 of 1 x 4", "ok": "1", "cut": "1", "empty": "0", "superseded": "1", "error": "1",
        "timeout": "1", "other": "0", "calls hung up": "0 of 4", "error rate of the load": "50.0 %",
    }  # fmt: skip


def test_load_delivered_with_the_clients_own_delays() -> None:
    rows = [row(caller=i, sent_s=10.0 + i / 100, due_s=9.99) for i in range(3)]
    run = run_of(*rows, lag_p99_ms=2.5, cpu_share=0.25, gc_pauses=3, gc_longest_ms=1.5)
    assert cells(delivered([shown_of(run)]), "Load delivered") == {
        "load point": "p", "in flight": "3", "start spread, ms": "20.0", "sent after due, p99, ms": "30.0",
        "event loop late, p99, ms": "2.50", "worst repeat or window, ms": "2.50", "GC pauses": "3",
        "longest, ms": "1.50", "client's CPU, of a core": "25.0 %",
    }  # fmt: skip


def test_kinds_that_were_not_planned_are_explained_and_moves_counted() -> None:
    rows = [row(caller=0, served=0), row(caller=0, turn=6, served=3, sent_s=20.0)]
    rows.append(row(caller=1, kind="cold", planned=False, served=1, cache_n=0))
    found = cells(delivered([shown_of(run_of(*rows))]), "What prompts were")
    assert (found["kinds"], found["not as planned"]) == ("2 extension, 1 cold", "1 cold")
    assert (found["slots used"], found["moves"], found["evaluated"]) == ("3", "1", "180")
    assert found["why not as planned"].startswith("cold: the slot held nothing of the call")


def test_errors_the_most_frequent_first() -> None:
    rows = [row(caller=i, outcome="error", error="HTTP 500: no room") for i in range(3)]
    rows.append(row(caller=4, outcome="timeout"))
    assert table(delivered([shown_of(run_of(*rows))]), "Errors").rows == [
        ["HTTP 500: no room", "3", "p, warm"], ["timeout", "1", "p, warm"]]  # fmt: skip


def test_hundreds_of_kinds_of_errors_become_fifty_lines_and_a_sum() -> None:
    rows = [row(caller=i, outcome="error", error=f"broke after {i} tokens") for i in range(300)]
    found = table(delivered([shown_of(run_of(*rows))]), "Errors")
    assert len(found.rows) == 51 and not found.open
    assert found.rows[-1] == ["250 other errors, see requests.jsonl", "250", ""]


def test_several_load_points_have_a_sentence_each() -> None:
    run = run_of(*(heard(0.1, name) for name in "ab"), points={"a": {}, "b": {}})
    found = table(delivered([shown_of(run, label="x")]), "Each load point")
    assert [line[0] for line in found.rows] == ["x: a", "x: b"]
    assert found.rows[0][1].startswith("1 warm caller hears the first token after 100 ms")
    single = delivered([shown_of(run_of(heard(0.1)))])
    assert "Each load point" not in str(section(single).parts)


def test_a_probe_has_no_such_section() -> None:
    assert delivered([shown_of(run_of(row(row="probe", group="reach", probe={"replaced": 4})))]) is None
