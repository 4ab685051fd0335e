"""The gauge's figures as events carry them: parts that add up to what is used."""

from __future__ import annotations

import msgspec

from geode_tui.core.events import ContextFigures, Measured
from geode_tui.routes.budget import Budget
from geode_tui.routes.catalog import Route

CATEGORIES = (
    "system",
    "tools",
    "native",
    "summaries",
    "user",
    "agent",
    "thinking",
    "results",
    "images",
    "unattributed",
)


def figures(
    used: int,
    parts: dict[str, int],
    route: Route,
    budget: Budget,
    measured: Measured,
    *,
    simulated: bool,
    margin: int = 0,
) -> ContextFigures:
    """A gauge of ``used`` tokens whose parts add up to it. ``margin`` in percent is for its thresholds only."""
    return ContextFigures(
        used=used,
        window=budget.window,
        output_reserve=budget.reserve,
        budget=budget.prompt,
        warning=budget.warning,
        critical=budget.critical,
        warning_percent=budget.warning_percent,
        critical_percent=90,
        provenance=route.provenance,
        measured=measured,
        parts=balanced(parts, used),
        input_cap=budget.input_cap,
        simulated=simulated,
        margin_percent=margin,
    )


def confirmed(shown: ContextFigures, tokens: int) -> ContextFigures:
    """The gauge of a request, with its provider's own count of it."""
    parts = balanced({name: part for name, part in shown.parts.items() if name != "unattributed"}, tokens)
    before = shown.parts.get("system", 0)
    dynamic = shown.dynamic * parts.get("system", 0) // before if shown.dynamic and before else shown.dynamic
    return msgspec.structs.replace(
        shown, used=tokens, measured="confirmed", parts=parts, margin_percent=0, dynamic=dynamic
    )


def balanced(parts: dict[str, int], used: int) -> dict[str, int]:
    """``parts`` made to add up to ``used``: what is missing is "unattributed", what is too much is scaled away."""
    kept = {name: tokens for name, tokens in parts.items() if tokens > 0}
    whole = sum(kept.values())
    if whole < used:
        return {**kept, "unattributed": used - whole}
    if whole == used or not whole:
        return kept
    scaled = {name: tokens * used // whole for name, tokens in kept.items()}
    largest = max(scaled, key=lambda name: scaled[name])
    scaled[largest] += used - sum(scaled.values())
    return scaled
