"""The home screen's header: the project, and how many of its runs need the person or go on."""

from __future__ import annotations

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.tui.cells import cut_front, segments_width
from geode_tui.tui.look import Look
from geode_tui.tui.rows import GAP, row
from geode_tui.tui.widgets.gauge import chip
from geode_tui.tui.widgets.header import SHORT_BELOW
from geode_tui.tui.widgets.pane import Pane


class HomeHeaderView(msgspec.Struct, frozen=True):
    """What the header shows. ``first`` when the project has no runs."""

    needs: int = 0
    live: int = 0
    first: bool = False


class HomeHeader(Pane):
    """See the module."""

    def __init__(self, look: Look, project: str) -> None:
        super().__init__(look, id="header")
        self._project = project
        self.view = HomeHeaderView()

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.panel)

    def show(self, view: HomeHeaderView) -> None:
        """Show ``view``; nothing is painted where nothing changed."""
        if view != self.view:
            self.view = view
            self.repaint()

    def build(self, size: Size) -> list[Strip]:
        """The one row; the project is cut at its front."""
        palette, glyphs = self.look.palette, self.look.glyphs
        right = self._right(short=size.width < SHORT_BELOW)
        left = [
            Segment(glyphs.product, palette.style(palette.accent)),
            Segment(f" {self.look.t('app.product')}", palette.style(palette.text, bold=True)),
        ]
        room = size.width - 2 - segments_width(left) - segments_width(right) - GAP - 2
        if room > 0:
            left.append(Segment(f"  {cut_front(self._project, room, glyphs.cut)}", palette.style(palette.muted)))
        return [row(left, right, size.width, self.plane, glyphs.cut, margin=1)]

    def _right(self, *, short: bool) -> list[Segment]:
        palette, view, t = self.look.palette, self.view, self.look.t
        out: list[Segment] = []
        if view.needs:
            text = str(view.needs) if short else t("header.needs" if view.needs == 1 else "header.need", n=view.needs)
            out.append(chip(self.look, f" {self.look.glyphs.needs_you} {text} ", palette.accent))
        if view.live:
            gap = "  " if out else ""
            out.append(Segment(f"{gap}{t('home.live_count', n=view.live)}", palette.style(bold=True)))
        if view.first:
            out.append(Segment(t("home.first_run"), palette.style(palette.muted)))
        return out
