"""Prices of many calls to a few models, as an import has them: the list is asked once for each model, day and kind of
token, and each call is a sum of products. Figures equal those of `prices.cost_micro`.
"""

from __future__ import annotations

from geode_tui.core.usage import Usage
from geode_tui.routes.catalog import Route
from geode_tui.routes.prices import cost_micro, price_tiers

_PROBE = 100_000
"""Tokens that are priced to learn a rate: a whole number of micro-dollars at any list price."""
_KINDS = (
    Usage(input_tokens=_PROBE),
    Usage(output_tokens=_PROBE),
    Usage(cache_read_tokens=_PROBE),
    Usage(cache_write_5m_tokens=_PROBE),
    Usage(cache_write_1h_tokens=_PROBE),
)
_DAY_S = 86_400


class Rates:
    """See the module. Nothing in it outlives its owner."""

    def __init__(self) -> None:
        self._rates: dict[tuple[tuple[str, str, str], int], tuple[int, tuple[int, ...]] | None] = {}

    def cost_micro(self, route: Route, usage: Usage, ts: float) -> int | None:
        """Micro-dollars of a call at ``ts`` (epoch seconds), or None where no price is known."""
        key = route.key, int(ts // _DAY_S)
        if key not in self._rates:
            self._rates[key] = _flat(route, ts)
        flat = self._rates[key]
        if flat is None or usage.prompt_tokens > flat[0]:
            return cost_micro(route, usage, ts)
        tokens = (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens or 0,
            usage.cache_write_5m_tokens or 0,
            usage.cache_write_1h_tokens or 0,
        )
        total = sum(count * rate for count, rate in zip(tokens, flat[1], strict=True))
        return (2 * total + _PROBE) // (2 * _PROBE)


def _flat(route: Route, ts: float) -> tuple[int, tuple[int, ...]] | None:
    """(the largest prompt that they hold for, micro-dollars of a probe of each kind); None where there is no such."""
    tiers = price_tiers(route, ts)
    largest = tiers[0] if tiers else route.window
    if largest < _PROBE:
        return None
    rates = tuple(cost_micro(route, kind, ts) for kind in _KINDS)
    known = tuple(rate for rate in rates if rate is not None)
    return (largest, known) if len(known) == len(rates) else None
