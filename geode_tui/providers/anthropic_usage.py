"""The neutral figures of the usage that the Messages stream reports. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geode_tui.core.usage import Usage
from geode_tui.providers.usage_report import part, tokens


def usage_of(report: Mapping[str, Any]) -> Usage:
    """The neutral figures of a merged report. Cache writes not split by lifetime are the 5-minute ones."""
    split = part(report, "cache_creation")
    short, long = tokens(split, "ephemeral_5m_input_tokens"), tokens(split, "ephemeral_1h_input_tokens")
    total = tokens(report, "cache_creation_input_tokens")
    if total is not None:
        short = max(short or 0, total - (long or 0))
    return Usage(
        input_tokens=tokens(report, "input_tokens") or 0,
        output_tokens=tokens(report, "output_tokens") or 0,
        cache_read_tokens=tokens(report, "cache_read_input_tokens"),
        cache_write_5m_tokens=short,
        cache_write_1h_tokens=long,
        reasoning_tokens=tokens(part(report, "output_tokens_details"), "thinking_tokens"),
    )


def by_iteration(report: Mapping[str, Any]) -> tuple[Usage, tuple[Usage, ...]]:
    """The figures of the call that has the size of the conversation, and those of the others the answer took.

    One answer may take several calls at the provider: a loop over its own tools, a compaction. The last ``message``
    iteration is the conversation; a compaction is not even in the report's own sums, and says nothing of its size.
    """
    entries = _iterations(report)
    if only_compacted(report):
        return Usage(), tuple(usage_of(entry) for entry in entries)
    messages = [i for i, entry in enumerate(entries) if entry.get("type") == "message"]
    if not messages:
        return usage_of(report), tuple(usage_of(entry) for entry in entries)
    others = tuple(usage_of(entry) for i, entry in enumerate(entries) if i != messages[-1])
    last = entries[messages[-1]]
    if len(messages) > 1:
        return usage_of(last), others
    if any(map(_compacts, entries)):
        # The report began with the prompt as it was before, and a figure of it that is zero now still stands there.
        return usage_of({"output_tokens_details": report.get("output_tokens_details"), **last}), others
    # With one call of its kind the report's own sums are that call's, and say more than its entry does.
    return usage_of(report), others


def only_compacted(report: Mapping[str, Any]) -> bool:
    """Whether the answer is a compaction, or none came of it: nothing was read that has the conversation's size."""
    entries = _iterations(report)
    return any(map(_compacts, entries)) and not any(entry.get("type") == "message" for entry in entries)


def _iterations(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    reported = report.get("iterations")
    return [entry for entry in reported if isinstance(entry, Mapping)] if isinstance(reported, list) else []


def _compacts(iteration: Mapping[str, Any]) -> bool:
    return iteration.get("type") == "compaction"
