"""What the run screen does for the blocks and the versions of its Context tab."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geode_tui.tui.screens.run_dreams import KEPT_KINDS
from geode_tui.tui.screens.run_lost import RunLost
from geode_tui.view.event_line import About

if TYPE_CHECKING:
    from geode_tui.tui.widgets.context_tab import ContextPane
    from geode_tui.view.versions import Change

UNTOLD = frozenset({"pin", "unpin", "recall", "pin_ref"}) | KEPT_KINDS
"""Commands of which the conversation says nothing."""


class RunVersions(RunLost):
    """See the module."""

    def on_context_pane_asked(self, event: ContextPane.Asked) -> None:
        """Something is asked of the run."""
        event.stop()
        self.run_worker(self._send(event.order), group="send")

    def on_context_pane_said(self, event: ContextPane.Said) -> None:
        """Why something cannot be done."""
        event.stop()
        self.say(event.text)

    def on_context_pane_turned(self, event: ContextPane.Turned) -> None:
        """Other keys work."""
        event.stop()
        self.show_hints()

    def on_context_pane_compared(self, event: ContextPane.Compared) -> None:
        """Show in what two versions differ."""
        from geode_tui.tui.widgets.version_diff import DiffScreen

        event.stop()
        screen = DiffScreen(self.look, self.source.diff, event.before, event.after, event.scales)
        self.app.push_screen(screen, self._left_diff)

    def _left_diff(self, change: Change | None) -> None:
        if change is not None:
            entry = change.entry
            about = About(entry.message_id, entry.seq, entry.call_id, entry.turn, entry.round)
            self.show_message(about, "events.no_message")

    def order_done(self, kind: str) -> None:
        """As before; of a pin nothing else tells."""
        if kind in UNTOLD:
            self.say(self.look.t("outcome.done", kind=self.look.t(f"command.{kind}")))
        else:
            super().order_done(kind)
