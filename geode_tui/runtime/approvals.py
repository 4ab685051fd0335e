"""Approvals: what a policy lets through, and the questions that wait for a person."""

from __future__ import annotations

import asyncio
from typing import Literal, TypeAlias

import msgspec

from geode_tui.core.limits import Approve
from geode_tui.core.messages import ToolCallBlock
from geode_tui.core.tools import Safety
from geode_tui.runtime.tools.base import Foreign, Tool

HEADLESS_WAIT_S = 120.0
"""Headless with nobody watching, a call that needs an approval is refused after this (PRODUCT.md)."""

Answer: TypeAlias = Literal["allow", "ask", "refuse"]


Grant: TypeAlias = Safety | tuple[str, ...]
"""What "always" allows for the rest of a run: every call that reaches as far, one call with its exact arguments, or one
tool of another program as that describes it now."""


def grant_of(call: ToolCallBlock, tool: Tool) -> Grant:
    """What "always" means for ``call``: of a command that very command, since no other is known to be like it, and of
    another program's tool that tool, until its description or its schema changes.
    """
    if isinstance(tool, Foreign):
        exact = (call.arguments,) if tool.safety is Safety.EXECUTE else ()
        return (call.name, tool.fingerprint, *exact)
    return (call.name, call.arguments) if tool.safety is Safety.EXECUTE else tool.safety


def needs(policy: Approve, safety: Safety, *, granted: bool, read_only: bool) -> Answer:
    """What the policy says of a call that reaches as far as ``safety``; ``granted``: it was allowed for this run."""
    if safety is Safety.NOTE:
        return "allow"
    if read_only and safety is not Safety.READ:
        return "refuse"
    if policy == "all" or granted:
        return "allow"
    if policy == "reads" and safety is Safety.READ:
        return "allow"
    return "ask"


class Decision(msgspec.Struct, frozen=True):
    """What became of a question: ``allowed``, ``denied``, ``expired`` (nobody answered) or ``dropped``."""

    state: Literal["allowed", "denied", "expired", "dropped"]
    by: str
    always: bool = False
    why: str = ""


class Question(msgspec.Struct, frozen=True):
    """A call that waits."""

    approval_id: str
    call_id: str
    tool: str
    grant: Grant


class Approvals:
    """The open questions of one run, oldest first, and what was granted for the rest of it.

    Whoever takes a question decides it: an answer and a time-out never both do.
    """

    def __init__(self) -> None:
        self.granted: set[Grant] = set()
        self._open: dict[str, tuple[Question, asyncio.Future[Decision]]] = {}

    def open(self, question: Question) -> asyncio.Future[Decision]:
        """Ask; the future resolves when somebody decides."""
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._open[question.approval_id] = (question, future)
        return future

    def take(self, approval_id: str) -> tuple[Question, asyncio.Future[Decision]] | None:
        """The open question of that id, without an id the oldest; from now on nobody else can take it."""
        return self._open.pop(approval_id or next(iter(self._open), ""), None)

    def take_all(self) -> tuple[Question, ...]:
        """Every open question, none of which will be answered."""
        taken = tuple(question for question, _ in self._open.values())
        self._open.clear()
        return taken
