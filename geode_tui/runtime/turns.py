"""Turns of a session: running, interrupting, ending. Whatever happens inside, a turn ends in one transaction."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any, TypeVar

from geode_tui.core.endings import Ending
from geode_tui.core.events import ExecutionCancelled
from geode_tui.core.messages import ToolCallBlock
from geode_tui.core.text import Redactor, clean_line
from geode_tui.log import commands as cmd
from geode_tui.log.writer import Fenced, Tx
from geode_tui.runtime.byhand import ByHand
from geode_tui.runtime.closing import Loose, close
from geode_tui.runtime.dreaming import Dreaming
from geode_tui.runtime.executor import Executor
from geode_tui.runtime.inbox import Commands, Inbox, Waiting
from geode_tui.runtime.loop import TurnLoop, completed, metrics
from geode_tui.runtime.request import RequestPath
from geode_tui.runtime.sending import failed_call
from geode_tui.runtime.session import Session, TurnEnd, unanswered

T = TypeVar("T")
LOOK_S = 0.05
"""Pace of the look for commands (ARCHITECTURE.md, "The log")."""
_log = logging.getLogger(__name__)


class Turns:
    """Runs one turn at a time and attends to commands while it runs."""

    def __init__(self, session: Session, inbox: Inbox, redact: Redactor, *, log_file: str = "") -> None:
        self.session = session
        self._inbox = inbox
        self._request = RequestPath(session, redact)
        self.commands = Commands(session, self._request)
        self.dreams = Dreaming(session, redact)
        self._hands = ByHand(session, self._request)
        self._executor = Executor(session)
        self._interrupts: list[Waiting] = []
        self._task: asyncio.Task[Any] | None = None
        self._log_file = log_file

    async def run(self) -> TurnEnd:
        """Run the open turn to its end, and say how it ended."""
        loop = TurnLoop(self.session, self._request, self._executor, self._take_inputs)
        async with self._attended(asyncio.create_task(loop.run())) as task:
            end = await self._ended(task)
        await self._finish(end)
        self.dreams.turn_ended(end)
        return end

    async def model(self, waiting: Waiting, body: cmd.Model) -> None:
        """Go on with another model. A dream that is being asked of the one before is given up: it is closed."""
        await self.dreams.stop()
        await self.commands.model(waiting, body)

    async def by_hand(self, waiting: Waiting) -> None:
        """Work on the context of a session at rest. An interrupt ends it; what is typed meanwhile waits."""
        async with self._attended(asyncio.create_task(self._hands.serve(waiting))) as task:
            try:
                await task
            except asyncio.CancelledError:
                if not self._interrupts:
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await task
                    raise
        interrupts, self._interrupts = self._interrupts, []
        for interrupt in interrupts:
            await self.commands.settle(interrupt, "done")

    @contextlib.asynccontextmanager
    async def _attended(self, task: asyncio.Task[T]) -> AsyncIterator[asyncio.Task[T]]:
        """``task``, while commands are attended to."""
        self._task = task
        attending = asyncio.create_task(self._attend())
        attending.add_done_callback(self._unattended)
        try:
            yield task
        finally:
            attending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await attending
            self._task = None

    async def end_without_running(self, waiting: Waiting) -> None:
        """Interrupt a turn that no worker was running: it is closed and ends as cancelled."""
        self._interrupts.append(waiting)
        await self._finish(TurnEnd(Ending.USER_CANCELLED, "interrupted by you"))

    async def _ended(self, task: asyncio.Task[TurnEnd]) -> TurnEnd:
        try:
            return await task
        except asyncio.CancelledError:
            if not self._interrupts:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                raise
            return TurnEnd(Ending.USER_CANCELLED, "interrupted by you")
        except Fenced:
            raise
        except Exception as error:  # noqa: BLE001 - a defect ends the turn with its reason, not the worker
            _log.exception("the turn failed")
            where = f"; the traceback is in {self._log_file}" if self._log_file else ""
            detail = f"internal error: {type(error).__name__}: {clean_line(str(error))}{where}"
            return TurnEnd(Ending.UNKNOWN, detail, error_type=type(error).__name__)

    async def _finish(self, end: TurnEnd) -> None:
        """Close everything and end the turn, in one durable transaction."""
        session = self.session
        calls = await session.journal.read(lambda t: unanswered(t, session.id))
        loose = self._loose(calls, end)
        interrupts, self._interrupts = self._interrupts, []
        last, figures = completed(session, end), metrics(session)

        def work(tx: Tx) -> None:
            close(tx, loose, end.ending.value)
            if end.ending is Ending.USER_CANCELLED:
                tx.event(ExecutionCancelled(session.id, "person"))
            for waiting in interrupts:
                tx.finish(waiting.row, "done")
            tx.event(figures)
            tx.event(last)

        session.journal.probe("turn: before end")
        await session.journal.write(work, durable=True)
        session.end_turn()
        session.journal.probe("turn: after end")
        await session.journal.keep_latest()
        untidy = bool(calls) or loose.message is not None
        session.open.message = session.open.llm = None
        session.open.calls, session.open.begun = {}, set()
        if untidy:
            await session.reload()

    def _loose(self, calls: tuple[ToolCallBlock, ...], end: TurnEnd) -> Loose:
        session = self.session
        llm = session.open.llm
        simulated = session.provider.simulated
        failed = (failed_call(llm, "cancelled", end.detail, None, None, simulated=simulated),) if llm else ()
        waiting = tuple((q.approval_id, q.call_id, q.tool) for q in session.approvals.take_all())
        return Loose(session.open.message, failed, calls, frozenset(session.open.begun), waiting)

    # -- commands while a turn runs -----------------------------------------------------------------------------------
    async def _attend(self) -> None:
        while True:
            if self._inbox.changed():
                for waiting in self._inbox.waiting():
                    await self._serve(waiting)
            await asyncio.sleep(LOOK_S)

    def _unattended(self, attending: asyncio.Task[None]) -> None:
        """A turn that nobody can interrupt any more does not go on: what broke is raised by `run`."""
        if not attending.cancelled() and self._task is not None:
            self._task.cancel()

    async def _serve(self, waiting: Waiting) -> None:
        match waiting.body:
            case None:
                await self.commands.settle(waiting, "refused", waiting.problem)
            case cmd.Interrupt():
                await self._interrupt(waiting)
            case cmd.Decide() as body:
                await self.commands.decide(waiting, body)
            case cmd.Budget() as body:
                await self.commands.budget(waiting, body)
            case cmd.Resume():
                await self.commands.settle(waiting, "refused", "the run is going on already")
            case cmd.Retry():
                await self.commands.retry(waiting)
            case cmd.Mcp() as body:
                await self.commands.restart_server(waiting, body)
            case cmd.Fork():
                await self.commands.settle(waiting, "refused", "this session has begun already")
            case cmd.Dream() | cmd.ForgetArtifact() | cmd.ApproveArtifact():
                await self.dreams.serve(waiting)
            case _:
                pass  # words, another model, changes of the context: at the next round's boundary, or after the turn

    async def _interrupt(self, waiting: Waiting) -> None:
        if any(w.row.id == waiting.row.id for w in self._interrupts):
            return
        self._interrupts.append(waiting)
        await self.session.journal.write(lambda tx: tx.claim(waiting.row.id), durable=True)
        if self._task is not None and len(self._interrupts) == 1:
            self._task.cancel()

    async def _take_inputs(self) -> bool:
        """Take in what waits for a round's boundary; what concerns the context comes first, so that what was typed
        stands after it. Says whether anything was typed.
        """
        taken = False
        found = self._inbox.waiting()
        for waiting in found:
            if isinstance(waiting.body, cmd.ByHand):
                await self._hands.serve(waiting)
        for waiting in found:
            if isinstance(waiting.body, cmd.Model):
                await self.model(waiting, waiting.body)
            elif isinstance(waiting.body, cmd.Submit) and not waiting.body.later:
                await self.commands.accept(waiting, waiting.body, joins=True)
                taken = True
        return taken
