"""What a run notes of the machine it was made on: what bears on the figures, nothing that names it or its user."""

import importlib.metadata
import os
import platform
import re
from pathlib import Path

import msgspec

from .. import __version__

PACKAGES = ("aiohttp", "uvloop", "msgspec", "xllamacpp", "nvidia-ml-py", "psutil")


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """`cores`: those this process may use. None: the system does not say."""

    cpu: str | None
    cores: int | None
    memory_bytes: int | None


def host() -> Host:
    return Host(cpu=_cpu(), cores=_cores(), memory_bytes=_memory())


def versions() -> dict[str, str]:
    """The versions of loadsim, Python, the system and the packages that move the figures; missing ones are left out."""
    found = {"loadsim": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _cpu() -> str | None:
    try:
        match = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text("utf-8", "replace"), re.MULTILINE)
    except OSError:
        match = None
    return match[1] if match else platform.processor() or None


def _cores() -> int | None:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
