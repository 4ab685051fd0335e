"""The Events tab: the log as it grows and as far back as it goes, at most five repaints a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.core.events import EventRow
from geode_tui.tui.event_window import FLOORS, goal_of
from geode_tui.tui.hints import Area
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.source import EventSource
from geode_tui.tui.widgets.event_log import EventLog, EventsView
from geode_tui.tui.widgets.event_rows import EventLines
from geode_tui.tui.widgets.field import Field
from geode_tui.tui.widgets.tab_pane import TabPane
from geode_tui.tui.widgets.wheel import Wheeled
from geode_tui.view.state import RunState

__all__ = ["EventsPane", "EventsView"]

ROOMY_FROM = 16
"""Rows of the pane from which a blank one stands above the names of the columns."""


class EventsPane(Wheeled, EventLog, TabPane, can_focus=True):
    """See the module."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Next event", id="events.down"),
        Binding(letter("k", "up"), "move(-1)", "Event before", id="events.up"),
        Binding("pagedown,ctrl+d", "page(1)", "A page down", id="events.page_down"),
        Binding("pageup,ctrl+u", "page(-1)", "A page up", id="events.page_up"),
        Binding("home", "first", "The run's first event", id="events.first"),
        Binding("G,end", "last", "Newest event, and follow", id="events.last"),
        Binding("enter", "open_row", "Open or close the payload", id="events.open"),
        Binding("space", "pause", "Pause or go on", id="events.pause"),
        Binding(letter("l"), "level", "Filter by level", id="events.level"),
        Binding(letter("n"), "names", "Choose the names that are shown", id="events.names"),
        Binding("slash", "search", "Show only events that hold a text", id="events.search"),
        Binding(letter("g"), "jump", "Jump to an event, a round or a turn", id="events.jump"),
        Binding(letter("m"), "want('message')", "Show its message in the conversation", id="events.message"),
        Binding(letter("v"), "want('view')", "View all of the payload", id="events.view"),
        Binding(letter("y"), "want('copy')", "Copy the event", id="events.copy"),
        Binding(letter("e"), "want('export')", "Export the events that are shown", id="events.export"),
    ]

    ASKS = frozenset({"events.search", "events.jump"})

    class Wanted(Message):
        """The screen shall do something with ``event``, the one under the cursor: show its ``message``, ``view`` its
        payload or ``copy`` it; or ``export`` all that are shown, or let ``names`` be chosen.
        """

        def __init__(self, what: str, event: EventRow | None = None) -> None:
            super().__init__()
            self.what = what
            self.event = event

    def __init__(self, look: Look, source: EventSource, *, id: str = "events") -> None:  # noqa: A002  Textual's own name
        super().__init__(look, source, id=id)
        self.opened = False
        """Whether the payload under the cursor is shown."""
        self._head = 0
        """Rows above the list."""

    def show_state(self, state: RunState) -> None:
        """Take a newer state."""
        self.show(EventsView.of(state))

    @property
    def area(self) -> Area | None:
        """The list or the field, whichever has the focus."""
        return "events" if self.has_focus else "events_field" if self.field.typing else None

    # -- drawing ------------------------------------------------------------------------------------------------------
    def build(self, size: Size) -> list[Strip]:
        """Heading, filter, column names, a window of rows, and below them the payload that is open."""
        blank, current = self._row([], [], size.width), self.current
        head = [self._heading(size.width), self._filters(size.width)]
        if current is None:
            return [*head, blank, self._row([Segment(self._nothing())], [], size.width)]
        lines = EventLines(self.look, size.width, self.has_focus or self.field.typing)
        head += [blank] * (size.height >= ROOMY_FROM)
        head.append(lines.heads())
        self._head = len(head)
        room = max(1, size.height - len(head) - (1 if self.field.display else 0))
        payload: list[Strip] = []
        if self.opened and room > 3:
            payload = [blank, *lines.payload(current, self.look.line(self.source.session_id, 12), room // 2)]
            room -= len(payload)
        at = self.index
        self._top = max(0, min(self._top, at, len(self.rows) - room), at - room + 1)
        shown = self.rows[self._top : self._top + room]
        list_ = [lines.line(event, selected=self._top + i == at) for i, event in enumerate(shown)]
        return [*head, *list_, *[blank] * (room - len(shown)), *payload]

    def _nothing(self) -> str:
        if self.trouble:
            return self.look.line(self.trouble)
        if not self.view.feed:
            return self.look.t("events.empty")
        return "" if self.reading else self.look.t("events.none")

    def _row(self, left: Sequence[Segment], right: Sequence[Segment], width: int) -> Strip:
        return row(left, right, width, self.plane, self.look.glyphs.cut, margin=1)

    def _heading(self, width: int) -> Strip:
        palette, t = self.look.palette, self.look.t
        state = "events.paused" if self.paused else "events.following" if self.following else "events.held"
        left = [
            Segment(t("tab.events"), palette.style(palette.accent, bold=True, underline=self.has_focus)),
            Segment(f" {fmt.number(self.view.total)}  "),
            Segment(t(state), palette.style(palette.ok if self.following else palette.warn, bold=True)),
        ]
        percent = self.read_percent
        if self.trouble and self.rows:
            left.append(Segment(f"  {self.look.line(self.trouble)}", palette.style(palette.crit)))
        elif percent is not None:
            left.append(Segment(f"  {t('find.searching', percent=percent)}", palette.style(palette.muted)))
        right = [Segment(f"{t('events.level')} ", palette.style(palette.muted))]
        for floor in FLOORS:
            chosen = floor == self.filter.floor
            style = palette.style(palette.text if chosen else palette.muted, bold=chosen, underline=chosen)
            right += [Segment("  " if floor != FLOORS[0] else ""), Segment(t(f"events.level_{floor}"), style)]
        return self._row(left, right, width)

    def _filters(self, width: int) -> Strip:
        """What is looked for, and which names are hidden."""
        palette, t = self.look.palette, self.look.t
        wanted, hidden = self.filter.text, sorted(self.filter.hidden)
        left = [Segment("/ ", palette.style(palette.accent, bold=True))]
        if wanted:
            left.append(Segment(self.look.line(wanted, 60), palette.style(palette.warn, bold=True)))
        else:
            left.append(Segment(t("events.search_hint"), palette.style(palette.muted)))
        names = ", ".join(self.look.line(name, 40) for name in hidden)
        some = t("events.hidden", names=names) if len(names) < width // 3 else t("events.hidden_many", n=len(hidden))
        return self._row(left, [Segment(some, palette.style(palette.warn))] if hidden else [], width)

    # -- filters ------------------------------------------------------------------------------------------------------
    def action_level(self) -> None:
        """The next level."""
        floor = FLOORS[(FLOORS.index(self.filter.floor) + 1) % len(FLOORS)]
        self.use(msgspec.structs.replace(self.filter, floor=floor))

    def hide(self, names: frozenset[str]) -> None:
        """Show no event of these names."""
        self.use(msgspec.structs.replace(self.filter, hidden=names))

    def look_for(self, text: str) -> None:
        """Show only events that hold ``text``; empty: all."""
        self.use(msgspec.structs.replace(self.filter, text=text))

    def widen(self) -> bool:
        """Look for nothing any more; False where nothing was looked for."""
        looked = bool(self.filter.text)
        self.look_for("")
        return looked

    def action_search(self) -> None:
        """Ask what shown events must hold."""
        self._ask("search", self.filter.text)

    def action_jump(self) -> None:
        """Ask where to go."""
        self._ask("jump")

    def _ask(self, purpose: str, text: str = "") -> None:
        t = self.look.t
        self.field.open(purpose, t(f"events.{purpose}"), t(f"events.{purpose}_hint"), text)
        self.repaint()

    def on_field_written(self, event: Field.Written) -> None:
        """Narrow the list while one types."""
        event.stop()
        if event.purpose == "search":
            self.look_for(event.text)

    def on_field_entered(self, event: Field.Entered) -> None:
        """To the list with what was found, or to the place that was named."""
        event.stop()
        goal = goal_of(event.text) if event.purpose == "jump" else None
        if event.purpose == "jump" and goal is None:
            self.post_message(self.Missed(self.look.t("events.no_goal")))
            return
        if goal is not None:
            self.jump(goal)
        self._leave_field()

    def on_field_left(self, event: Field.Left) -> None:
        """Back to the list; nothing is looked for any more."""
        event.stop()
        if event.purpose == "search":
            self.look_for("")
        self._leave_field()

    def _leave_field(self) -> None:
        self.field.close()
        self.focus()
        self.repaint()

    # -- keys ---------------------------------------------------------------------------------------------------------
    def action_move(self, rows: int) -> None:
        """Move the cursor; past the end it follows again."""
        self.put(self.index + rows)

    def action_page(self, pages: int) -> None:
        """Move by a page."""
        self.action_move(pages * max(1, self.size.height - self._head - 1))

    def action_first(self) -> None:
        """To the run's first event."""
        self.go_to(1)

    def action_last(self) -> None:
        """To the newest, and follow."""
        self.follow()

    def action_open_row(self) -> None:
        """Open the payload under the cursor, or close it; it goes with the cursor."""
        self.opened = not self.opened
        self.repaint()

    def action_pause(self) -> None:
        """Hold the list still, or go on."""
        self.paused = not self.paused
        self._paint()

    def action_names(self) -> None:
        """Choose which names are shown."""
        self.post_message(self.Wanted("names"))

    def action_want(self, what: str) -> None:
        """Have the screen do something with the event under the cursor."""
        if self.current is not None:
            self.post_message(self.Wanted(what, self.current))

    # -- the mouse ----------------------------------------------------------------------------------------------------
    def on_click(self, event: events.Click) -> None:
        """Select the event under the pointer; a click on the selected one opens it. In the rows above the list: the
        next level, the names that are hidden, what is looked for.
        """
        index = self._top + event.y - self._head
        if event.y == 0:
            self.action_level()
        elif event.y == 1 and self.filter.hidden and event.x > self.size.width // 2:
            self.action_names()
        elif event.y == 1:
            self.action_search()
        elif event.y >= self._head and index < len(self.rows):
            if index == self.index:
                self.action_open_row()
            self.put(index)
