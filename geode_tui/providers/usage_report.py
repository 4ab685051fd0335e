"""Reading usage reports as they come: cumulative figures, some of them repeated, absent or null. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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


def part(report: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object at ``name``, or an empty one."""
    value = report.get(name)
    return value if isinstance(value, Mapping) else {}


def tokens(report: Mapping[str, Any], name: str) -> int | None:
    """The count at ``name``, or None where there is none that makes sense."""
    value = report.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
