"""Studies of small runs that were recorded, as scripts and as notebooks: their tables, their pictures, bad input.

The runs are those of tests/analysis/small.py. Restore points and edges follow the article's to the token: at -ub u, a
copy stands u + 4 tokens before a prompt's end, and one 4 before the history's.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.analysis.conftest import Study, copied, lines
from tests.analysis.small import ROOT, RUNS

STUDIES = sorted(path.stem for path in (ROOT / "analysis").glob("*.py") if path.stem != "study")
RECORDED = sorted(path.name for path in RUNS.iterdir())


def recorded(name: str) -> list[dict[str, Any]]:
    """The measured requests of a run, without loadsim."""
    rows = [json.loads(line) for line in (RUNS / name / "requests.jsonl").read_text().splitlines()]
    return [row for row in rows if row["row"] == "probe"]


def test_every_study_has_a_recorded_run() -> None:
    assert RECORDED == STUDIES


def test_reach_has_a_row_per_ubatch(study: Study) -> None:
    said = study("reach", RUNS / "reach")
    rows = recorded("reach")

    def evals(point: str, replaced: set[int]) -> list[float]:
        return [row["prompt_ms"] for row in rows if row["point"] == point and row["probe"]["replaced"] in replaced]

    within = {"ubatch=64": evals("ubatch=64", {68}), "ubatch=128": evals("ubatch=128", {68, 69, 132})}
    past = {"ubatch=64": evals("ubatch=64", {69, 132, 133}), "ubatch=128": evals("ubatch=128", {133})}
    for ubatch in (64, 128):
        point = f"ubatch={ubatch}"
        (row,) = [line for line in lines(said) if line[:1] == [point]]
        reach = ubatch + 4
        assert row[:5] == [point, f"{1000 - reach}", f"{reach}", f"{reach}", "596"]
        assert float(row[5]) == pytest.approx(median(within[point]), rel=0.005)
        assert float(row[6]) == pytest.approx(median(past[point]), rel=0.005)
    (spread,) = [line for line in lines(said) if line[:2] == ["ubatch=128,", "within"]]
    assert spread[2] == "3"
    assert [float(figure) for figure in spread[4:]] == pytest.approx(
        [min(within["ubatch=128"]), max(within["ubatch=128"])], rel=0.005
    )
    assert "320 to 360" in " ".join(said.split())
    assert "units of about 1.5 server tokens" in " ".join(said.split())


def test_reaches_in_several_runs_are_told_apart_by_their_folders(study: Study, tmp_path: Path) -> None:
    one = copied("reach", tmp_path / "one", lambda facts: facts["points"].pop("ubatch=128"))
    two = copied("reach", tmp_path / "two")
    said = lines(study("reach", one, two))
    assert [line[:3] for line in said[: said.index([])] if line[0] in ("one", "two:")] == [
        ["one", "932", "68"], ["two:", "ubatch=64", "932"], ["two:", "ubatch=128", "868"],
    ]  # fmt: skip


def test_checkpoints_by_case_and_count(study: Study) -> None:
    said = study("checkpoints", RUNS / "checkpoints")
    table = [[word for word in line if "=" not in word] for line in lines(said) if "evaluated" not in line]
    assert [line[:5] for line in table if line[:1] in (["extension"], ["repeat"], ["edit"])] == [
        ["extension", "1", "600", "600", "200"], ["repeat", "1", "800", "0", "800"], ["edit", "1", "776", "0", "800"],
        ["extension", "1", "600", "600", "200"], ["repeat", "1", "800", "796", "4"], ["edit", "1", "776", "732", "68"],
    ]  # fmt: skip
    assert "checkpoints=0: repeat and edit evaluated from token 0" in said


def test_floor_by_new_tokens_and_by_messages(study: Study) -> None:
    said = study("floor", RUNS / "floor")
    rows = recorded("floor")
    assert lines(said)[0] == ["floor,", "-b", "2048", "-ub", "2048,", "32", "checkpoints"]
    table = {line[0]: line[1:] for line in lines(said) if len(line) == 8 and line[0].isdigit()}
    assert {new: line[:2] for new, line in table.items()} == {
        "1": ["2", "1"], "4": ["2", "1"], "5": ["2", "2"], "12": ["2", "2"], "60": ["2", "2"],
    }  # fmt: skip
    for new, line in table.items():
        evals = [row["prompt_ms"] for row in rows if row["probe"].get("new") == int(new)]
        found = [float(figure) for figure in line[3:6]]
        assert found == pytest.approx([median(evals), min(evals), max(evals)], rel=0.005)
    chats = [line for line in lines(said) if len(line) == 9 and line[0] == "4"]
    assert [line[:3] for line in chats] == [["4", "5", "2"], ["4", "0", "2"]]
    rendered = [row["probe"]["render_ms"] for row in rows if row["probe"].get("tools") == 5]
    assert float(chats[0][3]) == pytest.approx(median(rendered), rel=0.005)
    assert "The step: 4 new tokens in one batch take" in said
    assert "Fit: " in said


def test_a_floor_without_copies_has_one_batch(study: Study, tmp_path: Path) -> None:
    run = copied("floor", tmp_path / "run", lambda facts: facts["scenario"]["server"].update(checkpoints=0))
    said = study("floor", run)
    assert {line[2] for line in lines(said) if len(line) == 8 and line[0].isdigit()} == {"1"}
    assert "The step" not in said
    assert "further batch" not in said


def test_prefill_by_length(study: Study) -> None:
    said = study("prefill", RUNS / "prefill")
    table = [[word for word in line if word != "prefill"] for line in lines(said)]
    found = {line[0]: line[1:] for line in table if len(line) == 8 and line[0] in ("100", "400")}
    for length in (100, 400):
        evals = [row["prompt_ms"] for row in recorded("prefill") if row["probe"]["length"] == length]
        rates = [length / ms * 1e3 for ms in evals]
        n, *figures = found[str(length)]
        assert n == "3"
        assert [float(figure.replace(",", "")) for figure in figures] == pytest.approx(
            [median(rates), min(rates), max(rates), median(evals), min(evals), max(evals)], rel=0.005
        )


def test_tools_of_a_server_that_always_looks_up_the_customer(study: Study) -> None:
    said = study("tools", RUNS / "tools")
    assert "7 of 7 as tool_calls, 1 with the recorded tools, 0 fixture misses" in said
    counts = [line[-4:] for line in lines(said) if line[-5:-4] in (["find_customer"], ["list_slots"])]
    assert counts == [["1", "1", "1", "0"], ["1", "1", "0", "0"], ["1", "1", "0", "0"]]
    assert ["all", "7", "cases", "7", "7", "1", "0"] in lines(said)


@pytest.mark.parametrize("name", RECORDED)
def test_no_line_is_wider_than_80_columns_and_none_is_cut(study: Study, tmp_path: Path, name: str) -> None:
    long = copied(name, tmp_path / f"{name}-20261130-093000-on-the-other-card")
    said = study(name, RUNS / name, long)
    assert max(map(len, said.splitlines()[:-1])) <= 80
    assert "…" not in said


@pytest.mark.parametrize("name", RECORDED)
def test_the_picture_lies_in_the_run_or_where_it_is_wanted(study: Study, tmp_path: Path, name: str) -> None:
    run = copied(name, tmp_path / "run")
    assert study(name, run, out=None).endswith(f"The picture lies in {run / name}.png\n")
    assert (run / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    study(name, run, out=tmp_path / "it.svg")
    assert "<svg" in (tmp_path / "it.svg").read_text()


BAD = [
    ("no run", lambda folder: [folder / "none"], "none is not a run: there is no such folder"),
    ("another run", lambda folder: [RUNS / "prefill"],
     "no answer of a reach probe; loadsim scenario lab/reach makes a run with one"),
    ("no picture's name", lambda folder: [RUNS / "reach", "--out", "reach.doc"],
     "--out takes a file that ends in .png, .svg or .pdf; got reach.doc"),
    ("no place for it", lambda folder: [RUNS / "reach", "--out", folder / "no" / "reach.png"],
     "reach.png: No such file or directory"),
    ("nothing", lambda folder: [], "the following arguments are required: RUN"),
    ("a flag", lambda folder: [RUNS / "reach", "--big"], "unrecognized arguments: --big"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "why"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_bad_input_is_one_line_and_exit_code_2(
    study: Study,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    given: Callable[[Path], list[Path | str]],
    why: str,
) -> None:
    with pytest.raises(SystemExit) as ended:
        study("reach", *given(tmp_path), out=None)
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("reach: ")
    assert line.endswith(why)


def test_a_probe_that_nobody_answered_has_no_study(study: Study, tmp_path: Path) -> None:
    run = copied("reach", tmp_path / "run")
    rows = [row | {"outcome": "error", "error": "HTTP 500: no"} for row in recorded("reach")]
    (run / "requests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(SystemExit):
        study("reach", run)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_the_notebook_shows_the_same(study: Study, tmp_path: Path, name: str) -> None:
    notebook = shutil.copytree(ROOT / "analysis", tmp_path / "analysis") / f"{name}.py"
    page = tmp_path / "page.html"
    command = [sys.executable, "-m", "marimo", "export", "html", notebook, "-o", page, "--", RUNS / name]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    said = study(name, RUNS / name)
    shown = page.read_text()
    assert all(figure in shown for line in lines(said)[:12] for figure in line if figure.isdigit())
    assert "image/png" in shown


def test_studies_are_sound_notebooks() -> None:
    files = [str(ROOT / "analysis" / f"{name}.py") for name in STUDIES]
    command = [sys.executable, "-m", "marimo", "check", "--strict", *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
