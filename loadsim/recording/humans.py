"""How people talk on the phone: percentiles to draw times from.

Measured over the 57 consultations of PriMock57 (Papadopoulos Korfiatis et al. 2022, arXiv:2204.00333,
https://github.com/babylonhealth/primock57, CC BY 4.0); percentiles computed from its transcripts, with the patient as
the caller and the doctor as the agent. Times in seconds.
"""

from bisect import bisect_right

import msgspec


class Percentiles(msgspec.Struct, frozen=True):
    """A spread of values as points (share, value), both rising."""

    points: tuple[tuple[float, float], ...]

    def at(self, u: float) -> float:
        """The value that a share `u` (0 to 1) stays below: on a line between the points, held outside them."""
        after = bisect_right(self.points, u, key=lambda point: point[0])
        if after == 0 or after == len(self.points):
            return self.points[0 if after == 0 else -1][1]
        (low, least), (high, most) = self.points[after - 1 : after + 1]
        return least + (most - least) * (u - low) / (high - low)


_SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def _spread(*values: float) -> Percentiles:
    return Percentiles(tuple(zip(_SHARES, values, strict=True)))


UTTERANCE_S = _spread(0.465, 0.703, 1.0, 2.369, 5.789, 9.504, 11.69, 15.875)
"""How long a caller speaks without a pause."""

WORDS_PER_S = _spread(1.246, 1.83, 2.256, 2.772, 3.322, 3.833, 4.168, 4.79)
"""How fast a caller speaks."""

GAP_S = _spread(-6.516, -0.567, 0.064, 0.41, 0.809, 1.274, 1.604, 2.528)
"""From the agent's last word to the caller's first; below zero, the caller talks over the agent."""

PAUSE_S = _spread(0.345, 0.636, 1.0, 1.841, 4.642, 7.111, 9.495, 17.353)
"""The silence between two utterances of one caller's turn."""

AGENT_WORDS_PER_S = _spread(1.405, 2.107, 2.548, 3.089, 3.625, 4.169, 4.508, 5.287)
"""How fast the agent speaks."""

REPLY_GAP_S = _spread(-4.274, -1.027, -0.297, -0.021, 0.292, 0.75, 1.149, 2.655)
"""From the caller's last word to the agent's first, between two people."""

CUT_AFTER_S = Percentiles(((0.1, 0.3), (0.5, 3.2), (0.9, 9.0)))
"""How long the agent has spoken when the caller cuts in."""

BACKCHANNEL = 0.13
"""The share of agent turns with a murmur such as "mhm"."""

BARGE_IN = 0.07
"""The share of agent turns in which the caller cuts in, talking over the agent for 0.5 s or more."""
