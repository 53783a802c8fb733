"""What a run wrote: a row for each request, and what that takes on disk."""

from ..results.read import Run
from ..stats.account import account
from .words import number, several

LEAST = 0.01  # files that take a smaller part are told together


def written(run: Run) -> str:
    """Requests and rows, then bytes, in all, by file and per token of the replies."""
    found = account(run.rows, run.events)
    if found.asked is None:
        said = several(found.open, "row")
    else:
        said = f"{several(found.asked, 'request')}, {several(found.rows, 'row')}"
        if found.open:
            said += f", and {several(found.open, 'row')} of a repeat {'under way' if run.live else 'that broke off'}"
    # A page is made from the run, and can be made again.
    files = (file for file in run.path.iterdir() if file.is_file() and file.suffix != ".html")
    sizes = {file.name: file.stat().st_size for file in files}
    total = sum(sizes.values())
    large = sorted((size, name) for name, size in sizes.items() if size >= LEAST * total)[::-1]
    parts = [f"{name} {_size(size, run)}" for size, name in large]
    if rest := total - sum(size for size, _ in large):
        parts.append(f"the rest {_size(rest, run)}")
    tokens = f", {number(total / run.tokens)} bytes a token" if run.tokens else ""
    return f"{said}; {_bytes(total)} on disk{tokens}: {', '.join(parts)}"


def _size(size: int, run: Run) -> str:
    return f"{_bytes(size)} ({number(size / run.tokens)})" if run.tokens else _bytes(size)


def _bytes(size: int) -> str:
    unit, name = next(((unit, name) for unit, name in ((1e9, "GB"), (1e6, "MB")) if size >= unit), (1e3, "kB"))
    return f"{number(size / unit)} {name}"
