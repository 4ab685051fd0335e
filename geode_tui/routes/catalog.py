"""The one source of windows and output limits, keyed by route, each figure with its provenance (RUNTIME.md 1.4)."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from typing import Literal, TypeAlias

import msgspec

Provenance: TypeAlias = Literal["catalog", "discovered", "client_default", "override", "observed", "unknown_fallback"]

UNKNOWN_WINDOW = 200_000
"""Planned with where nothing is known of a route (RUNTIME.md 1.1)."""
UNKNOWN_OUTPUT = 32_768
_DATED = re.compile(r"-(?:20\d{6}|latest)$")


class ListPrice(msgspec.Struct, frozen=True):
    """USD per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class Route(msgspec.Struct, frozen=True):
    """What is known of one route. ``model`` is the id as it is sent; ``family`` the id its figures stand under."""

    model: str
    provider: str
    source: str
    family: str
    window: int
    max_output: int
    provenance: Provenance
    input_cap: int | None = None
    simulated_price: ListPrice | None = None


class _Entry(msgspec.Struct, frozen=True):
    provider: str
    source: str
    models: tuple[str, ...]
    window: int
    max_output: int
    input_cap: int | None = None
    simulated_price: ListPrice | None = None


class _File(msgspec.Struct, frozen=True):
    route: tuple[_Entry, ...]


class Catalog:
    """The catalogue, read once by whoever makes it."""

    def __init__(self, text: str | None = None) -> None:
        if text is None:
            text = resources.files("geode_tui.routes").joinpath("catalog.toml").read_text(encoding="utf-8")
        entries = msgspec.convert(tomllib.loads(text), _File).route
        self._entries = {(m, e.provider, e.source): e for e in entries for m in e.models}

    def route(self, model: str, provider: str, source: str, *, window: int | None = None) -> Route:
        """What is known of the route; a dated or ``-latest`` id resolves to its family. ``window`` overrides.

        Never inherits from another provider or source: what is not listed is planned as 200,000 and says so.
        """
        family = _DATED.sub("", model)
        entry = self._entries.get((model, provider, source)) or self._entries.get((family, provider, source))
        if entry is None:
            found = Route(model, provider, source, family, UNKNOWN_WINDOW, UNKNOWN_OUTPUT, "unknown_fallback")
        else:
            found = Route(
                model, provider, source, family, entry.window, entry.max_output, "catalog", entry.input_cap,
                entry.simulated_price,
            )  # fmt: skip
        if window is not None and window > 0:
            return msgspec.structs.replace(found, window=window, provenance="override")
        return found
