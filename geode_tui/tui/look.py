"""How everything looks and speaks: one value that widgets hold and that is replaced whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from geode_tui.core.strings import Strings
from geode_tui.core.text import clean, clean_line
from geode_tui.tui.glyphs import Glyphs
from geode_tui.tui.palette import Palette

Redact: TypeAlias = Callable[[str], str]


class Look(msgspec.Struct, frozen=True):
    """Colours, glyphs, words, and the redactor that every text from data passes."""

    palette: Palette
    glyphs: Glyphs
    strings: Strings
    redact: Redact

    @property
    def flat(self) -> bool:
        """Whether no planes tell regions apart, so that marks must (SCREENS.md 3)."""
        return self.glyphs.ascii or self.palette.flat

    def t(self, key: str, **values: object) -> str:
        """The text of ``key``."""
        return self.strings.t(key, **values)

    def line(self, text: str, limit: int = 200) -> str:
        """One inert line of a text from data."""
        return clean_line(self.redact(text[: limit * 8]), limit)

    def text(self, text: str) -> str:
        """An inert text from data."""
        return clean(self.redact(text))
