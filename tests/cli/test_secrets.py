"""No output of a run of old tells a secret that stands in its names, facts, events or errors."""

import json
from pathlib import Path

import pytest

from loadsim.cli import main

PAIR = Path(__file__).parents[1] / "report" / "pair" / "a"
SECRET = "s3cr3tHunter2Abcdef"
KEY = f"--api-key {SECRET}"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A run whose load point, group, errors, end and log's complaint are each a secret, under the same names
    everywhere."""
    run = tmp_path / "old"
    run.mkdir()
    for file in ("run.json", "requests.jsonl", "events.jsonl"):
        text = (PAIR / file).read_text().replace('"3 warm"', json.dumps(f"3 {KEY}"))
        text = text.replace('"group":"warm"', f'"group":{json.dumps(f"https://x:{SECRET}@h")}')
        (run / file).write_text(text.replace("NVML: NVML Shared Library Not Found", f"env HF_TOKEN={SECRET} ssh"))
    facts = json.loads((run / "run.json").read_text())
    scenario = facts["scenario"]
    scenario["callers"] = {f"https://x:{SECRET}@h": scenario["callers"].pop("warm")}
    facts |= {"id": f"?key={SECRET}", "ended": f"stopped by {KEY}", "why": f"Authorization: Bearer {SECRET}"}
    (run / "run.json").write_text(json.dumps(facts))
    return run


@pytest.mark.parametrize(
    "args",
    [
        ["report", "RUN"],
        ["report", "RUN", "--lanes"],
        ["report", "RUN", "--html", "--out", "page.html"],
        ["report", "RUN", "RUN", "--html", "--out", "page.html"],
        ["compare", "RUN", "RUN", "--html", "--out", "page.html"],
        ["compare", "RUN", "RUN", "--format", "json"],
        ["compare", "RUN", "RUN", "--format", "markdown"],
        ["export", "RUN", "--format", "json"],
        ["export", "RUN", "--format", "markdown"],
        ["export", "RUN", "--format", "csv"],
        ["plan", "traffic", "--slots", "4", "--calls-per-hour", "180", "--run", "RUN", "--point", "nope"],
    ],
    ids=" ".join,
)
def test_no_output_tells_it(
    args: list[str], old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sys.argv", ["loadsim", *(str(old) if word == "RUN" else word for word in args)])
    try:
        main()
    except SystemExit as ended:
        assert ended.code in (0, 1, 2)
    out = "".join(capfd.readouterr())
    page = Path("page.html").read_text() if "page.html" in args else ""
    assert SECRET not in out + page
    assert "***" in (out + page).replace("\\", "")
