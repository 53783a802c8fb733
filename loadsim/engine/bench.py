"""What a load point is measured with."""

from collections.abc import Callable, Iterable

import msgspec

from ..server.api import Reply, Server
from ..telemetry.lag import Lag
from ..types import CardSample, RequestRow, RunInterrupted
from .ending import Ending
from .progress import Progress
from .serving import Served

# From the order to go until requests are due: connections open and bodies are written meanwhile.
LEAD_S = 0.1
LEAD_PER_CALLER_S = 0.003


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """What a run measures with: its server, its clock's origin, and where rows and events go.

    `run` is the run's id, in every salt; `emit` gets each row with the reply's text, `note` each event; `window` ends a
    window of a point's histograms. `cards`: the last sample of each card that is logged. `ending`: the wish to end.
    `served`: the server as it was started, where there is something to know of that.
    """

    run: str
    server: Server
    origin: float
    progress: Progress
    emit: Callable[[RequestRow, Reply], None]
    note: Callable[..., None]
    lag: Lag
    window: Callable[[str], None] = lambda point: None
    cards: Callable[[], Iterable[CardSample]] = tuple
    ending: Ending = msgspec.field(default_factory=Ending)
    served: Served | None = None

    def go_on(self) -> None:
        """Raises RunInterrupted once the run is to end."""
        if self.ending.asked.is_set():
            raise RunInterrupted
