"""One cell, run by the whole program in this process: the real adapter and its SDK over a real socket."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from geode_tui.core.endings import Ending, exit_status
from geode_tui.core.messages import ThinkingBlock
from geode_tui.providers.anthropic import AnthropicProvider
from geode_tui.providers.base import Provider
from geode_tui.providers.openai_chat import ChatProvider
from geode_tui.providers.openai_responses import Codex, ResponsesProvider
from tests.lab.matrix.cells import MODELS, Cell
from tests.lab.matrix.servers import Server, Servers
from tests.runtime.harness import Bench, FakeClock, bench

KEY = "sk-test-0123456789abcdef"
PATIENT_S, HASTY_S = 20.0, 0.7
"""Idle time-outs of the adapters: only a stall is to run into one."""
_NAMES = ("llm_call_started", "llm_call_failed", "llm_call_retried", "llm_call_ended")


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a cell; `tests/lab/matrix_expected.toml` explains the fields."""

    ending: str
    exit: int
    events: str
    results: tuple[str, ...] = ()
    thought: bool = False
    verdict: tuple[str, ...] = ()


class QuickClock(FakeClock):
    """A short wait is waited, since a server may watch for it; a long one only passes."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.25))
        await super().sleep(seconds)


async def run_cell(servers: Servers, cell: Cell) -> Outcome:
    """Run one turn against the cell's server."""
    async with servers.ready(cell) as server:
        provider = _provider(server, cell)
        try:
            with bench(provider, model=MODELS[cell.wire], effort="high") as run:
                run.clock = QuickClock()
                await run.turn(cell.prompt)
                return _outcome(cell, run, await server.verdict())
        finally:
            await provider.aclose()


def _provider(server: Server, cell: Cell) -> Provider:
    url = server.url(cell.wire)
    options: Any = {"idle_timeout_s": HASTY_S if cell.scenario == "stall" else PATIENT_S}
    if cell.wire == "anthropic":
        return AnthropicProvider(KEY, url, **options)
    if cell.wire == "chat":
        return ChatProvider("glm", KEY, url, source="payg", **options)
    return ResponsesProvider(KEY, url, codex=Codex("account") if cell.wire == "codex" else None, **options)


def _outcome(cell: Cell, run: Bench, verdict: tuple[str, ...]) -> Outcome:
    return Outcome(
        ending=run.ending,
        exit=exit_status(Ending.of(run.ending)),
        events=" ".join(_word(name, payload) for name, payload in run.events(*_NAMES)),
        results=tuple("error" if is_error else "ok" for _, _, is_error in run.results()),
        thought=cell.scenario == "thinking" and _thoughts(run) > 0,
        verdict=verdict,
    )


def _thoughts(run: Bench) -> int:
    return sum(isinstance(block, ThinkingBlock) for message in run.messages() for block in message.blocks)


def _word(name: str, payload: dict[str, Any]) -> str:
    if name == "llm_call_started":
        return "ask"
    if name == "llm_call_retried":
        return "again"
    if name == "llm_call_ended":
        return str(payload["stop_reason"])
    return str(payload["error_type"]) + ("!" if payload.get("visible") else "")
