"""How a command fails: one line on stderr, and a status that scripts can tell apart."""

from __future__ import annotations

from geode_tui.core.endings import EXIT_USAGE


class CliError(Exception):
    """One line that says what is wrong and what to do, and the exit status."""

    def __init__(self, line: str, status: int = EXIT_USAGE) -> None:
        super().__init__(line)
        self.status = status
