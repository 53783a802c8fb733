"""How an agent's client tries again when a reply fails or is late: the presets of voice frameworks."""

import msgspec


class Attempt(msgspec.Struct, frozen=True):
    """One of the requests for the same reply: `after` so many seconds, given up where no token comes in `limit`; None:
    as the scenario's `timeout` says."""

    limit: float | None = None
    after: float = 0.0


RETRIES: dict[str, tuple[Attempt, ...]] = {
    "none": (Attempt(),),
    "livekit": (Attempt(10.0), Attempt(10.0, 0.1), Attempt(10.0, 2.0), Attempt(10.0, 2.0)),
    "pipecat": (Attempt(5.0), Attempt()),
}
"""LiveKit Agents 1.8 retries what fails or is late; Pipecat 1.14, if asked to, what is late. Both only before the first
token."""
