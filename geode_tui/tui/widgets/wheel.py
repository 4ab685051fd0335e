"""The wheel of the mouse over a list of lines."""

from __future__ import annotations

from textual import events

WHEEL = 3
"""Rows that one notch moves."""


class Wheeled:
    """Mixed into a pane with a cursor: the wheel moves it."""

    def action_move(self, rows: int) -> None:
        """Move the cursor by ``rows``."""
        raise NotImplementedError

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move on."""
        event.stop()
        self.action_move(WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move back."""
        event.stop()
        self.action_move(-WHEEL)
