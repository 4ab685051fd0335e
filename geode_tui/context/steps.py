"""One pass over the window: the steps that one cause asks for, each a version of its own when it wins something.

What a step decides is pure (`mask`, `shrink`, `trim`, `summarise`); this module commits it and measures again.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from geode_tui.context.called import calls_of
from geode_tui.context.changed import view_changed
from geode_tui.context.conversation import Candidate, Conversation
from geode_tui.context.mask import maskable, masked
from geode_tui.context.mode import ways_of
from geode_tui.context.pressure import Need, weight
from geode_tui.context.rendering import is_bound
from geode_tui.context.shrink import recallable, shrunk
from geode_tui.context.trim import trimmed
from geode_tui.context.upkeep import CheckpointFailed, Ports, Result
from geode_tui.context.view import Item
from geode_tui.core.events import (
    ContextFigures,
    ContextOverflowAction,
    LostItem,
    MaintenanceAction,
    MaintenanceEnded,
    MaintenanceStarted,
    MaintenanceStatus,
)
from geode_tui.core.views import Cause, Operation, Version
from geode_tui.routes.budget import shrink_threshold

ACTIONS: tuple[MaintenanceAction, ...] = ("none", "mask", "prune", "compact")
"""A pass is called after the one of its steps that stands furthest to the right."""
LEAST_WIN_PERCENT = 2
"""Of the prompt budget: a soft step that wins less, and not enough, is not worth the cache that it breaks."""


class Pass:
    """See the module. ``goal`` are the tokens below which there is nothing more to do."""

    def __init__(self, conversation: Conversation, ports: Ports, need: Need, cause: Cause, *, hard: bool, goal: int):
        self.conversation = conversation
        self.ports = ports
        self.need = need
        self.cause: Cause = cause
        self.hard = hard
        self.goal = goal
        self.before = self.figures()
        self.original = len(conversation.messages)
        self.versions: list[int] = []
        self.action: MaintenanceAction = "none"
        self.status: MaintenanceStatus = "unchanged"
        self.line = ""
        self.error_type = ""
        self.artifact_id = ""
        self.persisted = False
        self._begun = False

    # -- measuring ----------------------------------------------------------------------------------------------------
    def figures(self, candidate: Candidate | None = None) -> ContextFigures:
        """The gauge as it stands, or with ``candidate``."""
        need = self.need
        return self.conversation.figures(need.budget, need.prefix, simulated=need.simulated, candidate=candidate)

    @property
    def enough(self) -> bool:
        """Whether the pass has done what it was for."""
        return weight(self.figures()) < self.goal

    # -- steps --------------------------------------------------------------------------------------------------------
    async def mask(self, keep_rounds: int) -> None:
        """Stale results give way to markers; their texts are stored first."""
        conversation = self.conversation
        await self.mask_these(maskable(conversation.items, conversation.view, keep_rounds=keep_rounds))

    async def mask_these(self, stale: Sequence[Item]) -> None:
        """These results give way to markers; their texts are stored first."""
        calls = calls_of(self.conversation.items)
        planned = masked(stale, {}, self._tokens, calls)
        if planned is None or not self._worth([planned]):
            return
        await self.begin()
        refs = await self.ports.keep(stale)
        made = masked(stale, refs, self._tokens, calls)
        if made is not None:
            await self.commit([made], "mask")

    async def shrink(self, *, last_batch: bool = False) -> None:
        """Large results give way to their facts, long arguments to their beginnings; what is large is stored first.
        With ``last_batch`` even results that the model has not seen yet.
        """
        conversation = self.conversation
        made = shrunk(
            conversation.items,
            conversation.view,
            threshold=shrink_threshold(self.need.budget),
            tokens=self._tokens,
            keep_last_batch=not last_batch,
        )
        if made is None or not self._worth([made]):
            return
        await self.begin()
        large = {stub.seq for stub in made.stubs if stub.tokens > shrink_threshold(self.need.budget)}
        refs = await self.ports.keep([item for item in conversation.items if item.seq in large])
        stubs = tuple(recallable(stub, refs[stub.seq]) if stub.seq in refs else stub for stub in made.stubs)
        await self.commit([msgspec.structs.replace(made, stubs=stubs)], "mask")

    async def trim(self, room: int) -> None:
        """The oldest messages that do not fit into ``room`` tokens are left out."""
        conversation = self.conversation
        sizes = {s.seq: conversation.size(s.message) for s in conversation.sent if s.seq}
        fixed = self.figures().used - sum(sizes.values())
        made = trimmed(
            conversation.items,
            conversation.view,
            sizes=lambda item: sizes.get(item.seq, 0),
            fixed=fixed,
            room=room,
            note=self._omitted,
        )
        if made is not None:
            await self.begin()
            await self.commit([made], "prune")

    def _omitted(self, first: int, upto: int) -> str:
        summary = self.conversation.view.summary
        where = f", artifact {summary.artifact_id}" if summary is not None and summary.artifact_id else ""
        return (
            f"[An earlier part of the conversation is left out here: messages {first} to {upto}{where}."
            " Nothing was deleted: the whole of it stays in the session's log.]"
        )

    def _tokens(self, item: Item) -> int:
        return self.conversation.size(item.message)

    def _worth(self, operations: Sequence[Operation]) -> bool:
        """Whether a step wins enough: all of what is missing, or a share of the budget; at hard pressure anything."""
        before, after = weight(self.figures()), weight(self.figures(self.conversation.candidate(operations)))
        if self.hard or self.cause == "manual" or after < self.goal:
            return after < before
        return (before - after) * 100 >= self.need.budget.prompt * LEAST_WIN_PERCENT

    # -- committing ---------------------------------------------------------------------------------------------------
    async def begin(self) -> None:
        """Tell, once, that something is being done."""
        if not self._begun:
            self._begun = True
            await self.ports.tell(MaintenanceStarted(self.cause, self.hard, self.before))

    async def commit(
        self,
        operations: Sequence[Operation],
        action: MaintenanceAction,
        *,
        artifact_id: str = "",
        lost: tuple[LostItem, ...] = (),
    ) -> bool:
        """Make ``operations`` hold, where that makes the prompt smaller. False where it does not, or could not be.
        ``lost`` is told with them.
        """
        conversation = self.conversation
        before, candidate = self.figures(), conversation.candidate(operations)
        after = self.figures(candidate)
        if after.used >= before.used:
            self.line = self.line or "it would not make the prompt smaller"
            return False
        version = conversation.version(self.cause, operations, self.versions[0] if self.versions else None)
        if not await self.activate(version, candidate, before, after, artifact_id, lost):
            return False
        self.action = max(self.action, action, key=ACTIONS.index)
        self.status = "changed"
        return True

    async def activate(
        self,
        version: Version,
        candidate: Candidate,
        before: ContextFigures,
        after: ContextFigures,
        artifact_id: str = "",
        lost: tuple[LostItem, ...] = (),
    ) -> bool:
        """Commit ``version``, which leads to ``candidate``, and take it in."""
        conversation = self.conversation
        version = msgspec.structs.replace(
            version,
            mode=ways_of(conversation.items, candidate.view, conversation.route).mode,
            first_changed=candidate.first_changed,
            tokens_before=before.used,
            tokens_after=after.used,
            made_at=self.ports.now(),
        )
        unbound = _unbound(conversation, candidate)
        told = view_changed(version, after, artifact_id=artifact_id, unbound=unbound, lost=lost)
        self.ports.probe("view: before commit")
        try:
            await self.ports.commit(version, (told,), artifact_id)
        except CheckpointFailed as failed:
            self.status, self.error_type, self.line = "failed", failed.kind, str(failed)
            return False
        self.ports.probe("view: after commit")
        conversation.take(version)
        self.versions.append(version.number)
        return True

    async def end(self, *, paused: bool = False) -> Result:
        """Tell how the pass ended; silent where nothing was begun and nothing is to be said."""
        after = self.figures()
        result = Result(
            action=self.action,
            status=self.status,
            line=self.line,
            error_type=self.error_type,
            original_count=self.original,
            new_count=len(self.conversation.messages),
            tokens_before=self.before.used,
            tokens_after=after.used,
            version=self.versions[-1] if self.versions else 0,
            artifact_id=self.artifact_id,
            persisted=self.persisted,
        )
        if self._begun or paused or self.status in {"failed", "deferred", "unsupported"}:
            route = self.need.route
            ended = MaintenanceEnded(
                trigger=self.cause,
                action=result.action,
                status=result.status,
                original_count=result.original_count,
                new_count=result.new_count,
                tokens_before=result.tokens_before,
                tokens_after=result.tokens_after,
                error_type=result.error_type,
                detail=result.line,
                persisted=result.persisted,
                paused=paused,
            )
            acted = ContextOverflowAction(after, route.model, route.provider, result.action, self.cause)
            await self.ports.tell(ended, *([acted] if result.changed else []))
        return result


def _unbound(conversation: Conversation, candidate: Candidate) -> int:
    """How many signed thoughts of messages that stay cannot be sent any more."""
    after = {s.seq: sum(map(is_bound, s.message.blocks)) for s in candidate.sent if s.seq}
    before = ((s.seq, sum(map(is_bound, s.message.blocks))) for s in conversation.sent if s.seq in after)
    return sum(max(0, count - after[seq]) for seq, count in before)
