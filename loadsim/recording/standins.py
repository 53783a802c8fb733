"""What stands in a redacted call in place of a name, a number or an address: the same thing each time it comes back."""

import re
from collections import Counter
from collections.abc import Callable
from random import Random

_NAMES = re.findall(
    r"\w+",
    """Robin Marlow Jordan Hayes Casey Linden Avery Brooks Morgan Ellis Taylor Quinn Riley Sutton Jamie Holt Rowan Pryce
    Alex Denham Sidney Farrow Drew Calder Harper Winslow Reese Ashby Blair Corbin Skyler Draper Logan Thorne Emery
    Vance Finley Weston Kerry Alden Dana Mercer Leslie Norwood Toby Garrick Sasha Penrose Micah Radcliff""",
)
UNITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TEENS = re.findall(r"\w+", "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_DIGIT = {word: str(digit) for digit, word in enumerate(UNITS)} | {"oh": "0", "o": "0"}


class StandIns:
    """Stand-ins for one call, drawn with `chance`; `counts` tells how many different things got one, by kind."""

    def __init__(self, chance: Random, taken: set[str]) -> None:
        self._chance = chance
        self._names = [name for name in _NAMES if name.lower() not in taken]
        self._known: dict[tuple[str, str], str] = {}
        self.counts: Counter[str] = Counter()

    def name(self, name: str) -> str:
        """A person's name, a street or a town: another name, in the case of the one it replaces."""
        known = self._get("names", name.lower(), lambda: self._name(name.lower()))
        return known.upper() if name.isupper() and len(name) > 1 else known if name[0].isupper() else known.lower()

    def code(self, code: str) -> str:
        """A code of letters and digits: another one of the same shape."""
        return self._get("codes", code, lambda: "".join(map(self._like, code)))

    def letters(self, spelled: str) -> str:
        """A spelled word: other letters, the same marks."""
        return self._get("spelled words", spelled, lambda: "".join(map(self._like, spelled)))

    def number(self, number: str) -> str:
        """Digits with marks between them: other digits, the same marks."""
        digits = iter(self._digits(re.sub(r"\D", "", number)))
        return "".join(next(digits) if c.isdigit() else c for c in number)

    def spelled(self, words: str) -> str:
        """A number in words: other words of the same kind; digits agree with the same number in figures."""
        found = re.findall(r"[A-Za-z]+", words)
        if all(word.lower() in _DIGIT for word in found):
            digits = self._digits("".join(_DIGIT[word.lower()] for word in found))
            others = [UNITS[int(digit)] for digit in digits]
        else:
            key = " ".join(found).lower()
            others = self._get("numbers", key, lambda: " ".join(map(self._word, key.split()))).split()
        left = iter(others)
        return re.sub(r"[A-Za-z]+", lambda word: _cased(next(left), word[0]), words)

    def email(self, address: str) -> str:
        """An e-mail address: another one that nobody has."""
        return self._get("addresses", address.lower(), lambda: f"{self._fresh().lower()}@example.com")

    def url(self, address: str) -> str:
        """A link: another one that leads nowhere."""
        return self._get("addresses", address.lower(), lambda: f"https://example.com/{self._fresh().lower()}")

    def _get(self, kind: str, key: str, make: Callable[[], str]) -> str:
        if (kind, key) not in self._known:
            self._known[kind, key] = make()
            self.counts[kind] += 1
        return self._known[kind, key]

    def _digits(self, digits: str) -> str:
        return self._get("numbers", digits, lambda: "".join(map(self._digit, range(len(digits)), digits)))

    def _digit(self, at: int, digit: str) -> str:
        """Another digit; one that leads a longer number stays a zero, or does not become one."""
        lone = digit if digit in "0123456789" else "0"
        if at == 0 and lone == "0":
            return "0"
        return self._chance.choice([d for d in "0123456789" if d != lone and (at or d != "0")])

    def _word(self, word: str) -> str:
        kind = next((words for words in (UNITS[1:], TEENS, TENS) if word in words), UNITS[1:])
        return self._chance.choice([other for other in kind if other != word])

    def _like(self, c: str) -> str:
        if c.isdigit():
            return self._digit(1, c)
        letters = "bcdfghjklmnprstvwz"
        return self._chance.choice(letters.upper() if c.isupper() else letters) if c.isalpha() else c

    def _name(self, name: str) -> str:
        return self._names.pop(0) if self._names else "".join(map(self._like, name)).capitalize()

    def _fresh(self) -> str:
        return "".join(self._like("a") for _ in range(6))


def _cased(word: str, like: str) -> str:
    return word.upper() if like.isupper() and len(like) > 1 else word.capitalize() if like[0].isupper() else word
