"""Lines above the composer: what is queued, and what the person must know now. It takes no room when it has nothing to
say."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.pane import Pane

Tone: TypeAlias = Literal["info", "warn", "crit", "queued"]
MOST = 4
"""Most lines shown at a time."""


class Line(msgspec.Struct, frozen=True):
    """One clean line. ``note`` stands muted at its end."""

    text: str
    tone: Tone = "info"
    note: str = ""


class Notices(Pane):
    """See the module."""

    def __init__(self, look: Look, *, id: str = "notices") -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self._lines: tuple[Line, ...] = ()
        self._room = MOST

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.panel)

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is said now."""
        return self._lines

    def set_room(self, rows: int) -> None:
        """Let it take at most ``rows`` rows."""
        if rows != self._room:
            self._room = rows
            self._resize()

    def show(self, lines: tuple[Line, ...]) -> None:
        """Say ``lines``; the height follows."""
        if lines != self._lines:
            self._lines = lines
            self._resize()
            self.repaint()

    def _resize(self) -> None:
        height = min(len(self._lines), self._room)
        self.display = height > 0
        self.styles.height = height

    def build(self, size: Size) -> list[Strip]:
        """The lines; the last of several rows says how many are left out."""
        palette, glyphs = self.look.palette, self.look.glyphs
        marks = {
            "info": (glyphs.pending, palette.info),
            "warn": (glyphs.warning, palette.warn),
            "crit": (glyphs.failed, palette.crit),
            "queued": (glyphs.prompt, palette.muted),
        }
        shown = self._lines if len(self._lines) <= size.height else self._lines[: max(1, size.height - 1)]
        out = []
        for line in shown:
            symbol, color = marks[line.tone]
            left = [Segment(f"{symbol} ", palette.style(color, bold=True)), Segment(line.text)]
            out.append(self._row(left, line.note, size.width))
        if len(shown) < min(len(self._lines), size.height):
            out.append(
                self._row([Segment(self.look.t("notice.more", n=len(self._lines) - len(shown)))], "", size.width)
            )
        return out

    def _row(self, left: list[Segment], note: str, width: int) -> Strip:
        muted = self.look.palette.style(self.look.palette.muted)
        return row(left, [Segment(note, muted)] if note else [], width, self.plane, self.look.glyphs.cut, margin=2)
