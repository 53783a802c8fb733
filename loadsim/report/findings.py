"""The doctor's findings for the terminal: a line where all is well, why and what to do below where it is not."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from ..engine.machine import Finding

STYLES = {"ok": "green", "warning": "yellow", "bad": "bold red"}
_WIDE = max(map(len, STYLES)) + 1


def render(found: list[Finding], verdict: str) -> RenderableType:
    """All findings in their order, and the verdict as the last line."""
    parts: list[RenderableType] = []
    for finding in found:
        parts.append(Text.assemble((f"{finding.level:<{_WIDE}}", STYLES[finding.level]), finding.what))
        parts += [
            Padding(Text(below), (0, 0, 0, _WIDE), expand=False) for below in (finding.why, _mend(finding)) if below
        ]
    return Group(*parts, Text(), Text(verdict, style="bold"))


def _mend(finding: Finding) -> str:
    return f"-> {finding.mend}" if finding.mend else ""
