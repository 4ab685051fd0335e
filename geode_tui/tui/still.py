"""One picture of a screen that no terminal shows: the real application, run without one until it has settled."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from textual.pilot import Pilot
from textual.strip import Strip

from geode_tui.tui.app import GeodeApp
from geode_tui.tui.svg import svg
from geode_tui.view.follow import Batch

PATIENCE_S = 10.0
LOOK_S = 0.02


def picture(
    app: GeodeApp,
    size: tuple[int, int],
    tab: str,
    current: Callable[[Batch], bool],
    patience_s: float = PATIENCE_S,
) -> str | None:
    """The screen of ``app`` as SVG, or None where it could not be drawn. The application has ended afterwards.

    Args:
        app: An application that was not run yet.
        size: Columns and rows.
        tab: The tab to show.
        current: Whether what was read is how the run stands now.
        patience_s: After so many seconds the screen is drawn as it stands.
    """

    async def take(pilot: Pilot[Any]) -> None:
        await pilot.pause()  # until the screen is mounted: it shows its first tab then
        app.run_screen.choose_tab(tab)
        app.exit(_drawn(app, await _settled(app, pilot, current, patience_s)))

    return app.run(headless=True, mouse=False, size=size, auto_pilot=take)


async def _settled(
    app: GeodeApp, pilot: Pilot[Any], current: Callable[[Batch], bool], patience_s: float
) -> list[Strip]:
    """The screen's lines once everything that was read is on it and two looks see the same."""
    deadline = time.monotonic() + patience_s
    screen = app.run_screen
    before: list[Strip] = []
    while True:
        app.clear_notifications()
        await pilot.pause(LOOK_S)
        lines = screen._compositor.render_strips()  # Textual has no public way to a screen's lines
        reading = screen.conversation.busy or any(pane.reading for pane in screen.columns.panes.values())
        read = screen.newest is not None and current(screen.newest) and not reading
        if (read and lines == before) or time.monotonic() >= deadline:
            return lines
        before = lines


def _drawn(app: GeodeApp, lines: Sequence[Strip]) -> str:
    palette, newest = app.look.palette, app.run_screen.newest
    title = app.look.line(newest.state.title) if newest is not None else ""
    return svg(lines, app.size.width, ink=palette.text, ground=palette.base, title=title or app.TITLE or "")
