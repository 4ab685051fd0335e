"""What the tabs beside the conversation have in common for the screen, which makes each when it is first chosen."""

from __future__ import annotations

from geode_tui.tui.hints import Area
from geode_tui.tui.widgets.pane import Pane
from geode_tui.view.state import RunState


class TabPane(Pane):
    """See the module."""

    def show_state(self, state: RunState) -> None:
        """Take a newer state."""
        raise NotImplementedError

    @property
    def reading(self) -> bool:
        """Whether something that it shows is being read."""
        raise NotImplementedError

    def widen(self) -> bool:
        """Take away what narrows it; False where nothing does."""
        raise NotImplementedError

    @property
    def area(self) -> Area | None:
        """Which of its parts has the focus, None where none has."""
        raise NotImplementedError
