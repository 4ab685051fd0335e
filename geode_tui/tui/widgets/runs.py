"""The list of runs: groups with headings, a row a run, and below a row why it waits or stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from geode_tui.tui.cells import width_of
from geode_tui.tui.home_rows import (
    GROUPS,
    ORDERS,
    Group,
    HomeRow,
    Order,
    age,
    arranged,
    has_reason,
    passes,
    reason,
    word,
)
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import GAP, row
from geode_tui.tui.widgets.field import Asking, Field
from geode_tui.tui.widgets.run_line import INDENT, LEAST_TITLE, RunLine
from geode_tui.tui.widgets.wheel import Wheeled

ROOMY_FROM = 12
"""Rows of the list from which it has headings and reasons."""
AIRY_FROM = 20
"""Rows from which a blank one stands above it."""

Item: TypeAlias = tuple[str, int]
"""A line of the list: ``blank``, ``heading`` (of the group at that index), ``run`` or ``reason`` (of the row there)."""


class RunList(Wheeled, Asking, can_focus=True):
    """See the module. The cursor stays on its run while others move."""

    ASKS = frozenset({"runs.filter"})

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Next run", id="runs.down"),
        Binding(letter("k", "up"), "move(-1)", "Run before", id="runs.up"),
        Binding("pagedown,ctrl+d", "move(10)", "Ten runs on", id="runs.page_down"),
        Binding("pageup,ctrl+u", "move(-10)", "Ten runs back", id="runs.page_up"),
        Binding(letter("g", "home"), "first", "First run", id="runs.first"),
        Binding("G,end", "last", "Last run", id="runs.last"),
        Binding("enter", "open", "Open the run", id="runs.open"),
        Binding("slash", "filter", "Show only runs that hold some words", id="runs.filter"),
        Binding(letter("s"), "sort", "Another order within each group", id="runs.sort"),
        Binding("space", "mark", "Mark the run, or take the mark away", id="runs.mark"),
        Binding(letter("y"), "copy", "Copy the ids of the marked runs, or of this one", id="runs.copy"),
    ]

    class Opened(Message):
        """The person wants to see a run."""

        def __init__(self, session_id: str) -> None:
            super().__init__()
            self.session_id = session_id

    class Selected(Message):
        """The cursor went to another run."""

    class Copied(Message):
        """Ids of so many runs are in the clipboard."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    def __init__(self, look: Look, *, id: str = "runs") -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self.rows: tuple[HomeRow, ...] = ()
        """Those that the filter lets through, in their order."""
        self.wanted = ""
        """Words that a row must hold."""
        self.order: Order = "newest"
        self.marked: frozenset[str] = frozenset()
        self._all: tuple[HomeRow, ...] = ()
        self.lit = False
        """Whether keys work the list now: it has the focus, or an empty composer has."""
        self._now = 0.0
        self._at = 0
        self._top = 0
        self._head = 0
        """Rows above the list."""
        self._items: list[Item] = []
        """The lines on screen."""
        self._made: dict[tuple[str, str], tuple[tuple[object, ...], Strip]] = {}
        """(kind, session) -> what a line on screen was made of, and the line."""

    # -- data ---------------------------------------------------------------------------------------------------------
    @property
    def selected(self) -> HomeRow | None:
        """The run under the cursor."""
        return self.rows[self._at] if self.rows else None

    def show(self, rows: tuple[HomeRow, ...], now: float) -> None:
        """Show ``rows`` as of ``now`` (epoch seconds)."""
        self._all, self._now = rows, now
        self._arrange()

    def _arrange(self) -> None:
        """Filter and sort anew; the cursor stays on its run."""
        chosen = self.selected
        rows = [row for row in self._all if not self.wanted or passes(row, self.wanted, self.look)]
        self.rows = arranged(rows, self.order)
        self.marked &= {row.session_id for row in self._all}
        if chosen is None or not self._find(chosen.session_id):
            self._at = max(0, min(self._at, len(self.rows) - 1))
        self.repaint()
        if chosen is not None and self.selected is not None and self.selected.session_id != chosen.session_id:
            self.post_message(self.Selected())

    def select(self, session_id: str) -> bool:
        """Put the cursor on a run, also on one that the filter hides; False where it is not listed."""
        if self.wanted and session_id in {row.session_id for row in self._all} - {r.session_id for r in self.rows}:
            self.drop_filter()
        found = self._find(session_id)
        if found:
            self._moved()
        return found

    def light(self, lit: bool) -> None:
        """Show whether keys work the list."""
        if lit != self.lit:
            self.lit = lit
            self.repaint()

    def _find(self, session_id: str) -> bool:
        found = next((i for i, r in enumerate(self.rows) if r.session_id == session_id), None)
        if found is not None:
            self._at = found
        return found is not None

    # -- drawing ------------------------------------------------------------------------------------------------------
    def build(self, size: Size) -> list[Strip]:
        """A window of lines around the cursor."""
        notes = self._notes(size.width)
        self._head = len(notes)
        if not self.rows:
            self._items = []
            return [*notes, self._text(self.look.t("home.none"), size.width)] if self.wanted else notes
        height = size.height
        size = Size(size.width, max(1, size.height - len(notes) - (1 if self.field.display else 0)))
        items = self._lines(roomy=height >= ROOMY_FROM, airy=height >= AIRY_FROM and not notes)
        at = items.index(("run", self._at))
        first = 0 if self._at == 0 else at  # with the first run its heading shows too
        last = at + 1 if items[at + 1 : at + 2] == [("reason", self._at)] else at
        self._top = max(0, min(self._top, first, len(items) - size.height), last - size.height + 1)
        self._items = items[self._top : self._top + size.height]
        words = max(width_of(word(one, self.look)) for one in self.rows)
        if size.width < INDENT + words + GAP + LEAST_TITLE:
            words = 0
        lines = [self._line(item, words, size.width) for item in self._items]
        shown = {(kind, self.rows[index].session_id) for kind, index in self._items if kind in {"run", "reason"}}
        self._made = {key: made for key, made in self._made.items() if key in shown}
        return notes + lines

    def _notes(self, width: int) -> list[Strip]:
        """How the list differs from the usual one, in a row that stays at the top."""
        palette, t = self.look.palette, self.look.t
        parts = [Segment(f" / {self.look.line(self.wanted, 60)}", palette.style(palette.warn, bold=True))]
        others = [t(f"home.by_{self.order}")] if self.order != "newest" else []
        others += [t("home.marked", n=len(self.marked))] if self.marked else []
        if not (self.wanted or others):
            return []
        right = [Segment("   ".join(others), palette.style(palette.muted))] if others else []
        return [row(parts if self.wanted else [], right, width, self.plane, self.look.glyphs.cut, margin=1)]

    def _text(self, text: str, width: int) -> Strip:
        return row([Segment(text)], [], width, self.plane, self.look.glyphs.cut, margin=2)

    def set_look(self, look: Look) -> None:
        """Take another look and draw every line again."""
        self._made.clear()
        super().set_look(look)

    def _lines(self, *, roomy: bool, airy: bool) -> list[Item]:
        items: list[Item] = [("blank", 0)] if airy else []
        group: Group | None = None
        for index, one in enumerate(self.rows):
            if roomy and one.group != group:
                items += [("blank", 0)] if group else []
                items.append(("heading", GROUPS.index(one.group)))
                group = one.group
            items.append(("run", index))
            if roomy and has_reason(one):
                items.append(("reason", index))
        return items

    def _line(self, item: Item, words: int, width: int) -> Strip:
        kind, index = item
        if kind == "blank":
            return Strip.blank(width, self.plane)
        if kind == "heading":
            return self._heading(GROUPS[index], width)
        one = self.rows[index]
        line = RunLine(self.look, width, words, index == self._at, self.lit, one.session_id in self.marked)
        form = (width, words, line.chosen, line.lit, line.marked)
        if kind == "reason":
            text = reason(one, self.look)
            return self._kept(item, (form, text, one.needs), lambda: line.reason(text, loud=one.needs > 0))
        run = one.run
        body = self._kept(item, (form, run.title, run.state, run.liveness, one.needs), lambda: line.body(one))
        return Strip.join([body, line.age(age(one, self.look, self._now))]) if line.age_width else body

    def _kept(self, item: Item, made_of: tuple[object, ...], make: Callable[[], Strip]) -> Strip:
        """A line, built anew only where it is made of something else than before."""
        key = item[0], self.rows[item[1]].session_id
        made = self._made.get(key)
        if made is None or made[0] != made_of:
            made = self._made[key] = (made_of, make())
        return made[1]

    def _heading(self, group: Group, width: int) -> Strip:
        palette = self.look.palette
        count = sum(r.group == group for r in self.rows)
        left = [
            Segment(f" {self.look.t(f'home.{group}')}", palette.style(palette.accent, bold=True)),
            Segment(f" {count}", palette.style(palette.text)),
        ]
        return row(left, [], width, self.plane, self.look.glyphs.cut)

    # -- keys and mouse -----------------------------------------------------------------------------------------------
    def action_move(self, step: int) -> None:
        """Move the cursor."""
        self._go(self._at + step)

    def action_first(self) -> None:
        """To the first run."""
        self._go(0)

    def action_last(self) -> None:
        """To the last run."""
        self._go(len(self.rows) - 1)

    def action_open(self) -> None:
        """Open the run under the cursor."""
        if self.selected is not None:
            self.post_message(self.Opened(self.selected.session_id))

    def next_needing(self) -> HomeRow | None:
        """The run after the cursor that needs the person, round again at the end, then one that the filter hides."""
        after = [*self.rows[self._at + 1 :], *self.rows[: self._at + 1], *self._all]
        return next((r for r in after if r.needs), None)

    def action_filter(self) -> None:
        """Ask for words that a row must hold."""
        self.field.open("filter", self.look.t("home.filter"), self.look.t("home.filter_hint"), self.wanted)
        self.repaint()

    def drop_filter(self) -> bool:
        """Show all runs; False where they are shown."""
        filtered = bool(self.wanted)
        self._want("")
        return filtered

    def _want(self, words: str) -> None:
        if words != self.wanted:
            self.wanted = words
            self._arrange()

    def on_field_written(self, event: Field.Written) -> None:
        """Narrow the list while one types."""
        event.stop()
        self._want(event.text)

    def on_field_entered(self, event: Field.Entered) -> None:
        """To the runs that were found."""
        event.stop()
        self.focus()

    def on_field_left(self, event: Field.Left) -> None:
        """Back to all runs."""
        event.stop()
        self._want("")
        self.focus()

    def action_sort(self) -> None:
        """The next order."""
        self.order = ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        self._arrange()

    def action_mark(self) -> None:
        """Mark the run, or take the mark away, and go on."""
        if self.selected is not None:
            self.marked ^= {self.selected.session_id}
            self.repaint()
            self.action_move(1)

    def action_copy(self) -> None:
        """Copy the ids of the marked runs, one a line, or that of the run under the cursor."""
        chosen = self.selected
        ids = [r.session_id for r in self._all if r.session_id in self.marked]
        ids = ids or ([chosen.session_id] if chosen is not None else [])
        if ids:
            self.app.copy_to_clipboard("\n".join(ids))
            self.post_message(self.Copied(len(ids)))

    def _go(self, index: int) -> None:
        at = max(0, min(len(self.rows) - 1, index))
        if at != self._at:
            self._at = at
            self._moved()

    def _moved(self) -> None:
        self.repaint()
        self.post_message(self.Selected())

    def on_click(self, event: events.Click) -> None:
        """Select the run under the pointer; a click on the selected one opens it."""
        line = event.y - self._head
        if 0 <= line < len(self._items):
            kind, index = self._items[line]
            if kind in {"run", "reason"}:
                if index == self._at:
                    self.action_open()
                self._go(index)
