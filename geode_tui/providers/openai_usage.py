"""Usage as OpenAI's two wires report it. Their prompt counts hold the cached part; the neutral ones do not. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from geode_tui.core.usage import Usage, micro_usd
from geode_tui.providers.usage_report import part, tokens


def responses_usage(report: Mapping[str, Any]) -> Usage:
    """The figures of a Responses answer."""
    return _usage(report, "input_tokens", "output_tokens")


def chat_usage(report: Mapping[str, Any]) -> Usage:
    """The figures of a Chat Completions answer, wherever its server says how much was read from a cache."""
    return _usage(report, "prompt_tokens", "completion_tokens")


def reported_micro(report: Mapping[str, Any]) -> int | None:
    """What the provider itself says the answer costs, micro-dollars.

    With a key of one's own at the backend ``cost`` is the gateway's fee alone, and the backend's bill comes on top.
    """
    cost = _dollars(report.get("cost"))
    if cost is None:
        return None
    backend = _dollars(part(report, "cost_details").get("upstream_inference_cost"))
    return micro_usd(cost + backend if report.get("is_byok") is True and backend else cost)


def _usage(report: Mapping[str, Any], prompt: str, answer: str) -> Usage:
    """Cache writes of OpenAI have one price whatever their lifetime, so they all stand in the shorter field."""
    details = part(report, f"{prompt}_details")
    total = tokens(report, prompt) or 0
    reads = tokens(details, "cached_tokens"), tokens(report, "cached_tokens"), tokens(report, "prompt_cache_hit_tokens")
    read = next((min(count, total) for count in reads if count is not None), None)
    written = tokens(details, "cache_write_tokens")
    written = None if written is None else min(written, total - (read or 0))
    return Usage(
        input_tokens=total - (read or 0) - (written or 0),
        output_tokens=tokens(report, answer) or 0,
        cache_read_tokens=read,
        cache_write_5m_tokens=written,
        reasoning_tokens=tokens(part(report, f"{answer}_details"), "reasoning_tokens"),
    )


def _dollars(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value))
    except ArithmeticError:
        return None
    return amount if amount.is_finite() and amount >= 0 else None
