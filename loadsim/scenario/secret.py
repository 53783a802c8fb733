"""What must not be written down: names of secrets, commands and urls that hold one, and text with them masked."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

MASK = "***"
SHORT = 200

_NAME = re.compile(
    r"(.*_)?(api_?key|access_?key|private_?key|authorization|password|passwd|secret|credentials?)"
    r"|((access|auth|bearer|hf)_?)?token|hft"
)
_QUERY = re.compile(r"(?:.*_)?(?:key|sig|signature|token|auth)|x_amz_.*")
_VALUE = r"""('[^']*'|"[^"]*"|[^\s'"]+)"""
_FLAG = re.compile(rf"""(?<![^\s'"])(-[\w-]+)(=|\s+){_VALUE}""")
_ASSIGNED = re.compile(rf"(?<![\w.?&-])([A-Za-z][A-Za-z0-9_]*)=(?!=){_VALUE}")
_USER = re.compile(r"(?i)([a-z0-9+.-]://)[^\s/?#@]+@")
_ASKED = re.compile(r"([?&])([\w.~%-]+)=([^&\s#'\"]+)")
_HEADER = re.compile(r"(?i)((?:authorization|x-api-key)['\"]?\s*[:=]\s*['\"]?)(?:(bearer|basic)\s+)?[^\s'\"]+")
_BEARER = re.compile(r"(?i)\b(bearer\s+)[a-z0-9._~+/-]{8,}=*")
_FIELD = re.compile(r"""(["'])([\w-]+)\1(\s*:\s*)(["'])(?:(?!\4).)+\4""")
_NAMED = re.compile(rf"(?<![\w-])([A-Za-z]+(?:[-_][A-Za-z]+)+|passwd|password)(\s*:\s+){_VALUE}")
_SHAPE = re.compile(r"\b(?:(sk|hf|gsk|ghp|gho|github_pat|xox[abp])([-_])[A-Za-z0-9_-]{8,}|(AKIA)()[A-Z0-9]{8,})")


def is_secret(name: str) -> bool:
    """Whether what has this name is a secret: a key of a scenario, a flag, a variable."""
    plain = name.lstrip("-").lower().replace("-", "_")
    return bool(_NAME.fullmatch(plain)) or (name.isupper() and plain.endswith("_token"))


def secrets(command: str) -> Iterator[str]:
    """The secrets that a command holds, each by its name."""
    for word in command.replace("=", " ").split():
        if word.startswith("-") and is_secret(word):
            yield word
    for match in _ASSIGNED.finditer(command):
        if is_secret(match[1]):
            yield match[1]
    if _USER.search(command):
        yield "the name and password in a url"
    for match in _ASKED.finditer(command):
        if _query(match[2]):
            yield f"the url's {match[2]}"
    for match in _HEADER.finditer(command):
        yield re.sub(r"['\"\s:=]+$", "", match[1])


def masked(text: str) -> str:
    """The text with every secret that can be known as one masked."""
    return _short(text) if len(text) <= SHORT else _masked(text)


@lru_cache(maxsize=10_000)
def _short(text: str) -> str:
    """A run's rows and events have the same few names again and again."""
    return _masked(text)


def _masked(text: str) -> str:
    text = _USER.sub(rf"\1{MASK}@", text)
    text = _ASKED.sub(lambda m: f"{m[1]}{m[2]}={MASK}" if _query(m[2]) else m[0], text)
    text = _HEADER.sub(lambda m: f"{m[1]}{f'{m[2]} ' if m[2] else ''}{MASK}", text)
    text = _BEARER.sub(rf"\1{MASK}", text)
    text = _FLAG.sub(lambda m: f"{m[1]}{m[2]}{MASK}" if is_secret(m[1]) else m[0], text)
    text = _ASSIGNED.sub(lambda m: f"{m[1]}={MASK}" if is_secret(m[1]) else m[0], text)
    text = _FIELD.sub(lambda m: f"{m[1]}{m[2]}{m[1]}{m[3]}{m[4]}{MASK}{m[4]}" if is_secret(m[2]) else m[0], text)
    text = _NAMED.sub(lambda m: f"{m[1]}{m[2]}{MASK}" if is_secret(m[1]) else m[0], text)
    return _SHAPE.sub(lambda m: f"{m[1] or m[3]}{m[2] or ''}{MASK}", text)


def masked_data(data: Any) -> Any:
    """Plain data with its secrets masked, also by the names that they stand under, and in those."""
    match data:
        case str():
            return masked(data)
        case dict():
            return {
                masked_data(key): MASK
                if is_secret(str(key)) and isinstance(value, str) and value
                else masked_data(value)
                for key, value in data.items()
            }
        case list() | tuple():
            return [masked_data(value) for value in data]
    return data


def _query(name: str) -> bool:
    plain = name.lower().replace("-", "_")
    return is_secret(name) or bool(_QUERY.fullmatch(plain))
