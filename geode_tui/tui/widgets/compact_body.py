"""The preview of a compaction with its keys and buttons. It asks for nothing by itself: the screen does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from geode_tui.core import format as fmt
from geode_tui.tui.cells import segments_width, width_of
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import row
from geode_tui.tui.widgets.compact_lines import REFUSED_FOR_GOOD, Cells, Lines
from geode_tui.tui.widgets.field import Asking
from geode_tui.tui.widgets.wheel import WHEEL
from geode_tui.view.compaction import CompactionPreview

Deed: TypeAlias = Literal["do", "mask", "diff", "fork", "undo", "wait", "close", "less", "more", "focus", "prune"]
BUTTON_GAP = 1
LEAST_ROWS = 6
"""Rows below which only the buttons stand under the preview."""
ROOMY_ROWS = 12
"""Rows from which one stays free below the buttons: the line to type in covers it."""


class Wish(msgspec.Struct, frozen=True):
    """What the person asks for; ``keep`` 0 is the default."""

    keep: int = 0
    focus: str = ""
    prune: bool = False


class Spot(msgspec.Struct, frozen=True):
    """Cells of a row that can be clicked."""

    y: int
    start: int
    end: int
    deed: Deed


class CompactBody(Asking, can_focus=True):
    """See the module. While a newer preview is worked out (``pending``) the one before it stays, faintly."""

    ASKS: ClassVar[frozenset[str]] = frozenset({"compact.focus"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "press", "Do what the chosen button says", id="compact.do"),
        Binding("minus", "want('less')", "Keep one message less", id="compact.less"),
        Binding("plus,equals_sign", "want('more')", "Keep one message more", id="compact.more"),
        Binding(letter("f"), "want_focus", "Say what the summary must not miss, or fork", id="compact.focus"),
        Binding(letter("m"), "want('mask')", "Only mask old results", id="compact.mask"),
        Binding(letter("d"), "want('diff')", "See what would change", id="compact.diff"),
        Binding(letter("p"), "want('prune')", "Leave out without a summary, or not", id="compact.prune"),
        Binding(letter("u"), "want('undo')", "Undo what the provider compacted", id="compact.undo"),
        Binding(letter("w"), "want('wait')", "Close; the provider compacts by itself", id="compact.wait"),
        Binding("tab,right", "choose(1)", "Next button", id="compact.next"),
        Binding("shift+tab,left", "choose(-1)", "Button before", id="compact.previous"),
        Binding(letter("j", "down"), "scroll(1)", "Scroll down", id="compact.down"),
        Binding(letter("k", "up"), "scroll(-1)", "Scroll up", id="compact.up"),
        Binding("pagedown,space,ctrl+d", "scroll(10)", "A page on", id="compact.page_down"),
        Binding("pageup,ctrl+u", "scroll(-10)", "A page back", id="compact.page_up"),
    ]

    class Wanted(Message):
        """The person wants something done."""

        def __init__(self, deed: Deed) -> None:
            super().__init__()
            self.deed = deed

    def __init__(self, look: Look, wish: Wish) -> None:
        super().__init__(look, id="compact-body")
        self.wish = wish
        self.shown: CompactionPreview | None = None
        self.pending = True
        self.error = ""
        self.at = 0
        """The chosen button."""
        self._top = 0
        self._spots: list[Spot] = []

    # -- what is possible ---------------------------------------------------------------------------------------------
    @property
    def final(self) -> bool:
        """Whether nothing that can be asked for here would be done."""
        refusal = self.shown.refusal if self.shown is not None else None
        return refusal is not None and refusal.obstacle in REFUSED_FOR_GOOD

    def can(self, deed: Deed) -> bool:
        """Whether ``deed`` is possible now."""
        shown = self.shown
        if deed == "close":
            return True
        if shown is None or self.error:
            return False
        refusal = shown.refusal
        match deed:
            case "do":
                return shown.allowed and not self.pending
            case "diff":
                return shown.allowed and not self.pending and bool(shown.changes)
            case "mask":
                return bool(shown.masking.results)
            case "fork":
                return refusal is not None and refusal.fork[1] > 0
            case "undo":
                return refusal is not None and refusal.undo
            case "wait":
                return refusal is not None and refusal.compacts_at > 0
            case "focus":
                return not self.final and not self.wish.prune
            case _:
                return not self.final

    @property
    def buttons(self) -> tuple[Deed, ...]:
        """The buttons that are shown, in order; while figures are worked out some of them do nothing."""
        shown = self.shown
        if shown is not None and shown.allowed and not self.error:
            wanted: tuple[tuple[Deed, bool], ...] = (
                ("do", True),
                ("mask", self.can("mask")),
                ("diff", bool(shown.changes)),
            )
        else:
            wanted = (("fork", self.can("fork")), ("undo", self.can("undo")), ("mask", self.can("mask")))
        return (*(deed for deed, there in wanted if there), "close")

    # -- what is shown ------------------------------------------------------------------------------------------------
    def show(self, shown: CompactionPreview) -> None:
        """The preview of the present wish has come."""
        self.shown, self.pending, self.error = shown, False, ""
        self.at = min(self.at, len(self.buttons) - 1)
        self.repaint()

    def fail(self, why: str) -> None:
        """It could not be worked out."""
        self.pending, self.error, self.at = False, why, 0
        self.repaint()

    def ask(self, wish: Wish, *, pending: bool) -> None:
        """The person wishes otherwise; ``pending`` where the figures change with that."""
        self.wish, self.pending = wish, pending or self.pending
        self.repaint()

    @property
    def plane(self) -> Style:
        """The panel plane."""
        return self.look.palette.style(self.look.palette.text, self.look.palette.panel)

    def rows_wanted(self, width: int) -> int:
        """Rows it would fill at this width."""
        return 1 + len(self._content(width)) + len(self._foot(width)[0]) + 1

    def build(self, size: Size) -> list[Strip]:
        """The title, a window on the preview, the wishes and the buttons."""
        foot, spots = self._foot(size.width)
        left_out = 0 if size.height >= LEAST_ROWS else len(foot) - 1
        if size.height >= ROOMY_ROWS:
            foot.append(Strip.blank(size.width, self.plane))
        foot, content = foot[left_out:], self._content(size.width)
        room = max(0, size.height - 1 - len(foot))
        self._top = max(0, min(self._top, len(content) - room))
        shown = content[self._top : self._top + room]
        moved = 1 + room - left_out
        self._spots = [msgspec.structs.replace(s, y=s.y + moved) for s in spots if s.y >= left_out]
        blanks = [Strip.blank(size.width, self.plane)] * (room - len(shown))
        if (hidden := len(content) - self._top - room) > 0 and not left_out:
            foot[0] = self._more(hidden, size.width)
        return [self._title(size.width), *shown, *blanks, *foot]

    def _more(self, hidden: int, width: int) -> Strip:
        """The row between the preview and the wishes, where the preview goes on below it."""
        said = Segment(
            self.look.t("approve.more", n=fmt.number(hidden)), self.look.palette.style(self.look.palette.muted)
        )
        return row([], [said], width, self.plane, self.look.glyphs.cut, margin=2)

    def _title(self, width: int) -> Strip:
        palette, t = self.look.palette, self.look.t
        fill = palette.style(palette.accent, palette.raised, bold=True)
        refused = self.shown is not None and not self.shown.allowed and not self.pending
        if self.error or refused:
            right = Segment(t("compact.not_here"), palette.style(palette.warn, bold=True))
        else:
            right = Segment(t("compact.working" if self.pending else "compact.preview"), palette.style(palette.muted))
        return row([Segment(t("compact.title"))], [right], width, fill, self.look.glyphs.cut, margin=2)

    def _content(self, width: int) -> list[Strip]:
        lines, palette = Lines(self.look, width), self.look.palette
        if self.error:
            mark = Segment(f"{self.look.glyphs.failed} ", palette.style(palette.crit, bold=True))
            head = Segment(self.look.t("compact.failed"), palette.style(bold=True))
            return [lines.blank(), lines.row([mark, head]), lines.blank(), *lines.wrapped(self.look.line(self.error))]
        if self.shown is None:
            return [lines.blank(), *lines.wrapped(self.look.t("compact.working_line"), muted=True)]
        refusal = self.shown.refusal
        made = lines.refused(self.shown, refusal) if refusal is not None else lines.preview(self.shown)
        return [lines.blank(), *(map(self._faint, made) if self.pending else made)]

    def _faint(self, strip: Strip) -> Strip:
        """The figures of an older wish."""
        muted = self.look.palette.style(self.look.palette.muted, self.look.palette.panel)
        return Strip([Segment(part.text, muted) for part in strip], strip.cell_length)

    # -- wishes and buttons -------------------------------------------------------------------------------------------
    def _foot(self, width: int) -> tuple[list[Strip], list[Spot]]:
        """The rows below the preview, and what of them can be clicked; the first of them is row 0."""
        blank = Strip.blank(width, self.plane)
        if self.final or self.error:
            buttons, spots = self._buttons(width, 1)
            return [blank, buttons], spots
        wishes, found = self._wishes(width, 1)
        buttons, spots = self._buttons(width, 3)
        return [blank, wishes, blank, buttons], [*found, *spots]

    def _wishes(self, width: int, y: int) -> tuple[Strip, list[Spot]]:
        palette, t = self.look.palette, self.look.t
        muted, key = palette.style(palette.muted), palette.style(palette.accent, bold=True)
        value = palette.style(palette.text, palette.raised, bold=True)
        keep = self.wish.keep or (self.shown.keep_recent if self.shown is not None else 0)
        left: Cells = [
            Segment(f"{t('compact.keep')} ", muted),
            Segment(f" {fmt.number(keep) if keep else '-'} ", value),
        ]
        spots: list[Spot] = []

        def clickable(text: str, style: Style, deed: Deed) -> None:
            start = 2 + segments_width(left)
            left.append(Segment(text, style))
            spots.append(Spot(y, start, start + width_of(text), deed))

        left.append(Segment(" "))
        clickable(" - ", key, "less")
        clickable(" + ", key, "more")
        left.append(Segment("   "))
        if self.wish.prune:
            clickable(f"p {t('compact.prune_off')}", key, "prune")
            return self._row(left, width), spots
        focus = self.look.line(self.wish.focus) or t("compact.focus_none")
        clickable("f ", key, "focus")
        clickable(f"{t('compact.focus')}  ", muted, "focus")
        clickable(focus, palette.style(palette.text if self.wish.focus else palette.muted), "focus")
        return self._row(left, width), spots

    def _row(self, left: Sequence[Segment], width: int) -> Strip:
        return row(left, [], width, self.plane, self.look.glyphs.cut, margin=2)

    def _buttons(self, width: int, y: int) -> tuple[Strip, list[Spot]]:
        palette = self.look.palette
        left: Cells = []
        spots: list[Spot] = []
        for index, deed in enumerate(self.buttons):
            chosen = index == self.at
            fill = (
                palette.style(palette.ink(palette.accent), palette.accent, bold=True, reverse=True)
                if chosen
                else palette.style(palette.text, palette.raised)
            )
            name, text = self._button(deed)
            mark = palette.style(underline=True) if chosen else palette.style(palette.accent, bold=True)
            cells = [Segment(" ", fill), Segment(name, fill + mark), Segment(f" {text} ", fill)]
            if chosen and self.look.flat:
                cells = [Segment("[", fill), *cells[1:2], Segment(f" {text}]", fill)]
            start = 2 + segments_width(left) + (BUTTON_GAP if left else 0)
            if start + segments_width(cells) > width - 2 and left:
                break
            left += [Segment(" " * BUTTON_GAP)] if left else []
            spots.append(Spot(y, start, start + segments_width(cells), deed))
            left += cells
        return self._row(left, width), spots

    def _button(self, deed: Deed) -> tuple[str, str]:
        t, allowed = self.look.t, self.shown is not None and self.shown.allowed and not self.error
        match deed:
            case "do":
                return "enter", t("compact.do_prune" if self.wish.prune else "compact.do")
            case "mask":
                return "m", t("compact.mask")
            case "diff":
                return "d", t("compact.diff")
            case "fork":
                return "f", t("compact.fork_short")
            case "undo":
                return "u", t("compact.undo_short")
            case _:
                return "esc", t("compact.cancel" if allowed else "compact.close")

    # -- keys and mouse -----------------------------------------------------------------------------------------------
    def action_want(self, deed: Deed) -> None:
        """Ask for it, where it is possible now."""
        if self.can(deed):
            self.post_message(self.Wanted(deed))

    def action_want_focus(self) -> None:
        """Open the line for what the summary must not miss; in a refusal the key forks."""
        if self.can("fork"):
            self.post_message(self.Wanted("fork"))
        elif self.can("focus"):
            t = self.look.t
            self.field.open("focus", t("compact.focus"), t("compact.focus_hint"), self.wish.focus)

    def action_press(self) -> None:
        """Do what the chosen button says."""
        self.action_want(self.buttons[self.at])

    def action_choose(self, step: int) -> None:
        """Choose another button."""
        self.at = (self.at + step) % len(self.buttons)
        self.repaint()

    def action_scroll(self, rows: int) -> None:
        """Move the window on the preview."""
        self._top = max(0, self._top + rows)
        self.repaint()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move on."""
        event.stop()
        self.action_scroll(WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move back."""
        event.stop()
        self.action_scroll(-WHEEL)

    def on_click(self, event: events.Click) -> None:
        """Press what was clicked."""
        hit = next((s for s in self._spots if s.y == event.y and s.start <= event.x < s.end), None)
        if hit is None:
            return
        if hit.deed == "focus":
            self.action_want_focus()
        else:
            self.action_want(hit.deed)
