"""The key `probe`, in place of `callers`."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from loadsim.scenario.load import dump, load, restore
from loadsim.scenario.model import Probe, Scenario
from loadsim.scenario.schema import schema
from loadsim.scenario.sweep import points
from loadsim.types import BadInput

REACH = "recording: a.json\nprobe: reach\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str, *sets: str) -> Scenario:
    Path("x.yaml").write_text(text)
    return load("x.yaml", sets)


def error(text: str, *sets: str) -> str:
    with pytest.raises(BadInput) as raised:
        read(text, *sets)
    return str(raised.value)


def test_a_kind_may_stand_for_the_whole_probe() -> None:
    found = read(REACH)
    assert (found.callers, found.probe) == ({}, Probe(kind="reach"))
    # the article's prompt: the recorded call and a filler tail, 17,878 tokens
    assert found.probe is not None
    assert found.probe.history + found.probe.tail == 17_878
    assert read("recording: a\nprobe: {kind: prefill, lengths: [7]}").probe == Probe(kind="prefill", lengths=[7])


def test_flags_keep_what_the_short_form_says() -> None:
    assert read(REACH, "probe.replaced=[4, 60]").probe == Probe(kind="reach", replaced=[4, 60])
    assert read(REACH, "probe.replaced=bisect", "probe.slot=3").probe == Probe(kind="reach", slot=3)
    assert read(REACH, "probe=floor").probe == Probe(kind="floor")


def test_a_probe_can_be_swept() -> None:
    swept = read(REACH + "sweep: {probe.kind: [reach, checkpoints], probe.tail: [100, 200]}\n")
    found = points(swept)
    assert [label for label, _ in found] == [
        "kind=reach, tail=100", "kind=reach, tail=200", "kind=checkpoints, tail=100", "kind=checkpoints, tail=200",
    ]  # fmt: skip
    assert [(s.probe.kind, s.probe.tail) for _, s in found if s.probe] == [
        ("reach", 100), ("reach", 200), ("checkpoints", 100), ("checkpoints", 200),
    ]  # fmt: skip
    assert [label for label, _ in points(read(REACH))] == ["reach"]


def test_what_is_written_to_a_run_reads_back_and_is_valid() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    texts = (
        REACH,
        "recording: a\nprobe: {kind: reach, replaced: [4, 5], route: chat}",
        "recording: a\nprobe: {kind: floor, new_tokens: [1], messages: [4]}",
        "recording: a\ncallers: {warm: {count: 1}}\nprobe: null",
    )
    for text in texts:
        validator.validate(yaml.safe_load(text))
        found = read(text)
        assert restore(dump(found), "again") == found
        validator.validate(dump(found))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("recording: a\n", "x.yaml:1: callers is missing (groups of callers), or a probe in their place"),
        (
            "recording: a\nprobe: reach\ncallers:\n  warm: {count: 1}\n",
            "x.yaml:2: probe: a scenario has callers or a probe, not both",
        ),
        ("recording: a\nprobe: rich\n", "x.yaml:2: probe: expected one of checkpoints, floor, prefill, reach, tools, "),
        ("recording: a\nprobe: {slot: 1}\n", "x.yaml:2: probe: kind is missing (one of checkpoints, floor, "),
        ("recording: a\nprobe: {kind: reach, replaced: 4}\n", "x.yaml:2: probe.replaced: expected bisect, or a list; "),
        (
            "recording: a\nprobe: {kind: reach, replaced: [0]}\n",
            "x.yaml:2: probe.replaced: expected a whole number, 1 ",
        ),
        (
            "recording: a\nprobe: {kind: reach, tail: 20, replaced: [4, 21]}\n",
            "x.yaml:2: probe.replaced: only the tail is edited, which has 20 tokens (probe.tail); got 21",
        ),
        (
            "recording: a\nprobe: {kind: floor, lengths: [9]}\n",
            "x.yaml:2: probe.lengths: has no effect unless probe.kind is prefill",
        ),
        (
            "recording: a\nprobe: {kind: prefill, history: 99}\n",
            "x.yaml:2: probe.history: has no effect unless probe.kind is reach or checkpoints or floor",
        ),
        (
            "recording: a\nprobe: {kind: reach, slot: 12}\n",
            "x.yaml:2: probe.slot: expected a slot of the server, 0 to 11; got 12",
        ),
        (
            "recording: a\nprobe: reach\nbaseline: {replies: 2}\n",
            "x.yaml:3: baseline: has no effect on a probe, where nobody talks; leave it out",
        ),
    ],
)
def test_errors_name_the_place_and_what_is_allowed(text: str, said: str) -> None:
    assert error(text).startswith(said)
