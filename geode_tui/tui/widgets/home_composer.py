"""The composer of the home screen: while it is empty, up, down and enter work the list above it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.message import Message

from geode_tui.tui.look import Look
from geode_tui.tui.widgets.composer import Composer, Entry


class HomeEntry(Entry):
    """See the module."""

    INVITES: ClassVar[str] = "home.placeholder"

    class Moved(Message):
        """Up or down in an empty composer: ``step`` rows of the list."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Entered(Message):
        """Enter in an empty composer."""

    def action_send(self) -> None:
        """Start a run with what is written, or open the row."""
        if self.text:
            super().action_send()
        else:
            self.post_message(self.Entered())

    def action_earlier(self) -> None:
        """Up."""
        if self.text:
            super().action_earlier()
        else:
            self.post_message(self.Moved(-1))

    def action_later(self) -> None:
        """Down."""
        if self.text:
            super().action_later()
        else:
            self.post_message(self.Moved(1))


class HomeComposer(Composer):
    """See the module."""

    def __init__(self, look: Look, paths: Callable[[], Sequence[str]]) -> None:
        super().__init__(look, paths)
        self.entry = HomeEntry(look)
        self.entry.paths = paths
