"""In what two versions of the view differ, over the run: what stands for a part since then, and block by block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import ClassVar, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import cut_end, cut_front, line_starts, pad, width_of
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.source import SourceError
from geode_tui.tui.widgets.block_rows import BlockLines
from geode_tui.tui.widgets.pane import Pane
from geode_tui.tui.widgets.wheel import Wheeled
from geode_tui.view.blocks import BlockRow, BlockState
from geode_tui.view.versions import Change, VersionDiff, scaled

BOTH_FROM, AFTER_FROM = 72, 44
"""Cells from which both forms are told, and from which the later one is."""
_SIZE, _ROUND, _SEQ = 8, 5, 6
Line: TypeAlias = str | Change
"""A line of text, or a block."""


class DiffPane(Wheeled, Pane, can_focus=True):
    """A title, and lines with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("j", "down"), "move(1)", "Next line", id="diff.down"),
        Binding(letter("k", "up"), "move(-1)", "Line before", id="diff.up"),
        Binding("pagedown,space,ctrl+d", "page(1)", "A page down", id="diff.page_down"),
        Binding("pageup,ctrl+u", "page(-1)", "A page up", id="diff.page_up"),
        Binding(letter("g", "home"), "first", "To the beginning", id="diff.first"),
        Binding("G,end", "last", "To the end", id="diff.last"),
        Binding("enter", "jump", "Show the message", id="diff.jump"),
    ]

    class Jumped(Message):
        """The person wants to see the message of ``change``."""

        def __init__(self, change: Change) -> None:
            super().__init__()
            self.change = change

    def __init__(self, look: Look, before: int, after: int) -> None:
        super().__init__(look, id="reading")
        self._title = look.t("diff.title", before=before, after=after)
        self._diff: VersionDiff | None = None
        self._said = look.t("diff.reading", before=before, after=after)
        """What stands in place of the lines."""
        self._made: tuple[Line, ...] = ()
        self._made_for = 0
        self._at = 0
        self._top = 0

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.panel)

    @property
    def selected(self) -> Change | None:
        """The block under the cursor."""
        line = self._made[self._at] if self._made else ""
        return line if isinstance(line, Change) else None

    def show(self, diff: VersionDiff) -> None:
        """Take what was read."""
        self._diff, self._made_for, self._said = diff, 0, ""
        self.repaint()

    def fail(self, why: str) -> None:
        """Say why nothing could be read."""
        self._said = self.look.t("diff.trouble", detail=self.look.line(why))
        self.repaint()

    # -- drawing ------------------------------------------------------------------------------------------------------
    def build(self, size: Size) -> list[Strip]:
        """The title on its own plane, then a window on the lines."""
        palette, cut = self.look.palette, self.look.glyphs.cut
        head = palette.style(palette.accent, palette.raised, bold=True)
        close = [Segment(self.look.t("modal.close"), palette.style(palette.muted))]
        out = [row([Segment(self._title)], close, size.width, head, cut, margin=2), self._text("", size.width)]
        if self._diff is None or self._said:
            return [*out, self._text(self._said, size.width)]
        if self._made_for != size.width:
            self._made, self._made_for = self._lines(self._diff, size.width - 4), size.width
        room = max(1, size.height - len(out))
        self._at = max(0, min(self._at, len(self._made) - 1))
        self._top = max(0, min(self._top, self._at, len(self._made) - room), self._at - room + 1)
        shown = self._made[self._top : self._top + room]
        return out + [self._drawn(line, self._top + i == self._at, size.width) for i, line in enumerate(shown)]

    def _lines(self, diff: VersionDiff, width: int) -> tuple[Line, ...]:
        t = self.look.t
        lines: list[Line] = []
        if diff.text:
            lines += [t("diff.text"), ""]
            for line in self.look.text(diff.text).expandtabs(4).split("\n"):
                starts = line_starts(line, max(4, width))
                lines += [line[a:b].rstrip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
            lines.append("")
        count = len(diff.changes)
        lines += [t("diff.changes", n=fmt.number(count)) if count else t("diff.none"), *diff.changes]
        return tuple(lines)

    def _text(self, text: str, width: int, *, selected: bool = False) -> Strip:
        palette = self.look.palette
        fill = palette.style(palette.text, palette.select, reverse=True) if selected else self.plane
        return row([Segment(text)], [], width, fill, self.look.glyphs.cut, margin=2)

    def _drawn(self, line: Line, selected: bool, width: int) -> Strip:
        if isinstance(line, str):
            return self._text(line, width, selected=selected)
        palette, glyphs, entry = self.look.palette, self.look.glyphs, line.entry
        dim = palette.style(palette.text if selected else palette.muted)
        round_ = self.look.t("round.column", n=entry.round) if entry.round else glyphs.none
        seq = f"#{entry.seq}" if entry.message_id else glyphs.none
        left = [Segment(f"{pad(round_, _ROUND, right=True)} {pad(seq, _SEQ, right=True)}  ", dim)]
        right = self._forms(line, dim, width)
        room = max(0, width - 5 - sum(width_of(s.text) for s in (*left, *right)))
        name, detail, is_path = BlockLines(self.look, 0, False, None, 0).words(
            BlockRow(entry.kind, 0, line.after or line.before or "verbatim", entry)
        )
        shown = cut_end(name, room, glyphs.cut)
        left.append(Segment(shown, palette.style(palette.text, bold=True)))
        if detail and (rest := room - width_of(shown) - 2) >= 4:
            text = (cut_front if is_path else cut_end)(detail, rest, glyphs.cut)
            left.append(Segment(f"  {text}", palette.style(palette.code if is_path else palette.muted)))
        fill = palette.style(palette.text, palette.select, reverse=True) if selected else self.plane
        return row(left, right, width, fill, glyphs.cut, margin=2)

    def _forms(self, change: Change, dim: Style, width: int) -> list[Segment]:
        """``verbatim ~9.1k -> masked ~120``, or where it is narrow only what it is now."""
        now = Segment(self._form(change.after, change.tokens_after), self.look.palette.style(self.look.palette.text))
        if width < AFTER_FROM:
            return []
        arrow = Segment(f" {self.look.glyphs.arrow} ", dim)
        if width < BOTH_FROM:
            return [arrow, now]
        return [Segment(self._form(change.before, change.tokens_before), dim), arrow, now]

    def _form(self, state: BlockState | None, tokens: int) -> str:
        t = self.look.t
        states: tuple[BlockState, ...] = (
            "verbatim", "masked", "shrunk", "offloaded", "summarised", "left_out", "native",
        )  # fmt: skip
        width = max(map(width_of, (*(t(f"blocks.{one}") for one in states), t("diff.gone"))))
        word = t("diff.gone") if state is None else t(f"blocks.{state}")
        return f"{pad(word, width)}{pad(f'~{fmt.tokens(tokens)}' if tokens else '', _SIZE, right=True)}"

    # -- keys and mouse -----------------------------------------------------------------------------------------------
    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._at = max(0, min(len(self._made) - 1, self._at + rows))
        self.repaint()

    def action_page(self, pages: int) -> None:
        """Move by a page."""
        self.action_move(pages * max(1, self.size.height - 3))

    def action_first(self) -> None:
        """To the beginning."""
        self.action_move(-len(self._made))

    def action_last(self) -> None:
        """To the end."""
        self.action_move(len(self._made))

    def action_jump(self) -> None:
        """Show the message of the block under the cursor."""
        change = self.selected
        if change is not None and change.entry.message_id:
            self.post_message(self.Jumped(change))

    def on_click(self, event: events.Click) -> None:
        """Select the line under the pointer; a click on the selected one shows its message."""
        index = self._top + event.y - 2
        if event.y >= 2 and index < len(self._made):
            if index == self._at:
                self.action_jump()
            self._at = index
            self.repaint()


class DiffScreen(ModalScreen[Change | None]):
    """The pane over the run. Gives back the block whose message is to be shown."""

    CSS_PATH = "../screens/modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape," + letter("q", "d"), "close", "Close", id="modal.close"),
    ]

    def __init__(
        self, look: Look, read: Callable[[int, int], VersionDiff], before: int, after: int, scales: Mapping[str, float]
    ) -> None:
        """``read`` compares two versions; it is called in a thread and may raise `SourceError`. ``scales`` bring its
        estimates to the gauge's tokens.
        """
        super().__init__()
        self.pane = DiffPane(look, before, after)
        self._read = read
        self._versions = before, after
        self._scales = scales

    def compose(self) -> ComposeResult:
        """The lines."""
        yield self.pane

    def on_mount(self) -> None:
        """Read what is to be shown."""
        self.run_worker(self._load(), group="diff")

    async def _load(self) -> None:
        try:
            diff = await asyncio.to_thread(self._read, *self._versions)
        except SourceError as error:
            self.pane.fail(str(error))
            return
        self.pane.show(VersionDiff(diff.before, diff.after, scaled(diff.changes, self._scales), diff.text))

    def on_diff_pane_jumped(self, event: DiffPane.Jumped) -> None:
        """Back, with the block."""
        event.stop()
        self.dismiss(event.change)

    def action_close(self) -> None:
        """Back to the run."""
        self.dismiss(None)
