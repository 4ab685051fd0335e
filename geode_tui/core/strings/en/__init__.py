"""English texts, by subject."""

from __future__ import annotations

from geode_tui.core.strings.en import (
    around,
    compact,
    dreaming,
    dreams,
    figures,
    keys,
    mcp,
    offloads,
    panes,
    states,
    tiers,
)

CATALOGUE: dict[str, str] = {
    **keys.TEXTS,
    **panes.TEXTS,
    **figures.TEXTS,
    **around.TEXTS,
    **states.TEXTS,
    **compact.TEXTS,
    **dreaming.TEXTS,
    **dreams.TEXTS,
    **offloads.TEXTS,
    **mcp.TEXTS,
    **tiers.TEXTS,
}
