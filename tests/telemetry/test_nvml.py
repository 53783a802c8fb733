"""Names and numbers against the installed nvidia-ml-py."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import pynvml
import pytest

from loadsim.telemetry.nvml import REASONS

from .cards import FILE, STAND_IN, Machine, simulated


def test_every_clock_event_reason_has_nvmls_bit_and_name() -> None:
    """Each name of NVML's constants, parted into words, at its bit; the ones of old for what has no new one."""
    named = {}
    for name in dir(pynvml):
        match = re.fullmatch(r"nvmlClocks(?:Event|Throttle)Reason([A-Z]\w+)", name)
        if match and match[1] not in ("All", "None", "UserDefinedClocks"):
            named[getattr(pynvml, name)] = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", match[1]).lower()
    assert named == REASONS


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv(FILE, simulated(Machine(cards=[]), tmp_path)[FILE])
    spec = importlib.util.spec_from_file_location("stand_in_pynvml", STAND_IN / "pynvml.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "stand_in_pynvml", module)
    spec.loader.exec_module(module)
    return module


def test_what_the_stand_in_answers_are_nvmls_functions(stand_in: ModuleType) -> None:
    ours = {
        name: function
        for name, function in vars(stand_in).items()
        if name.startswith("nvml") and inspect.isfunction(function) and function.__module__ == "stand_in_pynvml"
    }
    assert len(ours) > 25
    for name, function in ours.items():
        real = inspect.signature(inspect.unwrap(getattr(pynvml, name)))
        assert list(inspect.signature(function).parameters) == list(real.parameters), name


def test_what_the_log_asks_for_is_answered_by_the_stand_in_or_the_library() -> None:
    """A function's name that nvidia-ml-py does not have would pass for a sensor that is missing."""
    source = (Path(__file__).parents[2] / "loadsim/telemetry/nvml.py").read_text()
    source = source.replace("field.nvmlReturn", "")  # a field of c_nvmlFieldValue_t
    assert "nvmlReturn" in dict(pynvml.c_nvmlFieldValue_t._fields_)
    asked = set(re.findall(r"\b(nvml[A-Z]\w+)", source)) | set(re.findall(r"\b(NVML_\w+)", source))
    assert len(asked) > 30
    assert {name for name in asked if not hasattr(pynvml, name)} == set()
