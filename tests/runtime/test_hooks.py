"""Hooks: what extensions are told and asked, and how little they can break."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.text import Redactor
from geode_tui.runtime.extending import ExtensionError, Failed, call
from geode_tui.runtime.hook_contracts import CONTRACTS, Correlation, HookName, Reply
from geode_tui.runtime.hook_payloads import MAX_BYTES, MAX_CHARS, MAX_DEPTH, MAX_ITEMS, frozen, is_secret
from geode_tui.runtime.hooks import Hooks, PostCompact, PreCompact

SOFT = PreCompact("m", "offline", 40, 12, "warning", hard=False, correlation=Correlation("s-1", "s-1:1"))
HARD = msgspec.structs.replace(SOFT, trigger="critical", hard=True)
DONE = PostCompact("m", "offline", 40, 14, 12, "warning", persisted=True)
SHORT_S = 0.05
"""A time-out that is meant to pass."""


def hooks_of(*targets: Any, name: str = "PreCompact", **facts: Any) -> Hooks:
    """Hooks with ``targets`` registered as e1, e2 and so on."""
    hooks = Hooks()
    for number, target in enumerate(targets, 1):
        hooks.register(name, target, extension=f"e{number}", **facts)
    return hooks


async def asked(*targets: Any, facts: PreCompact = SOFT) -> tuple[int, bool, list[str]]:
    """keep_recent, whether it is deferred, and what came of each call."""
    decision = await hooks_of(*targets).pre_compact(facts)
    return decision.keep_recent, decision.deferred, [i.status for i in decision.invocations]


def keeps(count: Any, **others: Any) -> Any:
    return lambda _payload: Reply("rewrite", {"keep_recent": count, **others})


def notes(name: str, order: list[str]) -> Any:
    return lambda _payload: order.append(name)


# -- the contract of PreCompact ---------------------------------------------------------------------------------------
async def test_nobody_registered_changes_nothing() -> None:
    assert await asked() == (12, False, [])
    assert await Hooks().post_compact(DONE) == ()


async def test_extensions_continue_by_saying_so_or_nothing() -> None:
    assert await asked(lambda _p: None, lambda _p: Reply()) == (12, False, ["continue", "continue"])


async def test_a_rewrite_of_keep_recent_is_taken() -> None:
    assert await asked(keeps(3)) == (3, False, ["rewrite"])


@pytest.mark.parametrize(("wanted", "kept"), [(0, 1), (-5, 1), (5_000, 1_000), (1_000, 1_000), (10**40, 1_000)])
async def test_keep_recent_stays_within_its_bounds(wanted: int, kept: int) -> None:
    assert (await asked(keeps(wanted)))[0] == kept


async def test_what_nobody_rewrote_is_not_clamped() -> None:
    assert (await asked(facts=msgspec.structs.replace(SOFT, keep_recent=0)))[0] == 0


@pytest.mark.parametrize("others", [{"model": "other"}, {"hard": True}, {"trigger": "x"}, {"new": None}])
async def test_b040_a_rewrite_that_touches_another_field_is_rejected_whole_and_told(others: dict[str, Any]) -> None:
    decision = await hooks_of(keeps(2, **others)).pre_compact(SOFT)
    assert (decision.keep_recent, decision.deferred) == (12, False)
    (told,) = decision.invocations
    assert told.status == "rejected"
    assert told.reason == f"it may change keep_recent only, not {next(iter(others))}"


async def test_a_rewrite_may_send_back_what_it_was_given() -> None:
    assert await asked(lambda p: Reply("rewrite", {**p, "keep_recent": 2})) == (2, False, ["rewrite"])


@pytest.mark.parametrize("wrong", [True, 2.0, "2", None, [2]])
async def test_a_rewrite_to_another_type_is_rejected(wrong: Any) -> None:
    assert await asked(keeps(wrong)) == (12, False, ["rejected"])


async def test_b040_a_soft_summary_can_be_deferred_and_a_hard_one_cannot() -> None:
    defers = lambda _p: Reply("defer", reason="in the middle\nof a\x1b[31m test")  # noqa: E731
    decision = await hooks_of(defers).pre_compact(SOFT)
    assert (decision.deferred, decision.reason) == (True, "in the middle of a␛ test")
    assert await asked(defers, facts=HARD) == (12, False, ["ignored"])


@pytest.mark.parametrize("decision", ["block", "deny", "allow", "", "CONTINUE"])
async def test_a_decision_that_the_hook_does_not_know_is_rejected(decision: str) -> None:
    assert await asked(lambda _p: Reply(decision)) == (12, False, ["rejected"])


async def test_only_a_rewrite_carries_updates() -> None:
    assert await asked(lambda _p: Reply("continue", {"keep_recent": 1})) == (12, False, ["rejected"])
    assert await asked(lambda _p: Reply("defer", {"keep_recent": 1})) == (12, False, ["rejected"])


async def test_after_a_summary_nothing_can_be_decided() -> None:
    found = await hooks_of(lambda _p: Reply("defer"), lambda _p: None, name="PostCompact").post_compact(DONE)
    assert [i.status for i in found] == ["rejected", "continue"]


# -- the chain --------------------------------------------------------------------------------------------------------
async def test_lower_priorities_come_first_and_equal_ones_in_the_order_they_came() -> None:
    order: list[str] = []
    hooks = Hooks()
    for name, priority in (("late", 200), ("first", 5), ("a", 100), ("b", 100)):
        hooks.register("PreCompact", notes(name, order), extension=name, priority=priority)
    decision = await hooks.pre_compact(SOFT)
    assert order == ["first", "a", "b", "late"] == [i.extension for i in decision.invocations]


async def test_each_sees_what_those_before_it_changed() -> None:
    seen: list[int] = []
    assert (await asked(keeps(7), lambda p: seen.append(p["keep_recent"]), keeps(9)))[0] == 9
    assert seen == [7]


async def test_a_rejected_rewrite_leaves_the_payload_as_it_was() -> None:
    seen: list[Any] = []
    await asked(keeps(7, model="other"), lambda p: seen.append((p["keep_recent"], p["model"])))
    assert seen == [(12, "m")]


async def test_registering_again_takes_the_same_place() -> None:
    hooks = hooks_of(keeps(1), keeps(2))
    hooks.register("PreCompact", keeps(3), extension="e1")
    decision = await hooks.pre_compact(SOFT)
    assert [i.extension for i in decision.invocations] == ["e1", "e2"]
    assert (decision.keep_recent, len(hooks.registered())) == (2, 2)


@pytest.mark.parametrize(("name", "decision"), [("UserPromptSubmit", "block"), ("PermissionRequest", "deny")])
async def test_a_refusal_ends_the_chain(name: str, decision: str) -> None:
    hooks = hooks_of(lambda _p: Reply(decision), lambda _p: None, name=name)
    payload = dict.fromkeys(CONTRACTS[HookName(name)].required, "x")
    outcome = await hooks.run(HookName(name), payload)
    assert [(i.extension, i.status) for i in outcome.invocations] == [("e1", decision)]
    assert [r.decision for r in outcome.replies] == [decision]


async def test_a_rewrite_does_not_bring_back_the_shortened_copy() -> None:
    long = "x" * 10_000
    hooks = hooks_of(lambda p: Reply("rewrite", dict(p)), name="UserPromptSubmit")
    assert (await hooks.run(HookName.USER_PROMPT_SUBMIT, {"user_input": long})).payload["user_input"] == long


async def test_every_hook_can_be_registered_and_a_payload_must_be_whole() -> None:
    for name, contract in CONTRACTS.items():
        hooks = hooks_of(lambda _p: None, name=name)
        outcome = await hooks.run(name, dict.fromkeys(contract.required, 1))
        assert [i.name for i in outcome.invocations] == [name]
        with pytest.raises(ValueError, match=rf"{name} lacks .*{contract.required[0]}"):
            await hooks.run(name, {})
    assert len(CONTRACTS) == 13
    assert [name for name, contract in CONTRACTS.items() if contract.called] == ["PreCompact", "PostCompact"]


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"name": "PreCompactt"}, "there is no hook PreCompactt"),
        ({"extension": " "}, "needs a name"),
        ({"target": 3}, "not callable"),
        ({"timeout_s": 0}, "time-out of 0 s"),
        ({"timeout_s": float("inf")}, "time-out of inf s"),
    ],
)
def test_a_registration_that_cannot_work_is_refused(facts: dict[str, Any], says: str) -> None:
    wanted = {"name": "PreCompact", "target": lambda _p: None, "extension": "e", **facts}
    with pytest.raises(ExtensionError, match=says):
        Hooks().register(wanted.pop("name"), wanted.pop("target"), **wanted)


# -- code that does not behave ----------------------------------------------------------------------------------------
def raises(error: BaseException) -> Any:
    def target(_payload: Any) -> None:
        raise error

    return target


def raises_later(error: BaseException) -> Any:
    async def target(_payload: Any) -> None:
        await asyncio.sleep(0)
        raise error

    return target


class Mute(Exception):
    """An exception that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


