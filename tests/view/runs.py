"""Runs made up for the tests of the fold: plausible ones, and ones where everything comes in any order."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
from hypothesis import strategies as st

from geode_tui.context.figures import CATEGORIES
from geode_tui.core import events as ev
from geode_tui.core.limits import Limits
from geode_tui.core.usage import Usage

NOW = 1_790_000_000.0
SESSION = "s-1"
HOSTILE = "\x1b]52;c;AA\x07\u202e[/]\x9b2J 한글"


def row(number: int, payload: ev.Payload, turn: int = 1, round_: int = 1, at: float | None = None) -> ev.EventRow:
    """A row as the log gives it."""
    name, text = ev.event_name(type(payload)), ev.encode_payload(payload)
    return ev.EventRow(number, NOW + number if at is None else at, turn, round_, name, text)


def figures(used: int, measured: ev.Measured = "estimated") -> ev.ContextFigures:
    """A gauge."""
    parts = {"system": used // 10, "tools": used // 10, "user": used - 2 * (used // 10)}
    return ev.ContextFigures(used, 200_000, 32_768, 167_232, 83_616, 150_508, 50, 90, "catalog", measured, parts)


# -- plausible --------------------------------------------------------------------------------------------------------
def plausible(random: Random, rounds: int) -> list[ev.EventRow]:
    """The events of a run of so many rounds, in turns of about twenty."""
    made: list[ev.EventRow] = []
    position = [0, 0]

    def add(payload: ev.Payload) -> None:
        made.append(row(len(made) + 1, payload, *position))

    add(ev.SessionStarted(SESSION, "m-1", "anthropic", "payg", False, 1, 4711, "ask", Limits(), title="A run"))
    message, calls = 0, 0
    for number in range(rounds):
        if number % 20 == 0:
            if number:
                add(turn_completed(position))
            position[:] = [position[0] + 1, 0]
            message += 1
            add(ev.UserInputReceived(SESSION, f"t-{position[0]}", message, message, 40, "user_input"))
        position[1] += 1
        message += 1
        for payload in round_events(random, number, message, calls):
            add(payload)
            calls += isinstance(payload, ev.ToolExecEnded)
            message += isinstance(payload, ev.ToolExecEnded)
    add(turn_completed(position))
    return made


def turn_completed(position: list[int]) -> ev.TurnCompleted:
    return ev.TurnCompleted(SESSION, f"t-{position[0]}", "m-1", "anthropic", position[1], ("grep",), "natural")


def round_events(random: Random, number: int, message: int, calls: int) -> Iterator[ev.Payload]:
    """One round: a request that may fail first, an answer, its calls, some of which ask."""
    route = ("turn", "m-1", "anthropic", "payg")
    used, call = 10_000 + 900 * number, f"call-{number}"
    attempts = random.choice([1, 1, 1, 2])
    for attempt in range(1, attempts + 1):
        yield ev.LlmCallStarted(call, attempt, *route, None, 32_768, figures(used), 190_000)
        if attempt < attempts:
            yield ev.LlmCallFailed(call, attempt, *route, "overloaded", "warning", "the provider is overloaded")
            yield ev.LlmCallRetried(call, attempt, "overloaded", 2.5, NOW + number)
    yield ev.MessageOpened(message, message)
    wanted = random.randrange(4)
    yield ev.MessageCompleted(message, message, "assistant", random.randrange(2_000), calls=wanted)
    usage = Usage(random.randrange(2_000), random.randrange(3_000), used, 0, random.randrange(900))
    cost = random.choice([None, random.randrange(90_000)])
    yield ev.LlmCallEnded(call, attempts, *route, 2_100, usage, cost, "tool_use", figures(used + 7, "confirmed"))
    for n in range(wanted):
        yield from tool_events(random, f"toolu-{calls + n}", message + 1 + n, message)
    if random.random() < 0.2:
        yield ev.PlanUpdated((("Look", "done"), ("Change", "active"), ("Test", "pending")))
    if random.random() < 0.1:
        yield ev.CommandFinished(number, f"key-{number}", "submit", "done")
    if random.random() < 0.15:
        yield from upkeep_events(random, number)


def view_changed(version: int, operations: dict[str, int], **more: typing.Any) -> ev.ViewChanged:
    """Another version of the view, after which 41,000 tokens of 162,000 are sent."""
    more = {"cause": "warning", "mode": "text", "context": figures(41_000), "first_changed": 1, "upto": 84, **more}
    return ev.ViewChanged(
        version=version, parent=version - 1, operations=operations, tokens_before=162_000,
        tokens_after=41_000, **more,
    )  # fmt: skip


def upkeep_events(random: Random, number: int) -> Iterator[ev.Payload]:
    """The window's upkeep, which may mask, summarise or fail."""
    yield ev.ContextCritical(figures(160_000), "m-1", "anthropic", "payg", SESSION, "t-1")
    yield ev.MaintenanceStarted("warning", False, figures(160_000))
    status: ev.MaintenanceStatus = random.choice(["changed", "changed", "failed", "deferred"])
    if status == "changed":
        yield view_changed(number + 1, random.choice([{"mask": 12}, {"summarise": 1}, {"shrink": 3, "trim": 1}]))
    yield ev.MaintenanceEnded("warning", "mask", status, 90, 80, 162_000, 41_000, paused=random.random() < 0.1)


