"""A long run with reasoning and tools on every wire, killed in the middle: the next worker's requests are accepted, and
repeat byte for byte what was sent before.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from geode_tui.cli.client import fresh_session_id
from geode_tui.core.limits import RunOptions
from geode_tui.log import commands as cmd
from tests.chaos.driving import crash, finish
from tests.chaos.invariants import check
from tests.cli.place import Place
from tests.lab import Call, Lab, Say, ScriptStep, Think, lab_thread
from tests.lab.__main__ import variables

ROUNDS = 10
MODELS = {
    "anthropic": "claude-opus-4-8",
    "openai": "gpt-6-sol",
    "codex": "gpt-6-sol",
    "glm": "glm-5.3",
    "openrouter": "openrouter/anthropic/claude-sonnet-5",
}

UNMARKED = {"openai", "codex", "glm"}
"""Wires without cache marks, which move from request to request: there what is repeated is the same to the byte."""


def script() -> list[ScriptStep]:
    """Nine rounds that think, speak and call, and one that ends."""
    calls: list[ScriptStep] = [
        (Think(f"생각 {n}"), Say(f"Line {n}."), Call("run_shell", {"command": f"echo {n} >> out.txt"}))
        for n in range(1, ROUNDS)
    ]
    return [*calls, (Think("Enough."), Say("done"))]


def sent(lab: Lab) -> list[list[str]]:
    """The conversation of each accepted request, one JSON text an entry, without marks for a cache."""
    return [
        [json.dumps(unmarked(entry)) for entry in body.get("input", body.get("messages"))]
        for body in (received.body for received in lab.requests)
    ]


def repeated(lab: Lab) -> list[bytes]:
    """The conversation of each request as it stands in its bytes."""
    return [
        json.dumps(body.get("input", body.get("messages")), ensure_ascii=False, separators=(",", ":")).encode()
        for body in (received.body for received in lab.requests)
    ]


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [unmarked(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "provider", [p if p in {"openai", "openrouter"} else pytest.param(p, marks=pytest.mark.long) for p in MODELS]
)
def test_ten_rounds_on_a_wire_outlive_a_kill(place: Place, provider: str) -> None:
    with lab_thread(script=script(), bound_thinking=True) as lab:
        place.environment |= dict(variables(lab))
        session = fresh_session_id()
        options = RunOptions(model=MODELS[provider], provider=provider, approve="all")
        place.send(session, cmd.Submit("write lines", options=options))
        crash(place, session, "tool: after effect", ROUNDS // 2)
        assert place.status(session) == "dead"
        finish(place, session)
        assert [received.status for received in lab.requests] == [200] * ROUNDS
        conversations = sent(lab)
        raw = [received.raw for received in lab.requests]
        whole = repeated(lab)
    check(place, session)
    assert place.state(session).termination_reason == "natural"
    assert place.lines("out.txt") == [str(n) for n in range(1, ROUNDS)]
    for before, after in itertools.pairwise(conversations):
        assert after[: len(before)] == before
    assert all(entries in bytes_ for entries, bytes_ in zip(whole, raw, strict=True)), "this is how it is written"
    if provider in UNMARKED:
        assert all(before[:-1] in after for before, after in itertools.pairwise(whole))
    assert len(conversations[-1]) > len(conversations[0]) + ROUNDS
