"""Finding scenarios and recordings by bare name."""

from pathlib import Path

import pytest

from loadsim import shipped


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder laid out as a checkout, with us in an empty folder beside it."""
    root = tmp_path / "checkout"
    (root / "loadsim").mkdir(parents=True)
    (root / "scenarios" / "lab").mkdir(parents=True)
    (root / "scenarios" / "first.yaml").write_text("shipped")
    (root / "scenarios" / "lab" / "tools.yaml").write_text("lab")
    monkeypatch.setattr(shipped, "__file__", str(root / "loadsim" / "shipped.py"))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return root


def test_a_bare_name_finds_the_shipped_file(package: Path) -> None:
    assert shipped.find("scenarios", "first") == package / "scenarios" / "first.yaml"
    assert shipped.find("scenarios", "lab/tools").read_text() == "lab"


def test_a_path_is_taken_as_given(package: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("")
    assert shipped.find("scenarios", str(mine)) == mine


def test_a_file_here_wins_over_a_shipped_one(package: Path) -> None:
    Path("first.yaml").write_text("mine")
    assert shipped.find("scenarios", "first").read_text() == "mine"
    assert shipped.find("scenarios", "first.yaml").read_text() == "mine"


def test_a_folder_of_that_name_is_no_file(package: Path) -> None:
    Path("first").mkdir()
    assert shipped.find("scenarios", "first").read_text() == "shipped"


def test_a_wheel_has_its_data_inside(package: Path) -> None:
    inside = package / "loadsim" / "_data" / "scenarios"
    inside.mkdir(parents=True)
    (inside / "first.yaml").write_text("wheel")
    assert shipped.find("scenarios", "first").read_text() == "wheel"
    assert shipped.names("scenarios") == ["first"]


def test_a_wrong_name_is_told_the_right_ones(package: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no scenario 'frist'.*shipped are: first, lab/tools$"):
        shipped.find("scenarios", "frist")
    with pytest.raises(FileNotFoundError, match=r"shipped are: none$"):
        shipped.find("recordings", "front_desk")


def test_the_real_recording_ships() -> None:
    assert "front_desk" in shipped.names("recordings")
    assert shipped.find("recordings", "front_desk").is_file()
