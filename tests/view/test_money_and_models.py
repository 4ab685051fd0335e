"""The fold: another model's gauge, and the part of the money that a subscription paid."""

from __future__ import annotations

import msgspec

from geode_tui.core.events import (
    ContextFigures,
    EventRow,
    LlmCallEnded,
    LlmCallFailed,
    ModelSwitched,
    Payload,
    encode_payload,
    event_name,
)
from geode_tui.core.usage import Usage
from geode_tui.view.reduce import fold
from geode_tui.view.state import RunState

GAUGE = ContextFigures(
    1_000, 200_000, 20_000, 180_000, 90_000, 162_000, 50, 90, "catalog", "confirmed", {"user": 1_000}
)


def folded(*payloads: Payload) -> RunState:
    rows = [EventRow(n, float(n), 1, n, event_name(type(p)), encode_payload(p)) for n, p in enumerate(payloads, 1)]
    return fold(RunState(), rows)


def ended(source: str, micro: int) -> LlmCallEnded:
    return LlmCallEnded("c", 1, "turn", "gpt-6-sol", "openai", source, 5, Usage(10, 5), micro, "end_turn", GAUGE)


def test_what_a_subscription_paid_is_told_apart() -> None:
    failed = LlmCallFailed(
        "c", 1, "turn", "gpt-6-sol", "openai", "subscription", "server", "warning", "no", Usage(1), 7
    )
    state = folded(ended("payg", 100), ended("subscription", 30), failed)
    assert (state.money.cost_micro, state.money.equivalent_micro) == (137, 37)
    assert state.by_model["gpt-6-sol"].equivalent_micro == state.turn_money.equivalent_micro == 37
    assert (state.money.failed_micro, state.money.calls) == (7, 2)


def test_another_models_gauge_holds_from_the_switch_on() -> None:
    gauge = msgspec.structs.replace(GAUGE, used=900, window=1_050_000, measured="estimated")
    switched = ModelSwitched(
        "claude-opus-5-5", "gpt-6\x1b[2J", "person", "anthropic", "payg", "openai", "subscription", gauge, "low"
    )
    state = folded(ended("payg", 100), switched)
    assert (state.provider, state.source, state.context) == ("openai", "subscription", gauge)
    assert "\x1b" not in state.model
    assert state.last_estimate_error is None
    assert state.damaged_events == state.unknown_events == 0