ERRORS = [ValueError("no\nway"), Mute(), SystemExit(3), KeyboardInterrupt(), StopIteration(), asyncio.CancelledError()]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("kind", [raises, raises_later])
async def test_whatever_an_extension_raises_counts_as_continue(kind: Any, error: BaseException) -> None:
    assert await asked(kind(error), keeps(3)) == (3, False, ["error", "rewrite"])


async def test_the_reason_of_a_failure_is_one_clean_line_without_secrets() -> None:
    hooks = Hooks(Redactor(["hunter2hunter2"]))
    hooks.register("PreCompact", raises(ValueError("no\n\x1b[2J way with hunter2hunter2")), extension="e")
    decision = await hooks.pre_compact(SOFT)
    assert decision.invocations[0].reason == "ValueError: no ␛ way with [redacted]"


@pytest.mark.parametrize("answer", ["not json", {"model": "other", "keep_recent": 2, "hard": True}, 2, True])
async def test_b040_an_answer_of_another_kind_is_told_and_passed_over(answer: Any) -> None:
    decision = await hooks_of(lambda _p: answer).pre_compact(SOFT)
    assert decision.keep_recent == 12
    assert decision.invocations[0].status == "error"
    assert decision.invocations[0].reason.startswith(f"answered with {type(answer).__name__}")


