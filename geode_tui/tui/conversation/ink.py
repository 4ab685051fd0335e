"""How the parts of a conversation look: styles by role, made once from a palette."""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style

from geode_tui.tui.glyphs import Glyphs
from geode_tui.tui.palette import Palette

BOLD = 1
ITALIC = 2
CODE = 4
LINK = 8
MUTED = 16
ACCENT = 32
STRIKE = 64
LITERAL = 128
"""Escaped text: its asterisks are meant."""
QUOTE = 256
"""The mark before a quoted line; drawn with a glyph of its own."""

MARGIN = 2
"""Cells before the text of a line: the cursor's bar and a space (SCREENS.md 1)."""
RIGHT = 1
"""Cells kept free at the end of a line."""


class Ink:
    """Styles and glyphs for everything in a conversation. Equal arguments give equal pictures."""

    def __init__(self, palette: Palette, glyphs: Glyphs) -> None:
        self.palette = palette
        self.glyphs = glyphs
        self.flat = palette.flat or glyphs.ascii
        """No planes to tell regions apart: marks stand in their place."""
        self.style = lru_cache(maxsize=256)(self._style)
        self.base = palette.style(palette.text, palette.base)
        self.muted = palette.style(palette.muted, palette.base)
        self.panel = palette.style(palette.text, palette.panel)
        self.bar = palette.style(palette.accent, palette.accent, reverse=True)
        self.bar_rest = palette.style(palette.select, palette.select)
        self.selected = palette.style("", palette.select)
        self.picked = palette.style(palette.text, palette.select, reverse=True)

    def role(self, name: str, plane: str = "base", *, bold: bool = False, italic: bool = False) -> Style:
        """The style of a palette role such as ``ok`` on the plane ``base``, ``surface`` or ``panel``."""
        palette = self.palette
        return palette.style(getattr(palette, name), getattr(palette, plane), bold=bold, italic=italic)

    def _style(self, flags: int, plane: str) -> Style:
        palette = self.palette
        if flags & CODE:
            color = palette.code
        elif flags & LINK:
            color = palette.info
        elif flags & ACCENT:
            color = palette.accent
        else:
            color = palette.muted if flags & (MUTED | QUOTE) else palette.text
        style = palette.style(
            color,
            getattr(palette, plane),
            bold=bool(flags & BOLD),
            italic=bool(flags & ITALIC),
            underline=bool(flags & LINK),
        )
        return style + Style(strike=True) if flags & STRIKE else style
