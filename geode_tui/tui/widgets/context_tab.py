"""The Context tab: every block of the prompt, the largest first, and what was changed of it, version by version."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.by_hand import Deed, on_block, step
from geode_tui.tui.hints import Area
from geode_tui.tui.keys import letter
from geode_tui.tui.rows import row
from geode_tui.tui.slash import Order, Wrong
from geode_tui.tui.widgets.context_data import READING_S, BlocksView, ContextData
from geode_tui.tui.widgets.field import Field
from geode_tui.tui.widgets.wheel import Wheeled
from geode_tui.view.blocks import ORDERS, BlockRow, scales
from geode_tui.view.gauge import uncertain
from geode_tui.view.window_notes import view_text

__all__ = ["BlocksView", "ContextPane"]

Part: TypeAlias = Literal["blocks", "versions"]
ROOMY_FROM = 16
"""Rows of the pane from which a blank one stands above the names of the columns."""
BOTH_FROM = 20
"""Rows of the pane from which the versions stand below the blocks; below that they take its place."""
TOP = 6
"""Blocks whose share of the whole is told."""


class ContextPane(Wheeled, ContextData, can_focus=True):
    """See the module. Keys work the one of its two parts that was chosen last."""

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
        Binding(letter("v"), "turn", "To the versions, and back to the blocks", id="context.versions"),
        Binding(letter("p"), "deed('pin')", "Pin its message, or take the pin away", id="context.pin"),
        Binding(letter("m"), "deed('mask')", "Mask the result now", id="context.mask"),
        Binding(letter("o"), "deed('offload')", "Put the result into a file now", id="context.offload"),
        Binding(letter("d"), "diff", "In what the version differs from the one before it", id="context.diff"),
        Binding(letter("u"), "step('undo')", "Take back the last change of the context", id="context.undo"),
        Binding("ctrl+y", "step('redo')", "Make what an undo took back hold again", id="context.redo"),
    ]

    ASKS = frozenset({"context.filter"})

    class Wanted(Message):
        """The screen shall ``jump`` to a block in the conversation, or ``copy`` it."""

        def __init__(self, what: str, block: BlockRow) -> None:
            super().__init__()
            self.what = what
            self.block = block

    class Asked(Message):
        """The run shall carry out ``order``."""

        def __init__(self, order: Order) -> None:
            super().__init__()
            self.order = order

    class Said(Message):
        """The person shall be told ``text``."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Compared(Message):
        """The person wants to see in what version ``after`` differs from ``before``; ``scales`` are those of the
        blocks.
        """

        def __init__(self, before: int, after: int, scales: Mapping[str, float]) -> None:
            super().__init__()
            self.before = before
            self.after = after
            self.scales = scales

    class Turned(Message):
        """Keys work the other part now."""

    part: Part = "blocks"
    _top = 0
    _head = 0
    """Rows above the list of blocks."""
    _low = 0
    """The row in which the versions begin."""

    @property
    def area(self) -> Area | None:
        """The part that keys work, or the field, whichever has the focus."""
        if self.has_focus:
            return "context" if self.part == "blocks" else "context_versions"
        return "context_field" if self.field.typing else None

    # -- drawing ------------------------------------------------------------------------------------------------------
    def build(self, size: Size) -> list[Strip]:
        """The blocks, and below them the versions; where there is no room for both, the part that was chosen."""
        if self._made_of != self.view and not self._reading and not self.trouble:
            self.call_later(self._renew)  # it was hidden, for a moment, when it wanted to read
        both, parts = size.height >= BOTH_FROM, self.versions
        if not parts.rows or (self.part == "blocks" and not both):
            self._low = size.height
            return self._blocks(size, below=False)
        focused = self.part == "versions" and self.has_focus
        low = size.height
        if both:
            low = parts.wanted(size.height // 2)
            low = max(low, min(len(parts.rows) + 5, size.height - len(self.rows) - 6))
        self._low = size.height - low
        lines = parts.build(self.look, size.width, low - both, self.table.of, focused=focused)
        if not both:
            return lines
        upper = self._blocks(Size(size.width, self._low), below=True)
        blank = self._row(size.width)
        self._low += 1
        return [*upper, *[blank] * (size.height - len(upper) - len(lines)), *lines]

    def _blocks(self, size: Size, *, below: bool) -> list[Strip]:
        """Heading, version of the view, filter, column names, a window of rows, and what lies below it. ``below``: the
        versions stand there.
        """
        head = [self._heading(size.width)]
        if self.view.version and not below:
            head.append(self._version(size.width))
        if self.wanted:
            head.append(self._filtered(size.width))
        if not self.rows:
            return [*head, self._row(size.width), *(self._row(size.width, [Segment(t)]) for t in self._nothing())]
        lines = self._lines(size.width)
        head += [self._row(size.width)] * (size.height >= ROOMY_FROM)
        head.append(lines.heads())
        self._head = len(head)
        room = max(1, size.height - len(head) - (1 if self.field.display and not below else 0))
        more = len(self.rows) > room > 3
        room -= more
        self._top = max(0, min(self._top, self._at, len(self.rows) - room), self._at - room + 1)
        shown = self.rows[self._top : self._top + room]
        on = self.part == "blocks"
        out = head + [lines.line(one, selected=on and self._top + i == self._at) for i, one in enumerate(shown)]
        if more and self._top + room < len(self.rows):
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
        """Back to the blocks, and show all of them; False where they are shown."""
        if self.part == "versions":
            self.turn_to("blocks")
            return True
        filtered = bool(self.wanted)
        self.look_for("")
        return filtered

    def action_filter(self) -> None:
        """Ask what shown blocks must hold."""
        self.turn_to("blocks")
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
    def action_turn(self) -> None:
        """Have the keys work the other part."""
        self.turn_to("versions" if self.part == "blocks" and self.versions.rows else "blocks")

    def action_turn_to(self, part: Part) -> None:
        """See `turn_to`."""
        self.turn_to(part)

    def turn_to(self, part: Part) -> None:
        """Have the keys work ``part``."""
        self.part = part
        self.repaint()
        self.post_message(self.Turned())

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        if self.part == "versions":
            self.versions.move(rows)
        else:
            self._at = max(0, min(len(self.rows) - 1, self._at + rows))
        self.repaint()

    def action_page(self, pages: int) -> None:
        """Move by a page."""
        first, last = (self._low, self.size.height) if self.part == "versions" else (self._head, self._low)
        self.action_move(pages * max(1, last - first - 2))

    def action_first(self) -> None:
        """To the first row."""
        self.action_move(-len(self.rows) - len(self.versions.rows))

    def action_last(self) -> None:
        """To the last row."""
        self.action_move(len(self.rows) + len(self.versions.rows))

    def action_sort(self) -> None:
        """The next order, from its first row."""
        self.order = ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        self._at = 0
        self.turn_to("blocks")
        self._arrange()

    def action_want(self, what: str) -> None:
        """Have the screen do something with the block under the cursor, or see what a version changed."""
        if self.part == "versions":
            self.action_diff()
        elif self.selected is not None:
            self.post_message(self.Wanted(what, self.selected))

    def action_deed(self, deed: Deed) -> None:
        """Pin, mask or offload the block under the cursor."""
        block = self.selected if self.part == "blocks" else None
        self._ask(on_block(deed, block, self.versions.listed, self.look.strings))

    def action_step(self, what: Literal["undo", "redo"]) -> None:
        """Go back or forward by one change."""
        self._ask(step(what, self.versions.listed))

    def _ask(self, wish: Order | Wrong) -> None:
        if isinstance(wish, Order):
            self.post_message(self.Asked(wish))
        else:
            self.post_message(self.Said(self.look.t(wish.key, **wish.values)))

    def action_diff(self) -> None:
        """In what the version under the cursor differs from the one before it."""
        version = self.versions.selected
        if version is None or not version.newest.number:
            self.post_message(self.Said(self.look.t("diff.same_start")))
            return
        self.post_message(self.Compared(version.numbers[0] - 1, version.numbers[1], scales(self.table)))

    def on_click(self, event: events.Click) -> None:
        """Select the row under the pointer; a click on the selected one opens it, one on the blocks' heading sorts."""
        if event.y >= self._low and self.versions.rows:
            same = self.versions.point(event.y - self._low)
            if same and self.part == "versions":
                self.action_diff()
            self.turn_to("versions")
            return
        index = self._top + event.y - self._head
        if event.y == 0:
            self.action_sort()
        elif event.y >= self._head and index < len(self.rows):
            if index == self._at and self.part == "blocks":
                self.action_want("jump")
            self._at = index
            self.turn_to("blocks")
