"""A session that begins as a copy of another one: its worker copies the rows, then says so in one transaction."""

from __future__ import annotations

import asyncio

from geode_tui.core.events import ContextFigures, SessionForked
from geode_tui.log import commands as cmd
from geode_tui.log import fork, offloads
from geode_tui.log.fork import ForkError, ForkPoint
from geode_tui.log.writer import Tx
from geode_tui.routes.budget import budget_of
from geode_tui.routes.shape import MAX_TOKENS, shape
from geode_tui.runtime.inbox import Commands, Waiting
from geode_tui.runtime.session import Session


class Forking:
    """Begins a session as a copy. A copy that a worker before this one had begun is gone on with."""

    def __init__(self, session: Session, commands: Commands) -> None:
        self._session = session
        self._commands = commands

    async def take(self, waiting: Waiting, body: cmd.Fork) -> None:
        """Do what the command asks, and give it its outcome."""
        session, journal = self._session, self._session.journal
        if journal.turn:
            await self._commands.settle(waiting, "refused", "this session has begun already")
            return
        try:
            point = await journal.read(lambda t: fork.fork_point(t, body.parent, body.turn, body.round))
        except ForkError as error:
            await self._commands.settle(waiting, "refused", str(error))
            return
        await self._copy(point)
        detail = await self._share(point)
        journal.turn, journal.round = point.end.turn, point.end.round
        await session.reload()
        view = session.conversation.view
        forked = SessionForked(
            parent=point.parent,
            turn=point.end.turn,
            round=point.end.round,
            seq=point.end.seq,
            view_version=view.number,
            view_cause=view.newest.cause if view.newest is not None else "",
            context=self._gauge(),
        )

        def work(tx: Tx) -> None:
            tx.session(parent_session=point.parent, parent_seq=point.end.seq, message_count=point.end.seq)
            tx.event(forked)
            tx.finish(waiting.row, "done", detail)

        journal.probe("fork: before row")
        await journal.write(work, durable=True)
        journal.probe("fork: after row")

    async def _copy(self, point: ForkPoint) -> None:
        journal, session_id = self._session.journal, self._session.id
        while await journal.write(lambda tx: fork.copy_messages(tx, session_id, point)):
            journal.probe("fork: after messages")
        while await journal.write(lambda tx: fork.copy_versions(tx, point)):
            journal.probe("fork: after versions")

    async def _share(self, point: ForkPoint) -> str:
        """Make what the view names readable here; a line where something is not there."""
        geode = self._session.journal.writer.geode
        try:
            missing = await asyncio.to_thread(offloads.share, geode, point.parent, self._session.id, point.refs)
        except offloads.OffloadFailed as error:
            return f"offloaded results of {point.parent} cannot be read here: {error}"
        return f"{missing} offloaded results of {point.parent} are gone" if missing else ""

    def _gauge(self) -> ContextFigures:
        """What the copy takes, estimated: its provider has counted nothing of it yet."""
        session = self._session
        budget = budget_of(session.route, shape(session.route, MAX_TOKENS, session.options.effort).reserve)
        return session.conversation.figures(budget, session.prefix, simulated=session.provider.simulated)
