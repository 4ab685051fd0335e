"""What a call costs: genai-prices' offline data for real routes, a stated list price for simulated ones.

genai-prices is imported when the first real price is asked for (0.4 s), which only a worker ever does.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from geode_tui.core.usage import Usage, micro_usd
from geode_tui.routes.catalog import ListPrice, Route

_MILLION = Decimal(1_000_000)


def cost_micro(route: Route, usage: Usage, ts: float) -> int | None:
    """Micro-dollars of a call at ``ts`` (epoch seconds), or None where no price is known: never a foreign price."""
    if route.simulated_price is not None:
        return _simulated(route.simulated_price, usage)
    if route.source != "payg":
        return None
    return _listed(route, usage, ts)


def worst_micro(route: Route, prompt_tokens: int, max_output: int, ts: float) -> int | None:
    """The most a request can cost: the whole prompt written to a cache for an hour, the whole output used."""
    if route.simulated_price is None and route.provider == "anthropic":
        usage = Usage(output_tokens=max_output, cache_write_1h_tokens=prompt_tokens)
    else:
        usage = Usage(output_tokens=max_output, cache_write_5m_tokens=prompt_tokens)
    return cost_micro(route, usage, ts)


def _simulated(price: ListPrice, usage: Usage) -> int:
    writes = (usage.cache_write_5m_tokens or 0) + (usage.cache_write_1h_tokens or 0)
    total = (
        Decimal(str(price.input)) * usage.input_tokens
        + Decimal(str(price.output)) * usage.output_tokens
        + Decimal(str(price.cache_read)) * (usage.cache_read_tokens or 0)
        + Decimal(str(price.cache_write)) * writes
    )
    return micro_usd(total / _MILLION)


def _listed(route: Route, usage: Usage, ts: float) -> int | None:
    import genai_prices

    write_1h = usage.cache_write_1h_tokens or 0
    counted = genai_prices.Usage(
        input_tokens=usage.prompt_tokens,
        cache_read_tokens=usage.cache_read_tokens or 0,
        cache_write_tokens=(usage.cache_write_5m_tokens or 0) + write_1h,
        output_tokens=usage.output_tokens,
        **({"cache_write_1h_tokens": write_1h} if write_1h else {}),
    )
    try:
        price = genai_prices.calc_price(
            counted,
            route.family,
            provider_id=route.provider,
            genai_request_timestamp=datetime.fromtimestamp(ts, tz=UTC),
        )
    except LookupError:
        return None
    return micro_usd(price.total_price)
