"""Failed requests: what is sent again, when, for how long, and what stops the waiting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.endings import Ending, exit_status
from geode_tui.core.limits import Limits
from geode_tui.core.usage import Usage
from geode_tui.providers.base import Request
from geode_tui.providers.errors import ErrorKind, ProviderError
from geode_tui.runtime.retries import Stop, Wait, decide
from tests.runtime.harness import FakeClock, Held, ScriptedProvider, Step, bench, call, fail, say, stub, toolbox

PATIENT = [ErrorKind.OVERLOADED, ErrorKind.RATE_LIMIT, ErrorKind.CONNECTION, ErrorKind.SERVER]
FEW = [ErrorKind.TIMEOUT, ErrorKind.EMPTY, ErrorKind.UNKNOWN]
FINAL = [k for k in ErrorKind if k not in {*PATIENT, *FEW, ErrorKind.OUTPUT_TOO_LARGE}]
OVERLOADED = fail(ErrorKind.OVERLOADED, "Overloaded")


# -- the pure decision ------------------------------------------------------------------------------------------------
@given(st.sampled_from(PATIENT), st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_the_delay_is_jittered_fully_below_a_ceiling(kind: ErrorKind, attempt: int, dice: float) -> None:
    step = decide(fail(kind), attempt, 0.0, 1e9, dice)
    assert step == Wait(dice * min(60.0, 2.0 * 2 ** min(attempt - 1, 20)))


@given(st.floats(0, 900), st.integers(1, 20), st.floats(0, 1, exclude_max=True))
def test_the_server_is_never_asked_earlier_than_it_wants(after: float, attempt: int, dice: float) -> None:
    step = decide(fail(ErrorKind.RATE_LIMIT, retry_after=after), attempt, 0.0, 1e9, dice)
    assert isinstance(step, Wait)
    assert step.delay_s >= after


def test_a_wait_of_more_than_fifteen_minutes_is_left_to_the_person() -> None:
    assert isinstance(decide(fail(ErrorKind.RATE_LIMIT, retry_after=900.0), 1, 0, 1e9, 0), Wait)
    assert isinstance(decide(fail(ErrorKind.RATE_LIMIT, retry_after=900.1), 1, 0, 1e9, 0), Stop)


@given(st.floats(0, 5_000), st.floats(0, 1, exclude_max=True))
def test_no_wait_reaches_past_the_patience(elapsed: float, dice: float) -> None:
    step = decide(OVERLOADED, 6, elapsed, 1_800.0, dice)
    assert isinstance(step, Wait) == (elapsed + dice * 60.0 <= 1_800.0)


@pytest.mark.parametrize("kind", FEW)
def test_three_attempts_and_no_more(kind: ErrorKind) -> None:
    steps = [decide(fail(kind), attempt, 0.0, 1e9, 0.5) for attempt in (1, 2, 3)]
    assert [type(step) for step in steps] == [Wait, Wait, Stop]
    assert isinstance(steps[0], Wait)
    assert steps[0].max_attempts == 3


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_after_visible_output_nothing_is_sent_again(kind: ErrorKind) -> None:
    assert isinstance(decide(fail(kind, visible=True), 1, 0.0, 1e9, 0.0), Stop)


def test_a_server_that_forbids_another_attempt_is_heard() -> None:
    assert isinstance(decide(fail(ErrorKind.OVERLOADED, retryable=False), 1, 0.0, 1e9, 0.0), Stop)


# -- in a run ---------------------------------------------------------------------------------------------------------
async def test_b101_an_overloaded_provider_is_asked_until_it_answers() -> None:
    provider = ScriptedProvider(*[OVERLOADED] * 12, say("at last"))
    with bench(provider, tools={}) as run:
        await run.turn()
        assert (run.ending, run.end["rounds"]) == ("natural", 1)
        retried = run.payloads("llm_call_retried")
        assert [r["attempt"] for r in retried] == list(range(2, 14))
        assert {r["error_type"] for r in retried} == {"overloaded"}
        ceilings = [min(60.0, 2.0 * 2**n) for n in range(12)]
        assert all(0 <= r["delay_s"] <= ceiling for r, ceiling in zip(retried, ceilings, strict=True))
        assert [round(s, 3) for s in run.clock.slept] == [r["delay_s"] for r in retried]
        assert len(run.payloads("llm_call_failed")) == 12
        assert {p["call_id"] for p in run.payloads("llm_call_started")} == {run.named("llm_call_ended")["call_id"]}


async def test_b101_a_named_wait_is_kept() -> None:
    with bench(ScriptedProvider(fail(ErrorKind.RATE_LIMIT, retry_after=37.0)), tools={}) as run:
        await run.turn()
        assert (run.ending, run.clock.slept) == ("natural", [37.0])
        retried = run.named("llm_call_retried")
        assert (retried["delay_s"], retried["at"]) == (37.0, pytest.approx(run.clock.now()))


def outage(clock: FakeClock, seconds: float) -> Step:
    """Overloaded until ``seconds`` from now, a minute's wait each."""
    end = clock.monotonic() + seconds

    def step(_request: Request) -> Step:
        if clock.monotonic() >= end:
            return say("back")
        return fail(ErrorKind.OVERLOADED, "Overloaded", retry_after=60.0)

    return step


