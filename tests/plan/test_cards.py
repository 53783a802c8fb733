"""Cards by name, by size, and of this machine."""

import sys
from types import SimpleNamespace

import pytest

from loadsim.plan.cards import card, here, size
from loadsim.types import BadInput


def test_cards_by_name() -> None:
    found = card("rtx3090")
    assert (found.memory >> 20, found.bandwidth) == (24576, 936e9)
    assert card("NVIDIA GeForce RTX 3090").memory == found.memory
    assert card("RTX_4090").memory >> 20 == 24564
    assert card("a100-80gb").memory >> 20 == 81920


@pytest.mark.parametrize(
    ("text", "bytes_"), [("24GiB", 24 << 30), ("24 gb", 24 * 10**9), ("1.5GiB", 3 << 29), ("512MiB", 512 << 20)]
)
def test_cards_by_size(text: str, bytes_: int) -> None:
    assert size(text) == bytes_
    assert card(text).memory == bytes_
    assert card(text).bandwidth is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rtx3091", r"^--card rtx3091: no such card, and not a size such as 24GiB; did you mean rtx3090\?$"),
        ("24", r"^--card 24: no such card, and not a size such as 24GiB; known are rtx3060, "),
        ("0GiB", r"^--card 0GiB: no such card"),
        ("-1GiB", r"^--card -1GiB: no such card"),
        ("1" * 400 + "GiB", r"^--card 1{40}: no such card"),
    ],
)
def test_what_is_no_card(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        card(text)


class NVMLError(Exception):
    pass


def library(count: int = 1, driver: bool = True) -> SimpleNamespace:
    def begin() -> None:
        if not driver:
            raise NVMLError

    return SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=begin,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: count,
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetName=lambda handle: f"NVIDIA A{handle}",
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=(handle + 1) << 30),
    )


def test_this_machines_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", library(2))
    assert card("here") == here()
    assert (card("here").name, card("here").memory) == ("NVIDIA A0 (first of 2)", 1 << 30)
    monkeypatch.setitem(sys.modules, "pynvml", library(1))
    assert card("here").name == "NVIDIA A0"


@pytest.mark.parametrize("nvml", [library(0), library(driver=False)])
def test_a_machine_without_a_card_says_so(nvml: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert here() is None
    with pytest.raises(BadInput, match=r"^--card here: no NVIDIA card is to be found"):
        card("here")
