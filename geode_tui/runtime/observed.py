"""What a provider's refusal teaches about its window, which is never taken for a documented value (RUNTIME.md 1.4)."""

from __future__ import annotations

import msgspec

from geode_tui.core.events import EventRow, WindowObserved, decode_payload, event_name
from geode_tui.log.transcript import Transcript
from geode_tui.providers.errors import ProviderError
from geode_tui.routes.catalog import Route
from geode_tui.runtime.retries import LEAST_OUTPUT

LEAST_WINDOW = 1_000
"""Tokens; a smaller figure in a refusal is no window."""
CAP_PERCENT = 98
"""Of a prompt that was refused without a figure: what is planned with from then on."""
READ = 20


def output_instead(error: ProviderError, asked: int) -> int | None:
    """How much output to ask for where the prompt itself would fit: an overflow that the asked-for output caused lowers
    the output, not the history. None where the prompt is too large by itself, or where the figures are not known.
    """
    if not error.limit or not error.actual or not error.output:
        return None
    room = error.limit - (error.actual - error.output)
    return room if LEAST_OUTPUT <= room < asked else None


def observed(route: Route, limit: int | None, used: int) -> Route:
    """``route`` with the window that its provider named; without one, with a cap below what was refused."""
    if limit and limit >= LEAST_WINDOW:
        known = route.provenance != "unknown_fallback"
        window = min(limit, route.window) if known else limit
        return msgspec.structs.replace(route, window=window, provenance="observed") if window != route.window else route
    if limit is None and route.provenance != "unknown_fallback":
        cap = used * CAP_PERCENT // 100
        return msgspec.structs.replace(route, input_cap=min(cap, route.input_cap or cap))
    return route


def observed_before(transcript: Transcript, number: int, route: Route) -> Route:
    """``route`` as the session's own log has seen it."""
    rows: list[EventRow] = transcript.newest_named(number, event_name(WindowObserved), READ)
    for row in reversed(rows):
        seen = decode_payload(row.event, row.payload)
        if isinstance(seen, WindowObserved) and (seen.model, seen.provider, seen.source) == route.key:
            return observed(route, seen.limit, 0)
    return route
