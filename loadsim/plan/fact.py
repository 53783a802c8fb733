"""A figure and where it comes from."""

from typing import Literal

import msgspec

Origin = Literal["measured", "computed", "given"]


class Fact(msgspec.Struct, frozen=True, omit_defaults=True):
    """`value` in the unit that its place says; `of`: by what it was measured or computed, in a few words."""

    value: float
    origin: Origin
    of: str = ""


def given(value: float) -> Fact:
    """What the user said."""
    return Fact(value, "given")
