"""The base of everything that draws its own lines: no layout, and only lines that differ are painted again."""

from __future__ import annotations

from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from geode_tui.tui.look import Look


class Pane(Widget):
    """Lines built by `build`. Call `repaint` when what they show has changed."""

    def __init__(self, look: Look, *, id: str) -> None:  # noqa: A002  Textual's own name
        super().__init__(id=id)
        self.look = look
        self._strips: list[Strip] = []
        self._built_for: Size | None = None

    def build(self, size: Size) -> list[Strip]:
        """The lines, top first; missing ones are blank, surplus ones are not shown."""
        raise NotImplementedError

    @property
    def plane(self) -> Style:
        """Background and text colour of blank cells."""
        return self.look.palette.style(self.look.palette.text, self.look.palette.base)

    def set_look(self, look: Look) -> None:
        """Take another look and paint everything again."""
        self.look = look
        self._built_for = None
        self.refresh()

    def repaint(self) -> None:
        """Build the lines again and paint those that differ."""
        size = self.size
        if not size.area or self._built_for != size:
            self._built_for = None
            self.refresh()
            return
        old, self._strips = self._strips, self._built(size)
        changed = [y for y, (a, b) in enumerate(zip(old, self._strips, strict=True)) if a != b]
        if changed:
            self.refresh(*(Region(0, y, size.width, 1) for y in changed))

    def render_line(self, y: int) -> Strip:
        """The line at ``y``."""
        if self._built_for != self.size:
            self._strips = self._built(self.size)
            self._built_for = self.size
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, self.plane)

    def _built(self, size: Size) -> list[Strip]:
        blank = Strip.blank(size.width, self.plane)
        lines = self.build(size)[: size.height]
        return lines + [blank] * (size.height - len(lines))
