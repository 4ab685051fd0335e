"""Middleware: what it may change, when it is called, and that what was done once is never done again."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from geode_tui.core.messages import TextBlock, ToolCallBlock, user_text
from geode_tui.core.text import Redactor
from geode_tui.core.tools import ToolSpec
from geode_tui.core.usage import Usage
from geode_tui.providers.base import Finished, Request, SystemPart
from geode_tui.providers.errors import ErrorKind, ProviderError
from geode_tui.runtime.extending import ExtensionError, Invocation
from geode_tui.runtime.middleware import TIMEOUTS_S, JoinPoint, Middleware, MiddlewareError, Proceed
from geode_tui.runtime.middleware_requests import Changed
from geode_tui.runtime.tools.base import ToolOutcome

SHORT_S = 0.05
"""A time-out that is meant to pass."""
REQUEST = Request(
    model="m",
    system=(SystemPart("be good", "1h"),),
    messages=(user_text("one"), user_text("two")),
    tools=(ToolSpec("look", "Looks.", {"type": "object", "properties": {"path": {"type": "string"}}}),),
    cache_key="k",
    cache_messages=(1,),
)
ANSWER = Finished((TextBlock("done"),), "end_turn", Usage(10, 1))
CALL = ToolCallBlock("t1", "look", '{"path": "a"}')


def changing(**fields: Any) -> Callable[[Request], Request]:
    return lambda request: msgspec.structs.replace(request, **fields)


def with_llm(*targets: Any, **facts: Any) -> Middleware:
    made = Middleware()
    for number, target in enumerate(targets, 1):
        made.add("llm_request", f"m{number}", target, **facts)
    return made


async def refused(made: Middleware) -> MiddlewareError:
    """What the request middleware ends the attempt with; the request itself stays as it was."""
    before = msgspec.json.encode(REQUEST)
    with pytest.raises(MiddlewareError) as error:
        await made.llm_request(REQUEST)
    assert msgspec.json.encode(REQUEST) == before
    assert "\n" not in str(error.value)
    return error.value


# -- requests ---------------------------------------------------------------------------------------------------------
async def test_without_middleware_everything_stays_as_it_is() -> None:
    made = Middleware()
    assert await made.llm_request(REQUEST) == (REQUEST, ())
    assert await made.tool_request("look", "{bad") == ("{bad", ())


async def test_what_is_not_cached_by_may_be_changed() -> None:
    request, invocations = await with_llm(changing(model="other", max_tokens=100, effort="low")).llm_request(REQUEST)
    assert (request.model, request.max_tokens, request.effort) == ("other", 100, "low")
    assert request.messages == REQUEST.messages
    assert [(i.surface, i.name, i.extension, i.status) for i in invocations] == [
        ("middleware", "llm_request", "m1", "changed")
    ]


async def test_one_that_only_reads_leaves_a_request_that_is_the_same_by_value() -> None:
    request, invocations = await with_llm(lambda r: r).llm_request(REQUEST)
    assert request == REQUEST
    assert invocations[0].status == "ok"


async def test_lower_priorities_come_first_and_each_sees_what_the_one_before_made() -> None:
    made = Middleware()
    for name, priority in (("c", 200), ("a", 1), ("b", 100), ("b2", 100)):
        made.add("llm_request", name, lambda r, name=name: changing(model=r.model + name)(r), priority=priority)
    request, invocations = await made.llm_request(REQUEST)
    assert request.model == "mabb2c"
    assert [i.extension for i in invocations] == ["a", "b", "b2", "c"]


@pytest.mark.parametrize("fields", [{"purpose": "dream"}, {"cache_key": "x"}, {"compare_with": "r1"}])
async def test_what_a_request_is_for_and_whose_it_is_cannot_be_changed(fields: dict[str, Any]) -> None:
    made = with_llm(changing(**fields), allow_cache_invalidation=True)
    error = await refused(made)
    assert f"changed {next(iter(fields))}, which no middleware may" in str(error)


PREFIXES = [
    {"system": (SystemPart("be bad"),)},
    {"messages": (user_text("three"),), "cache_messages": ()},
    {"tools": ()},
]


@pytest.mark.parametrize("fields", PREFIXES, ids=lambda f: next(iter(f)))
async def test_the_cached_prefix_is_only_given_up_by_leave_and_with_a_reason(fields: dict[str, Any]) -> None:
    change = changing(**fields)
    assert "allow_cache_invalidation=True" in str(await refused(with_llm(lambda r: Changed(change(r), "needed"))))
    assert "without a reason" in str(await refused(with_llm(change, allow_cache_invalidation=True)))
    blank = with_llm(lambda r: Changed(change(r), " "), allow_cache_invalidation=True)
    assert "without a reason" in str(await refused(blank))
    allowed = with_llm(lambda r: Changed(change(r), "needed"), allow_cache_invalidation=True)
    request, invocations = await allowed.llm_request(REQUEST)
    assert request == change(REQUEST)
    assert (invocations[0].status, invocations[0].reason) == ("changed", "needed")


async def test_a_cache_mark_past_the_last_message_is_dropped() -> None:
    change = changing(messages=REQUEST.messages[:1])
    made = with_llm(lambda r: Changed(change(r), "shorter"), allow_cache_invalidation=True)
    request, _ = await made.llm_request(REQUEST)
    assert (request.messages, request.cache_messages) == (REQUEST.messages[:1], ())


def spoils_the_schema(request: Request) -> Request:
    request.tools[0].schema["properties"].clear()
    return request


async def test_changing_the_request_in_place_is_an_error_and_reaches_nobody() -> None:
    assert "in place" in str(await refused(with_llm(spoils_the_schema, allow_cache_invalidation=True)))


async def test_what_a_middleware_keeps_of_a_request_it_cannot_change_later() -> None:
    kept: list[Request] = []

    def keeps(request: Request) -> Request:
        kept.append(request)
        return request

    request, _ = await with_llm(keeps).llm_request(REQUEST)
    spoils_the_schema(kept[0])
    assert request == REQUEST


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "returned NoneType"),
        ({"model": "x"}, "returned dict"),
        (Changed("x", "y"), "returned Changed"),  # type: ignore[arg-type]
        (msgspec.structs.replace(REQUEST, model=""), "model is empty"),
        (msgspec.structs.replace(REQUEST, max_tokens=0), "max_tokens is not"),
        (msgspec.structs.replace(REQUEST, max_tokens=True), "max_tokens is not"),
        (msgspec.structs.replace(REQUEST, messages=["x"]), "messages is not a tuple of Message"),
        (msgspec.structs.replace(REQUEST, messages=()), "messages are empty"),
        (msgspec.structs.replace(REQUEST, tools=REQUEST.tools * 2), "tools have the same name"),
    ],
)
async def test_what_is_no_request_ends_the_attempt(answer: Any, says: str) -> None:
    assert says in str(await refused(with_llm(lambda _r: answer, allow_cache_invalidation=True)))


async def test_one_that_raises_ends_the_attempt_and_none_after_it_is_called() -> None:
    def fails(_request: Request) -> Request:
        raise ValueError("no way\nwith hunter2hunter2")

    called: list[Request] = []
    made = Middleware(Redactor(["hunter2hunter2"]))
    made.add("llm_request", "first", lambda r: r)
    made.add("llm_request", "fails", fails)
    made.add("llm_request", "last", called.append)
    error = await refused(made)
    assert str(error) == "the llm_request middleware fails failed: ValueError: no way with [redacted]"
    assert [(i.extension, i.status) for i in error.invocations] == [("first", "ok"), ("fails", "error")]
    assert called == []


async def test_one_that_hangs_ends_the_attempt_too() -> None:
    release = threading.Event()

    def hangs(request: Request) -> Request:
        release.wait(60)
        return request

    error = await refused(with_llm(hangs, timeout_s=SHORT_S))
    release.set()
    assert error.invocations[0].status == "timeout"


async def test_arguments_of_a_call_can_be_rewritten() -> None:
    made = Middleware()
    made.add("tool_request", "root", lambda name, text: json.dumps({**json.loads(text), "tool": name}))
    arguments, invocations = await made.tool_request("look", '{"path": "a"}')
    assert json.loads(arguments) == {"path": "a", "tool": "look"}
    assert invocations[0].status == "changed"


@pytest.mark.parametrize("made_of_it", [None, {"path": "b"}, "", "{", "[1]", '{"a": "\udc88"}'])
async def test_rewritten_arguments_must_be_an_object_of_json(made_of_it: Any) -> None:
    made = Middleware()
    made.add("tool_request", "bad", lambda _name, _text: made_of_it)
    with pytest.raises(MiddlewareError, match="the tool_request middleware bad failed: returned"):
        await made.tool_request("look", "{}")


# -- registration -----------------------------------------------------------------------------------------------------
async def around(_subject: Any, proceed: Proceed[Any]) -> Any:
    return await proceed()


@pytest.mark.parametrize(
    ("join_point", "target", "facts", "says"),
    [
        ("llm", around, {}, "there is no join point llm"),
        ("llm_request", around, {"timeout_s": -1}, "time-out of -1 s"),
        ("llm_request", "x", {}, "not callable"),
        ("tool_execution", lambda _c, _p: None, {}, "no coroutine function"),
        ("tool_request", around, {"allow_cache_invalidation": True}, "only an llm_request middleware"),
    ],
)
def test_what_cannot_work_is_not_added(join_point: str, target: Any, facts: dict[str, Any], says: str) -> None:
    with pytest.raises(ExtensionError, match=says):
        Middleware().add(join_point, "m", target, **facts)


def test_a_name_is_taken_once_at_each_join_point() -> None:
    made = Middleware()
    for join_point in JoinPoint:
        made.add(join_point, "m", around)
        with pytest.raises(ExtensionError, match="a middleware m at"):
            made.add(join_point, "m", around)
    assert {r.name: r.timeout_s for r in made.added()} == TIMEOUTS_S


# -- executions -------------------------------------------------------------------------------------------------------
class Act:
    """What is done, and how often it was."""

    def __init__(self, error: Exception | None = None) -> None:
        self.done = 0
        self.error = error

    async def __call__(self, request: Request = REQUEST) -> Finished:
        self.done += 1
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return ANSWER


def executing(*targets: Any, **facts: Any) -> Middleware:
    made = Middleware()
    for number, target in enumerate(targets, 1):
        made.add("llm_execution", f"m{number}", target, **facts)
    return made


async def run(made: Middleware, act: Act) -> tuple[Finished, list[str]]:
    """The answer, and what came of each middleware, innermost first."""
    found: list[Invocation] = []
    answer = await made.llm_execution(REQUEST, act, found.append)
    return answer, [f"{i.extension} {i.status}" for i in found]


async def test_the_act_itself_is_done_where_nothing_stands_around_it() -> None:
    act = Act()
    assert await run(Middleware(), act) == (ANSWER, [])
    assert act.done == 1


async def test_the_lowest_priority_stands_outermost() -> None:
    order: list[str] = []

    def around_as(name: str) -> Any:
        async def target(request: Request, proceed: Proceed[Finished]) -> Finished:
            assert request == REQUEST
            order.append(f"+{name}")
            answer = await proceed()
            order.append(f"-{name}")
            return answer

        return target

    made = Middleware()
    made.add("llm_execution", "inner", around_as("inner"), priority=200)
    made.add("llm_execution", "outer", around_as("outer"), priority=1)
    assert await run(made, Act()) == (ANSWER, ["inner ok", "outer ok"])
    assert order == ["+outer", "+inner", "-inner", "-outer"]


async def twice(_request: Request, proceed: Proceed[Finished]) -> Finished:
    await proceed()
    return await proceed()


async def fails_after(_request: Request, proceed: Proceed[Finished]) -> Finished:
    await proceed()
    raise ValueError("too late")


async def hangs_after(_request: Request, proceed: Proceed[Finished]) -> Finished:
    await proceed()
    await asyncio.Event().wait()
    raise AssertionError


async def returns_nothing(_request: Request, proceed: Proceed[Finished]) -> None:
    await proceed()


async def spoils(request: Request, proceed: Proceed[Finished]) -> Finished:
    answer = await proceed()
    spoils_the_schema(request)
    return answer


async def cancels_itself(_request: Request, proceed: Proceed[Finished]) -> Finished:
    await proceed()
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (twice, "error"),
        (fails_after, "error"),
        (hangs_after, "timeout"),
        (returns_nothing, "error"),
        (spoils, "error"),
        (cancels_itself, "error"),
    ],
)
async def test_a_completed_act_stands_whatever_the_middleware_does_then(target: Any, status: str) -> None:
    act = Act()
    assert await run(executing(around, target, timeout_s=SHORT_S), act) == (ANSWER, [f"m2 {status}", "m1 ok"])
    assert act.done == 1
    assert REQUEST.tools[0].schema["properties"]


async def test_an_answer_can_be_replaced_or_given_without_the_act() -> None:
    other = msgspec.structs.replace(ANSWER, blocks=(TextBlock("other"),))

    async def replaces(_request: Request, proceed: Proceed[Finished]) -> Finished:
        await proceed()
        return other

    async def instead(_request: Request, _proceed: Proceed[Finished]) -> Finished:
        return other

    act = Act()
    assert await run(executing(replaces), act) == (other, ["m1 changed"])
    assert await run(executing(instead), act) == (other, ["m1 changed"])
    assert act.done == 1


async def hangs_before(_request: Request, _proceed: Proceed[Finished]) -> Finished:
    await asyncio.Event().wait()
    raise AssertionError


async def fails_before(_request: Request, _proceed: Proceed[Finished]) -> Finished:
    raise ValueError("no")


@pytest.mark.parametrize(("target", "status"), [(hangs_before, "timeout"), (fails_before, "error")])
async def test_one_that_fails_before_the_act_ends_the_attempt_and_nothing_is_done(target: Any, status: str) -> None:
    act, found = Act(), list[Invocation]()
    with pytest.raises(MiddlewareError, match="the llm_execution middleware m2 failed"):
        await executing(around, target, timeout_s=SHORT_S).llm_execution(REQUEST, act, found.append)
    assert act.done == 0
    assert [f"{i.extension} {i.status}" for i in found] == [f"m2 {status}", "m1 ok"]


async def hides(_request: Request, proceed: Proceed[Finished]) -> Finished:
    try:
        return await proceed()
    except ProviderError:
        raise ValueError("something else") from None


@pytest.mark.parametrize("target", [around, hides])
async def test_what_the_act_raises_arrives_as_it_is(target: Any) -> None:
    error = ProviderError(ErrorKind.OVERLOADED, "busy")
    with pytest.raises(ProviderError) as raised:
        await executing(around, target).llm_execution(REQUEST, Act(error))
    assert raised.value is error


async def test_the_time_of_the_act_is_not_the_middlewares() -> None:
    gate = asyncio.Event()

    async def slow(_request: Request) -> Finished:
        asyncio.get_running_loop().call_later(4 * SHORT_S, gate.set)
        await gate.wait()
        return ANSWER

    assert await executing(around, timeout_s=SHORT_S).llm_execution(REQUEST, slow) == ANSWER


async def swallows(_request: Request, proceed: Proceed[Finished]) -> Finished:
    try:
        return await proceed()
    except asyncio.CancelledError:
        return ANSWER


@pytest.mark.parametrize("target", [around, swallows])
async def test_a_cancellation_reaches_the_act_and_cannot_be_swallowed(target: Any) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def waits(_request: Request) -> Finished:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ANSWER

    task = asyncio.create_task(executing(around, target).llm_execution(REQUEST, waits))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_an_act_that_the_middleware_left_behind_has_ended_before_anything_goes_on() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()
    tasks: list[Any] = []

    async def waits(_request: Request) -> Finished:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ANSWER

    async def leaves(_request: Request, proceed: Proceed[Finished]) -> Finished:
        tasks.append(asyncio.ensure_future(proceed()))
        await begun.wait()
        raise ValueError("gone")

    with pytest.raises(MiddlewareError, match="gone"):
        await executing(leaves).llm_execution(REQUEST, waits)
    assert ended.is_set()


async def test_a_tool_call_runs_through_the_middleware_of_its_own_join_point() -> None:
    seen: list[Any] = []

    async def marks(approved: ToolCallBlock, proceed: Proceed[ToolOutcome]) -> ToolOutcome:
        seen.append(approved)
        outcome = await proceed()
        return msgspec.structs.replace(outcome, text=outcome.text + "!")

    async def effect() -> ToolOutcome:
        return ToolOutcome("ok")

    made = executing(around)
    made.add("tool_execution", "marks", marks)
    assert (await made.tool_execution(CALL, effect)).text == "ok!"
    assert seen == [CALL]
