"""Figures with units as values that can be compared: 1,500 ms is 1.5 s, 200k tokens are 200,000 tokens. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

_UNITS: Final = (
    ("s", 0.001, "ms|msec|msecs|milliseconds?|밀리초"),
    ("s", 0.000_001, "us|µs|μs|microseconds?"),
    ("s", 1.0, "s|secs?|seconds?|초"),
    ("s", 60.0, "min|mins|minutes?|분"),
    ("s", 3_600.0, "h|hrs?|hours?|시간"),
    ("s", 86_400.0, "days?"),
    ("s", 604_800.0, "weeks?|주일"),
    ("bytes", 1.0, "bytes?|바이트"),
    ("bytes", 1e3, "KB|kB|KiB|킬로바이트"),
    ("bytes", 1e6, "MB|MiB|메가바이트"),
    ("bytes", 1e9, "GB|GiB|기가바이트"),
    ("bytes", 1e12, "TB|TiB"),
    ("percent", 1.0, "%|percent|퍼센트|프로"),
    ("usd", 1.0, "USD|dollars?|달러"),
    ("eur", 1.0, "EUR|euros?|€|유로"),
    ("krw", 1.0, "KRW|won|원"),
    ("krw", 10_000.0, "만 ?원"),
    ("tokens", 1.0, "tokens?|토큰"),
    ("rows", 1.0, "rows?|행"),
    ("requests", 1.0, "requests?|요청"),
    ("users", 1.0, "users?|명"),
    ("times", 1.0, "배"),
    ("px", 1.0, "px|pixels?|픽셀"),
    ("hz", 1.0, "Hz"),
    ("hz", 1e3, "kHz"),
    ("hz", 1e6, "MHz"),
    ("rate", 1.0, "rps|qps|req/s|requests?/s|requests per second"),
    ("fps", 1.0, "fps"),
    ("°c", 1.0, "°C|degrees"),
)
"""Dimension, factor and spellings. KB and KiB are two spellings of one unit here: what is compared is what was said."""
_FACTORS: Final = tuple((re.compile(spelt), kind, factor) for kind, factor, spelt in _UNITS)
_DIGITS: Final = r"\d[\d,_]{0,30}+(?:\.\d{1,20}+)?+"
_ONE: Final = "|".join(sorted((s for _, _, spelt in _UNITS for s in spelt.split("|")), key=len, reverse=True))
_OTHER_WORD: Final = "(?!미만|이[상하내]|동안|간|[은는이가을를로으에의와과도만까마안씩])[가-힣]"
"""What makes another word of a Korean unit: no particle."""
_FIGURE: Final = re.compile(
    rf"(?<![\w.#$])(?P<number>{_DIGITS})(?P<thousands>[kKM](?=[ -]))?[ -]?(?P<unit>{_ONE})"
    rf"(?![A-Za-z0-9_/]|{_OTHER_WORD})"
    rf"|(?P<sign>[$€₩])(?P<amount>{_DIGITS})(?P<many>[kKM])?(?!\w)"
)
_SIGNS: Final = {"$": "usd", "€": "eur", "₩": "krw"}
_MANY: Final = {"k": 1e3, "K": 1e3, "M": 1e6}
_NUMBER: Final = re.compile(rf"(?<![\w.]){_DIGITS}(?![\w.]*\w)")
_TELLING: Final = 3
"""Digits with which a number can be known again without its unit."""


class Figure(msgspec.Struct, frozen=True):
    """A number with its unit: where it stands, and what it is worth in the base unit of ``kind``."""

    start: int
    end: int
    kind: str
    value: float
    number: float

    @property
    def key(self) -> tuple[str, float]:
        """What two spellings of one figure share."""
        return self.kind, self.value


def figures(text: str) -> Iterator[Figure]:
    """The figures of a text, as they stand."""
    for found in _FIGURE.finditer(text):
        if sign := found["sign"]:
            number = _value(found["amount"]) * _MANY.get(found["many"] or "", 1.0)
            yield Figure(found.start(), found.end(), _SIGNS[sign], _rounded(number), number)
            continue
        number = _value(found["number"]) * _MANY.get(found["thousands"] or "", 1.0)
        kind, factor = next((kind, factor) for spelt, kind, factor in _FACTORS if spelt.fullmatch(found["unit"]))
        yield Figure(found.start(), found.end(), kind, _rounded(number * factor), number)


def bare_numbers(text: str) -> set[float]:
    """Numbers of a text whose digits are enough to know them again, whatever unit follows."""
    return {_value(n) for n in _NUMBER.findall(text) if sum(char.isdigit() for char in n) >= _TELLING}


def _value(digits: str) -> float:
    return float(digits.replace(",", "").replace("_", ""))


def _rounded(value: float) -> float:
    return float(f"{value:.9g}")
