"""Usage as the Messages stream reports it: cumulative figures, some of them repeated, absent or null. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geode_tui.core.usage import Usage


def merge_usage(known: Mapping[str, Any], reported: object) -> dict[str, Any]:
    """``known`` with what ``reported`` adds: the latest figure wins, field by field, and is never summed.

    A null says nothing. Nor does a zero after a positive figure: counts of one answer do not fall back to nothing.
    """
    merged = dict(known)
    for name, value in reported.items() if isinstance(reported, Mapping) else ():
        if isinstance(value, Mapping):
            before = known.get(name)
            merged[name] = merge_usage(before if isinstance(before, Mapping) else {}, value)
        elif value is not None and (value or not known.get(name)):
            merged[name] = value
    return merged


def usage_of(merged: Mapping[str, Any]) -> Usage:
    """The neutral figures of a merged report. Cache writes not split by lifetime are the 5-minute ones."""
    split = _object(merged, "cache_creation")
    short, long = _tokens(split, "ephemeral_5m_input_tokens"), _tokens(split, "ephemeral_1h_input_tokens")
    total = _tokens(merged, "cache_creation_input_tokens")
    if total is not None:
        short = max(short or 0, total - (long or 0))
    return Usage(
        input_tokens=_tokens(merged, "input_tokens") or 0,
        output_tokens=_tokens(merged, "output_tokens") or 0,
        cache_read_tokens=_tokens(merged, "cache_read_input_tokens"),
        cache_write_5m_tokens=short,
        cache_write_1h_tokens=long,
        reasoning_tokens=_tokens(_object(merged, "output_tokens_details"), "thinking_tokens"),
    )


def _object(merged: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = merged.get(name)
    return value if isinstance(value, Mapping) else {}


def _tokens(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
