"""English texts, by subject."""

from __future__ import annotations

from geode_tui.core.strings.en import around, figures, keys, panes, states

CATALOGUE: dict[str, str] = {**keys.TEXTS, **panes.TEXTS, **figures.TEXTS, **around.TEXTS, **states.TEXTS}
