"""When a voice can begin to speak."""


def clause(text: str) -> bool:
    """True once `text` holds the end of a clause: the first thing that a voice can say."""
    return any(mark in text for mark in ",.?!;:")