async def test_a_reply_with_fields_of_other_types_is_an_error() -> None:
    assert await asked(lambda _p: Reply("rewrite", 3)) == (12, False, ["error"])  # type: ignore[arg-type]


async def test_b040_a_function_that_hangs_is_given_up_while_the_loop_goes_on() -> None:
    release, entered = threading.Event(), threading.Event()
    turns = 0

    def hangs(_payload: Any) -> None:
        entered.set()
        release.wait(60)

    async def loop_turns() -> None:
        nonlocal turns
        while not release.is_set():
            await asyncio.sleep(0)
            turns += 1

    beside = asyncio.create_task(loop_turns())
    hooks = hooks_of(hangs, timeout_s=SHORT_S)
    hooks.register("PreCompact", keeps(3), extension="after")
    decision = await hooks.pre_compact(SOFT)
    release.set()
    await beside
    assert entered.is_set()
    assert turns > 1
    assert decision.keep_recent == 3
    assert [i.status for i in decision.invocations] == ["timeout", "rewrite"]
    assert decision.invocations[0].reason == "gave no answer within 0.05 s"


async def test_a_coroutine_that_hangs_and_will_not_be_cancelled_is_given_up() -> None:
    stubborn = asyncio.Event()

    async def hangs(_payload: Any) -> None:
        while not stubborn.is_set():
            try:
                await stubborn.wait()
            except asyncio.CancelledError:
                continue

    decision = await hooks_of(hangs, timeout_s=SHORT_S).pre_compact(SOFT)
    stubborn.set()
    assert [i.status for i in decision.invocations] == ["timeout"]


