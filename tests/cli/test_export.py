"""`loadsim export` as a command."""

import csv
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from click.testing import CliRunner, Result

from loadsim.cli.export import export
from loadsim.report.export import parquet
from loadsim.report.export.tables import TABLES
from loadsim.types import BadInput, CardSample
from tests.report.export.folders import NASTY, lines, make
from tests.stats.rows import alone, row

ROOT = Path(__file__).parents[2]
SECRET = "s3cr3t-Hunter2-Abcdefgh"
CSV = ("--format", "csv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [row(caller=1), row(caller=2, point="q"), alone(1, "before", 0.01)]
    made = make(tmp_path / "run", *rows, points={"p": {}, "q": {}})
    lines(made / "replies.jsonl", [{"request": 0, "text": NASTY}])
    return made


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(export, [str(arg) for arg in args])


def refused(*args: str | Path) -> str:
    """The one line that says why not."""
    done = run(*args)
    assert isinstance(done.exception, BadInput)
    (line,) = str(done.exception).splitlines()
    return line


def sheet(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


# -- what comes out


def test_csv_is_the_requests_unless_a_table_is_named(folder: Path) -> None:
    found = sheet(run(folder, *CSV).stdout)
    assert [(each["point"], each["caller"], each["ttft_s"]) for each in found[:2]] == [
        ("p", "1", "0.2"),
        ("q", "2", "0.2"),
    ]
    assert len(sheet(run(folder, *CSV, "--table", "tokens").stdout)) == 15
    (reply,) = sheet(run(folder, *CSV, "--table", "replies").stdout)
    assert reply == {"request": "0", "text": NASTY}


def test_a_file_holds_what_stdout_would(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "tokens.csv"
    done = run(folder, *CSV, "--table", "tokens", "--out", out)
    assert (done.exit_code, done.stdout) == (0, f"{out}: 15 rows of tokens\n")
    assert out.read_bytes() == run(folder, *CSV, "--table", "tokens").stdout_bytes
    assert out.read_bytes().count(b"\r\n") == 16
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "tokens.csv"]  # and nothing half written


def test_parquet_is_every_table_in_a_folder_or_one_in_a_file(folder: Path, tmp_path: Path) -> None:
    lines(folder / "card.jsonl", [CardSample(t_s=1.0, card=0, core_c=70.0)])
    assert run(folder, "--format", "parquet", "--out", tmp_path / "all").exit_code == 0
    assert {path.name for path in (tmp_path / "all").iterdir()} == {f"{name}.parquet" for name in TABLES}
    one = tmp_path / "tokens.parquet"
    assert run(folder, "--format", "parquet", "--table", "tokens", "--out", one).exit_code == 0
    db = duckdb.connect()
    for file, rows in ((one, 15), (tmp_path / "all/requests.parquet", 3), (tmp_path / "all/card.parquet", 1)):
        assert db.execute(f"select count(*) from '{file}'").fetchall() == [(rows,)]


def test_json_and_markdown_are_what_is_printed(folder: Path) -> None:
    found: dict[str, Any] = msgspec.json.decode(run(folder, "--format", "json").stdout)
    assert [point["point"] for point in found["points"]] == ["p", "q"]
    assert run(folder, "--format", "markdown").stdout.count("| first token, ms |") == 2


def test_hgrm_is_one_or_a_folder_of_them(folder: Path, tmp_path: Path) -> None:
    one = run(folder, "--format", "hgrm", "--point", "p", "--row", "load", "--metric", "gap")
    assert one.exit_code == 0
    assert one.stdout.split()[:4] == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    assert "Total count    =            4]" in one.stdout
    assert run(folder, "--format", "hgrm", "--out", tmp_path / "h").stdout.endswith("18 histograms\n")
    assert (tmp_path / "h" / "p.load.gap.hgrm").read_text() == one.stdout
    assert (
        run(folder, "--format", "hgrm", "--metric", "gap", "--row", "baseline", "--out", tmp_path / "a.hgrm").exit_code
        == 0
    )
    assert (tmp_path / "a.hgrm").read_text() == (tmp_path / "h" / "p.baseline.gap.hgrm").read_text()


def test_the_schema_needs_no_run() -> None:
    found: dict[str, Any] = msgspec.json.decode(run("--schema").stdout)
    assert found["tables"]["tokens"]["columns"]["gap_s"] == "real"
    assert set(found["tables"]) == set(TABLES)
    assert "answer" in found["json"]["$defs"]["Summary"]["properties"]


# -- what is refused


def test_a_file_that_is_there_is_kept_unless_it_may_go(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.csv"
    out.write_text("mine")
    for form in ("csv", "json", "markdown"):
        assert refused(folder, "--format", form, "--out", out) == (
            f"{out} exists already; choose another name with --out, or --force to replace it"
        )
    assert "exists already" in refused(folder, "--format", "parquet", "--table", "card", "--out", out)
    assert out.read_text() == "mine"
    assert run(folder, *CSV, "--out", out, "--force").exit_code == 0
    assert out.read_text().startswith("request,")


def test_of_several_files_none_is_written_where_one_is_there(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "all"
    out.mkdir()
    (out / "tokens.parquet").write_text("mine")
    assert "tokens.parquet exists already" in refused(folder, "--format", "parquet", "--out", out)
    (out / "q.load.gap.hgrm").write_text("mine")
    assert "q.load.gap.hgrm exists already" in refused(folder, "--format", "hgrm", "--out", out)
    assert len(list(out.iterdir())) == 2


def test_the_run_itself_is_never_replaced(folder: Path) -> None:
    before = (folder / "requests.jsonl").read_bytes()
    line = refused(folder, *CSV, "--out", folder / "requests.jsonl", "--force")
    assert line.endswith("belongs to the run itself, which --force does not replace")
    assert (folder / "requests.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--format", "xml"), "'xml' is not one of"),
        (("--format", "csv", "--table", "x"), "'x' is not one of"),
        (("--format", "json", "--table", "card"), "--table chooses what csv or parquet is of"),
        (("--format", "csv", "--point", "p"), "choose what hgrm is of"),
        (("--format", "parquet"), "parquet needs --out"),
        (("--format", "parquet", "--out", "x.parquet"), "choose its --table"),
        ((), "Missing option '--format'"),
    ],
)
def test_flags_that_do_not_fit_are_refused(folder: Path, args: tuple[str, ...], said: str) -> None:
    done = run(folder, *args)
    assert done.exit_code == 2
    assert said in done.stderr


def test_what_cannot_be_written_is_told(folder: Path, tmp_path: Path) -> None:
    assert refused(folder, *CSV, "--out", tmp_path / "no/x.csv").endswith("no/x.csv: No such file or directory")
    assert refused(folder, *CSV, "--out", tmp_path).endswith(": it is a folder")
    (tmp_path / "file").touch()
    assert refused(folder, "--format", "hgrm", "--out", tmp_path / "file").startswith("cannot write into ")
    assert refused(folder, *CSV, "--out", tmp_path / ("a" * 300)).endswith("File name too long")


def test_a_histogram_must_be_chosen_for_stdout(folder: Path) -> None:
    line = refused(folder, "--format", "hgrm", "--metric", "gap")
    assert line.startswith("3 histograms, not one (p/load/gap, q/load/gap, p/baseline/gap): choose by --point")
    assert refused(folder, "--format", "hgrm", "--point", "x") == "--point x: no such load point; the run has: p, q"
    assert refused(folder, "--format", "hgrm", "--row", "probe").endswith("no time that such a histogram could be of")


def test_without_pyarrow_nothing_else_is_missed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert refused(folder, "--format", "parquet", "--out", tmp_path / "all") == parquet.NEEDED
    assert not (tmp_path / "all").exists()
    assert run(folder, *CSV).exit_code == 0


# -- damaged, live, old and empty runs


@pytest.mark.parametrize("form", ["csv", "json", "markdown", "hgrm"])
def test_what_is_no_run_is_one_line(tmp_path: Path, form: str) -> None:
    assert refused(tmp_path, "--format", form) == f"{tmp_path} is not a run: it has no run.json"
    (tmp_path / "run.json").write_text("{}")
    assert "has no format of loadsim's" in refused(tmp_path, "--format", form)


@pytest.mark.parametrize("form", ["csv", "json", "markdown", "hgrm", "parquet"])
def test_a_broken_line_is_left_out_and_told(folder: Path, tmp_path: Path, form: str) -> None:
    with (folder / "requests.jsonl").open("ab") as file:
        file.write(b"{broken\n" + msgspec.json.encode(row()) + b"\n")
    out = tmp_path / "out"
    table = ("--table", "requests") if form == "parquet" else ()
    found = run(folder, "--format", form, "--out", out, *table)
    assert found.exit_code == 0
    said = found.stderr + (out.read_text() if form in ("json", "markdown") else "")
    assert "requests.jsonl could not be read (first at line 4)" in said


def test_a_run_that_was_killed_comes_out_with_a_remark(folder: Path) -> None:
    make(folder, row(), row(caller=1), ended=None)
    file = folder / "requests.jsonl"
    file.write_bytes(file.read_bytes()[:-9])
    done = run(folder, *CSV)
    assert (done.exit_code, len(sheet(done.stdout))) == (0, 1)
    assert done.stderr == (
        "loadsim: the run did not complete (it was killed)\n"
        "loadsim: requests.jsonl ends in half a line, which is left out\n"
    )


def test_an_empty_table_says_why_beside_it(folder: Path) -> None:
    done = run(folder, *CSV, "--table", "card")
    assert (done.exit_code, done.stdout.count("\n")) == (0, 1)
    assert done.stderr == "loadsim: card is empty: the run has no card.jsonl\n"
    make(folder)
    assert run(folder, *CSV).stderr == "loadsim: requests is empty: requests.jsonl has nothing for it\n"


def test_a_run_of_old_comes_out(tmp_path: Path) -> None:
    """One without points, events, samples and texts, whose rows have little."""
    (tmp_path / "run.json").write_text('{"format": "loadsim run 1"}')
    old = {"point": "p", "repeat": 1, "row": "load", "group": "g", "caller": 0, "turn": 1, "outcome": "ok"}
    lines(tmp_path / "requests.jsonl", [old])
    (found,) = sheet(run(tmp_path, *CSV).stdout)
    assert (found["point"], found["sent_s"], found["ttft_s"], found["tokens"]) == ("p", "", "", "0")
    for form in ("json", "markdown"):
        assert run(tmp_path, "--format", form).exit_code == 0


# -- secrets


def test_no_format_tells_a_secret(tmp_path: Path) -> None:
    url = f"http://anna:{SECRET}@box:8080/v1?api_key={SECRET}"
    bad = {"outcome": "error", "error": f"HTTP 401 from {url}: Bearer {SECRET} is wrong"}
    folder = make(
        tmp_path / "run",
        row(),
        row(point=f"server.url={url}"),
        *(row(caller=i, **bad) for i in range(9)),
        row(probe={"url": url}),
        why=f"cannot reach {url}",
        ended="stopped",
        scenario={"server": {"url": url, "launch": f"llama-server --api-key {SECRET}"}, "api_key": SECRET},
        server={"url": url},
    )
    lines(folder / "events.jsonl", [{"t_s": 1.0, "event": "server", "url": url, "headers": {"Authorization": SECRET}}])
    outputs = [run(folder, *CSV, "--table", name) for name in TABLES if name != "replies"]
    outputs += [run(folder, "--format", form) for form in ("json", "markdown", "hgrm")]
    assert run(folder, "--format", "parquet", "--out", tmp_path / "all").exit_code == 0
    assert run(folder, "--format", "hgrm", "--out", tmp_path / "h").exit_code == 0
    told = [f"{done.output} {done.stderr} {done.exception}" for done in outputs]
    for file in (tmp_path / "all").iterdir():
        told.append(str(duckdb.connect().execute(f"select * from '{file}'").fetchall()))
    told += [path.name for path in (tmp_path / "h").iterdir()]
    told += [path.read_text() for path in (tmp_path / "h").iterdir()]
    assert sum("box:8080" in text for text in told) >= 6
    assert not [text for text in told if SECRET in text or "anna" in text]


# -- as a process


def loadsim(*args: str | Path, shell: str = '"$@"') -> "subprocess.CompletedProcess[str]":
    command = [
        "bash",
        "-c",
        f"set -o pipefail; {shell}",
        "bash",
        sys.executable,
        "-m",
        "loadsim",
        "export",
        *map(str, args),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_who_reads_only_the_head_gets_no_complaint(tmp_path: Path, form: str) -> None:
    folder = make(tmp_path, *(row(caller=i, turn=k, point=f"{i}") for i in range(40) for k in range(50)))
    done = loadsim(
        folder, "--format", form, *(("--table", "tokens") if form == "csv" else ()), shell='"$@" | head -n 1'
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("request,point" if form == "csv" else "{")


def test_a_full_disk_is_one_line(folder: Path) -> None:
    assert loadsim(folder, *CSV, shell='"$@" > /dev/full').stderr == "loadsim: cannot go on: No space left on device\n"
    done = loadsim(folder, *CSV, "--out", "/dev/full")
    assert (done.returncode, done.stderr) == (1, "loadsim: cannot write /dev/full: No space left on device\n")


def test_a_closed_stdout_changes_nothing(folder: Path) -> None:
    done = loadsim(folder, *CSV, shell='"$@" >&-')
    assert (done.returncode, done.stderr) == (0, "")


def test_the_table_can_go_to_a_device(folder: Path) -> None:
    done = loadsim(folder, *CSV, "--table", "replies", "--out", "/dev/stdout")
    assert (done.returncode, len(sheet(done.stdout))) == (0, 1)
