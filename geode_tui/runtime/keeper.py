"""The window's hands in a session: its log, its files, its extensions, and its model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import apsw

from geode_tui.context.protect import result_of
from geode_tui.context.summary_source import Source
from geode_tui.context.upkeep import CheckpointFailed, NativeAnswer, Permission, SummaryAnswer
from geode_tui.context.view import Item
from geode_tui.core.events import Payload, ToolResultOffloaded
from geode_tui.core.text import clean_line
from geode_tui.core.views import Cause, Version
from geode_tui.log import offloads
from geode_tui.log.store import StoreBusy, StoreError, StoreFull
from geode_tui.log.views import Artifact, add_version, keep_artifact, mark_applied, mark_not_applied
from geode_tui.log.writer import Fenced, Tx
from geode_tui.runtime.auxiliary import Auxiliary
from geode_tui.runtime.hook_contracts import Correlation
from geode_tui.runtime.hooks import PostCompact, PreCompact
from geode_tui.runtime.session import Session

_log = logging.getLogger(__name__)


class SessionPorts:
    """See `context.upkeep.Ports`. ``settling`` closes the person's command in the transaction of what it asked for."""

    def __init__(self, session: Session, auxiliary: Auxiliary) -> None:
        self._session = session
        self._auxiliary = auxiliary
        self.session_id = session.id
        self.settling: Callable[[Tx, Version], None] | None = None

    @property
    def local(self) -> bool:
        """Whether there is no model: the offline planner is none."""
        return self._session.provider.name == "offline"

    def now(self) -> float:
        """Epoch seconds."""
        return self._session.clock.now()

    def probe(self, point: str) -> None:
        """A point where a crash matters."""
        self._session.journal.probe(point)

    async def tell(self, *events: Payload) -> None:
        """Write events."""

        def work(tx: Tx) -> None:
            for event in events:
                tx.event(event)

        await self._session.journal.write(work)

    async def keep(self, items: Sequence[Item]) -> Mapping[int, str]:
        """Store results in files, and tell of each; one that cannot be stored has no ref, and the reason is in the
        worker's log.
        """
        now = self.now()
        stored = await self._session.journal.aside(lambda: self._keep(items))
        told = [self._offloaded(item, about) for item, about in stored if about.offloaded_at == now]
        if told:
            await self.tell(*told)
        return {item.seq: about.ref_id for item, about in stored}

    def _keep(self, items: Sequence[Item]) -> list[tuple[Item, offloads.Offloaded]]:
        session, stored = self._session, []
        for item in items:
            result = result_of(item)
            if result is None:
                continue
            try:
                about = session.stored.keep(
                    result.call_id,
                    session.receipts().get(offloads.ref_of(result.call_id), result.text),
                    tool_name=result.name,
                    tokens=session.conversation.size(item.message),
                    turn_id=f"{session.id}:{item.turn}",
                    call_seq=item.seq,
                )
            except StoreError as error:
                _log.warning("a result could not be stored before it was masked: %s", error)
                continue
            stored.append((item, about))
        return stored

    def _offloaded(self, item: Item, about: offloads.Offloaded) -> ToolResultOffloaded:
        result = result_of(item)
        call_id = result.call_id if result is not None else ""
        return ToolResultOffloaded(
            ref_id=about.ref_id,
            original_tokens=about.original_tokens,
            block_id=call_id,
            tool_name=about.tool_name,
            session_id=self.session_id,
            turn_id=about.turn_id,
            tool_call_id=call_id,
            path=offloads.path_of(self.session_id, about.ref_id),
        )

    async def keep_artifact(self, artifact: Artifact) -> bool:
        """Store a summary; whether that worked."""
        try:
            await self._session.journal.write(lambda tx: keep_artifact(tx, self.session_id, artifact))
        except (StoreError, apsw.Error) as error:
            _log.error("the summary could not be stored: %s", error)
            return False
        return True

    async def forget_artifact(self, artifact_id: str, why: str) -> None:
        """The summary was not used: its artifact says so."""
        await self._session.journal.write(lambda tx: mark_not_applied(tx, artifact_id, why))

    async def commit(self, version: Version, events: Sequence[Payload], artifact_id: str = "") -> None:
        """Make ``version`` the active one. Raises `CheckpointFailed`, and nothing is changed then."""
        session, checkpoint = self._session, self._session.checkpoint

        def work(tx: Tx) -> None:
            add_version(tx, version)
            for event in events:
                tx.event(event)
            if artifact_id:
                mark_applied(tx, artifact_id)
            if self.settling is not None:
                self.settling(tx, version)
            if checkpoint is not None:
                checkpoint(version)

        try:
            await session.journal.write(work, durable=True)
        except (Fenced, StoreBusy, StoreFull):
            raise
        except Exception as error:
            line = f"the checkpoint failed: {clean_line(f'{type(error).__name__}: {error}', 200)}"
            if artifact_id:
                await self.forget_artifact(artifact_id, line)
            raise CheckpointFailed(type(error).__name__, line) from error

    async def summarise(self, source: Source, max_tokens: int) -> SummaryAnswer:
        """Ask the session's own route. Raises `SummaryFailed`."""
        return await self._auxiliary.summarise(source, max_tokens)

    async def compact(self, upto: int, instructions: str) -> NativeAnswer:
        """Ask the session's own provider. Raises `SummaryFailed`."""
        return await self._auxiliary.compact(upto, instructions)

    @property
    def _correlation(self) -> Correlation:
        return Correlation(session_id=self._session.id, turn_id=self._session.turn_id)

    async def pre_compact(self, trigger: Cause, messages: int, keep: int, *, hard: bool) -> Permission:
        """Ask the extensions."""
        route = self._session.route
        decision = await self._session.hooks.pre_compact(
            PreCompact(route.model, route.provider, messages, keep, trigger, hard, self._correlation)
        )
        await self._session.audit(decision.invocations)
        return Permission(decision.keep_recent, decision.deferred, decision.reason)

    async def post_compact(self, trigger: Cause, before: int, after: int, keep: int, *, persisted: bool) -> None:
        """Tell the extensions."""
        route = self._session.route
        told = PostCompact(route.model, route.provider, before, after, keep, trigger, persisted, self._correlation)
        await self._session.audit(await self._session.hooks.post_compact(told))
