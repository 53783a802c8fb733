"""A study run as a script, and what it printed."""

import json
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.small import ROOT, RUNS

Study = Callable[..., str]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Study:
    """Run a study as a script; what it printed, at 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.syspath_prepend(str(ROOT / "analysis"))

    def run(name: str, *runs: Path | str, out: Path | None = tmp_path / "picture.png") -> str:
        file = str(ROOT / "analysis" / f"{name}.py")
        monkeypatch.setattr(sys, "argv", [file, *map(str, runs), *(["--out", str(out)] if out else [])])
        capsys.readouterr()
        runpy.run_path(file, run_name="__main__")
        return capsys.readouterr().out

    return run


def lines(said: str) -> list[list[str]]:
    return [line.split() for line in said.splitlines()]


def copied(name: str, to: Path, change: Callable[[dict[str, Any]], None] = lambda facts: None) -> Path:
    shutil.copytree(RUNS / name, to)
    facts = json.loads((to / "run.json").read_text())
    change(facts)
    (to / "run.json").write_text(json.dumps(facts))
    return to