@pytest.mark.parametrize(("patience", "ending"), [(1_800.0, "natural"), (600.0, "model_action_required")])
async def test_twenty_minutes_of_outage_are_outlived_with_patience_for_thirty(patience: float, ending: str) -> None:
    with bench(ScriptedProvider(), tools={}, retry_for_s=patience) as run:
        run.provider.steps = [outage(run.clock, 1_200.0)] * 60
        await run.turn()
        assert run.ending == ending
        if ending != "natural":
            assert run.end["error_type"] == "overloaded"
            assert "Overloaded" in run.end["detail"]
            assert run.end["detail"].endswith("geode-tui resume asks again")
            assert exit_status(Ending.of(ending)) == 4


async def test_a_run_that_gave_up_is_resumed_where_it_stood() -> None:
    with bench(ScriptedProvider(call("look"), *[OVERLOADED] * 200), tools=toolbox(stub("look")), retry_for_s=60) as run:
        await run.turn("the task")
        assert run.ending == "model_action_required"
        run.provider.steps = []
        await run.turn("go on")
        assert run.ending == "natural"
        texts = [m.text for m in run.provider.requests[-1].messages if m.role == "user"]
        assert texts == ["the task", "go on"]


@pytest.mark.parametrize("kind", FEW)
async def test_a_timeout_or_an_empty_answer_gets_three_attempts(kind: ErrorKind) -> None:
    with bench(ScriptedProvider(*[fail(kind)] * 9), tools={}) as run:
        await run.turn()
        assert (run.ending, len(run.provider.requests)) == ("model_action_required", 3)
        assert [r["max_attempts"] for r in run.payloads("llm_call_retried")] == [3, 3]
        assert "3 attempts gave no answer" in run.end["detail"]


@pytest.mark.parametrize("kind", FINAL)
async def test_what_another_attempt_cannot_mend_stops_at_once(kind: ErrorKind) -> None:
    endings = {ErrorKind.BILLING: "billing_error", ErrorKind.CONTEXT_OVERFLOW: "context_exhausted"}
    with bench(ScriptedProvider(*[fail(kind, "its own words")] * 9), tools={}) as run:
        await run.turn()
        assert run.ending == endings.get(kind, "model_action_required")
        assert (len(run.provider.requests), run.clock.slept) == (1, [])
        assert run.end["error_type"] == kind.value
        if kind is ErrorKind.CONTEXT_OVERFLOW:
            assert run.end["detail"].endswith("Nothing was reset. The provider said: its own words")
        else:
            assert run.end["detail"].startswith(f"{kind.value}: its own words; ")


# -- guards and the person win ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("limits", "ending"),
    [
        (Limits(time_budget_s=60), "time_budget_expired"),
        (Limits(session_budget_s=60), "session_time_budget_expired"),
    ],
)
async def test_a_guard_wins_over_the_wait(limits: Limits, ending: str) -> None:
    waits = fail(ErrorKind.RATE_LIMIT, "slow down", retry_after=600.0)
    with bench(ScriptedProvider(waits), tools={}, limits=limits) as run:
        await run.turn()
        assert (run.ending, len(run.provider.requests)) == (ending, 1)
        assert run.clock.slept == [60.0]
        assert "rate_limit: slow down" in run.end["detail"]


