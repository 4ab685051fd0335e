"""The approval panel: the question that waits, and a line for a reason. It never takes the focus by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from geode_tui.tui.arguments import readable
from geode_tui.tui.look import Look
from geode_tui.tui.rows import chop
from geode_tui.tui.source import SourceError
from geode_tui.tui.widgets.approval_body import ApprovalBody
from geode_tui.view.state import OpenApproval


class ApprovalPanel(Vertical):
    """See the module. Hidden while nothing waits."""

    class Changed(Message):
        """It wants another height, or came or went."""

    class Left(Message):
        """The person decides later: the focus should go back."""

    def __init__(self, look: Look, fetch: Callable[[str], str], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(id="approval")
        self.look = look
        self._fetch = fetch
        self.body = ApprovalBody(look, clock)
        self._why = Input(placeholder=look.t("approve.reason"), id="approval-why", compact=True)
        self._why.cursor_blink = False
        self._open: tuple[OpenApproval, ...] = ()
        self._index = 0
        self._argument_text = ""

    def compose(self) -> ComposeResult:
        """The question, and the line for a reason."""
        yield self.body
        yield self._why

    def on_mount(self) -> None:
        """Nothing waits yet."""
        self.display = False
        self._why.display = False

    def set_look(self, look: Look) -> None:
        """Take another look."""
        self.look = look
        self.body.set_look(look)

    @property
    def rows_wanted(self) -> int:
        """Rows it would fill."""
        return self.body.rows_wanted + (1 if self._why.display else 0)

    @property
    def answering(self) -> bool:
        """Whether the focus is in it."""
        return self.body.has_focus or self._why.has_focus

    def show(self, approvals: tuple[OpenApproval, ...]) -> None:
        """Show the questions that wait, oldest first; the one being read stays."""
        if approvals == self._open:
            return
        current = self.body.approval
        had_focus = self.answering
        self._open = approvals
        if not approvals:
            self.body.approval = None
            self._close(had_focus=had_focus)
            return
        ids = [a.approval_id for a in approvals]
        same = current is not None and current.approval_id in ids
        self._index = ids.index(current.approval_id) if current is not None and same else 0
        self.display = True
        self._ask()

    def next(self) -> None:
        """To the next question."""
        if self._open:
            self._index = (self._index + 1) % len(self._open)
            self._ask()

    def _ask(self) -> None:
        approval = self._open[self._index]
        current = self.body.approval
        new = current is None or current.approval_id != approval.approval_id
        self.body.ask(approval, (self._index + 1, len(self._open)))
        if new:
            self._hide_reason()
            self._argument_text = ""
            self.run_worker(self._load(approval), group="arguments", exclusive=True)
        self.post_message(self.Changed())

    def _close(self, *, had_focus: bool) -> None:
        self._hide_reason()
        self.body.whole = False
        self.display = False
        self.post_message(self.Changed())
        if had_focus:
            self.post_message(self.Left())

    # -- arguments ----------------------------------------------------------------------------------------------------
    async def _load(self, approval: OpenApproval) -> None:
        try:
            raw = await asyncio.to_thread(self._fetch, approval.call_id)
        except SourceError as error:
            raw = self.look.t("approve.unread", why=str(error))
        self._argument_text = await asyncio.to_thread(lambda: readable(self.look.redact(raw))) or "{}"
        await self._wrap()

    async def _wrap(self) -> None:
        width = max(4, self.size.width - 4)
        text = self._argument_text
        lines = await asyncio.to_thread(chop, text, width)
        if text == self._argument_text:
            self.body.set_arguments(text, lines, width)
            self.post_message(self.Changed())

    def on_resize(self) -> None:
        """Wrap again in another width."""
        if self._argument_text:
            self.run_worker(self._wrap(), group="wrap", exclusive=True)

    # -- messages -----------------------------------------------------------------------------------------------------
    def on_approval_body_asked(self, event: ApprovalBody.Asked) -> None:
        """Do what was asked for."""
        event.stop()
        if event.what == "why":
            self._why.display = True
            self._why.focus()
        elif event.what == "later":
            self.post_message(self.Left())
        self.post_message(self.Changed())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Refuse with the reason given."""
        event.stop()
        why = event.value.strip()
        self._hide_reason()
        self.body.focus()
        if decided := self.body.decide("deny", why=why):
            self.post_message(decided)

    def on_key(self, event: events.Key) -> None:
        """Escape in the reason's line closes it."""
        if event.key == "escape" and self._why.has_focus:
            event.stop()
            self._hide_reason()
            self.body.focus()
            self.post_message(self.Changed())

    def _hide_reason(self) -> None:
        self._why.display = False
        self._why.value = ""
