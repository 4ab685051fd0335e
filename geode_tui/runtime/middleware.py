"""Middleware: trusted code around a request to the model and around a tool call (RUNTIME.md 10.4).

Request middleware is given a request and returns the one to go on with; one that fails ends the attempt. Execution
middleware stands around the act itself: it calls ``proceed`` at most once, cannot change what is done, and whatever it
does afterwards, a completed act is not done again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from geode_tui.core.messages import ToolCallBlock
from geode_tui.core.text import Redactor
from geode_tui.providers.base import Finished, Request
from geode_tui.runtime.extending import (
    PRIORITY,
    ExtensionError,
    Failed,
    Invocation,
    Monotonic,
    Registration,
    Timed,
    call,
    check_registration,
    described,
    in_order,
    is_async,
)
from geode_tui.runtime.middleware_requests import copied, reason_of, taken_arguments, taken_request
from geode_tui.runtime.tools.background import outlast
from geode_tui.runtime.tools.base import ToolOutcome

T = TypeVar("T")


class JoinPoint(StrEnum):
    """Where middleware can stand."""

    TOOL_REQUEST = "tool_request"
    TOOL_EXECUTION = "tool_execution"
    LLM_REQUEST = "llm_request"
    LLM_EXECUTION = "llm_execution"


TIMEOUTS_S = {
    JoinPoint.TOOL_REQUEST: 10.0,
    JoinPoint.TOOL_EXECUTION: 300.0,
    JoinPoint.LLM_REQUEST: 10.0,
    JoinPoint.LLM_EXECUTION: 900.0,
}
"""Seconds of its own that a middleware may take; the act it stands around has its own limits and is not counted."""

EXECUTIONS = frozenset({JoinPoint.TOOL_EXECUTION, JoinPoint.LLM_EXECUTION})

Audit: TypeAlias = Callable[[Invocation], None]
"""Keeps the record of a call."""
Proceed: TypeAlias = Callable[[], Awaitable[T]]
"""Does what the middleware stands around, once, and gives its result."""


class MiddlewareError(Exception):
    """A middleware ended the attempt: one line that names it. ``invocations`` are the calls up to and with it."""

    def __init__(self, line: str, invocations: tuple[Invocation, ...] = ()) -> None:
        super().__init__(line)
        self.invocations = invocations


def _unheard(_invocation: Invocation) -> None:
    """Nobody keeps the record."""


class Middleware:
    """The registrations of one session's middleware, and the calling."""

    def __init__(self, redact: Redactor | None = None, monotonic: Monotonic = time.monotonic) -> None:
        self._redact = redact or Redactor()
        self._monotonic = monotonic
        self._added: dict[tuple[str, str], Registration] = {}
        self._may_invalidate: set[str] = set()

    def add(
        self,
        join_point: str,
        name: str,
        target: Callable[..., Any],
        *,
        priority: int = PRIORITY,
        timeout_s: float | None = None,
        allow_cache_invalidation: bool = False,
    ) -> None:
        """Put ``target`` at a join point; lower priorities stand further outside.

        It is called as ``tool_request(name, arguments_json) -> arguments_json``, ``llm_request(request) -> request``
        (or `Changed`), ``tool_execution(call, proceed) -> ToolOutcome`` and ``llm_execution(request, proceed) ->
        Finished``. The last two are coroutine functions.

        Raises:
            ExtensionError: there is no such join point, the name is taken there, or ``target`` is not usable.
        """
        if join_point not in TIMEOUTS_S:
            raise ExtensionError(f"there is no join point {join_point}; they are: {', '.join(TIMEOUTS_S)}")
        if (join_point, name) in self._added:
            raise ExtensionError(f"there is a middleware {name} at {join_point} already: give this one another name")
        if allow_cache_invalidation and join_point != JoinPoint.LLM_REQUEST:
            raise ExtensionError(f"{name} is at {join_point}: only an llm_request middleware can invalidate the cache")
        limit = TIMEOUTS_S[JoinPoint(join_point)] if timeout_s is None else timeout_s
        check_registration(name, target, limit)
        if join_point in EXECUTIONS and not is_async(target):
            raise ExtensionError(f"{name} is no coroutine function: {join_point} needs one, to wait for proceed")
        self._added[join_point, name] = Registration("middleware", str(join_point), name, priority, limit, target)
        if allow_cache_invalidation:
            self._may_invalidate.add(name)

    def added(self, join_point: str | None = None) -> tuple[Registration, ...]:
        """The middleware of one join point, or all, outermost first."""
        return in_order([r for r in self._added.values() if join_point in {None, r.name}])

    # -- requests -----------------------------------------------------------------------------------------------------
    async def llm_request(self, request: Request) -> tuple[Request, tuple[Invocation, ...]]:
        """``request`` as the middleware leaves it. Raises `MiddlewareError`."""

        def take(registration: Registration, given: Request, answer: object) -> Request:
            return taken_request(given, answer, may_invalidate=registration.extension in self._may_invalidate)

        return await self._each(JoinPoint.LLM_REQUEST, request, lambda given: (copied(given),), take)

    async def tool_request(self, name: str, arguments: str) -> tuple[str, tuple[Invocation, ...]]:
        """The arguments of a call of the tool ``name``, JSON text, as the middleware leaves them; before approval.

        Raises `MiddlewareError`.
        """

        def take(_registration: Registration, given: str, answer: object) -> str:
            return taken_arguments(given, answer)

        return await self._each(JoinPoint.TOOL_REQUEST, arguments, lambda given: (name, given), take)

    async def _each(
        self,
        join_point: JoinPoint,
        value: T,
        given: Callable[[T], tuple[object, ...]],
        take: Callable[[Registration, T, object], T],
    ) -> tuple[T, tuple[Invocation, ...]]:
        """Let one after the other make the next ``value`` of it. ``given`` makes its arguments, ``take`` checks."""
        invocations: list[Invocation] = []
        for registration in self.added(join_point):
            timed = Timed(registration, join_point, self._monotonic)
            before, arguments = value, given(value)
            try:
                answer = await call(registration.target, *arguments, timeout_s=registration.timeout_s)
                if arguments != given(before):
                    raise Failed("error", "changed what it was given in place: return a new one")
                value = take(registration, before, answer)
            except Failed as failure:
                invocations.append(timed.ended(failure.status, self._redact(str(failure))))
                raise MiddlewareError(self._line(registration, failure), tuple(invocations)) from failure
            invocations.append(timed.ended("ok" if value == before else "changed", reason_of(answer)))
        return value, tuple(invocations)

    def _line(self, registration: Registration, failure: Failed) -> str:
        said = self._redact(str(failure))
        return f"the {registration.name} middleware {registration.extension} failed: {said}"

    # -- executions ---------------------------------------------------------------------------------------------------
    async def llm_execution(
        self, request: Request, send: Callable[[Request], Awaitable[Finished]], audit: Audit = _unheard
    ) -> Finished:
        """What ``send(request)`` gives, through the middleware. ``audit`` is told of each that was called.

        Raises `MiddlewareError` where one failed before the request was sent, and what ``send`` raises.
        """
        act = _Act(JoinPoint.LLM_EXECUTION, Finished, lambda: copied(request), lambda: send(request))
        return await self._around(act, audit)

    async def tool_execution(
        self, approved: ToolCallBlock, run: Proceed[ToolOutcome], audit: Audit = _unheard
    ) -> ToolOutcome:
        """What ``run()`` gives, through the middleware; they see the call as it was approved. See `llm_execution`."""
        act = _Act(JoinPoint.TOOL_EXECUTION, ToolOutcome, lambda: approved, run)
        return await self._around(act, audit)

    async def _around(self, act: _Act[T], audit: Audit) -> T:
        proceed = act.proceed
        for registration in reversed(self.added(act.join_point)):
            proceed = self._layer(registration, act, proceed, audit)
        return await proceed()

    def _layer(self, registration: Registration, act: _Act[T], inner: Proceed[T], audit: Audit) -> Proceed[T]:
        """``inner`` with one middleware around it."""

        async def layer() -> T:
            timed = Timed(registration, act.join_point, self._monotonic)
            once = Once(inner)
            try:
                result = await _run(registration, act, once)
            except Failed as failure:
                audit(timed.ended(failure.status, self._redact(str(failure))))
                if once.completed is not None:
                    return once.completed
                if once.error is not None:
                    raise once.error from None
                raise MiddlewareError(self._line(registration, failure)) from failure
            except BaseException as passing:
                audit(timed.ended("cancelled" if isinstance(passing, asyncio.CancelledError) else "ok"))
                raise
            audit(timed.ended("ok" if result is once.completed else "changed"))
            return result

        return layer


