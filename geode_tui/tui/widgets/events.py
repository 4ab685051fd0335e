"""The Events tab: the newest rows of the log as they arrive, at most five repaints a second."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, Literal, TypeAlias

import msgspec
from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip
from textual.timer import Timer

from geode_tui.core import format as fmt
from geode_tui.core.events import EventRow
from geode_tui.tui.cells import pad
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import chop, row
from geode_tui.tui.widgets.pane import Pane
from geode_tui.view.event_line import event_level, event_line

PERIOD_S = 0.2
HEAD_ROWS = 3
"""Heading, a blank row, column names."""
OPEN_BYTES = 65_536
"""Most characters of a payload that is opened."""

Filter: TypeAlias = Literal["all", "warning", "error"]
FILTERS: tuple[Filter, ...] = ("all", "warning", "error")
_ADMITS = {"all": {"info", "warning", "error"}, "warning": {"warning", "error"}, "error": {"error"}}


class EventsView(msgspec.Struct, frozen=True):
    """The newest rows, oldest first, and how many events there are in all."""

    feed: tuple[EventRow, ...]
    total: int


class EventsPane(Pane, can_focus=True):
    """See the module. The cursor stays on its event while new ones arrive; at the end it follows them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Next event", id="events.down"),
        Binding(letter("k", "up"), "move(-1)", "Event before", id="events.up"),
        Binding("pagedown,ctrl+d", "page(1)", "A page down", id="events.page_down"),
        Binding("pageup,ctrl+u", "page(-1)", "A page up", id="events.page_up"),
        Binding(letter("g", "home"), "first", "Oldest event kept", id="events.first"),
        Binding("G,end", "last", "Newest event, and follow", id="events.last"),
        Binding("enter", "open_row", "Open or close the payload", id="events.open"),
        Binding("space", "pause", "Pause or go on", id="events.pause"),
        Binding(letter("l"), "level", "Filter by level", id="events.level"),
    ]

    def __init__(self, look: Look, *, id: str = "events") -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self._view = EventsView((), 0)
        self._next: EventsView | None = None
        self._painted_at = 0.0
        self._due: Timer | None = None
        self.paused = False
        self.filter: Filter = "all"
        self.opened: EventRow | None = None
        self._cursor: int | None = None
        """Event id under the cursor; None follows the newest."""
        self._top = 0

    # -- data ---------------------------------------------------------------------------------------------------------
    def show(self, view: EventsView) -> None:
        """Take a newer state: painted now, or when the period is over; the last one always is."""
        if view == (self._next or self._view):
            return
        self._next = view
        if self.paused or not self.display or self._due is not None:
            return
        wait = self._painted_at + PERIOD_S - time.monotonic()
        if wait <= 0:
            self._paint()
        else:
            self._due = self.set_timer(wait, self._paint)

    def _paint(self) -> None:
        self._due = None
        if self._next is not None and not self.paused:
            self._view, self._next = self._next, None
        self._painted_at = time.monotonic()
        self.repaint()

    def on_show(self) -> None:
        """Catch up with what came while another tab was shown."""
        self._paint()

    @property
    def rows(self) -> list[EventRow]:
        """The rows that the filter lets through."""
        if self.filter == "all":
            return list(self._view.feed)
        admitted = _ADMITS[self.filter]
        return [r for r in self._view.feed if event_level(r.event, r.payload) in admitted]

    @property
    def following(self) -> bool:
        """Whether the newest event is under the cursor."""
        return self._cursor is None and not self.paused

    def _index(self, rows: Sequence[EventRow]) -> int:
        if self._cursor is None:
            return len(rows) - 1
        return next((i for i, r in enumerate(rows) if r.id >= (self._cursor or 0)), len(rows) - 1)

    # -- drawing ------------------------------------------------------------------------------------------------------
    def build(self, size: Size) -> list[Strip]:
        """Heading, column names, a window of rows, and below them the payload that is open."""
        rows = self.rows
        out = [self._heading(size.width), self._row([], [], size.width)]
        if not rows:
            key = "events.empty" if not self._view.feed else "events.none_of_level"
            return [*out, self._row([Segment(self.look.t(key))], [], size.width)]
        payload = self._payload(size) if self.opened is not None else []
        room = max(1, size.height - HEAD_ROWS - len(payload))
        index = self._index(rows)
        self._top = max(0, min(self._top, index, len(rows) - room), index - room + 1)
        window = rows[self._top : self._top + room]
        out.append(self._columns(size.width))
        out += [self._line(r, selected=self._top + i == index, width=size.width) for i, r in enumerate(window)]
        out += [self._row([], [], size.width)] * (room - len(window))
        return out + payload

    def _row(self, left: Sequence[Segment], right: Sequence[Segment], width: int) -> Strip:
        return row(left, right, width, self.plane, self.look.glyphs.cut, margin=1)

    def _heading(self, width: int) -> Strip:
        palette, t = self.look.palette, self.look.t
        accent = palette.style(palette.accent, bold=True, underline=self.has_focus)
        count = t("events.newest", n=len(self._view.feed), all=fmt.number(self._view.total))
        state = "events.paused" if self.paused else "events.following" if self.following else "events.held"
        color = palette.ok if self.following else palette.warn
        left = [
            Segment(t("tab.events"), accent),
            Segment(f"  {count}  ", palette.style(palette.muted)),
            Segment(t(state), palette.style(color, bold=True)),
        ]
        level = Segment(t(f"events.level_{self.filter}"), palette.style(bold=True))
        return self._row(left, [Segment(f"{t('events.level')} ", palette.style(palette.muted)), level], width)

    def _columns(self, width: int) -> Strip:
        muted = self.look.palette.style(self.look.palette.muted)
        names = self.look.t("events.time"), self.look.t("events.round"), self.look.t("events.event")
        return self._row(
            [Segment(f" {pad(names[0], 12)} {pad(names[1], 4, right=True)}   {names[2]}", muted)], [], width
        )

    def _line(self, event: EventRow, *, selected: bool, width: int) -> Strip:
        palette, glyphs = self.look.palette, self.look.glyphs
        level = event_level(event.event, event.payload)
        symbol, color = {"warning": (glyphs.warning, palette.warn), "error": (glyphs.failed, palette.crit)}.get(
            level, (" ", palette.text)
        )
        lit = selected and self.has_focus
        dim = palette.style(palette.text if lit else palette.muted)
        at = datetime.fromtimestamp(event.ts).astimezone().strftime("%H:%M:%S.%f")[:12]
        bar = Segment(glyphs.prompt if glyphs.ascii else " ", palette.style(palette.base, palette.accent, reverse=True))
        cells = [
            bar if lit else Segment(" "),
            Segment(f"{at} {event.round or '-':>4} ", dim),
            Segment(f"{symbol} ", palette.style(color, bold=True)),
            Segment(f"{pad(self.look.line(event.event, 40), 24)} ", palette.style(palette.text, bold=level != "info")),
            Segment(self.look.line(event_line(event.event, event.payload), 300), dim),
        ]
        fill = self.plane
        if selected:
            fill = palette.style(palette.text, palette.select if self.has_focus else palette.panel, reverse=lit)
        return row(cells, [], width, fill, glyphs.cut, margin=1)

    def _payload(self, size: Size) -> list[Strip]:
        assert self.opened is not None
        palette = self.look.palette
        fill = palette.style(palette.text, palette.surface)
        title = f"{self.look.glyphs.open} {self.look.line(self.opened.event, 40)}"
        where = self.look.t("events.where", id=self.opened.id, turn=self.opened.turn, round=self.opened.round)
        head = [
            Segment(title, palette.style(palette.accent, bold=True)),
            Segment(f"  {where}", palette.style(palette.muted)),
        ]
        lines = chop(self.look.text(_pretty(self.opened.payload)), max(2, size.width - 4))
        room = max(1, (size.height - HEAD_ROWS) // 2 - 1)
        if len(lines) > room:
            lines = [*lines[: room - 1], self.look.t("events.more_lines", n=len(lines) - room + 1)]
        body = [[Segment(line, palette.style(palette.code))] for line in lines]
        return [row(cells, [], size.width, fill, self.look.glyphs.cut, margin=2) for cells in [head, *body]]

    # -- keys ---------------------------------------------------------------------------------------------------------
    def action_move(self, rows: int) -> None:
        """Move the cursor; past the end it follows again."""
        shown = self.rows
        if shown:
            at = self._index(shown) + rows
            self._cursor = None if at >= len(shown) - 1 and rows > 0 else shown[max(0, at)].id
        self._moved()

    def action_page(self, pages: int) -> None:
        """Move by a page."""
        self.action_move(pages * max(1, self.size.height - HEAD_ROWS - 1))

    def action_first(self) -> None:
        """To the oldest row kept."""
        shown = self.rows
        self._cursor = shown[0].id if shown else None
        self._moved()

    def action_last(self) -> None:
        """To the newest, and follow."""
        self._cursor = None
        self._moved()

    def action_open_row(self) -> None:
        """Open the payload under the cursor, or close it."""
        shown = self.rows
        self.opened = shown[self._index(shown)] if shown and self.opened is None else None
        self.repaint()

    def action_pause(self) -> None:
        """Hold the list still, or go on."""
        self.paused = not self.paused
        self._paint()

    def action_level(self) -> None:
        """The next filter."""
        self.filter = FILTERS[(FILTERS.index(self.filter) + 1) % len(FILTERS)]
        self.repaint()

    def _moved(self) -> None:
        if self.opened is not None:
            shown = self.rows
            self.opened = shown[self._index(shown)] if shown else None
        self.repaint()

    def on_focus(self) -> None:
        """Show the cursor."""
        self.repaint()

    def on_blur(self) -> None:
        """Show it faintly."""
        self.repaint()


def _pretty(payload: str) -> str:
    text = payload[:OPEN_BYTES]
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:
        return text
