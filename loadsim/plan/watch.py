"""Why a search cannot go on: errors, a load that was not as planned, heat, or a client that is too slow."""

from statistics import median

from ..report.answer import client_limits
from ..report.words import ms, percent
from ..scenario.model import Scenario
from ..stats.cards import CardSummary, cards, within
from ..stats.client import client
from ..stats.headline import in_headline
from ..stats.spread import middle
from ..stats.summary import TOO_MANY_ERRORS, PointSummary, summarize
from ..stats.tokens import decode_rate
from .found import Limit
from .heat import Around, hottest, slower, too_hot
from .kept import Kept

SPREAD_S = 0.1  # a burst that takes longer to leave is none
VOICE = 4.5


class Watch:
    """Looks at what a run has recorded of its load points; `errors_sought`: errors are a target, so they are no reason
    to stop, but an answer."""

    def __init__(self, recorder: Kept, group: str, errors_sought: bool) -> None:
        self._recorder = recorder
        self._group = group
        self._errors_sought = errors_sought
        self._first: Around | None = None

    def broken(self, point: str) -> tuple[Limit, str] | None:
        """That a point's figures stand for nothing, with the reason; None: they stand."""
        summary = summarize(self._recorder.measured[point], self._recorder.events)[0]
        if summary.error_rate > TOO_MANY_ERRORS:
            return None if self._errors_sought else ("errors", self._errors(point, summary))
        if not summary.holds:
            who = ", ".join(f"{who.rows} of {who.planned_rows} {who.name}" for who in summary.load)
            return "broken", f"at {point} too few replies were of the kind that was planned ({who})"
        if (hot := too_hot(self._cards(point), self._recorder.cards)) is not None:
            return "heat", f"heat at {point}: {hot}; figures no longer compare"
        return None

    def changed(self, point: str) -> tuple[Limit, str] | None:
        """That client or card are no longer what they were, at a point whose repeats are over; None: they are."""
        summary = summarize(self._recorder.measured[point], self._recorder.events)[0]
        slow = client_limits(client(self._recorder.events, point))
        spread = summary.delivered.start_spread
        if slow is None and spread is not None and spread > SPREAD_S:
            slow = f"its requests left over {ms(spread)} ms, where all are due at once"
        if slow is not None:
            return "client", f"the client is too slow at {point}: {slow}"
        around = self._around(point)
        self._first = self._first or around
        return slower(self._first, around)

    def alone(self, point: str) -> float | None:
        """Tokens/s of one caller around a point's loads."""
        rows = self._recorder.measured[point]
        return middle(decode_rate(row.token_s) for row in rows if row.row == "baseline" and in_headline(row))

    def voice(self, scenario: Scenario) -> float:
        """Tokens/s that a voice speaks, where a reply does not tell."""
        return scenario.voice.rate.value if scenario.voice.rate.unit == "tokens/s" else VOICE

    def _errors(self, point: str, summary: PointSummary) -> str:
        what = "turns" if summary.by_turns else "requests"
        said = next((error for who in summary.load for error in who.errors), "")
        return f"at {point} {percent(summary.error_rate)} of the load's {what} failed{': ' if said else ''}{said}"

    def _around(self, point: str) -> Around:
        rates: dict[int, list[float]] = {}
        for row in self._recorder.measured[point]:
            if row.row == "baseline" and in_headline(row) and (rate := decode_rate(row.token_s)) is not None:
                rates.setdefault(row.repeat, []).append(rate)
        return Around(point=point, rates=[median(found) for found in rates.values()], core=hottest(self._cards(point)))

    def _cards(self, point: str) -> list[CardSummary]:
        """The cards while a point was measured."""
        rows = self._recorder.measured[point]
        starts = [row.sent_s for row in rows if row.sent_s is not None]
        ends = [row.end_s for row in rows if row.end_s is not None]
        return cards(within(self._recorder.samples, min(starts, default=0.0), max(ends, default=0.0)))
