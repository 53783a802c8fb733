"""The server's API key, from the environment alone."""

import os

from ..types import BadInput

KEY = "LOADSIM_API_KEY"


def api_key() -> str | None:
    """The key without the blanks and line ends that files leave around it; None: there is none.

    Raises BadInput, without showing it, for one that no HTTP header can carry.
    """
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise BadInput(f"{KEY} holds a character that no key has")
    return key or None
