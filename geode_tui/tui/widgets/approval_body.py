"""The approval panel's question: who wants what, with every argument, and the keys that answer.

Enter does nothing in it, and keys count only half a second after a question appeared: what was typed ahead answers
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.rows import fit, row
from geode_tui.tui.widgets.pane import Pane
from geode_tui.view.state import OpenApproval

SETTLE_S = 0.5
"""Seconds after a question appeared in which keys are ignored."""
FIXED_ROWS = 6
"""Title, three lines of facts, a blank row, buttons."""

BUTTONS = (
    ("y", "approve.once"),
    ("a", "approve.always"),
    ("n", "approve.no"),
    ("r", "approve.why"),
    ("v", "approve.view"),
)


class ApprovalBody(Pane, can_focus=True):
    """The question itself."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(letter("y"), "decide('allow', False)", "Allow this call once", id="approval.once"),
        Binding(letter("a"), "decide('allow', True)", "Allow it for the rest of the run", id="approval.always"),
        Binding(letter("n"), "decide('deny', False)", "Refuse", id="approval.refuse"),
        Binding(letter("r"), "say_why", "Refuse and say why", id="approval.why"),
        Binding(letter("v"), "view_all", "View all of it, or less", id="approval.view"),
        Binding(letter("j", "down"), "scroll(1)", "Scroll down", id="approval.down"),
        Binding(letter("k", "up"), "scroll(-1)", "Scroll up", id="approval.up"),
        Binding("pagedown,ctrl+d", "scroll_page(1)", "Scroll a page down", id="approval.page_down"),
        Binding("pageup,ctrl+u", "scroll_page(-1)", "Scroll a page up", id="approval.page_up"),
        Binding("escape", "later", "Decide later", id="approval.later"),
    ]

    class Decided(Message):
        """The person answered."""

        def __init__(self, approval: OpenApproval, verdict: Literal["allow", "deny"], always: bool, why: str) -> None:
            super().__init__()
            self.approval = approval
            self.verdict = verdict
            self.always = always
            self.why = why

    class Asked(Message):
        """The person wants to give a reason, to see more, or to decide later."""

        def __init__(self, what: Literal["why", "view", "later"]) -> None:
            super().__init__()
            self.what = what

    def __init__(self, look: Look, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(look, id="approval-body")
        self._clock = clock
        self.approval: OpenApproval | None = None
        self.place = (1, 1)
        self.whole = False
        self._shown_at = 0.0
        self._sent = False
        self._text = ""
        self._lines: list[str] = []
        self._wrapped = 0
        self._top = 0

    @property
    def plane(self) -> Style:
        """The panel plane."""
        palette = self.look.palette
        return palette.style(palette.text, palette.panel)

    @property
    def rows_wanted(self) -> int:
        """Rows it would fill."""
        return FIXED_ROWS + max(1, len(self._lines))

    def ask(self, approval: OpenApproval, place: tuple[int, int]) -> None:
        """Show a question; ``place`` is its number and how many wait."""
        if self.approval is None or approval.approval_id != self.approval.approval_id:
            self._shown_at = self._clock()
            self._sent = False
            self._text, self._lines, self._wrapped, self._top = "", [], 0, 0
        self.approval, self.place = approval, place
        self.repaint()

    def set_arguments(self, text: str, lines: list[str], width: int) -> None:
        """Show the arguments: ``lines`` are ``text`` in ``width`` cells."""
        self._text, self._lines, self._wrapped = text, lines, width
        self._top = 0
        self.repaint()

    def answered(self, *, sent: bool) -> None:
        """The answer is on its way, or did not get away."""
        self._sent = sent
        self.repaint()

    # -- drawing ------------------------------------------------------------------------------------------------------
    def build(self, size: Size) -> list[Strip]:
        """Title, facts, a window on the arguments, the keys."""
        if self.approval is None:
            return []
        room = self._room(size.height)
        self._top = max(0, min(self._top, len(self._lines) - room))
        code = self.look.palette.style(self.look.palette.code)
        shown = self._lines[self._top : self._top + room]
        middle = [self._row([Segment(line, code)], [], size.width) for line in shown]
        blank = size.height - 2 - self._fact_rows(size.height) - len(middle)
        middle += [self._row([], [], size.width)] * max(0, blank)
        return [self._title(size.width), *self._facts(self.approval, size), *middle, self._buttons(size.width)]

    def _room(self, height: int) -> int:
        return max(0, height - 2 - self._fact_rows(height) - (1 if height > FIXED_ROWS else 0))

    def _fact_rows(self, height: int) -> int:
        return 3 if height > FIXED_ROWS else min(1, max(0, height - 2))

    def _row(self, left: Sequence[Segment], right: Sequence[Segment], width: int) -> Strip:
        return row(left, right, width, self.plane, self.look.glyphs.cut, margin=2)

    def _title(self, width: int) -> Strip:
        assert self.approval is not None
        palette = self.look.palette
        fill = palette.style(
            palette.ink(palette.accent), palette.accent, bold=True, underline=self.has_focus, reverse=True
        )
        kind = self.approval.safety if self.approval.safety in {"read", "write", "execute"} else "other"
        title = f"{self.look.glyphs.needs_you} {self.look.t(f'approve.wants_{kind}')}"
        place = self.look.t("approve.place", n=self.place[0], all=self.place[1])
        return row([Segment(title)], [Segment(place)], width, fill, self.look.glyphs.cut, margin=2)

    def _facts(self, approval: OpenApproval, size: Size) -> list[Strip]:
        palette = self.look.palette
        muted = palette.style(palette.muted)
        name = Segment(f"{self.look.line(approval.tool)}  ", palette.style(palette.text, bold=True))
        brief = Segment(self.look.line(approval.brief), palette.style(palette.code))
        safety = Segment(self.look.line(approval.safety, 20), palette.style(palette.warn, bold=True))
        rows = [self._row([name, brief], [safety], size.width)][: self._fact_rows(size.height)]
        if self._fact_rows(size.height) == 3:
            why = [Segment(f"{self.look.t('approve.asks')}  ", muted), Segment(self.look.line(approval.why))]
            shown = [Segment(self.look.t("approve.arguments"), muted)]
            rows += [self._row(why, [], size.width), self._row(shown, [Segment(self._position(), muted)], size.width)]
        return rows

    def _position(self) -> str:
        if not self._text:
            return self.look.t("approve.loading")
        hidden = len(self._lines) - self._top - self._room(self.size.height)
        return self.look.t("approve.more", n=hidden) if hidden > 0 else ""

    def _buttons(self, width: int) -> Strip:
        palette = self.look.palette
        if self._sent:
            return self._row([Segment(self.look.t("approve.sent"), palette.style(palette.muted))], [], width)
        key = palette.style(palette.accent, palette.raised, bold=True, reverse=True)
        text = palette.style(palette.text, palette.raised)
        labels = [(k, self._always() if label == "approve.always" else self.look.t(label)) for k, label in BUTTONS]
        groups = [[Segment(f" {k} ", key), Segment(f"{label} ", text)] for k, label in labels]
        return self._row(fit(groups, width - 4, gap=1), [], width)

    def _always(self) -> str:
        """What "always" covers: just this command, or every read or write of the run."""
        safety = self.approval.safety if self.approval is not None else ""
        key = f"approve.always_{safety}"
        return self.look.t(key if self.look.strings.has(key) else "approve.always")

    # -- keys ---------------------------------------------------------------------------------------------------------
    @property
    def _ready(self) -> bool:
        return self.approval is not None and not self._sent and self._clock() - self._shown_at >= SETTLE_S

    def action_decide(self, verdict: Literal["allow", "deny"], always: bool) -> None:
        """Answer the question."""
        if decided := self.decide(verdict, always=always):
            self.post_message(decided)

    def decide(self, verdict: Literal["allow", "deny"], *, always: bool = False, why: str = "") -> Decided | None:
        """The message that answers the question: once, and not before it could be read. The caller posts it, since
        Textual stops a message at the widget whose handler caused it.
        """
        if not self._ready or self.approval is None:
            return None
        self.answered(sent=True)
        return self.Decided(self.approval, verdict, always, why)

    def action_say_why(self) -> None:
        """Ask for a reason."""
        if self._ready:
            self.post_message(self.Asked("why"))

    def action_view_all(self) -> None:
        """Take more room, or less."""
        self.whole = not self.whole
        self.post_message(self.Asked("view"))

    def action_later(self) -> None:
        """Leave it open."""
        self.post_message(self.Asked("later"))

    def action_scroll(self, rows: int) -> None:
        """Move the window on the arguments."""
        self._top = max(0, self._top + rows)
        self.repaint()

    def action_scroll_page(self, pages: int) -> None:
        """Move the window by a page."""
        self.action_scroll(pages * max(1, self._room(self.size.height) - 1))

    def on_focus(self) -> None:
        """Show that keys go here."""
        self.repaint()

    def on_blur(self) -> None:
        """Show that they do not."""
        self.repaint()
