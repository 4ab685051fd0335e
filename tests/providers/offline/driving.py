"""Drives the offline provider over a real folder with the real tools, as the loop of a run would."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from geode_tui.core.messages import Message, ToolCallBlock, answered, tool_text, user_text
from geode_tui.core.tools import ToolSpec
from geode_tui.providers.base import Finished, Request, SystemPart
from geode_tui.providers.offline import OfflineProvider
from geode_tui.runtime.tools.base import ToolContext, ToolRefused
from geode_tui.runtime.tools.registry import builtin_tools

TOOLS = builtin_tools()
SPECS = tuple(t.spec for t in TOOLS.values())


class Drive(msgspec.Struct):
    """A conversation over one folder. ``refuse`` names tools that a person denies."""

    root: Path
    messages: list[Message] = []
    specs: tuple[ToolSpec, ...] = SPECS
    refuse: frozenset[str] = frozenset()
    seed: int = 0
    rounds: int = 0
    requests: list[Request] = []
    plans: list[tuple[tuple[str, str], ...]] = []

    def request(self, **changes: object) -> Request:
        """The request that would be sent now."""
        request = Request("offline", (SystemPart("You work in a project."),), tuple(self.messages), self.specs)
        return msgspec.structs.replace(request, **changes)

    async def turn(self, prompt: str, *, typed: Mapping[int, str] | None = None, most: int = 60) -> str:
        """Play one turn to its end; ``typed`` maps a round to what the person types after it. The closing text."""
        self.messages.append(user_text(prompt))
        context = self.context()
        self.rounds = 0
        while True:
            assert self.rounds < most, "the turn did not end"
            finished = await ask(self.request(), self.seed)
            self.requests.append(self.request())
            self.rounds += 1
            answer = Message("assistant", finished.blocks)
            self.messages.append(answer)
            for call in answer.calls:
                self.messages.append(await self.result(call, context))
            assert answered(tuple(self.messages))
            if not answer.calls:
                return answer.text
            if typed and self.rounds in typed:
                self.messages.append(user_text(typed[self.rounds]))

    async def _plan(self, steps: tuple[tuple[str, str], ...]) -> None:
        self.plans.append(steps)

    def context(self) -> ToolContext:
        """Where the tools work."""
        return ToolContext(self.root.resolve(), (), "s1", seen={}, plan=self._plan)

    async def result(self, call: ToolCallBlock, context: ToolContext) -> Message:
        """The result of one call."""
        if call.name in self.refuse:
            return tool_text(call, "The person denied this call.", is_error=True)
        try:
            prepared = await TOOLS[call.name].prepare(call.arguments, context)
        except ToolRefused as refusal:
            return tool_text(call, str(refusal), is_error=True)
        outcome = await prepared.run()
        return tool_text(call, outcome.text, is_error=outcome.is_error)

    @property
    def calls(self) -> list[ToolCallBlock]:
        """Every call so far."""
        return [c for m in self.messages for c in m.calls]

    def named(self, tool: str) -> list[ToolCallBlock]:
        """The calls of one tool."""
        return [c for c in self.calls if c.name == tool]


async def ask(request: Request, seed: int = 0) -> Finished:
    """The finished answer to one request."""
    events = [event async for event in OfflineProvider(seed).stream(request)]
    last = events[-1]
    assert isinstance(last, Finished)
    return last


QUOTE = re.compile(r"^(?P<path>[^\n]+?):(?P<line>\d+)\n(?P<text>[^\n]*)$", re.MULTILINE)


def quotes(report: str) -> list[tuple[str, int, str]]:
    """The quotes of a report: path, line, text."""
    return [(m["path"], int(m["line"]), m["text"]) for m in QUOTE.finditer(report)]


def untrue(report: str, root: Path) -> list[tuple[str, int, str]]:
    """The quotes that are not in the file at the named line."""
    wrong = []
    for path, line, text in quotes(report):
        file = root / path
        lines = file.read_bytes().decode("utf-8-sig", "replace").split("\n") if file.is_file() else []
        if line > len(lines) or lines[line - 1].removesuffix("\r") != text:
            wrong.append((path, line, text))
    return wrong
