"""Gauge, cost and time in one or two rows, where there is no room for the side column (SCREENS.md 6)."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import segments_width
from geode_tui.tui.look import Look
from geode_tui.tui.rows import fit, row
from geode_tui.tui.widgets.cost import session_parts
from geode_tui.tui.widgets.gauge import BAR_FROM, Gauge
from geode_tui.tui.widgets.guards import guard_parts
from geode_tui.tui.widgets.paced import Paced
from geode_tui.tui.widgets.side import SideView

LEAST_BAR = 3
"""Cells below which not even a row of dots is drawn."""


class FigureStrip(Paced):
    """See the module. It takes as many rows as its height says: one or two. Figures are paced; what flashes shows at
    once.
    """

    def __init__(self, look: Look, *, id: str = "strip") -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self._view: SideView | None = None
        self._newest: SideView | None = None

    @property
    def plane(self) -> Style:
        """The surface plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.surface)

    def show(self, view: SideView) -> None:
        """Show ``view``; nothing is painted where nothing changed."""
        if view == self._newest:
            return
        self._newest = view
        if self._view is None or view.flashes != self._view.flashes:
            self.repaint_now()
        else:
            self.repaint_soon()

    def take_newest(self) -> None:
        """See `Paced.take_newest`."""
        self._view = self._newest

    def build(self, size: Size) -> list[Strip]:
        """One row with the bar, and a second one with forecast, cost, cache and time."""
        if self._view is None:
            return []
        gauge = Gauge(self._view.gauge, self.look)
        if size.height < 2:
            return [self._single(gauge, self._view, size.width)]
        return [self._upper(gauge, size.width), self._lower(gauge, self._view, size.width)]

    def _row(self, left: list[Segment], right: list[Segment], width: int) -> Strip:
        return row(left, right, width, self.plane, self.look.glyphs.cut, margin=1)

    def _with_bar(self, head: list[Segment], tail: list[Segment], gauge: Gauge, width: int) -> Strip:
        room = width - 2 - segments_width(head) - segments_width(tail) - 4
        bar = gauge.bar(room) if room >= BAR_FROM else gauge.thin(room) if room >= LEAST_BAR else []
        return self._row([*head, Segment("  "), *bar], tail, width)

    def _upper(self, gauge: Gauge, width: int) -> Strip:
        return self._with_bar(gauge.head(), gauge.amount(), gauge, width)

    def _single(self, gauge: Gauge, view: SideView, width: int) -> Strip:
        muted = self.look.palette.style(self.look.palette.muted)
        tail = session_parts(view.cost, self.look)[: 2 if view.cost.simulated else 1]
        ahead = view.gauge.forecast
        if ahead is not None and ahead.full.likely:
            tail += [Segment(f"  {self.look.t('gauge.left_short', n=ahead.full.likely)}", muted)]
        return self._with_bar(gauge.head(short=True), tail, gauge, width)

    def _lower(self, gauge: Gauge, view: SideView, width: int) -> Strip:
        muted = self.look.palette.style(self.look.palette.muted)
        session = next((line for line in view.guards if line.name == "session"), None)
        right = [session_parts(view.cost, self.look)]
        if view.cost.hit is not None:
            text = self.look.t("cost.hit_short", percent=fmt.percent(view.cost.hit, 1))
            right.append([Segment(text, muted)])
        if session is not None:
            right.append(guard_parts(session, self.look, flash="session" in view.flash))
        left = gauge.outlook(width)[:1]
        if segments_width(left) + 2 + sum(segments_width(part) + 2 for part in right) > width - 2:
            left = []
        return self._row(left, fit(right, width - 2), width)
