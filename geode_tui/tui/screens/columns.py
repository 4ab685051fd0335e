"""The columns of the run screen: conversation, the chosen tab, gauge and figures, and the composer below the first.

One grid holds them in every form, so that a pane is never mounted twice: its two rows are the panes and what stands
around the composer, and columns other than the first reach over both. A tab's pane is made and mounted when it is first
wanted: most runs are looked at without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from geode_tui.tui.layout import Form, Part, columns_for
from geode_tui.tui.widgets.tab_pane import TabPane

CONVERSATION = "conversation"
"""The tab that has a column of its own where there is room."""


class Columns(Widget):
    """See the module. ``make`` gives the pane of a tab by its name, ``beside`` is the first one that the middle column
    shows; ``lower`` stands below the first column, top first.
    """

    DEFAULT_CSS = """
    Columns { layout: grid; grid-rows: 1fr auto; }
    Columns > #main, Columns > #panes { width: 100%; height: 100%; }
    Columns > #lower { width: 100%; height: auto; }
    """

    def __init__(
        self,
        main: Iterable[Widget],
        make: Callable[[str], TabPane],
        beside: str,
        side: Widget,
        lower: Iterable[Widget],
    ) -> None:
        super().__init__(id="body")
        self.tab = CONVERSATION
        """The tab in view; with three columns the one that was chosen last."""
        self.beside = beside
        """The tab that the middle column shows."""
        self.hidden = False
        """Whether the person hid the middle column."""
        self.zoomed: Part | None = None
        self.shown: dict[Part, int] = {"main": 0}
        """The columns as they are shown now, see `columns_for`."""
        self._form = Form()
        self.panes: dict[str, TabPane] = {}
        """The panes that were wanted so far, by the names of their tabs."""
        self._make = make
        self._parts: dict[Part, Widget] = {
            "main": Vertical(*main, id="main"),
            "middle": Vertical(id="panes"),
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

    def pane(self, tab: str) -> TabPane:
        """The pane of ``tab``, which is made where it was not wanted before."""
        if tab not in self.panes:
            self.panes[tab] = pane = self._make(tab)
            self._parts["middle"].mount(pane)
        return self.panes[tab]

    def take(self, form: Form) -> None:
        """Take another form."""
        self._form = form
        self._arrange()

    def choose(self, tab: str) -> None:
        """Bring ``tab`` into view."""
        self.tab = tab
        if tab != CONVERSATION:
            self.beside, self.hidden = tab, False
        if self.zoomed is not None:
            self.zoomed = "main" if tab == CONVERSATION else "middle"
        self._arrange()

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
            if part != "side":  # no class: that would have the styles of all in it made anew
                widget.styles.padding = (int(self._form.roomy), 0, 0, 0)
        if "middle" in self.shown:
            self.pane(self.beside)
        for name, pane in self.panes.items():
            pane.display = name == self.beside and "middle" in self.shown
        self.styles.grid_size_columns = len(self.shown)
        self.styles.grid_columns = " ".join(str(width) if width else "1fr" for width in self.shown.values())
