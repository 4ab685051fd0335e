"""A worker: one process that owns one session, from taking the lock to leaving.

It leaves 60 s after its last turn when nobody watches, after 10 minutes when somebody does (ARCHITECTURE.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable

import msgspec

from geode_tui.core.events import SessionEnded, SessionStarted, SettingIgnored, ShutdownStarted, SuspensionAbsorbed
from geode_tui.core.limits import RunOptions
from geode_tui.core.text import Redactor
from geode_tui.log import commands as cmd
from geode_tui.log import presence
from geode_tui.log.lease import Lease
from geode_tui.log.writer import Tx
from geode_tui.runtime.forking import Forking
from geode_tui.runtime.inbox import Inbox, Waiting
from geode_tui.runtime.recovery import recover
from geode_tui.runtime.session import ResumePoint, Session
from geode_tui.runtime.tools.base import ProcessMark
from geode_tui.runtime.turns import LOOK_S, Turns

BEAT_S = 1.0
SOON_S, REST_S = 5.0, 0.15
"""At rest for this long a worker looks for commands at a slower pace, seconds: an idle one must cost nothing."""
TIDY_BEATS = 10
"""Beats between two looks at the size of the WAL."""
LEAVE_S, LEAVE_WATCHED_S = 60.0, 600.0
GAP_S = 30.0
"""A wall clock that ran this much further than the monotonic one: the machine slept."""


class Worker:
    """See the module. Everything it needs is given: nothing here reads settings or the environment."""

    def __init__(
        self,
        session: Session,
        lease: Lease,
        inbox: Inbox,
        point: ResumePoint,
        *,
        pid: int,
        title: str,
        ignored_settings: tuple[str, ...] = (),
        end_group: Callable[[ProcessMark], bool],
        redact: Redactor,
        log_file: str = "",
        leave_s: float = LEAVE_S,
    ) -> None:
        self.session = session
        self._lease = lease
        self._inbox = inbox
        self._point = point
        self._pid = pid
        self._title = title
        self._ignored = ignored_settings
        self._end_group = end_group
        self._leave_s = leave_s
        self._turns = Turns(session, inbox, redact, log_file=log_file)
        self._forking = Forking(session, self._turns.commands)
        self._turn_open = point.turn_open
        self._ending = point.ending
        session.journal.on_trouble = self._trouble

    async def run(self) -> None:
        """Serve until there is nothing more to do. Raises `log.writer.Fenced` when the session was taken over."""
        beating = asyncio.create_task(self._beat())
        try:
            await self._start()
            while True:
                await self._serve()
                if await self._leave():
                    break
        except asyncio.CancelledError:
            await self._shut_down()
            raise
        finally:
            await self._turns.dreams.stop()
            beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beating

    # -- coming and going -------------------------------------------------------------------------------------------
    async def _start(self) -> None:
        session, point = self.session, self._point
        started = SessionStarted(
            session_id=session.id,
            model=session.route.model,
            provider=session.provider.name,
            source=session.provider.source,
            resumed=point.turn > 0,
            epoch=session.journal.writer.epoch,
            pid=self._pid,
            approve=session.options.approve,
            limits=session.limits,
            simulated=session.provider.simulated,
            title=self._title,
            seed=session.options.seed,
        )

        def work(tx: Tx) -> None:
            tx.event(started)
            for line in self._ignored:
                tx.event(SettingIgnored(line.split(" ", 1)[0], line))
            tx.session(
                model=session.route.model,
                provider=session.provider.name,
                source=session.provider.source,
                status="active",
                options=msgspec.json.encode(session.options).decode(),
            )

        await session.journal.write(work)
        await recover(session, point, self._end_group)
        await self._abandoned_commands()
        await session.reload()
        await session.stored.sweep()

    async def _abandoned_commands(self) -> None:
        """A command that a dead worker had claimed is taken up again only where that is harmless."""
        for waiting in self._inbox.waiting():
            old = waiting.claimed_epoch is not None and waiting.claimed_epoch < self.session.journal.writer.epoch
            if not old:
                continue
            if waiting.row.kind == "interrupt" and not self._turn_open:
                await self._turns.commands.settle(waiting, "done", "the turn had ended")
            elif waiting.row.kind not in cmd.IDEMPOTENT:
                await self._turns.commands.settle(waiting, "unknown", "the worker stopped while it worked on this")

    async def _leave(self) -> bool:
        """Say goodbye, unless a command came at the last moment: whoever sends one later finds the lock free."""
        session = self.session
        ended = SessionEnded(session.id, self._ending, session.rounds)

        def work(tx: Tx) -> bool:
            if tx.has_commands():
                return False
            tx.event(ended)
            tx.session(status="paused" if self._turn_open else "completed")
            return True

        await session.stored.sweep()
        await session.journal.tidy(idle=True)
        return await session.journal.write(work)

    async def _shut_down(self) -> None:
        """Asked to stop by the machine: say so, and leave the turn open so that it can be resumed."""
        await self._turns.dreams.stop()
        await self.session.journal.write(lambda tx: tx.event(ShutdownStarted(1)))

    # -- serving ----------------------------------------------------------------------------------------------------
    async def _serve(self) -> None:
        clock = self.session.clock
        idle_since = clock.monotonic()
        fresh = True
        while True:
            if fresh or self._inbox.changed():
                fresh = False
                if await self._take(self._inbox.waiting()):
                    idle_since, fresh = clock.monotonic(), True
                    continue
            geode, idle = self.session.journal.writer.geode, clock.monotonic() - idle_since
            over = idle >= self._leave_s and (idle >= LEAVE_WATCHED_S or not presence.watched(geode, self.session.id))
            if over and not self._turns.dreams.busy:
                return
            await asyncio.sleep(LOOK_S if idle < SOON_S else REST_S)

    async def _take(self, waiting: list[Waiting]) -> bool:
        """Work on what waits; true when a turn was run."""
        for item in waiting:
            match item.body:
                case cmd.Submit() as body:
                    await self._submitted(item, body)
                    return True
                case cmd.Resume() as body:
                    if await self._resumed(item, body):
                        return True
                case cmd.Interrupt():
                    await self._interrupted(item)
                case cmd.Decide() as body:
                    await self._turns.commands.decide(item, body)
                case cmd.Budget() as body:
                    await self._turns.commands.budget(item, body)
                case cmd.Model() as body:
                    await self._turns.model(item, body)
                case cmd.Retry():
                    await self._turns.commands.retry(item)
                case cmd.Mcp() as body:
                    await self._turns.commands.restart_server(item, body)
                case cmd.Dream() | cmd.ForgetArtifact() | cmd.ApproveArtifact():
                    await self._turns.dreams.serve(item)
                case cmd.Fork() as body:
                    await self._forking.take(item, body)
                case None:
                    await self._turns.commands.settle(item, "refused", item.problem)
                case _:  # what changes the context
                    await self._turns.by_hand(item)
        return False

    async def _submitted(self, item: Waiting, body: cmd.Submit) -> None:
        """Words for a session at rest open a turn; for one that stopped in a turn they join it."""
        await self._apply(body.options)
        if not self._turn_open:
            self._open_turn()
            await self._turns.commands.accept(item, body, joins=False)
        else:
            self._go_on()
            await self._turns.commands.accept(item, body, joins=True)
        await self._run_turn()

    async def _resumed(self, item: Waiting, body: cmd.Resume) -> bool:
        if not self._turn_open and not self.session.history:
            await self._turns.commands.settle(item, "refused", "there is nothing to resume")
            return False
        await self._apply(body.options)
        if self._turn_open:
            self._go_on()
            await self._turns.commands.settle(item, "done")
        else:
            self._open_turn()
            await self._turns.commands.continue_turn(item)
        await self._run_turn()
        return True

    async def _interrupted(self, item: Waiting) -> None:
        if self._turn_open:
            self._go_on()
            await self._turns.end_without_running(item)
            self._turn_open = False
        else:
            await self._turns.commands.settle(item, "too_late", "nothing is running")

    def _open_turn(self) -> None:
        journal = self.session.journal
        journal.turn += 1
        journal.round = 0
        self.session.begin_turn()
        self._turn_open = True

    def _go_on(self) -> None:
        self.session.begin_turn(rounds=self.session.journal.round)

    async def _apply(self, options: RunOptions | None) -> None:
        """New options from this turn on; who answers (model, provider, effort) is changed by a command of its own."""
        if options is None:
            return
        kept = self.session.options
        route = {"model": kept.model, "provider": kept.provider, "effort": kept.effort}
        changed = msgspec.structs.replace(options, **route, seed=kept.seed, read_only=kept.read_only)
        if changed != kept:
            await self.session.journal.write(self.session.adopt(changed), durable=True)

    async def _run_turn(self) -> None:
        end = await self._turns.run()
        await self.session.journal.tidy(idle=True)
        self._turn_open = False
        self._ending = end.ending.value

    # -- staying alive ----------------------------------------------------------------------------------------------
    async def _beat(self) -> None:
        clock = self.session.clock
        wall, mono = clock.now(), clock.monotonic()
        for beats in itertools.count(1):
            self._lease.beat()
            if beats % TIDY_BEATS == 0:
                await self.session.journal.tidy(idle=False)
            await asyncio.sleep(BEAT_S)
            now, mono_now = clock.now(), clock.monotonic()
            gap = (now - wall) - (mono_now - mono)
            wall, mono = now, mono_now
            if gap > GAP_S:
                await self.session.journal.write(lambda tx, gap=gap: tx.event(SuspensionAbsorbed(round(gap, 1))))  # type: ignore[misc]

    def _trouble(self, line: str) -> None:
        self._lease.write(msgspec.structs.replace(self._lease.note, trouble=line))
