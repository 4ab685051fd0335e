"""The words on screen, in English and Korean.

A catalogue maps keys (``prefix.name``) to texts with ``str.format`` placeholders. Both hold the same keys with the
same placeholders; figures are formatted before they get here (`core.format`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["en", "ko"]

NAMES: Mapping[Language, str] = {"en": "English", "ko": "한국어"}
"""Each language by its own name."""


def catalogue(language: Language) -> Mapping[str, str]:
    """The texts of ``language`` by key, loaded when it is first spoken."""
    texts: Mapping[str, str] = import_module(f"{__name__}.{language}").CATALOGUE
    return texts


class Strings:
    """The texts of one language."""

    def __init__(self, language: Language = "en") -> None:
        self.language: Language = language
        self._texts = catalogue(language)

    def t(self, key: str, **values: object) -> str:
        """The text of ``key`` with ``values`` put in. Raises ``KeyError`` for a key or value that is missing."""
        text = self._texts[key]
        return text.format(**values) if values else text

    def has(self, key: str) -> bool:
        """Whether there is a text for ``key``."""
        return key in self._texts


def language_of(environ: Mapping[str, str]) -> Language:
    """The language to speak: the first of ``GEODE_LANG``, ``LC_ALL``, ``LC_MESSAGES`` and ``LANG`` that is set."""
    for name in ("GEODE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name, ""):
            return "ko" if value.lower().startswith("ko") else "en"
    return "en"
