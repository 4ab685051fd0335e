"""The field below the conversation to find something in it: what is looked for, and how many times it is there."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.geometry import Size
from textual.strip import Strip
from textual.widgets import Input

from geode_tui.tui.conversation.finding import FindState
from geode_tui.tui.conversation.view import Conversation
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.pane import Pane

QUERY_CHARS = 200
"""Most characters that are looked for."""


class FindCount(Pane):
    """How the search stands."""

    def __init__(self, look: Look) -> None:
        super().__init__(look, id="find-count")
        self.state: FindState | None = None

    @property
    def plane(self) -> Style:
        """The raised plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.raised)

    def text(self) -> str:
        """``3 of 17``, or how far the search is."""
        state, t = self.state, self.look.t
        if state is None:
            return ""
        if state.percent is not None:
            return t("find.searching", percent=state.percent)
        if not state.of:
            return t("find.none")
        of = f"{state.of:,}+" if state.more else f"{state.of:,}"
        return t("find.of", at=f"{state.at:,}", of=of)

    def build(self, size: Size) -> list[Strip]:
        """One row."""
        palette = self.look.palette
        figures = [Segment(self.text(), palette.style(palette.text, bold=True))]
        missed = self.state.unread if self.state is not None else 0
        if missed:
            figures.append(Segment(f"  {self.look.t('find.unread', n=missed)}", palette.style(palette.warn)))
        return [row([], figures, size.width, self.plane, self.look.glyphs.cut, margin=1)]


class FindBar(Horizontal):
    """The field and the figures. It steers ``conversation``, and is not shown while nothing is looked for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "leave", "To the match; n and N go on", id="find.leave"),
        Binding("down", "step(1)", "Next match", id="find.next"),
        Binding("up", "step(-1)", "Match before", id="find.previous"),
        Binding("escape", "close", "Close", id="find.close"),
    ]

    def __init__(self, look: Look, conversation: Conversation) -> None:
        super().__init__(id="find")
        self.entry = Input(
            placeholder=look.t("find.placeholder"), id="find-entry", compact=True, max_length=QUERY_CHARS
        )
        self.entry.cursor_blink = False
        self.count = FindCount(look)
        self.display = False
        self._conversation = conversation

    def compose(self) -> ComposeResult:
        """The field, then the figures."""
        yield self.entry
        yield self.count

    @property
    def opened(self) -> bool:
        """Whether something is looked for, or about to be."""
        return bool(self.display)

    def open(self) -> None:
        """Show it, with the focus in it and what was looked for last selected."""
        self.display = True
        self.entry.focus()
        self.entry.select_all()
        self._look_for(self.entry.value)

    def show(self, state: FindState | None) -> None:
        """How the search stands now."""
        if state != self.count.state:
            self.count.state = state
            self.count.repaint()

    def _look_for(self, query: str) -> None:
        if self.opened:
            self._conversation.find(query)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look for what is written."""
        event.stop()
        self._look_for(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """To the match."""
        event.stop()
        self.action_leave()

    def action_leave(self) -> None:
        """Leave the field for the conversation, where ``n`` and ``N`` go on."""
        self._conversation.focus()

    def action_step(self, step: int) -> None:
        """Another match."""
        self._conversation.action_find_step(step)

    def action_close(self) -> None:
        """Look for nothing any more; the view stays."""
        if self.opened:
            if self.entry.has_focus:
                self._conversation.focus()
            self.display = False
            self._conversation.end_find()
            self.show(None)
