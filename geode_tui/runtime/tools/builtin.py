"""The frame all built-in tools share: decode, check, then an effect whose failures become error results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeAlias

import msgspec

from geode_tui.core.tools import Safety, ToolSpec
from geode_tui.runtime.tools.arguments import A, decode_arguments, schema_of
from geode_tui.runtime.tools.background import Stop, Stopped, in_thread
from geode_tui.runtime.tools.base import Prepared, Simple, ToolContext, ToolOutcome, ToolRefused
from geode_tui.runtime.tools.confine import reason_of
from geode_tui.runtime.tools.texts import one_line, without_surrogates

Facts: TypeAlias = dict[str, str | int | float | bool]
"""Small figures for the record of a call (RUNTIME.md 3.5 names those of a tool)."""


class Builtin(Generic[A]):
    """A `Tool` made of its argument type and functions. ``brief`` gets decoded arguments, ``prepare`` too."""

    polls = False

    def __init__(
        self,
        name: str,
        description: str,
        safety: Safety,
        kind: type[A],
        brief: Callable[[A], str],
        prepare: Callable[[A, ToolContext], Awaitable[Prepared]],
    ) -> None:
        self.spec = ToolSpec(name, description, schema_of(kind))
        self.safety = safety
        self._kind = kind
        self._brief = brief
        self._prepare = prepare

    def brief(self, arguments: str) -> str:
        """One line that says what the call is about; the raw arguments, cut, where they cannot be read."""
        try:
            return one_line(self._brief(decode_arguments(arguments, self._kind)))
        except ToolRefused:
            return one_line(arguments)

    async def prepare(self, arguments: str, context: ToolContext) -> Prepared:
        """Check ``arguments``. Raises `ToolRefused`, and nothing else."""
        checked = decode_arguments(arguments, self._kind)
        try:
            return await self._prepare(checked, context)
        except OSError as error:
            raise ToolRefused(f"the call cannot be prepared: {reason_of(error)}") from None


def threaded(
    check: Callable[[A, ToolContext], object], work: Callable[[A, ToolContext, Stop], ToolOutcome]
) -> Callable[[A, ToolContext], Awaitable[Prepared]]:
    """A prepare function that runs ``check`` in a thread, and later ``work`` in another.

    ``work`` may raise `ToolRefused`, `OSError` and `Stopped`: each becomes an error result.
    """

    async def prepare(arguments: A, context: ToolContext) -> Prepared:
        await asyncio.to_thread(check, arguments, context)

        async def effect() -> ToolOutcome:
            try:
                return _clean(await in_thread(lambda stop: work(arguments, context, stop), context.deadline_s))
            except ToolRefused as refused:
                return ToolOutcome(str(refused), is_error=True, summary="refused")
            except OSError as error:
                return ToolOutcome(f"the call failed: {reason_of(error)}", is_error=True, summary="failed")
            except Stopped:
                summary = f"timed out after {context.deadline_s:g} s"
                return ToolOutcome(f"[{summary}]", is_error=True, summary=summary, facts={"timeout": True})

        return Simple(effect)

    return prepare


def _clean(outcome: ToolOutcome) -> ToolOutcome:
    """``outcome`` without the lone surrogates that names of files can bring."""
    facts = {k: without_surrogates(v) if isinstance(v, str) else v for k, v in outcome.facts.items()}
    return msgspec.structs.replace(outcome, text=without_surrogates(outcome.text), facts=facts)