class _Act(msgspec.Struct, Generic[T], frozen=True):
    """What execution middleware stands around: ``proceed`` does it and gives a ``kind``; ``subject`` makes what each
    of them is shown of it.
    """

    join_point: JoinPoint
    kind: type[T]
    subject: Callable[[], object]
    proceed: Proceed[T]


class Once(Generic[T]):
    """What an execution middleware is given to call: does what it stands around, once.

    The middleware's own time stands still meanwhile.
    """

    def __init__(self, inner: Proceed[T]) -> None:
        self._inner = inner
        self._begun = False
        self._in: asyncio.Task[Any] | None = None
        self.completed: T | None = None
        self.error: Exception | None = None
        self.timeout = asyncio.timeout(None)

    async def __call__(self) -> T:
        """The result. Raises `Failed` when it is called again, and what the act raises."""
        if self._begun:
            raise Failed("error", "called proceed a second time")
        self._begun = True
        self._in = asyncio.current_task()
        try:
            with _standing_still(self.timeout):
                self.completed = await self._inner()
        except Exception as error:
            self.error = error
            raise
        finally:
            self._in = None
        return self.completed

    async def settle(self) -> None:
        """End what is still going on in a task of the middleware's own: nothing happens behind the run's back."""
        if self._in is not None and self._in is not asyncio.current_task():
            self._in.cancel()
            await outlast(self._in)


