"""Calling code that is not ours: within a time, in the open, and without letting it take the run down.

Hooks, observers and middleware all call through `call`, and say of every call what came of it (`Invocation`).
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import math
import threading
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from geode_tui.core.events import ExtensionInvoked
from geode_tui.core.text import clean_line

PRIORITY = 100
"""Where an extension stands that does not say: lower ones come first, equal ones in the order they were registered."""
REASON_CHARS = 200

Surface: TypeAlias = Literal["hook", "observer", "middleware"]
Monotonic: TypeAlias = Callable[[], float]
"""A clock for durations, seconds."""
_Outcome: TypeAlias = tuple[Any, BaseException | None]


class ExtensionError(ValueError):
    """A registration that cannot be taken: one line that says what is wrong with it."""


class Failed(Exception):
    """Code that is not ours did not end as it should. ``status`` is ``error`` or ``timeout``; the text is one line."""

    def __init__(self, status: Literal["error", "timeout"], reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Invocation(msgspec.Struct, frozen=True):
    """One call of an extension. ``name`` is the hook, event or join point, ``status`` what came of the call.

    A hook's status is its decision (``continue``, ``rewrite`` ...), or ``rejected``, ``ignored``, ``error``,
    ``timeout``; of an observer and a middleware it is ``ok``, ``changed``, ``error`` or ``timeout``.
    """

    surface: Surface
    name: str
    extension: str
    status: str
    reason: str = ""
    duration_ms: int = 0

    @property
    def event(self) -> ExtensionInvoked:
        """The call as the log has it."""
        return ExtensionInvoked(**msgspec.structs.asdict(self))


class Registration(msgspec.Struct, frozen=True):
    """An extension in its place: ``name`` is the hook, the subscription or the join point it is registered for."""

    surface: Surface
    name: str
    extension: str
    priority: int
    timeout_s: float
    target: Callable[..., Any]


class Timed:
    """Measures one call, and makes its `Invocation`."""

    def __init__(self, registration: Registration, name: str, monotonic: Monotonic) -> None:
        self._registration = registration
        self._name = name
        self._monotonic = monotonic
        self._begun = monotonic()

    def ended(self, status: str, reason: str = "") -> Invocation:
        """The record of the call, over now."""
        took = int((self._monotonic() - self._begun) * 1000)
        said = clean_line(reason, REASON_CHARS)
        return Invocation(self._registration.surface, self._name, self._registration.extension, status, said, took)


def in_order(registrations: list[Registration]) -> tuple[Registration, ...]:
    """By priority, lower first; equal ones as they were registered."""
    return tuple(sorted(registrations, key=lambda registration: registration.priority))


def check_registration(extension: str, target: object, timeout_s: float) -> None:
    """Raises `ExtensionError` for what no surface can take."""
    if not extension.strip():
        raise ExtensionError("an extension needs a name: give one that says whose it is")
    if not callable(target):
        raise ExtensionError(f"{extension} is not callable: register a function")
    if not (math.isfinite(timeout_s) and timeout_s > 0):
        raise ExtensionError(f"{extension} has a time-out of {timeout_s} s: give a number of seconds above 0")


async def call(target: Callable[..., Any], *arguments: object, timeout_s: float) -> Any:
    """What ``target`` returns, a function or a coroutine function, called with ``arguments``.

    A plain function runs in a thread of its own, so that one that hangs holds up nothing; past ``timeout_s`` seconds
    either kind is given up. A coroutine function runs on the event loop and must not block it.

    Raises:
        Failed: it raised, or did not end in time.
    """
    task = asyncio.ensure_future(_outcome(target, arguments))
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
    finally:
        task.cancel()
    if not done:
        raise Failed("timeout", f"gave no answer within {timeout_s:g} s")
    value, error = (None, asyncio.CancelledError("it cancelled itself")) if task.cancelled() else task.result()
    if error is not None:
        raise Failed("error", described(error)) from error
    return value


def described(error: BaseException) -> str:
    """An exception as one line: its type and what it says, if that can be had."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - it is not our exception
        said = ""
    return clean_line(f"{type(error).__name__}: {said}".removesuffix(": "), REASON_CHARS)


async def _outcome(target: Callable[..., Any], arguments: tuple[object, ...]) -> _Outcome:
    """The value of the call, or what it raised: an exit that leaves a task would end the whole program."""
    try:
        if is_async(target):
            value = target(*arguments)
        else:
            value, error = await _in_thread(target, arguments)
            if error is not None:
                return None, error
        return (await value if inspect.isawaitable(value) else value), None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, the run goes on
        return None, error


def is_async(target: Callable[..., Any]) -> bool:
    """Whether ``target`` is a coroutine function, or an object that is called like one."""
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(type(target).__call__)


def _in_thread(target: Callable[..., Any], arguments: tuple[object, ...]) -> asyncio.Future[_Outcome]:
    """Run ``target`` in a daemon thread: neither a pool nor the end of the program ever waits for one that hangs."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Outcome] = loop.create_future()

    def settle(outcome: _Outcome) -> None:
        if not future.done():
            future.set_result(outcome)

    def work() -> None:
        try:
            outcome: _Outcome = target(*arguments), None
        except BaseException as raised:  # noqa: BLE001 - handed to whoever waits
            outcome = None, raised
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=work, name="extension", daemon=True).start()
    return future
