"""Secrets out of texts that leave the house.

A run holds none: scenarios with keys or passwords are refused, and the server's key is never written down. But a run
may be of old or made by hand, and what a server says in an error is its own.
"""

import re
from typing import Any

HIDDEN = "***"

_NAME = r"(?:[\w-]*[_-])?(?:api[_-]?key|key|authorization|password|passwd|pwd|secret|signature|sig|token)"
_USER = re.compile(r"([a-z][a-z0-9+.-]*://)[^\s/?#@\"'<>]+@", re.IGNORECASE)
_QUERY = re.compile(rf"([?&;]{_NAME}=)[^\s&#;\"'<>]+", re.IGNORECASE)
_SCHEME = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_FLAG = re.compile(rf"(--{_NAME}[=\s]+)(?!-)[^\s\"']+", re.IGNORECASE)
_FIELD = re.compile(rf"""(["']?\b{_NAME}["']?\s*[:=]\s*)(["'])(?:(?!\2).)+\2""", re.IGNORECASE)
_KEY = re.compile(r"\b(?:sk|hf|pk|rk|ghp|gho|xox[abp])[-_][A-Za-z0-9_-]{12,}")
_SECRET = re.compile(
    r"(.*[_-])?(api[_-]?key|authorization|password|passwd|secret)|((access|auth|bearer|hf)_?)?token", re.I
)


def masked(text: str) -> str:
    """A text with `***` for passwords in URLs, keys in queries, flags and headers, and what looks like a key."""
    text = _USER.sub(rf"\1{HIDDEN}@", text)
    text = _QUERY.sub(rf"\1{HIDDEN}", text)
    text = _SCHEME.sub(rf"\1 {HIDDEN}", text)
    text = _FLAG.sub(rf"\1{HIDDEN}", text)
    text = _FIELD.sub(rf"\1\2{HIDDEN}\2", text)
    return _KEY.sub(HIDDEN, text)


def masked_all(tree: Any) -> Any:
    """What JSON can hold, with every text in it masked, names too; whatever stands under a secret's name is hidden."""
    match tree:
        case str():
            return masked(tree)
        case dict():
            return {
                masked(key) if isinstance(key, str) else key: HIDDEN
                if isinstance(key, str) and _SECRET.fullmatch(key) and isinstance(value, str) and value
                else masked_all(value)
                for key, value in tree.items()
            }
        case list() | tuple():
            return [masked_all(item) for item in tree]
    return tree
