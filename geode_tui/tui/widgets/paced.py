"""A pane whose figures move with every frame of a busy run."""

from __future__ import annotations

import time

from textual.timer import Timer

from geode_tui.tui.look import Look
from geode_tui.tui.widgets.pane import Pane

PERIOD_S = 0.2
"""Nobody reads figures that change more often."""


class Paced(Pane):
    """Its figures are painted at most five times a second, the last ones always. Call `repaint_soon` when there are
    newer ones.
    """

    def __init__(self, look: Look, *, id: str) -> None:  # noqa: A002  Textual's own name
        super().__init__(look, id=id)
        self._paced_at = 0.0
        self._pacing: Timer | None = None

    @property
    def waiting(self) -> bool:
        """Whether newer figures wait to be painted."""
        return self._pacing is not None

    def take_newest(self) -> None:
        """Show the newest state from now on."""
        raise NotImplementedError

    def repaint_soon(self) -> None:
        """Take the newest state and paint it: now, or when the period is over."""
        if self._pacing is not None:
            return
        wait = self._paced_at + PERIOD_S - time.monotonic()
        if wait <= 0:
            self.repaint_now()
        else:
            self._pacing = self.set_timer(wait, self.repaint_now)

    def repaint_now(self) -> None:
        """Take the newest state and paint it."""
        if self._pacing is not None:
            self._pacing.stop()
        self._pacing, self._paced_at = None, time.monotonic()
        self.take_newest()
        self.repaint()