async def test_a_limit_raised_during_the_wait_lets_the_run_go_on() -> None:
    waits = fail(ErrorKind.RATE_LIMIT, retry_after=600.0)
    with bench(ScriptedProvider(waits), tools={}, limits=Limits(time_budget_s=60)) as run:
        run.clock.hold()
        run.submit()
        async with run.serving():
            await run.seen("llm_call_retried")
            assert await run.settled(run.send_raw("budget", '{"limit": "time", "value": "1200"}')) == "done"
            run.clock.release()
        assert (run.ending, len(run.provider.requests)) == ("natural", 2)


async def test_failed_attempts_that_cost_are_stopped_by_the_cost_guard() -> None:
    dear = fail(ErrorKind.OVERLOADED, usage=Usage(input_tokens=400_000))
    with bench(ScriptedProvider(*[dear] * 50), tools={}, limits=Limits(cost_budget_micro=3_000_000)) as run:
        await run.turn()
        assert (run.ending, len(run.provider.requests)) == ("cost_budget_exceeded", 3)
        assert (run.named("cost_warning")["total_micro"], run.end["cost_micro"]) == (2_400_000, 3_600_000)


async def test_an_interrupt_ends_the_countdown_at_once() -> None:
    waits = fail(ErrorKind.RATE_LIMIT, retry_after=600.0)
    with bench(ScriptedProvider(waits), tools={}) as run:
        run.clock.hold()
        run.submit()
        async with run.serving():
            await run.seen("llm_call_retried")
            key = run.interrupt()
        assert (run.ending, run.outcome(key)) == ("user_cancelled", "done")
        assert len(run.provider.requests) == 1
        assert len(run.payloads("llm_call_failed")) == 1, "the attempt had its end already"


# -- what is kept of a failed attempt ---------------------------------------------------------------------------------
async def test_b064_the_usage_of_failed_attempts_is_counted() -> None:
    usage = Usage(input_tokens=9, cache_write_5m_tokens=150_000)
    broken = fail(ErrorKind.OVERLOADED, usage=usage)
    with bench(ScriptedProvider(*[broken] * 3, say("done")), tools={}) as run:
        await run.turn()
        failed = run.payloads("llm_call_failed")
        assert [f["usage"] for f in failed] == [{"input_tokens": 9, "cache_write_5m_tokens": 150_000}] * 3
        assert [f["attempt"] for f in failed] == [1, 2, 3]
        each = failed[0]["cost_micro"]
        assert each == 562_527
        assert run.end["cost_micro"] == 3 * each + run.named("llm_call_ended")["cost_micro"]


async def test_usage_that_was_streamed_counts_where_the_error_names_none() -> None:
    held = Held("half an ", ProviderError(ErrorKind.STREAM_INTERRUPTED, "cut", visible=True))
    held.release.set()
    with bench(ScriptedProvider(held), tools={}) as run:
        await run.turn()
        assert run.named("llm_call_failed")["usage"] == {"input_tokens": 100, "output_tokens": 1}


async def test_a_cut_after_visible_text_keeps_the_text_and_is_not_sent_again() -> None:
    held = Held("half an ", ProviderError(ErrorKind.STREAM_INTERRUPTED, "cut", visible=True))
    held.release.set()
    with bench(ScriptedProvider(held), tools={}) as run:
        await run.turn("the task")
        assert (run.ending, len(run.provider.requests)) == ("model_action_required", 1)
        kept = run.rows()[-1]
        assert (kept.status, kept.chars, run.stored(kept).message.text) == ("interrupted", 8, "half an ")
        assert run.named("llm_call_failed")["visible"]
        await run.turn("go on")
        assert [m.text for m in run.provider.requests[-1].messages] == ["the task", "go on"]


async def test_b102_a_failure_before_anything_was_seen_sends_the_same_request_again() -> None:
    provider = ScriptedProvider(fail(ErrorKind.CONNECTION, "reset"), say("whole"))
    with bench(provider, tools={}) as run:
        await run.turn()
        assert (run.ending, run.messages()[-1].text) == ("natural", "whole")
        assert provider.requests[0] == provider.requests[1]
