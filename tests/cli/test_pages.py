"""The page of a run: where it lies, and what happens where it cannot."""

import os
import shutil
import subprocess
import webbrowser
from pathlib import Path

import pytest

from loadsim.cli import main

SOAK = Path(__file__).parents[1] / "analysis" / "soak"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        shutil.copytree(SOAK, name)


def loadsim(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr("sys.argv", ["loadsim", *args])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_a_page_lies_in_its_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert loadsim(monkeypatch, "report", "a", "--html") == 0
    assert capsys.readouterr().out == "a/report.html\n"
    assert "<!doctype html>" in Path("a/report.html").read_text()
    assert not [*Path("a").glob(".*")]


def test_of_several_runs_one_page_lies_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert loadsim(monkeypatch, "report", "a", "b", "--html") == 0
    assert capsys.readouterr().out == "report.html\n"
    assert not Path("a/report.html").exists()
    assert loadsim(monkeypatch, "report", "a", "b", "--html", "--out", "both.html") == 0
    assert Path("both.html").read_text() == Path("report.html").read_text()


def test_it_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a/report.html").write_text("old")
    assert loadsim(monkeypatch, "report", "a", "--html") == 0
    assert Path("a/report.html").read_text() != "old"


def test_it_is_opened(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    opened: list[str] = []

    def look(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", look)
    assert loadsim(monkeypatch, "report", "a", "--open") == 0
    assert opened == [Path("a/report.html").resolve().as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    assert loadsim(monkeypatch, "report", "a", "--open") == 0
    assert capsys.readouterr().err == "loadsim: found no browser to open it in\n"


def test_several_tables_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    loadsim(monkeypatch, "report", "a")
    once = capsys.readouterr().out
    loadsim(monkeypatch, "report", "a", "b")
    assert capsys.readouterr().out == once * 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["a", "--out", "x.html"], "--out is the file of the page"),
        (["a", "--html", "--lanes"], "--lanes draws in the terminal"),
        (["a", "b", "--lanes"], "--lanes draws one run"),
        (["a", "--html", "--point", "12"], "choose what --lanes draws"),
        (["a", "--html", "--out", "b"], "'b' is a directory"),
        (["a", "none", "--html"], "none is not a run"),
    ],
)
def test_what_does_not_go_together(
    args: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert loadsim(monkeypatch, "report", *args) == 2
    assert said in capsys.readouterr().err
    assert not Path("report.html").exists()


def test_a_page_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert loadsim(monkeypatch, "report", "a", "--html", "--out", "nowhere/x.html") == 1
    assert capsys.readouterr().err == "loadsim: cannot write nowhere/x.html: No such file or directory\n"


def test_what_is_no_file_is_written_to_and_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo("pipe")
    with Path("came").open("wb") as came, subprocess.Popen(["cat", "pipe"], stdout=came) as cat:
        code = loadsim(monkeypatch, "report", "a", "--html", "--out", "pipe")
        stayed = Path("pipe").is_fifo()
        if not stayed:
            cat.kill()
    assert (code, stayed) == (0, True)
    assert Path("came").read_text().startswith("<!doctype html>")


def test_a_link_leads_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("target").write_text("old")
    Path("a/report.html").symlink_to("../target")
    assert loadsim(monkeypatch, "report", "a", "--html") == 0
    assert Path("a/report.html").read_text().startswith("<!doctype html>")


def test_where_a_folder_stands_there_is_no_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a/report.html").mkdir()
    assert loadsim(monkeypatch, "report", "a", "--html") == 1
    assert capsys.readouterr().err == "loadsim: cannot write a/report.html: Is a directory\n"
    assert not [*Path("a").glob(".*")]


def test_a_page_that_is_broken_off_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Path, *_: object) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stop)
    assert loadsim(monkeypatch, "report", "a", "--html") == 130
    assert not [*Path("a").glob(".*")]


@pytest.mark.parametrize("args", [["report", "--html"], ["report", "b", "--html"], ["export", "--format", "json"]])
def test_a_folder_whose_name_is_no_text(
    args: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = os.fsdecode(b"r\xff<n>")
    shutil.copytree("a", odd)
    assert loadsim(monkeypatch, args[0], odd, *args[1:]) == 0
    if "--html" in args:
        made = Path(odd if "b" not in args else ".") / "report.html"
        assert "r\ufffd&lt;n&gt;" in made.read_text(encoding="utf-8")


def test_a_comparison_of_a_folder_whose_name_is_no_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = os.fsdecode(b"r\xff")
    shutil.copytree(Path(__file__).parents[1] / "report" / "pair" / "a", odd)
    assert loadsim(monkeypatch, "compare", odd, odd, "--format", "json", "--html", "--out", "x.html") == 0
    assert '"path": "r\ufffd"' in capsys.readouterr().out
    assert "r\ufffd" in Path("x.html").read_text(encoding="utf-8")