def tool_events(random: Random, call: str, message: int, asked_in: int) -> Iterator[ev.Payload]:
    """A call, which may ask first and may be denied."""
    allowed = True
    if random.random() < 0.2:
        allowed = random.random() < 0.7
        yield ev.ToolApprovalRequested(f"a-{call}", call, "run_shell", "execute", "make test", asked_in)
        verdict: typing.Literal["allowed", "denied"] = "allowed" if allowed else "denied"
        yield ev.ApprovalTransition(f"a-{call}", call, "run_shell", verdict, "person")
    if allowed:
        arguments = '{"command":"' + "x" * random.randrange(300) + '"}'
        yield ev.ToolExecStarted(call, "run_shell", "execute", "make test", arguments, 4_712, NOW)
    failed = random.random() < 0.2
    yield ev.ToolExecEnded(call, "run_shell", 8_400, failed, allowed, "exit 0", 1_200, 4_800, message, message)


# -- anything ---------------------------------------------------------------------------------------------------------
_PLAIN = {
    "session_id": st.just(SESSION),
    "call_id": st.sampled_from(["c-1", "c-2", "c-3"]),
    "approval_id": st.sampled_from(["a-1", "a-2"]),
    "key": st.sampled_from(["k-1", "k-2"]),
    "parts": st.dictionaries(st.sampled_from(CATEGORIES), st.integers(0, 10**6), max_size=3),
    "provenance": st.just("catalog"),
}
_BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    str: st.sampled_from(["", "turn", "m-1", "run_shell", HOSTILE, "\x1b[2J", "x" * 300]),
    int: st.integers(0, 10**12),
    float: st.floats(0, 2**40),
    bool: st.booleans(),
    type(None): st.none(),
}


def struct(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Any value of a payload or of what stands in one."""
    hints = typing.get_type_hints(kind)
    names = [f.name for f in msgspec.structs.fields(kind)]
    fields = {name: _PLAIN[name] if name in _PLAIN else _of(hints[name]) for name in names}
    return st.fixed_dictionaries(fields).map(lambda values: kind(**values))


def _of(hint: Any) -> st.SearchStrategy[Any]:
    if hint in _BY_TYPE:
        return _BY_TYPE[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin in {typing.Union, types.UnionType}:
        return st.one_of(*map(_of, arguments))
    if origin is tuple:
        many = arguments[-1] is Ellipsis
        return st.lists(_of(arguments[0]), max_size=3).map(tuple) if many else st.tuples(*map(_of, arguments))
    if origin is dict:
        return st.dictionaries(*map(_of, arguments), max_size=3)
    assert issubclass(hint, msgspec.Struct), hint
    return struct(hint)


payloads = st.one_of(*(struct(kind) for kind in ev.CATALOGUE.values()))
any_run = st.lists(st.tuples(payloads, st.integers(0, 3), st.integers(0, 9)), max_size=40).map(
    lambda items: [row(n, p, turn, round_) for n, (p, turn, round_) in enumerate(items, start=1)]
)
"""Valid events of every kind in any order: more than a run can do."""
a_run = st.one_of(any_run, st.integers(0, 2**32).map(lambda seed: plausible(Random(seed), 6)))
