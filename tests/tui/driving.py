"""An open app, driven by keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from geode_tui.log.rows import Liveness
from geode_tui.tui.app import GeodeApp
from geode_tui.tui.screens.run import RunScreen
from geode_tui.tui.widgets.paced import Paced
from geode_tui.view.state import RunState
from tests.tui.fakes import HELD, FakeSource, make_app, running_state, screen_text


class Driven:
    """An open app with shorthands."""

    def __init__(self, app: GeodeApp, pilot: Pilot[Any], source: FakeSource) -> None:
        self.app, self.pilot, self.source = app, pilot, source

    @property
    def screen(self) -> RunScreen:
        return self.app.run_screen

    async def until(self, what: Callable[[], object]) -> None:
        for _ in range(1_000):
            if what():
                return
            await self.pilot.pause(0.01)
        raise AssertionError("it did not come to pass")

    async def type(self, text: str) -> None:
        self.screen.composer.entry.focus()
        self.screen.composer.entry.insert(text)
        await self.pilot.press("enter")
        await self.pilot.pause()

    async def show(self, state: RunState, liveness: Liveness = HELD, **more: Any) -> None:
        self.source.show(state, liveness, **more)
        await self.until(lambda: self.screen.newest is not None and self.screen.newest.state is state)
        await self.until(lambda: not any(pane.waiting for pane in self.screen.query(Paced)))
        await self.pilot.pause()

    def sees(self, text: str) -> bool:
        return any(text in line for line in screen_text(self.app))

    @property
    def toasts(self) -> list[str]:
        return [n.message for n in self.app._notifications]


@asynccontextmanager
async def opened(
    state: RunState | None = None,
    liveness: Liveness = HELD,
    size: tuple[int, int] = (80, 24),
    *,
    notifications: bool = False,
    **options: Any,
) -> AsyncIterator[Driven]:
    source = FakeSource(running_state() if state is None else state, liveness)
    app = make_app(source, **options)
    async with app.run_test(size=size, notifications=notifications) as pilot:
        driven = Driven(app, pilot, source)
        await driven.until(lambda: app.run_screen.newest is not None)
        await pilot.pause()
        yield driven
