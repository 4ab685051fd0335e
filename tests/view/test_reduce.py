"""The fold: live watching, replay and snapshots are the same state; nothing in a log can break it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core import events as ev
from geode_tui.core.limits import Limits
from geode_tui.core.usage import Usage
from geode_tui.view.gauge import percent
from geode_tui.view.reduce import REDUCER_HASH, decode_state, encode_state, fold
from geode_tui.view.selectors import session_elapsed
from geode_tui.view.state import NEWEST, CacheLoss, RunState, frozen_copy
from tests.view.runs import HOSTILE, NOW, SESSION, a_run, any_run, figures, plausible, row

UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def folded(rows: list[ev.EventRow]) -> RunState:
    return fold(RunState(), rows)


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(key)
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)


# -- equality ---------------------------------------------------------------------------------------------------------
@given(a_run)
def test_watching_live_and_replaying_are_the_same_after_each_event(rows: list[ev.EventRow]) -> None:
    live = RunState()
    for count, one in enumerate(rows, start=1):
        fold(live, [one])
        assert encode_state(live) == encode_state(folded(rows[:count]))


@given(a_run, st.data())
def test_a_snapshot_and_the_rest_are_the_fold_from_zero(rows: list[ev.EventRow], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rows)))
    resumed = decode_state(encode_state(folded(rows[:cut])))
    assert encode_state(fold(resumed, rows[cut:])) == encode_state(folded(rows))


def test_snapshots_of_a_long_run_agree_wherever_it_is_cut() -> None:
    rows = plausible(Random(7), 300)
    whole = encode_state(folded(rows))
    for cut in range(0, len(rows), len(rows) // 12):
        resumed = decode_state(encode_state(folded(rows[:cut])))
        assert encode_state(fold(resumed, rows[cut:])) == whole


@given(a_run)
def test_a_copy_is_never_changed_again(rows: list[ev.EventRow]) -> None:
    half = len(rows) // 2
    state = folded(rows[:half])
    copy = frozen_copy(state)
    before = encode_state(copy)
    fold(state, rows[half:])
    assert encode_state(copy) == before


def test_the_hash_names_this_reducer() -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", REDUCER_HASH)


# -- bounds -----------------------------------------------------------------------------------------------------------
def test_a_snapshot_does_not_grow_with_the_run() -> None:
    rows = plausible(Random(3), 2_400)
    assert len(rows) > 20_000
    state = folded(rows)
    assert state.events == len(rows)
    assert len(encode_state(state)) <= 60_000
    assert max(len(state.feed), len(state.rounds), len(state.outcomes)) <= 2 * NEWEST
    copy = frozen_copy(state)
    assert (len(copy.feed), len(copy.rounds), len(copy.outcomes)) == (NEWEST, NEWEST, NEWEST)
    assert copy.feed == rows[-NEWEST:]
    assert (state.open_calls, state.open_tools, state.approvals) == ({}, {}, {})


@given(any_run)
def test_text_that_is_shown_cannot_drive_a_terminal(rows: list[ev.EventRow]) -> None:
    """B083, B128: whatever the log holds. The feed keeps raw rows; `event_line` cleans what it shows of them."""
    shown = msgspec.to_builtins(msgspec.structs.replace(folded(rows), feed=[]))
    assert [text for text in texts(shown) if UNSAFE.search(text)] == []


def test_hostile_names_stay_names() -> None:
    """B128."""
    started = ev.ToolExecStarted("c-1", "__class__", "{0.__init__}", HOSTILE, "%s%n")
    state = folded([row(1, started)])
    assert state.open_tools["c-1"].name == "__class__"
    assert state.open_tools["c-1"].safety == "{0.__init__}"


# -- foreign and damaged rows -----------------------------------------------------------------------------------------
@given(a_run, st.data())
def test_unknown_and_damaged_rows_are_counted_and_change_nothing_else(
    rows: list[ev.EventRow], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(rows)))
    bad = data.draw(st.sampled_from(["", "{", "[]", "null", '{"call_id":3}', "\x00"]))
    at = (NOW, 0, 0)
    strange = [
        ev.EventRow(0, *at, "from_the_future", '{"a":1}'),
        ev.EventRow(0, *at, "llm_call_ended", bad),
        ev.EventRow(0, *at, "session_started", bad),
    ]
    mixed, plain = folded([*rows[:place], *strange, *rows[place:]]), folded(rows)
    assert (mixed.unknown_events, mixed.damaged_events) == (1, 2)
    assert mixed.events == plain.events + 3
    same = {"unknown_events": 0, "damaged_events": 0, "events": 0, "feed": []}
    if rows[place:]:
        assert encode_state(msgspec.structs.replace(mixed, **same)) == encode_state(
            msgspec.structs.replace(plain, **same)
        )


@pytest.mark.parametrize(("older", "newer"), ev.LEGACY_NAMES.items())
def test_events_under_older_names_count_as_what_they_are(older: str, newer: str) -> None:
    example = next(r for r in [*plausible(Random(1), 20), legacy_end()] if r.event == newer)
    renamed = msgspec.structs.replace(example, event=older)
    assert encode_state(msgspec.structs.replace(folded([renamed]), feed=[])) == encode_state(
        msgspec.structs.replace(folded([example]), feed=[])
    )


def legacy_end() -> ev.EventRow:
    return row(1, ev.SessionEnded(SESSION, "natural", 3))


def test_a_payload_with_fields_of_a_newer_program_is_read() -> None:
    newer = ev.EventRow(1, NOW, 1, 1, "message_opened", '{"message_id":4,"seq":4,"colour":"blue"}')
    assert folded([newer]).open_message == 4


# -- what single events mean ------------------------------------------------------------------------------------------
ROUTE = ("turn", "m-1", "anthropic", "payg")


def run(*payloads: ev.Payload) -> RunState:
    return folded([row(n, p) for n, p in enumerate(payloads, start=1)])


def started(call: str = "c-1", attempt: int = 1, purpose: str = "turn") -> ev.LlmCallStarted:
    return ev.LlmCallStarted(call, attempt, purpose, *ROUTE[1:], None, 32_768, figures(100_000))


def ended(cost: int | None, purpose: str = "turn", used: int = 101_000) -> ev.LlmCallEnded:
    usage = Usage(10, 20, 30)
    return ev.LlmCallEnded(
        "c-1", 1, purpose, *ROUTE[1:], 5, usage, cost, "end_turn", figures(used, "confirmed"), message_seq=2
    )


GO = ev.UserInputReceived(SESSION, "t-1", 1, 1, 40, "user_input")


def test_money_is_kept_by_model_and_purpose_and_failures_count() -> None:
    lost = ev.LlmCallFailed("c-2", 1, *ROUTE, "timeout", "error", "lost", Usage(100, 5), 9_000)
    state = run(GO, started(), ended(50_000), lost, ended(7_000, "title"), ended(None))
    assert (state.money.cost_micro, state.money.calls, state.money.unpriced_calls) == (66_000, 3, 1)
    assert (state.money.failed_micro, state.money.failed_calls) == (9_000, 1)
    assert state.money.usage == Usage(130, 65, 90)
    assert {name: m.cost_micro for name, m in state.by_purpose.items()} == {"turn": 59_000, "title": 7_000}
    assert state.by_model["m-1"] == state.money == state.turn_money


def test_what_a_session_took_altogether_is_not_what_its_context_holds() -> None:
    """B008: 33.9 M tokens over a run whose last prompt had 155,869, 60.3 % of 258,400."""
    last = msgspec.structs.replace(figures(155_869, "confirmed"), window=272_000, budget=258_400)
    calls = [
        ev.LlmCallEnded(
            f"c-{n}", 1, *ROUTE, 5, Usage(prompt), 0, "end_turn", msgspec.structs.replace(last, used=prompt)
        )
        for n, prompt in enumerate([*[121_080] * 279, 7_295, 155_869])
    ]
    state = run(*calls)
    assert state.money.usage.prompt_tokens == 33_944_484
    assert state.context is not None
    assert (state.context.used, percent(state.context)) == (155_869, 60.3)
    assert max(r.used for r in state.rounds) == 155_869


def test_a_turn_has_money_and_clocks_of_its_own() -> None:
    state = run(GO, ended(50_000), ev.UserInputReceived(SESSION, "t-1", 2, 2, 9, "user_input", joins=True))
    assert state.turn_money.cost_micro == 50_000
    assert state.turn_started_at == NOW + 1
    fold(state, [row(9, ev.UserInputReceived(SESSION, "t-2", 3, 3, 9, "user_input"))])
    assert (state.turn_money.cost_micro, state.money.cost_micro) == (0, 50_000)
    assert state.turn_started_at == NOW + 9


def test_the_sessions_time_is_the_awake_time_of_its_turns() -> None:
    over = ev.TurnCompleted(SESSION, "t", "m", "p", 1, (), "natural")
    again = ev.SessionStarted(SESSION, "m", "p", "s", True, 2, 9, "ask", Limits())
    said = ev.UserInputReceived(SESSION, "t", 1, 1, 9, "user_input")
    first = [row(1, said, at=NOW), row(2, ev.SuspensionAbsorbed(40.0), at=NOW + 50), row(3, over, at=NOW + 60)]
    state = fold(RunState(), first)
    assert (state.active_s, session_elapsed(state, NOW + 10_000)) == (20, 20)
    fold(state, [row(4, said, at=NOW + 1_000), row(5, ev.HandoffTriggered(SESSION, 1, 1, 1), at=NOW + 1_005)])
    assert session_elapsed(state, NOW + 1_007) == 27
    fold(state, [row(6, again, at=NOW + 9_000)])
    assert session_elapsed(state, NOW + 9_003) == 20 + 5 + 3
    fold(state, [row(7, over, at=NOW + 9_010)])
    assert state.active_s == 20 + 5 + 10


def test_the_gauge_shows_turn_requests_only_and_the_error_of_the_last_estimate() -> None:
    state = run(GO, started(), ended(1), started("c-2", purpose="summary"), ended(1, "summary", used=5))
    assert state.context == figures(101_000, "confirmed")
    assert state.last_estimate_error == pytest.approx(-0.99)
    assert [r.used for r in state.rounds] == [101_000]


def test_a_retried_request_is_one_round() -> None:
    retried = ev.LlmCallRetried("c-1", 1, "overloaded", 2.0, NOW + 9)
    state = run(GO, started(), retried)
    assert state.retry is not None
    assert state.retry.at == NOW + 9
    again = run(GO, started(), retried, started(attempt=2))
    assert (again.rounds_total, again.retry) == (1, None)


def test_an_approval_waits_until_it_is_answered_and_its_call_runs_until_its_result() -> None:
    asked = ev.ToolApprovalRequested("a-1", "c-9", "run_shell", "execute", "make", 2, "ask")
    state = run(GO, asked, ev.ApprovalTransition("a-1", "c-9", "run_shell", "requested", "policy"))
    assert (list(state.approvals), state.open_tools["c-9"].state) == (["a-1"], "waiting")
    fold(state, [row(4, ev.ApprovalTransition("a-1", "c-9", "run_shell", "allowed", "person"))])
    assert (state.approvals, state.open_tools) == ({}, {})
    fold(state, [row(5, ev.ToolExecStarted("c-9", "run_shell", "execute", "make", "{}", 77, 1.5))])
    assert (state.open_tools["c-9"].group, state.open_tools["c-9"].group_started) == (77, 1.5)
    fold(state, [row(6, ev.ToolExecEnded("c-9", "run_shell", 9, True, True, "exit 2", 1, 2, 3, 3))])
    assert (state.open_tools, state.tools_failed) == ({}, 1)


def test_nothing_stays_open_after_a_turn() -> None:
    asked = ev.ToolApprovalRequested("a-1", "c-9", "run_shell", "execute", "make", 2)
    done = ev.TurnCompleted(SESSION, "t-1", "m", "p", 3, (), "user_cancelled", forced=True, detail="stopped")
    state = run(GO, started(), asked, ev.WrapUpStarted("rounds", 4_096), done)
    assert (state.open_calls, state.open_tools, state.approvals) == ({}, {}, {})
    assert (state.turn_open, state.wrap_up) == (False, "")
    assert (state.termination_reason, state.forced, state.ended_detail) == ("user_cancelled", True, "stopped")


def test_a_changed_cost_budget_lifts_what_was_said_of_the_old_one() -> None:
    said = (ev.CostWarning(4, 5), ev.CostLimitExceeded(6, 5))
    state = run(GO, *said, ev.LimitsChanged(Limits(max_rounds=5)))
    assert (state.cost_warned, state.cost_exceeded, state.limits.max_rounds) == (True, True, 5)
    state = run(GO, *said, ev.LimitsChanged(Limits(cost_budget_micro=9)))
    assert (state.cost_warned, state.cost_exceeded) == (False, False)


def test_a_new_worker_takes_over_what_the_one_before_it_left_open() -> None:
    again = ev.SessionStarted(SESSION, "m-2", "p", "payg", True, 2, 99, "reads", Limits())
    state = run(GO, started(), ev.LlmCallRetried("c-1", 1, "overloaded", 2.0, NOW), again)
    assert (list(state.open_calls), state.turn_open, state.retry) == (["c-1"], True, None)
    assert (state.epoch, state.pid, state.model, state.approve) == (2, 99, "m-2", "reads")


# -- the cache --------------------------------------------------------------------------------------------------------
def broken(number: int, cost_micro: int | None) -> ev.EventRow:
    payload = ev.CacheBroken("c-1", "dynamic", 40_000 + number, cost_micro, "system_changed\x1b[2J", 0)
    return row(number, payload, 2, number)


def test_cache_breaks_are_kept_and_added_up() -> None:
    state = folded([broken(1, 90_000), broken(2, None)])
    assert [(b.turn, b.round, b.cause, b.tokens, b.cost_micro) for b in state.cache_breaks] == [
        (2, 1, "dynamic", 40_001, 90_000),
        (2, 2, "dynamic", 40_002, None),
    ]
    assert state.cache_loss == CacheLoss(2, 80_003, 90_000)
    assert not UNSAFE.search(state.cache_breaks[0].said)


def test_only_the_newest_cache_breaks_are_kept_and_all_are_counted() -> None:
    state = folded([broken(n, 1) for n in range(1, 3 * NEWEST)])
    assert len(state.cache_breaks) < 2 * NEWEST
    assert len(frozen_copy(state).cache_breaks) == len(decode_state(encode_state(state)).cache_breaks) == NEWEST
    assert state.cache_loss.breaks == 3 * NEWEST - 1
