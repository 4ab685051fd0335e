"""Tool calls: approval, intent, effect, one result each.

Reads of one answer run side by side; what writes or runs commands goes one after the other, in the order asked.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Coroutine
from typing import Any
from uuid import uuid4

import msgspec

from geode_tui.context.view import Item
from geode_tui.core.events import (
    ApprovalTransition,
    ToolApprovalRequested,
    ToolExecFailed,
    ToolExecStarted,
)
from geode_tui.core.messages import ToolCallBlock
from geode_tui.core.text import clean_line
from geode_tui.core.tools import Safety
from geode_tui.log import blobs, presence
from geode_tui.log.writer import Tx
from geode_tui.runtime.approvals import HEADLESS_WAIT_S, Decision, Question, grant_of, needs
from geode_tui.runtime.extending import Invocation
from geode_tui.runtime.middleware import MiddlewareError
from geode_tui.runtime.results import Ended, Results
from geode_tui.runtime.session import Session
from geode_tui.runtime.tools.base import Prepared, Tool, ToolOutcome, ToolRefused

ARGUMENTS_SHOWN = 4_000
LEAST_DEADLINE_S = 1.0
DEADLINE_S = 120.0
"""Wall-clock bound of a call (RUNTIME.md 8.7); a command has its own, up to the context's."""