async def test_when_the_asking_is_cancelled_the_extension_is_too() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def waits(_payload: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(hooks_of(waits).pre_compact(SOFT))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ended.wait()


async def test_objects_and_functions_that_return_coroutines_are_awaited() -> None:
    class Kept:
        async def __call__(self, payload: Mapping[str, Any]) -> Reply:
            return Reply("rewrite", {"keep_recent": payload["keep_recent"] + 1})

    kept = Kept()
    assert (await asked(kept, lambda p: kept(p)))[0] == 14


async def test_a_failed_call_says_how() -> None:
    with pytest.raises(Failed, match="ValueError: x") as failed:
        await call(raises(ValueError("x")), None, timeout_s=1)
    assert failed.value.status == "error"


# -- what they are told -----------------------------------------------------------------------------------------------
async def test_the_payload_has_the_facts_the_correlation_and_a_schema() -> None:
    seen: list[Mapping[str, Any]] = []
    await asked(seen.append)
    (payload,) = seen
    assert {key: payload[key] for key in CONTRACTS[HookName.PRE_COMPACT].required} == {
        "model": "m", "provider": "offline", "message_count": 40, "keep_recent": 12, "trigger": "warning", "hard": False
    }  # fmt: skip
    assert (payload["session_id"], payload["turn_id"], payload["llm_call_id"]) == ("s-1", "s-1:1", "")
    assert (payload["schema_version"], payload["hook_name"]) == ("geode.public-hook.v2", "PreCompact")


async def test_changing_the_payload_in_place_fails_and_reaches_nobody() -> None:
    def mutates(payload: Any) -> None:
        payload["keep_recent"] = 1

    assert await asked(mutates) == (12, False, ["error"])
    deep = frozen({"a": {"b": [1, {"c": 2}]}}, Redactor())
    assert deep == {"a": {"b": (1, {"c": 2})}}
    assert isinstance(deep["a"]["b"][1], MappingProxyType)


@pytest.mark.parametrize("key", ["api_key", "apiKey", "ANTHROPIC_API_KEY", "access-token", "Authorization", "token"])
def test_what_is_named_like_a_secret_is_left_out(key: str) -> None:
    assert is_secret(key)
    assert frozen({"a": {key: "v", "kept": 1}}, Redactor()) == {"a": {"kept": 1}}


@pytest.mark.parametrize("key", ["max_tokens", "tokens", "keep_recent", "tokeniser", "secretary", "session_id"])
def test_what_only_sounds_like_one_is_kept(key: str) -> None:
    assert not is_secret(key)


def test_known_secrets_in_values_are_masked_even_where_the_cut_would_split_them() -> None:
    text = "x" * (MAX_CHARS - 4) + "hunter2hunter2"
    shown = frozen({"text": text}, Redactor(["hunter2hunter2"]))["text"]
    assert "hunt" not in shown


def test_a_large_field_does_not_push_out_a_small_one() -> None:
    shown = frozen(
        {"arguments": {f"k{n}": "x" * 4_000 for n in range(60)}, "result": "y" * 9_000, "ok": True}, Redactor()
    )
    assert shown["ok"] is True
    assert shown["truncated"] is True
    assert set(shown) == {"arguments", "result", "ok", "truncated"}


def test_values_that_json_does_not_know_are_named_by_their_type() -> None:
    shown = frozen({"a": object(), "b": b"x", "c": {3}, "d": 2**70, "e": Correlation("s")}, Redactor())
    assert (shown["a"], shown["b"], shown["c"], shown["d"]) == ("[object]", "[bytes]", (3,), hex(2**70))
    assert shown["e"]["session_id"] == "s"


def depth(value: Any) -> int:
    match value:
        case Mapping():
            return 1 + max(map(depth, value.values()), default=0)
        case tuple():
            return 1 + max(map(depth, value), default=0)
    return 0


def parts(value: Any) -> list[Any]:
    inner = list(value.values()) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else []
    return [value, *(part for item in inner for part in parts(item))]


TEXTS = st.text(max_size=40) | st.builds(lambda t, n: t * n, st.text(max_size=3), st.integers(0, 4_000))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(TEXTS, inner, max_size=5)
        | st.builds(lambda value, n: [value] * n, inner, st.integers(60, 70))
        | st.builds(lambda value: [[[[value]]]], inner)
    ),
    max_leaves=20,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=6), st.booleans())
def test_a_payload_is_bounded_whatever_is_in_it(payload: dict[str, Any], wide: bool) -> None:
    if wide:
        payload = {**{f"key {n}": n for n in range(80)}, **payload}
    shown = frozen(payload, Redactor())
    assert len(msgspec.json.encode(shown, enc_hook=dict)) <= MAX_BYTES
    assert depth(shown) <= MAX_DEPTH
    for part in parts(shown):
        assert not isinstance(part, list | dict)
        if isinstance(part, str):
            assert len(part) <= MAX_CHARS
        if isinstance(part, tuple):
            assert len(part) <= MAX_ITEMS
        if isinstance(part, Mapping):
            assert len(part) <= MAX_ITEMS + 1


def test_a_payload_that_contains_itself_has_an_end() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = [loop] * 3
    assert depth(frozen(loop, Redactor())) == MAX_DEPTH
