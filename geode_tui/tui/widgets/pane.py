"""The base of everything that draws its own lines: no layout, and only lines that differ are painted again."""

from __future__ import annotations

from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from geode_tui.tui.lines import handed_over
from geode_tui.tui.look import Look


class Pane(Widget):
    """Lines built by `build`, over the whole widget: no border, no padding. Call `repaint` when what they show has
    changed.
    """

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
        size = self.size  # none while it is hidden, unlike the outer one
        if not size.area or self._built_for != size:
            self._built_for = None
            self.refresh()
            return
        lines = self._built(size)
        changed = [y for y, (old, new) in enumerate(zip(self._strips, lines, strict=True)) if old != new]
        for y in changed:  # a strip remembers how it was cut and written: those that are the same stay
            self._strips[y] = lines[y]
        if changed:
            self.refresh(*(Region(0, y, size.width, 1) for y in changed))

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines as they are."""
        return handed_over(self, self._current(), crop)

    def render_line(self, y: int) -> Strip:
        """The line at ``y``."""
        lines = self._current()
        return lines[y] if y < len(lines) else Strip.blank(self.size.width, self.plane)

    def _current(self) -> list[Strip]:
        size = self.outer_size
        if self._built_for != size:
            self._strips = self._built(size)
            self._built_for = size
        return self._strips

    def _built(self, size: Size) -> list[Strip]:
        plane = self.plane
        lines = [strip.adjust_cell_length(size.width, plane) for strip in self.build(size)[: size.height]]
        return lines + [Strip.blank(size.width, plane)] * (size.height - len(lines))
