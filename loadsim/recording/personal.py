"""Where a call names persons: what they say of themselves, and values of tools under keys such as `first_name`."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from .model import Recording

_NAMING = r"(?:name is|name's|name’s)"
_CUES = r"(?:I'm|I am|this is|speaking with|speaking to|speak with|speak to|thanks,|thank you,)"
_TITLES = r"(?:(?:Mr|Mrs|Ms|Dr)\.?|Miss|Doctor|Mister|Professor)"
_WORD = r"[^\W\d_][\w'’-]*"
_NAMED = re.compile(rf"\b{_NAMING}\s+({_WORD})(?:\s+({_WORD}))?", re.IGNORECASE)
_CALLED = re.compile(
    rf"(?:\b(?i:{_CUES})|\b(?i:{_TITLES}))\s+((?:{_TITLES}\s+)?[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*){{0,2}})"
)
LETTERS = r"\b[A-Za-z](?:(?:[,.] ?|[- ])[A-Za-z]\b){2,}"  # a word that somebody spells
_KEYS = re.compile(r"(?:^|_)(?:name|names|e?mail|phone|mobile|address\d*|street|city|town|dob|birth\w*|zip|postcode)$")
_WHO = re.compile(r"(?:^|_)(?:user|customer|caller|patient|member|client|person)_id$")
# Words that follow the cues, or stand in addresses, without being names.
_NO_NAMES = set(
    re.findall(
        r"\S+",
        """a about actually afraid all am an and apt are at avenue but calling can co com doctor dr drive edu fine for
        from gmail go going good great hello here hi how i i'm in is it just lane looking mr mrs ms my name net no not
        of ok okay on or org please professor ready really right road so sorry street suite sure thank thanks that the
        there this to trying very well what with yahoo yes you your""",
    )
)


def names(recording: Recording) -> set[str]:
    """The words, in lower case, that name a person, a street or a town in this call."""
    found: set[str] = set()
    for text in _texts(recording):
        for match in _NAMED.finditer(text):
            found.add(match[1])
            # Recognisers may write names small; what follows the first name then is one only by its capital.
            found.update(word for word in (match[2],) if word and (word[0].isupper() or match[1][0].islower()))
        found.update(re.sub(r"\W", "", match[0]) for match in re.finditer(LETTERS, text))
        for match in _CALLED.finditer(text):
            found.update(match[1].split())
    for key, value in values(recording):
        if _KEYS.search(key) or _WHO.search(key):
            own = value.partition("@")[0]  # of an e-mail address, the part before its provider
            found.update(word for word in re.split(r"[\W_]+", own) if word.isalpha())
        elif key.endswith("_id") and value.isalpha() and value.isupper():
            found.add(value)
    cleaned = {re.sub(r"['’]s$", "", word).strip("'’-").lower() for word in found}
    options = {option.lower() for option in choices(recording.tools)}
    return {word for word in cleaned if len(word) > 1 and word not in _NO_NAMES and word not in options}


def codes(recording: Recording) -> set[str]:
    """Values of letters and digits under keys such as `reservation_id`."""
    parts = (
        part
        for key, value in values(recording)
        if key.endswith("_id") or _KEYS.search(key)
        for part in re.split(r"[\W_]+", value)
    )
    mixed = {part for part in parts if not part.isalpha() and not part.isdigit() and len(part) > 2}
    return mixed - set(choices(recording.tools))


def choices(tools: Any) -> Iterator[str]:
    """The texts that tools' schemas allow as values: no person's."""
    if isinstance(tools, dict):
        options = tools.get("enum")
        yield from (option for option in options if isinstance(option, str)) if isinstance(options, list) else ()
    inner = tools.values() if isinstance(tools, dict) else tools if isinstance(tools, list | tuple) else ()
    for value in inner:
        yield from choices(value)


def values(recording: Recording) -> Iterator[tuple[str, str]]:
    """The texts in tools' arguments and results, each with the key that it stands under."""
    for turn in recording.turns:
        for call in (call for step in turn.tools for call in step):
            yield from _under("", call.arguments)
            yield from _under("", _parsed(call.result))


def _under(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for inner, found in value.items():
            own = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", inner).lower()
            # All that stands in an address or a name is personal.
            yield from _under(key if _KEYS.search(key) else own, found)
    elif isinstance(value, list):
        for found in value:
            yield from _under(key.removesuffix("s") if key.endswith("names") else key, found)
    elif isinstance(value, str):
        yield key, value


def _parsed(result: Any) -> Any:
    if isinstance(result, str):
        try:
            return msgspec.json.decode(result)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return result
    return result


def _texts(recording: Recording) -> Iterator[str]:
    yield from (recording.title, recording.system, recording.fresh)
    yield recording.greeting.text if recording.greeting else ""
    for turn in recording.turns:
        yield from (turn.caller.text, turn.agent.text)
