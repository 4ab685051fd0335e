"""What the person asks of the run: commands on their way, and those whose outcome did not come yet."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any

import msgspec

from geode_tui.tui.source import RunSource
from geode_tui.view.state import Outcome, RunState


class Sent(msgspec.Struct, frozen=True):
    """A command without an outcome. ``text`` is what was typed."""

    kind: str
    text: str


class Steering:
    """Writes commands and matches their outcomes."""

    def __init__(self, source: RunSource) -> None:
        self._source = source
        self._waiting: dict[str, Sent] = {}
        self._interrupted_turn = 0
        self._order = asyncio.Lock()

    async def send(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Write a command, after those asked for before it. Raises `SourceError`; then it was not written."""
        key = uuid.uuid4().hex
        self._waiting[key] = Sent(kind, str(payload.get("text", "")))
        try:
            async with self._order:
                await asyncio.to_thread(self._source.send, kind, payload, key)
        except BaseException:
            self._waiting.pop(key, None)
            raise

    def interrupt_asked(self, turn: int) -> None:
        """The person asked to end ``turn``."""
        self._interrupted_turn = turn

    def interrupting(self, state: RunState) -> bool:
        """Whether the turn that goes on was asked to end."""
        return state.turn_open and self._interrupted_turn == state.turn != 0

    def interrupt_failed(self) -> None:
        """It was not sent after all."""
        self._interrupted_turn = 0

    def waits_for(self, kind: str) -> bool:
        """Whether a command of ``kind`` has no outcome yet."""
        return any(sent.kind == kind for sent in self._waiting.values())

    def settled(self, state: RunState) -> list[tuple[Sent, Outcome]]:
        """Own commands that got an outcome since the last call."""
        if not self._waiting:
            return []
        found = [(self._waiting.pop(o.key), o) for o in state.outcomes if o.key in self._waiting]
        for sent, outcome in found:
            if sent.kind == "interrupt" and outcome.outcome != "done":
                self._interrupted_turn = 0
        return found
