"""The columns of the run screen: conversation, the chosen tab, gauge and figures, and the composer below the first.

One grid holds them in every form, so that a pane is never mounted twice: its two rows are the panes and what stands
around the composer, and columns other than the first reach over both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from geode_tui.tui.layout import Form, Part, columns_for

CONVERSATION = "conversation"
"""The tab that has a column of its own where there is room."""


class Columns(Widget):
    """See the module. ``panes`` are the other tabs by name; ``lower`` stands below the first column, top first."""

    DEFAULT_CSS = """
    Columns { layout: grid; grid-rows: 1fr auto; }
    Columns > #main, Columns > #panes { width: 100%; height: 100%; }
    Columns > #main.-airy, Columns > #panes.-airy { padding-top: 1; }
    Columns > #lower { width: 100%; height: auto; }
    """

    def __init__(
        self, main: Iterable[Widget], panes: Mapping[str, Widget], side: Widget, lower: Iterable[Widget]
    ) -> None:
        super().__init__(id="body")
        self.tab = CONVERSATION
        """The tab in view; with three columns the one that was chosen last."""
        self.beside = next(iter(panes))
        """The tab that the middle column shows."""
        self.hidden = False
        """Whether the person hid the middle column."""
        self.zoomed: Part | None = None
        self.shown: dict[Part, int] = {"main": 0}
        """The columns as they are shown now, see `columns_for`."""
        self._form = Form()
        self._panes = panes
        self._parts: dict[Part, Widget] = {
            "main": Vertical(*main, id="main"),
            "middle": Vertical(*panes.values(), id="panes"),
            "side": side,
        }
        self._lower = Vertical(*lower, id="lower")

    def compose(self) -> ComposeResult:
        """The columns, then what stands below the first."""
        yield from self._parts.values()
        yield self._lower

    @property
    def visible_tabs(self) -> tuple[str, ...]:
        """The tabs that are on screen."""
        return tuple(tab for part, tab in (("main", CONVERSATION), ("middle", self.beside)) if part in self.shown)

    def part_of(self, widget: Widget | None) -> Part:
        """The column that ``widget`` is in; what stands below the first counts to it."""
        chain = widget.ancestors_with_self if widget is not None else ()
        found = next((part for part, column in self._parts.items() if column in chain), "main")
        return found if found in self.shown else next(iter(self.shown))

    def take(self, form: Form) -> None:
        """Take another form."""
        self._form = form
        self._arrange()

    def choose(self, tab: str) -> Widget | None:
        """Bring ``tab`` into view; its widget, None for the conversation."""
        self.tab = tab
        if tab != CONVERSATION:
            self.beside, self.hidden = tab, False
        if self.zoomed is not None:
            self.zoomed = "main" if tab == CONVERSATION else "middle"
        self._arrange()
        return self._panes.get(tab)

    def toggle_middle(self) -> None:
        """Hide the middle column, or show it again."""
        self.hidden, self.zoomed = not self.hidden, None
        self._arrange()

    def toggle_zoom(self, part: Part) -> None:
        """Give ``part`` the whole width, or each column its own again."""
        self.zoomed = part if self.zoomed is None else None
        self._arrange()

    def _arrange(self) -> None:
        self.shown = columns_for(self._form, self.tab, hidden=self.hidden, zoomed=self.zoomed)
        first = next(iter(self.shown))
        for part, widget in self._parts.items():
            widget.display = part in self.shown
            widget.styles.row_span = 1 if part == first else 2
            widget.set_class(self._form.roomy and part != "side", "-airy")
        for name, pane in self._panes.items():
            pane.display = name == self.beside and "middle" in self.shown
        self.styles.grid_size_columns = len(self.shown)
        self.styles.grid_columns = " ".join(str(width) if width else "1fr" for width in self.shown.values())