async def _run(registration: Registration, act: _Act[T], once: Once[T]) -> T:
    """Let one middleware do its work. Raises `Failed`, and what the act raised where it lets that pass."""
    shown = act.subject()
    task = asyncio.current_task()
    assert task is not None
    cancelled = task.cancelling()
    try:
        async with once.timeout:
            once.timeout.reschedule(asyncio.get_running_loop().time() + registration.timeout_s)
            result = await registration.target(shown, once)
    except asyncio.CancelledError as error:
        if task.cancelling() > cancelled:
            raise
        raise Failed("error", "it cancelled itself") from error
    except Exception as error:
        if error is once.error or isinstance(error, Failed):
            raise
        if once.timeout.expired():
            raise Failed("timeout", f"took more than {registration.timeout_s:g} s of its own") from error
        raise Failed("error", described(error)) from error
    finally:
        await once.settle()
        if task.cancelling() > cancelled:
            raise asyncio.CancelledError
    if not isinstance(result, act.kind):
        raise Failed("error", f"returned {type(result).__name__}: return a {act.kind.__name__}")
    if shown != act.subject():
        raise Failed("error", "changed what it was given in place: it cannot be changed any more")
    return result


@contextlib.contextmanager
def _standing_still(timeout: asyncio.Timeout) -> Iterator[None]:
    """Take no time off ``timeout`` meanwhile; one that is over already stays so."""
    clock = asyncio.get_running_loop().time
    end = timeout.when()
    left = None if end is None else max(0.0, end - clock())
    _reschedule(timeout, None)
    try:
        yield
    finally:
        _reschedule(timeout, None if left is None else clock() + left)


def _reschedule(timeout: asyncio.Timeout, when: float | None) -> None:
    with contextlib.suppress(RuntimeError):  # it is over: the middleware has ended
        timeout.reschedule(when)
