"""The footer: the keys that work where the focus is. Keys leave from the right."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.tui.look import Look
from geode_tui.tui.rows import fit, row
from geode_tui.tui.widgets.pane import Pane


class Hint(msgspec.Struct, frozen=True):
    """A key and what it does."""

    key: str
    text: str


class FooterView(msgspec.Struct, frozen=True):
    """What the footer shows. ``armed`` replaces the keys: the next esc interrupts. ``tab`` is the folded tab row."""

    hints: tuple[Hint, ...] = ()
    armed: str = ""
    tab: str = ""


class Footer(Pane):
    """See the module."""

    def __init__(self, look: Look, *, id: str = "footer") -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self.view = FooterView()

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.muted, palette.panel)

    def show(self, view: FooterView) -> None:
        """Show ``view``; nothing is painted where nothing changed."""
        if view != self.view:
            self.view = view
            self.repaint()

    def build(self, size: Size) -> list[Strip]:
        """The one row."""
        palette, view = self.look.palette, self.view
        right = [Segment(view.tab)] if view.tab else []
        if view.armed:
            left: Sequence[Segment] = [Segment(view.armed, palette.style(palette.warn, bold=True))]
        else:
            key = palette.style(palette.accent, bold=True)
            room = size.width - 2 - (len(view.tab) + 2 if view.tab else 0)
            left = fit([[Segment(h.key, key), Segment(f" {h.text}")] for h in view.hints], room, gap=3)
        return [row(left, right, size.width, self.plane, self.look.glyphs.cut, margin=1)]
