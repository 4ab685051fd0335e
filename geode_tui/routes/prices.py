"""What a call costs: the provider's own figure, else genai-prices' offline data, else a price stated in the catalogue.

genai-prices is imported when the first real price is asked for (0.4 s), which only a worker ever does.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, TypeAlias

from geode_tui.core.usage import Usage, micro_usd
from geode_tui.routes.catalog import ListPrice, Route

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

Money: TypeAlias = Literal["billed", "equivalent", "simulated"]
"""``billed``: this call costs the person that much. ``equivalent``: a subscription pays, the list price says what it
would have cost. ``simulated``: nothing was spent at all."""

_MILLION = Decimal(1_000_000)
_LISTS = {"anthropic": "anthropic", "openai": "openai", "glm": "zai", "openrouter": "openrouter"}
"""Provider -> its name in genai-prices. GLM is priced by its international list, in USD (RUNTIME.md 1.5)."""


def money_of(source: str, *, simulated: bool) -> Money:
    """What kind of money a route's figures are."""
    if simulated:
        return "simulated"
    return "equivalent" if source == "subscription" else "billed"


def cost_micro(route: Route, usage: Usage, ts: float, reported: int | None = None) -> int | None:
    """Micro-dollars of a call at ``ts`` (epoch seconds), or None where no price is known: never a foreign price.

    ``reported`` is the provider's own figure, which beats every list. On a subscription the result is the list-price
    equivalent (`money_of`).
    """
    if route.stated_price is not None:
        return _stated(route.stated_price, usage)
    if reported is not None and reported >= 0:
        return reported
    price = _listed(route, usage, ts)
    return None if price is None else micro_usd(price.total_price)


def bill(
    route: Route, usage: Usage, beside: Sequence[Usage], ts: float, reported: int | None = None
) -> tuple[int | None, Usage | None]:
    """Micro-dollars of an answer and of the provider's own work ``beside`` it, each part at the tier of its own size,
    and the sum of that work, None where there was none. A part without a price leaves the whole without one.
    """
    total = cost_micro(route, usage, ts, reported)
    if not beside:
        return total, None
    extra = functools.reduce(Usage.plus, beside)
    if reported is not None:
        return total, extra
    for part in beside:
        more = cost_micro(route, part, ts)
        total = None if total is None or more is None else total + more
    return total, extra


def read_micro(route: Route, usage: Usage, ts: float) -> int | None:
    """Micro-dollars for a million more tokens of a prompt that was sent before, at the tier of a request of that size.

    As read from the cache, or where a provider says nothing of one, as plain input. None without a price.
    """
    size = max(1, usage.prompt_tokens)
    known = usage.cache_read_tokens is not None
    again = Usage(cache_read_tokens=size) if known else Usage(input_tokens=size)
    if (stated := route.stated_price) is not None:
        return micro_usd(Decimal(str(stated.cache_read if known else stated.input)))
    price = _listed(route, again, ts)
    return None if price is None else micro_usd(price.total_price * _MILLION / size)


def worst_micro(route: Route, prompt_tokens: int, max_output: int, ts: float) -> int | None:
    """The most a request can cost: the whole prompt written to a cache for an hour, the whole output used."""
    if route.stated_price is None and route.provider == "anthropic":
        usage = Usage(output_tokens=max_output, cache_write_1h_tokens=prompt_tokens)
    else:
        usage = Usage(output_tokens=max_output, cache_write_5m_tokens=prompt_tokens)
    return cost_micro(route, usage, ts)


def price_tiers(route: Route, ts: float) -> tuple[int, ...]:
    """Prompt sizes above which the whole of a request costs more at ``ts``, lowest first; those that the window cannot
    hold are left out. The size is that of the whole prompt, cached or not; exactly so much still costs the lower rate.
    """
    price = None if route.stated_price is not None else _listed(route, Usage(1), ts)
    rates = () if price is None else vars(price.model_price).values()
    starts = {tier.start for rate in rates for tier in getattr(rate, "tiers", ())}
    return tuple(sorted(start for start in starts if start < route.window))


def _stated(price: ListPrice, usage: Usage) -> int:
    writes = (usage.cache_write_5m_tokens or 0) + (usage.cache_write_1h_tokens or 0)
    total = (
        Decimal(str(price.input)) * usage.input_tokens
        + Decimal(str(price.output)) * usage.output_tokens
        + Decimal(str(price.cache_read)) * (usage.cache_read_tokens or 0)
        + Decimal(str(price.cache_write)) * writes
    )
    return micro_usd(total / _MILLION)


def _listed(route: Route, usage: Usage, ts: float) -> PriceCalculation | None:
    """What the price list makes of ``usage``; None for a route that it does not price."""
    if route.source not in {"payg", "subscription"} or route.provider not in _LISTS:
        return None
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
            provider_id=_LISTS[route.provider],
            genai_request_timestamp=datetime.fromtimestamp(ts, tz=UTC),
        )
    except LookupError:
        return None
    if price.model.id.casefold() != route.family.casefold():
        return None  # matched by a prefix: another model's price
    return price
