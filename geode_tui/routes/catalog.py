"""The one source of windows, output limits and thinking, keyed by route, each figure with its provenance (RUNTIME.md
1.4, 1.5 and 3.1). Aliases and dated ids are resolved before anything is looked up.
"""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from typing import Literal, TypeAlias

import msgspec

Provenance: TypeAlias = Literal["catalog", "discovered", "client_default", "override", "observed", "unknown_fallback"]
Contract: TypeAlias = Literal["client", "threshold", "unknown"]
"""``client``: this program does. ``threshold``: the server does it by itself, this program only when the run depends on
it. ``unknown``: nobody knows what the model takes, so nothing is replaced."""
ThinkingKind: TypeAlias = Literal["unknown", "none", "adaptive", "budgeted", "effort"]

UNKNOWN_WINDOW = 200_000
"""Planned with where nothing is known of a route (RUNTIME.md 1.1)."""
UNKNOWN_OUTPUT = 32_768
OPENROUTER = "openrouter"
_DATED = re.compile(r"-(?:20\d{6}|20\d\d-\d\d-\d\d|latest)$")
_BRACKETED = re.compile(r"\[\w+\]$")


class ListPrice(msgspec.Struct, frozen=True):
    """USD per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class Route(msgspec.Struct, frozen=True):
    """What is known of one route. ``model`` is the id as it is sent; ``family`` the id its figures stand under.

    ``stated_price`` is used instead of the price list. See catalog.toml for the others.
    """

    model: str
    provider: str
    source: str
    family: str
    window: int
    max_output: int
    provenance: Provenance
    input_cap: int | None = None
    stated_price: ListPrice | None = None
    sends_output: bool = True
    thinking: ThinkingKind = "unknown"
    thinking_budget: int = 0
    efforts: tuple[str, ...] = ()
    default_effort: str = ""
    explains_cache: bool = False
    threshold_compaction: bool = False
    compacts_on_demand: bool = False
    clears_results: bool = False
    thinking_bound: bool = False
    listed: bool = True
    """Whether the model itself is in the catalogue, whatever its window was set to."""

    @property
    def contract(self) -> Contract:
        """Who may replace old parts of a conversation by texts (RUNTIME.md 3.1, 3.2)."""
        if self.provider != "anthropic":
            return "client"
        if not self.listed:
            return "unknown"
        return "threshold" if self.threshold_compaction else "client"

    @property
    def key(self) -> tuple[str, str, str]:
        """(model, provider, source)."""
        return self.model, self.provider, self.source


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    provider: str
    source: str
    window: int
    max_output: int
    max_window: int | None = None
    input_cap: int | None = None
    stated_price: ListPrice | None = None
    sends_output: bool = True
    provenance: Provenance = "catalog"
    thinking: ThinkingKind = "unknown"
    thinking_budget: int = 0
    efforts: tuple[str, ...] = ()
    default_effort: str = ""
    explains_cache: bool = False
    threshold_compaction: bool = False
    compacts_on_demand: bool = False
    clears_results: bool = False
    thinking_bound: bool = False


class _Entry(_Facts, frozen=True, kw_only=True):
    models: tuple[str, ...]


class _Alias(msgspec.Struct, frozen=True):
    provider: str
    names: dict[str, str]


class _Retired(msgspec.Struct, frozen=True):
    provider: str
    source: str
    models: tuple[str, ...]
    replacement: str


class _File(msgspec.Struct, frozen=True):
    route: tuple[_Entry, ...]
    unlisted: tuple[_Facts, ...] = ()
    alias: tuple[_Alias, ...] = ()
    retired: tuple[_Retired, ...] = ()


class Catalog:
    """The catalogue, read once by whoever makes it."""

    def __init__(self, text: str | None = None) -> None:
        if text is None:
            text = resources.files("geode_tui.routes").joinpath("catalog.toml").read_text(encoding="utf-8")
        file = msgspec.convert(tomllib.loads(text), _File)
        self._entries: dict[tuple[str, str, str], _Facts] = {
            (m, e.provider, e.source): e for e in file.route for m in e.models
        }
        self._unlisted = {(e.provider, e.source): e for e in file.unlisted}
        self._aliases = {(a.provider, name): family for a in file.alias for name, family in a.names.items()}
        self._retired = {(m, r.provider, r.source): r.replacement for r in file.retired for m in r.models}

    def family(self, model: str, provider: str) -> str:
        """The id under which ``model`` is listed: without its date, ``-latest`` or bracket, its alias resolved.

        An OpenRouter id is a model of its own: only the router's name before it is taken off.
        """
        if provider == OPENROUTER:
            return model.removeprefix(f"{OPENROUTER}/")
        plain = _DATED.sub("", _BRACKETED.sub("", model))
        return self._aliases.get((provider, plain), plain)

    def route(
        self, model: str, provider: str, source: str, *, window: int | None = None, discovered: int | None = None
    ) -> Route:
        """What is known of the route.

        Never inherits from another provider or source: what is not listed is planned with a fallback and says so.

        Args:
            model: As a person writes it; a bracket at its end is a wish that no wire knows, and is not sent.
            provider: As in `Route`.
            source: As in `Route`.
            window: Set by the person; kept below the client's maximum where one is known.
            discovered: The window that the endpoint itself reports.
        """
        sent = model if provider == OPENROUTER else _BRACKETED.sub("", model)
        family = self.family(model, provider)
        facts, provenance = self._facts(family, provider, source)
        size = facts.window
        if discovered is not None and discovered > 0:
            size, provenance = discovered, "discovered"
        if window is not None and window > 0:
            size, provenance = min(window, facts.max_window or window), "override"
        return Route(
            sent, provider, source, family, size, facts.max_output, provenance, facts.input_cap,
            facts.stated_price, facts.sends_output, facts.thinking, facts.thinking_budget, facts.efforts,
            facts.default_effort, facts.explains_cache, facts.threshold_compaction, facts.compacts_on_demand,
            facts.clears_results, facts.thinking_bound,
            listed=(family, provider, source) in self._entries,
        )  # fmt: skip

    def _facts(self, family: str, provider: str, source: str) -> tuple[_Facts, Provenance]:
        entry = self._entries.get((family, provider, source))
        if entry is not None:
            return entry, entry.provenance
        unlisted = self._unlisted.get((provider, source))
        nothing = _Facts(provider=provider, source=source, window=UNKNOWN_WINDOW, max_output=UNKNOWN_OUTPUT)
        return unlisted or nothing, "unknown_fallback"

    def replacement(self, model: str, provider: str, source: str) -> str:
        """The model that took the place of a retired one on this route; empty where it is not retired."""
        return self._retired.get((self.family(model, provider), provider, source), "")

    def models(self, provider: str, source: str) -> tuple[str, ...]:
        """The models that are listed for a route and not retired, in the order of the file."""
        listed = (m for m, p, s in self._entries if (p, s) == (provider, source))
        return tuple(m for m in listed if not self.replacement(m, provider, source))
