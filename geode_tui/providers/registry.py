"""Which provider answers: by flag, setting or environment, else what is ready: a key, else offline."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from geode_tui.providers.base import Provider

ANTHROPIC_KEY = "ANTHROPIC_API_KEY"
ANTHROPIC_URL = "ANTHROPIC_BASE_URL"
DEFAULT_MODELS = {"anthropic": "claude-opus-5-5", "offline": "offline-planner"}
SOURCES = {"anthropic": "payg", "offline": "adapter"}
OFFLINE_PACE_S = 0.01
"""Pause between the pieces of an offline answer: it streams, so that everything a stream exercises is exercised."""


class NoProvider(Exception):
    """No provider can be had as asked: one line that says what is missing."""


class Choice(msgspec.Struct, frozen=True):
    """A chosen route."""

    provider: str
    model: str
    source: str


def choose(provider: str, model: str, environment: Mapping[str, str]) -> Choice:
    """The route for ``provider`` and ``model``, either of which may be empty. Raises `NoProvider`."""
    if not provider:
        if model.startswith("claude-"):
            provider = "anthropic"
        elif model in DEFAULT_MODELS.values():
            provider = next(p for p, m in DEFAULT_MODELS.items() if m == model)
        elif model:
            raise NoProvider(f"no provider is known for the model {model!r}: name one with --provider")
        else:
            provider = "anthropic" if environment.get(ANTHROPIC_KEY) else "offline"
    if provider not in SOURCES:
        raise NoProvider(f"there is no provider {provider!r}: choose one of {', '.join(sorted(SOURCES))}")
    if provider == "anthropic" and not environment.get(ANTHROPIC_KEY):
        raise NoProvider(f"the provider anthropic needs a key in {ANTHROPIC_KEY}; --provider offline needs none")
    if provider == "offline" and model not in {"", DEFAULT_MODELS["offline"]}:
        raise NoProvider(f"the offline provider has no model {model!r}; it has {DEFAULT_MODELS['offline']}")
    return Choice(provider, model or DEFAULT_MODELS[provider], SOURCES[provider])


def build(choice: Choice, environment: Mapping[str, str], *, seed: int = 0) -> Provider:
    """The adapter of a chosen route. Imports no SDK: that happens when a request is sent."""
    if choice.provider == "offline":
        from geode_tui.providers.offline import OfflineProvider

        return OfflineProvider(seed=seed, pace_s=OFFLINE_PACE_S)
    from geode_tui.providers.anthropic import AnthropicProvider

    url = environment.get(ANTHROPIC_URL, "")
    provider = AnthropicProvider(environment.get(ANTHROPIC_KEY, ""), url or None)
    provider.simulated = bool(url) and is_loopback(url)
    return provider


def is_loopback(url: str) -> bool:
    """Whether ``url`` points at this machine: money spent there is not real."""
    host = (urlsplit(url).hostname or "").lower()
    return host in {"localhost", "::1"} or host.startswith("127.")
