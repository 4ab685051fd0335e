"""What a compaction would change, message by message."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import pad, width_of
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.compact_lines import counted
from geode_tui.tui.widgets.pane import Pane
from geode_tui.tui.widgets.wheel import Wheeled
from geode_tui.view.compaction import MessageChange
from geode_tui.view.gauge import kind_name

TOP = 2
"""Rows above the list: the title and a blank one."""
WIDE = 64
"""Cells from which a row tells the kind of its message too."""
FIGURES = 16
"""Cells of the tokens before and after."""


class CompactDiff(Wheeled, Pane, can_focus=True):
    """A list that scrolls; only what is on screen is drawn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Scroll down", id="compact.diff_down"),
        Binding(letter("k", "up"), "move(-1)", "Scroll up", id="compact.diff_up"),
        Binding("pagedown,space,ctrl+d", "move(10)", "A page on", id="compact.diff_page_down"),
        Binding("pageup,ctrl+u", "move(-10)", "A page back", id="compact.diff_page_up"),
        Binding(letter("g", "home"), "move(-1000000)", "First change", id="compact.diff_first"),
        Binding("G,end", "move(1000000)", "Last change", id="compact.diff_last"),
    ]

    def __init__(self, look: Look) -> None:
        super().__init__(look, id="compact-diff")
        self.changes: tuple[MessageChange, ...] = ()
        self._top = 0

    @property
    def plane(self) -> Style:
        """The panel plane."""
        return self.look.palette.style(self.look.palette.text, self.look.palette.panel)

    def show(self, changes: tuple[MessageChange, ...]) -> None:
        """List ``changes`` from the first one on."""
        self.changes, self._top = changes, 0
        self.repaint()

    def build(self, size: Size) -> list[Strip]:
        """The title and a window on the changes."""
        palette, t, cut = self.look.palette, self.look.t, self.look.glyphs.cut
        head = palette.style(palette.accent, palette.raised, bold=True)
        count = sum(1 for change in self.changes if change.seq)
        right = [Segment(counted("compact.messages", count, self.look), palette.style(palette.muted))]
        title = row([Segment(t("compact.diff_title"))], right, size.width, head, cut, margin=2)
        room = max(1, size.height - TOP)
        self._top = max(0, min(self._top, len(self.changes) - room))
        shown = self.changes[self._top : self._top + room]
        return [title, Strip.blank(size.width, self.plane), *(self._row(change, size.width) for change in shown)]

    def _row(self, change: MessageChange, width: int) -> Strip:
        palette, t, glyphs = self.look.palette, self.look.t, self.look.glyphs
        muted = palette.style(palette.muted)
        fates = {name: t(f"compact.fate_{name}") for name in ("summarised", "left_out", "native", "changed", "new")}
        column = max(map(width_of, fates.values()))
        color = palette.ok if change.fate == "new" else palette.info if change.fate == "changed" else palette.warn
        left = [Segment(pad(fates[change.fate], column), palette.style(color)), Segment("  ")]
        if change.seq:
            left.append(Segment(pad(f"#{change.seq}", 6), muted))
            if width >= WIDE:
                left.append(Segment(pad(f"{change.turn}.{change.round}", 7), muted))
                left.append(Segment(pad(kind_name(change.kind, self.look.strings), 9), muted))
            left.append(Segment(self.look.line(change.text)))
        else:
            left.append(Segment(t(f"compact.new_{change.kind}"), palette.style(bold=True)))
        figures = f"  {fmt.tokens(change.before)} {glyphs.arrow} {fmt.tokens(change.after)}"
        right = [Segment(pad(figures, FIGURES, right=True), muted)]
        return row(left, right, width, self.plane, glyphs.cut, margin=2)

    def action_move(self, rows: int) -> None:
        """Move the window."""
        self._top = max(0, min(len(self.changes), self._top + rows))
        self.repaint()
