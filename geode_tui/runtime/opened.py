"""A route that can be asked, as whoever wires the rooms together hands it to a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from geode_tui.providers.base import Provider
from geode_tui.routes.catalog import Route


class OpenedRoute(msgspec.Struct, frozen=True):
    """``service`` is the name under which the route is chosen again when the session is resumed; ``diagnosed`` is
    whether its provider is asked why its cache missed.
    """

    service: str
    route: Route
    provider: Provider
    diagnosed: bool = False


RouteOpener: TypeAlias = Callable[[str, str, str], Awaitable[OpenedRoute]]
"""Opens (service or empty, model, effort or empty). Raises `providers.access.NoProvider`."""
