"""The Context tab: every block of the prompt, the largest first."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import ClassVar

import msgspec
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.core.events import ContextFigures
from geode_tui.tui.hints import Area
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.source import SourceError
from geode_tui.tui.widgets.block_rows import BlockLines, matches
from geode_tui.tui.widgets.field import Asking, Field
from geode_tui.tui.widgets.tab_pane import TabPane
from geode_tui.tui.widgets.wheel import Wheeled
from geode_tui.view.blocks import ORDERS, BlockEntry, BlockRow, BlockTable, Order, arranged, table_of
from geode_tui.view.gauge import uncertain
from geode_tui.view.state import RunState
from geode_tui.view.window_notes import view_text

ROOMY_FROM = 16
"""Rows of the pane from which a blank one stands above the names of the columns."""
TOP = 6
"""Blocks whose share of the whole is told."""
READING_S = 0.3
"""Seconds after which it is said that blocks are being read (SCREENS.md 10)."""


class BlocksView(msgspec.Struct, frozen=True):
    """The gauge, and the messages that it is of: those after seq ``start`` and up to ``end``, of ``newest`` in all, as
    ``version`` of the view has them sent; ``cause`` is why that was made.
    """

    figures: ContextFigures | None = None
    start: int = 0
    end: int = 0
    newest: int = 0
    version: int = 0
    cause: str = ""

    @classmethod
    def of(cls, state: RunState) -> BlocksView:
        """What the tab shows of ``state``."""
        messages = state.prompt_from, state.prompt_upto, state.newest_seq
        return cls(state.context, *messages, state.view_version, state.view_cause)


def _stored(view: BlocksView) -> tuple[int, int]:
    """What of a view is looked up in the store."""
    return view.newest, view.version


class ContextPane(Wheeled, Asking, TabPane, can_focus=True):
    """See the module. Blocks are read and shared out in a thread, and only while the tab is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Next block", id="context.down"),
        Binding(letter("k", "up"), "move(-1)", "Block before", id="context.up"),
        Binding("pagedown,ctrl+d", "page(1)", "A page down", id="context.page_down"),
        Binding("pageup,ctrl+u", "page(-1)", "A page up", id="context.page_up"),
        Binding(letter("g", "home"), "first", "First block", id="context.first"),
        Binding("G,end", "last", "Last block", id="context.last"),
        Binding("enter", "want('jump')", "Show it in the conversation", id="context.jump"),
        Binding("slash", "filter", "Show only blocks that hold some words", id="context.filter"),
        Binding(letter("s"), "sort", "Another order", id="context.sort"),
        Binding(letter("y"), "want('copy')", "Copy its message", id="context.copy"),
    ]

    ASKS = frozenset({"context.filter"})

    class Wanted(Message):
        """The screen shall ``jump`` to a block in the conversation, or ``copy`` it."""

        def __init__(self, what: str, block: BlockRow) -> None:
            super().__init__()
            self.what = what
            self.block = block

    def __init__(self, look: Look, read: Callable[[int], Sequence[BlockEntry]], *, id: str = "context") -> None:  # noqa: A002  Textual's own name
        """``read`` gives all blocks of the run as a version of the view has them sent; it is called in a thread and may
        raise `SourceError`.
        """
        super().__init__(look, id=id)
        self._read = read
        self.view = BlocksView()
        self.table = BlockTable()
        self.rows: tuple[BlockRow, ...] = ()
        """The rows that the filter lets through, in their order."""
        self.order: Order = "largest"
        self.wanted = ""
        self.trouble = ""
        """Why the blocks could not be read."""
        self._entries: tuple[BlockEntry, ...] = ()
        self._texts: tuple[str, ...] = ()
        """What a filter looks through, for each row of the table."""
        self._sums: tuple[int, ...] = (0,)
        """Tokens of the rows before each one that is listed, and of all."""
        self._made_of: BlocksView | None = None
        """What the table shows."""
        self._reading = False
        self._read_since = 0.0
        self._at = 0
        self._top = 0
        self._head = 0
        """Rows above the list."""

    # -- data ---------------------------------------------------------------------------------------------------------
    @property
    def reading(self) -> bool:
        """Whether blocks are being read."""
        return self._reading

    @property
    def selected(self) -> BlockRow | None:
        """The block under the cursor."""
        return self.rows[self._at] if self.rows else None

    @property
    def area(self) -> Area | None:
        """The list or the field, whichever has the focus."""
        return "context" if self.has_focus else "context_field" if self.field.typing else None

    def show_state(self, state: RunState) -> None:
        """Take a newer state."""
        self.show(BlocksView.of(state))

    def show(self, view: BlocksView) -> None:
        """Take a newer state."""
        if view != self.view:
            self.view = view
            self._renew()

    def on_show(self) -> None:
        """Catch up with what came while another tab was shown."""
        self._renew()

    def _renew(self) -> None:
        if self.display and not self._reading and self.view != self._made_of:
            self._reading, self._read_since = True, time.monotonic()
            self.set_timer(READING_S, self.repaint)
            self.run_worker(self._make(), group="blocks", exclusive=True)

    async def _make(self) -> None:
        """Read what is new, and make the table until it is that of the newest state."""
        try:
            while self.display and self.view != self._made_of:
                view = self.view
                if self._made_of is None or _stored(view) != _stored(self._made_of) or self.trouble:
                    self._entries = tuple(await asyncio.to_thread(self._read, view.version))
                self.table, self._texts = await asyncio.to_thread(self._shared_out, view)
                self._made_of, self.trouble = view, ""
                self._arrange()
        except SourceError as error:
            self.trouble = str(error)
        finally:
            self._reading = False
        self.repaint()

    def _shared_out(self, view: BlocksView) -> tuple[BlockTable, tuple[str, ...]]:
        """The table of ``view``, and the text of each row that a filter looks through."""
        table = table_of(self._entries, view.figures, start=view.start, end=view.end, newest=view.newest)
        lines = BlockLines(self.look, 0, False, table.of, 0)
        return table, tuple(map(lines.text, table.rows))

    def _arrange(self) -> None:
        """Filter and sort anew; the cursor stays on its block."""
        chosen = self.selected
        every = zip(self.table.rows, self._texts, strict=True)
        rows = arranged((one for one, text in every if matches(one, text, self.wanted)), self.order)
        self.rows = rows
        self._sums = tuple(accumulate((one.tokens for one in rows), initial=0))
        same = (i for i, one in enumerate(rows) if chosen and (one.kind, one.entry) == (chosen.kind, chosen.entry))
        self._at = next(same, max(0, min(self._at, len(rows) - 1))) if self._at else 0
        self.repaint()

    # -- drawing ------------------------------------------------------------------------------------------------------
    def _lines(self, width: int) -> BlockLines:
        focused = self.has_focus or self.field.typing
        largest = self.table.rows[0].tokens if self.table.rows else 0
        return BlockLines(self.look, width, focused, self.table.of, largest)

    def build(self, size: Size) -> list[Strip]:
        """Heading, version of the view, filter, column names, a window of rows, and what lies below it."""
        if self._made_of != self.view and not self._reading and not self.trouble:
            self.call_later(self._renew)  # it was hidden, for a moment, when it wanted to read
        head = [self._heading(size.width)]
        if self.view.version:
            head.append(self._version(size.width))
        if self.wanted:
            head.append(self._filtered(size.width))
        if not self.rows:
            return [*head, self._row(size.width), *(self._row(size.width, [Segment(t)]) for t in self._nothing())]
        lines = self._lines(size.width)
        head += [self._row(size.width)] * (size.height >= ROOMY_FROM)
        head.append(lines.heads())
        self._head = len(head)
        room = max(1, size.height - len(head) - (1 if self.field.display else 0))
        below = len(self.rows) > room > 3
        room -= below
        self._top = max(0, min(self._top, self._at, len(self.rows) - room), self._at - room + 1)
        shown = self.rows[self._top : self._top + room]
        out = head + [lines.line(one, selected=self._top + i == self._at) for i, one in enumerate(shown)]
        if below and self._top + room < len(self.rows):
            out.append(self._below(self._top + room, size.width))
        return out

    def _row(self, width: int, left: Sequence[Segment] = (), right: Sequence[Segment] = ()) -> Strip:
        return row(left, right, width, self.plane, self.look.glyphs.cut, margin=1)

    def _nothing(self) -> Sequence[str]:
        t = self.look.t
        if self.trouble:
            return (self.look.line(self.trouble),)
        if self._reading or self._made_of is None:
            slow = self._reading and time.monotonic() - self._read_since >= READING_S
            return (t("blocks.reading"),) if slow else ()
        return (t("blocks.none"),) if self.wanted else (t("blocks.empty"), t("blocks.empty_next"))

    def _heading(self, width: int) -> Strip:
        palette, t = self.look.palette, self.look.t
        muted = palette.style(palette.muted)
        left = [
            Segment(t("blocks.title"), palette.style(palette.accent, bold=True, underline=self.has_focus)),
            Segment(f" {fmt.number(len(self.rows))}"),
            Segment(f"  {t(f'blocks.{self.order}')}", muted),
        ]
        if self.trouble and self.rows:
            left.append(Segment(f"  {self.look.line(self.trouble)}", palette.style(palette.crit)))
        figures = self.table.of
        if figures is None:
            return self._row(width, left)
        mark = "~" if uncertain(figures) else ""
        right = [Segment(f"{mark}{fmt.tokens(figures.used)} tok", palette.style(bold=True))]
        if len(self.table.rows) > TOP and width >= 60:
            share = fmt.percent(self.table.top(TOP), figures.used)
            right.append(Segment(f"  {t('blocks.top', n=TOP, percent=share)}", muted))
        return self._row(width, left, right)

    def _version(self, width: int) -> Strip:
        text = view_text(self.view.version, self.view.cause, self.look.strings)
        return self._row(width, [Segment(text, self.look.palette.style(self.look.palette.muted))])

    def _filtered(self, width: int) -> Strip:
        palette = self.look.palette
        return self._row(
            width, [Segment(f"/ {self.look.line(self.wanted, 60)}", palette.style(palette.warn, bold=True))]
        )

    def _below(self, index: int, width: int) -> Strip:
        """How much there is from row ``index`` on."""
        tokens = fmt.tokens(self._sums[-1] - self._sums[index])
        text = self.look.t("blocks.below", n=fmt.number(len(self.rows) - index), tokens=tokens)
        return self._row(width, [Segment(f"  {text}", self.look.palette.style(self.look.palette.muted))])

    # -- filter -------------------------------------------------------------------------------------------------------
    def look_for(self, text: str) -> None:
        """Show only blocks that hold ``text``; empty: all."""
        if text != self.wanted:
            self.wanted = text
            self._arrange()

    def widen(self) -> bool:
        """Show all blocks; False where they are shown."""
        filtered = bool(self.wanted)
        self.look_for("")
        return filtered

    def action_filter(self) -> None:
        """Ask what shown blocks must hold."""
        self.field.open("filter", self.look.t("blocks.filter"), self.look.t("blocks.filter_hint"), self.wanted)
        self.repaint()

    def on_field_written(self, event: Field.Written) -> None:
        """Narrow the list while one types."""
        event.stop()
        self.look_for(event.text)

    def on_field_entered(self, event: Field.Entered) -> None:
        """To the list with what was found."""
        event.stop()
        self.field.close()
        self.focus()

    def on_field_left(self, event: Field.Left) -> None:
        """Back to all blocks."""
        event.stop()
        self.look_for("")
        self.focus()

    # -- keys and mouse -----------------------------------------------------------------------------------------------
    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._at = max(0, min(len(self.rows) - 1, self._at + rows))
        self.repaint()

    def action_page(self, pages: int) -> None:
        """Move by a page."""
        self.action_move(pages * max(1, self.size.height - self._head - 2))

    def action_first(self) -> None:
        """To the first block."""
        self.action_move(-len(self.rows))

    def action_last(self) -> None:
        """To the last block."""
        self.action_move(len(self.rows))

    def action_sort(self) -> None:
        """The next order, from its first row."""
        self.order = ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        self._at = 0
        self._arrange()

    def action_want(self, what: str) -> None:
        """Have the screen do something with the block under the cursor."""
        if self.selected is not None:
            self.post_message(self.Wanted(what, self.selected))

    def on_click(self, event: events.Click) -> None:
        """Select the block under the pointer; a click on the selected one jumps to it, one on the heading sorts."""
        index = self._top + event.y - self._head
        if event.y == 0:
            self.action_sort()
        elif event.y >= self._head and index < len(self.rows):
            if index == self._at:
                self.action_want("jump")
            self._at = index
            self.repaint()
