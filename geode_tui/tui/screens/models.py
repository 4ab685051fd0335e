"""The model picker: what can be asked, with which models, and what the others need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from geode_tui.tui.models import entries
from geode_tui.tui.screens.base import BaseScreen
from geode_tui.tui.screens.modal import PaletteScreen
from geode_tui.tui.source import ModelChoice, SourceError
from geode_tui.view.state import RunState


async def pick_model(
    screen: BaseScreen, load: Callable[[], tuple[ModelChoice, ...]], state: RunState | None
) -> tuple[str, str] | None:
    """(service, model) that the person chose over ``screen``, None for none. To be awaited in a worker.

    A service that cannot be asked is no choice: what it needs is said instead.
    """
    look = screen.look
    try:
        models = await asyncio.to_thread(load)
    except SourceError as error:
        screen.say(str(error), error=True)
        return None
    placeholder = look.t("models.placeholder")
    picker = PaletteScreen(look, entries(models, look, state), placeholder=placeholder)
    value = await screen.app.push_screen_wait(picker)
    service, _, rest = (value or "").partition(":")
    if service == "why":
        screen.say(look.line(rest), error=True)
        return None
    return (service, rest) if rest else None
