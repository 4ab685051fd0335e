"""The embedded default: a deterministic planner that drives the real tools, without a key, a network or a model."""

from geode_tui.providers.offline.provider import OfflineProvider

__all__ = ["OfflineProvider"]
