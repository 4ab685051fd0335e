"""The row of tabs. Only tabs that exist stand in it."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import width_of
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.pane import Pane

TABS = ("conversation", "events", "offloads", "dreams", "context", "cost")


class TabRow(Pane):
    """See the module. A click on a tab posts `Chosen`."""

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, look: Look, *, id: str = "tabs") -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self.shown: tuple[str, ...] = TABS[:1]
        """The tabs on screen."""
        self.counts: dict[str, int] = {}
        """What a tab says beside its name, where that is not 0."""

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.panel)

    def choose(self, tabs: tuple[str, ...]) -> None:
        """Mark ``tabs`` as the ones that are shown."""
        if tabs != self.shown:
            self.shown = tabs
            self.repaint()

    def count(self, tab: str, number: int) -> None:
        """Say how many things ``tab`` has."""
        if self.counts.get(tab, 0) != number:
            self.counts[tab] = number
            self.repaint()

    def _count(self, tab: str) -> str:
        number = self.counts.get(tab, 0)
        return f" ({fmt.number(number)})" if number else ""

    def build(self, size: Size) -> list[Strip]:
        """The one row."""
        palette = self.look.palette
        parts: list[Segment] = []
        for number, tab in enumerate(TABS, start=1):
            before, after = self._frame(tab)
            if tab in self.shown:
                base = palette.base
                parts.append(Segment(f"{before}{number} ", palette.style(palette.accent, base, bold=True)))
                parts.append(
                    Segment(self.look.t(f"tab.{tab}"), palette.style(palette.text, base, bold=True, underline=True))
                )
                parts.append(Segment(self._count(tab), palette.style(palette.muted, base)))
                parts.append(Segment(after, palette.style(palette.accent, base, bold=True)))
            else:
                parts.append(
                    Segment(
                        f"{before}{number} {self.look.t(f'tab.{tab}')}{self._count(tab)}{after}",
                        palette.style(palette.muted),
                    )
                )
        return [row(parts, [], size.width, self.plane, self.look.glyphs.cut)]

    def _frame(self, tab: str) -> tuple[str, str]:
        return ("[", "]") if self.look.flat and tab in self.shown else (" ", " ")

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the pointer."""
        end = 0
        for number, tab in enumerate(TABS, start=1):
            end += width_of(f" {number} {self.look.t(f'tab.{tab}')}{self._count(tab)} ")
            if event.x < end:
                self.post_message(self.Chosen(tab))
                return