class Executor:
    """Runs the calls of one answer. Results are rows the moment they exist."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._results = Results(session)

    async def run(self, calls: tuple[ToolCallBlock, ...], message_seq: int) -> None:
        """Give every call its result, and the conversation the results in the order of the calls."""
        session = self._session
        session.open.calls = {c.call_id: c for c in calls}
        session.open.begun = set()
        self._results.begin()
        results: dict[str, Item] = {}
        for group in self._groups(calls):
            done = await self._together([self._one(call, message_seq) for call in group])
            results.update(zip((c.call_id for c in group), done, strict=True))
        for call in calls:
            item = results[call.call_id]
            session.append(item.message, item.seq, item.result)
        session.open.calls = {}

    def _groups(self, calls: tuple[ToolCallBlock, ...]) -> list[list[ToolCallBlock]]:
        """Neighbouring reads as one group, everything else alone."""
        groups: list[list[ToolCallBlock]] = []
        side_by_side = False
        for call in calls:
            tool = self._session.tools.get(call.name)
            reads = tool is not None and tool.safety in {Safety.READ, Safety.NOTE}
            if reads and side_by_side:
                groups[-1].append(call)
            else:
                groups.append([call])
            side_by_side = reads
        return groups

    async def _together(self, work: list[Coroutine[None, None, Item]]) -> list[Item]:
        """All of ``work``; when this is cancelled, every part has ended before it returns."""
        tasks = [asyncio.ensure_future(w) for w in work]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _one(self, call: ToolCallBlock, message_seq: int) -> Item:
        ended = await self._decide_and_run(call, message_seq)
        return await self._results.record(call, ended, message_seq)

    # -- before the effect --------------------------------------------------------------------------------------------
    async def _decide_and_run(self, asked: ToolCallBlock, message_seq: int) -> Ended:
        session = self._session
        tool = session.tools.get(asked.name)
        if tool is None:
            known = ", ".join(session.tools)
            return _refused(f"there is no tool {clean_line(asked.name, 60)}; the tools are: {known}")
        try:
            call = await self._rewritten(asked)
        except MiddlewareError as error:
            return _refused(f"not run: {error}")
        prepared = await self._prepared(call, tool)
        if isinstance(prepared, Ended):
            return prepared
        answer = needs(
            session.options.approve,
            tool.safety,
            granted=grant_of(call, tool) in session.approvals.granted,
            read_only=session.options.read_only,
        )
        if answer == "refuse":
            await prepared.abandon()
            return _refused("refused: only reading is allowed in this folder", denied=True)
        if answer == "ask":
            await prepared.abandon()
            decision = await self._ask(call, tool, message_seq)
            if decision.state != "allowed":
                return _refused(_denial(decision), denied=True)
            prepared = await self._prepared(call, tool)
            if isinstance(prepared, Ended):
                return prepared
        return await self._run(call, tool, prepared)

    async def _rewritten(self, call: ToolCallBlock) -> ToolCallBlock:
        """The call as middleware leaves it: what is approved and run. Raises `MiddlewareError`."""
        session = self._session
        try:
            arguments, invocations = await session.middleware.tool_request(call.name, call.arguments)
        except MiddlewareError as error:
            await session.audit(error.invocations)
            raise
        await session.audit(invocations)
        return msgspec.structs.replace(call, arguments=arguments)

    async def _prepared(self, call: ToolCallBlock, tool: Tool) -> Prepared | Ended:
        try:
            return await tool.prepare(call.arguments, self._session.context)
        except ToolRefused as refusal:
            return _refused(str(refusal))
        except Exception as error:  # noqa: BLE001 - a broken tool is a result, not the end of the run
            return Ended(await self._broken(call, error), executed=False)

    async def _ask(self, call: ToolCallBlock, tool: Tool, message_seq: int) -> Decision:
        session = self._session
        why = f"approvals are set to {session.options.approve}"
        rewritten = call.arguments != session.open.calls[call.call_id].arguments
        question = Question(uuid4().hex[:12], call.call_id, call.name, grant_of(call, tool))
        requested = ToolApprovalRequested(
            approval_id=question.approval_id,
            call_id=call.call_id,
            tool_name=call.name,
            safety_level=tool.safety.value,
            brief=clean_line(tool.brief(call.arguments)),
            message_seq=message_seq,
            why=f"{why}; a middleware rewrote the arguments" if rewritten else why,
            arguments=blobs.store_text(session.journal.writer.geode, call.arguments) if rewritten else None,
        )
        session.journal.probe("approval: before row")

        def work(tx: Tx) -> None:
            tx.event(requested)
            tx.event(ApprovalTransition(question.approval_id, call.call_id, call.name, "requested", "policy"))

        # Open before it can be read: an answer may come the moment the row is there.
        future = session.approvals.open(question)
        await session.journal.write(work, durable=True)
        session.journal.probe("approval: after row")
        return await self._answer(question, future)

    async def _answer(self, question: Question, future: asyncio.Future[Decision]) -> Decision:
        """Wait for the person. A time-out never allows. It refuses only headless and unwatched: after 120 s, or when
        the run's time is over before.
        """
        session = self._session
        waited, by = 0.0, "timeout"
        while waited < HEADLESS_WAIT_S:
            if not session.options.headless or session.options.wait_for_approval:
                return await future
            left = session.time_left_s()
            if left is not None and left <= 0:
                by = "time budget"
                break
            if await self._answered_within(future, 1.0 if left is None else min(1.0, left)):
                return future.result()
            watched = presence.watched(session.journal.writer.geode, session.id)
            waited = 0.0 if watched else waited + 1.0
        if session.approvals.take(question.approval_id) is None:
            return await future  # an answer is being written
        decision = Decision("expired", by)
        moved = ApprovalTransition(question.approval_id, question.call_id, question.tool, "expired", by)
        await session.journal.write(lambda tx: tx.event(moved), durable=True)
        return decision

    async def _answered_within(self, future: asyncio.Future[Decision], seconds: float) -> bool:
        pause = asyncio.ensure_future(self._session.clock.sleep(seconds))
        either: set[asyncio.Future[Any]] = {future, pause}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pause.cancel()
        return future.done()

    # -- the effect ---------------------------------------------------------------------------------------------------
    async def _run(self, call: ToolCallBlock, tool: Tool, prepared: Prepared) -> Ended:
        session = self._session
        mark = prepared.process
        started = ToolExecStarted(
            call_id=call.call_id,
            tool_name=call.name,
            safety_level=tool.safety.value,
            brief=clean_line(tool.brief(call.arguments)),
            arguments=call.arguments[:ARGUMENTS_SHOWN],
            group=mark.group if mark else None,
            started=mark.started if mark else None,
        )
        try:
            session.journal.probe("tool: before intent")
            await session.journal.write(lambda tx: tx.event(started), durable=True)
            session.open.begun.add(call.call_id)
            session.journal.probe("tool: after intent")
            begun = session.clock.monotonic()
            outcome, executed = await self._through_middleware(call, tool, prepared)
        finally:
            await prepared.abandon()
        session.journal.probe("tool: after effect")
        return Ended(outcome, executed, duration_ms=int((session.clock.monotonic() - begun) * 1000))

    async def _through_middleware(
        self, call: ToolCallBlock, tool: Tool, prepared: Prepared
    ) -> tuple[ToolOutcome, bool]:
        """The outcome, and whether the tool itself was run."""
        session = self._session
        invocations: list[Invocation] = []
        begun = False

        async def run() -> ToolOutcome:
            nonlocal begun
            begun = True
            return await self._bounded(call, tool, prepared)

        try:
            outcome = await session.middleware.tool_execution(call, run, invocations.append)
        except MiddlewareError as error:
            state = "interrupted: outcome unknown" if begun else "not run"
            outcome = ToolOutcome(f"{state}: {error}", is_error=True, summary=state)
        await session.audit(invocations)
        return outcome, begun

    async def _bounded(self, call: ToolCallBlock, tool: Tool, prepared: Prepared) -> ToolOutcome:
        """Run within the tool's deadline and what is left of the run's time."""
        session = self._session
        allowed = session.context.deadline_s if tool.safety is Safety.EXECUTE else DEADLINE_S
        left = session.time_left_s()
        if left is not None:
            allowed = min(allowed, max(left, LEAST_DEADLINE_S))
        try:
            async with asyncio.timeout(allowed):
                return await prepared.run()
        except TimeoutError:
            return ToolOutcome(
                f"timed out after {allowed:.0f} s", is_error=True, summary=f"timed out after {allowed:.0f} s"
            )
        except ToolRefused as refusal:
            return ToolOutcome(str(refusal), is_error=True, summary="refused")
        except Exception as error:  # noqa: BLE001 - a broken tool is a result, not the end of the run
            return await self._broken(call, error)

    async def _broken(self, call: ToolCallBlock, error: Exception) -> ToolOutcome:
        trace = "".join(traceback.format_exception(error, limit=-3))
        failed = ToolExecFailed(call.call_id, call.name, clean_line(trace, 400), type(error).__name__, recoverable=True)
        await self._session.journal.write(lambda tx: tx.event(failed))
        text = f"the tool failed: {type(error).__name__}: {clean_line(str(error))}"
        return ToolOutcome(text, is_error=True, summary="failed")


def _refused(text: str, *, denied: bool = False) -> Ended:
    summary = "refused" if denied else "not run"
    return Ended(ToolOutcome(text, is_error=True, summary=summary), executed=False, denied=denied)


def _denial(decision: Decision) -> str:
    if decision.by == "time budget":
        return "refused: the run's time was over before anybody answered"
    if decision.state == "expired":
        return f"refused: nobody answered within {HEADLESS_WAIT_S:.0f} s. The run goes on without this call"
    return "refused by the person" + (f": {clean_line(decision.why)}" if decision.why else "")
