"""The step in which the conversation's provider compacts the older part by itself, since it is asked to.

It is a call of its own that is answered with one block and nothing else. The block is stored as it came and stands
first from then on; the newest messages follow it as they were (RUNTIME.md 3.1, SDK.md "on-demand compaction").
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from geode_tui.context.lost import lost
from geode_tui.context.protect import batches, boundary, kept, shown
from geode_tui.context.replacing import Written, nothing_new, permitted, replace, standing
from geode_tui.context.steps import Pass
from geode_tui.context.summary_source import instructions, target_tokens
from geode_tui.context.upkeep import NativeAnswer, SummaryFailed
from geode_tui.context.view import Item, View
from geode_tui.core.views import Native

ATTEMPTS = 3
"""Each after the first with half as much to compact: the call has to fit as well."""


class NativeStep:
    """Compacts up to where the newest ``keep`` messages begin."""

    def __init__(self, step: Pass, keep: int, focus: str = "") -> None:
        self._pass = step
        self._keep = keep
        self._instructions = instructions(focus)

    async def run(self) -> None:
        """See the class. What came of it stands in the pass."""
        step = self._pass
        conversation = step.conversation
        allowed = await permitted(step, self._keep)
        if allowed is None:
            return
        self._keep = self._that_fits(allowed) if step.hard else allowed
        upto = boundary(conversation.items, conversation.view, self._keep)
        if not upto:
            step.line = nothing_new(step, self._keep)
            return
        await step.begin()
        number = conversation.view.number
        made = await self._asked(upto)
        if made is None:
            return
        upto, answer = made
        if conversation.view.number != number:
            step.status, step.line = "deferred", "the conversation changed while it was being compacted"
            return
        await self._replace(upto, answer)

    def _that_fits(self, keep: int) -> int:
        """The most messages, up to ``keep``, beside which the block gets the pass to its goal: nothing else may be done
        about what stays. One where none do.
        """
        step = self._pass
        conversation, window = step.conversation, step.need.budget.window
        sizes = {s.seq: conversation.size(s.message) for s in conversation.sent if s.seq}
        fixed = step.figures().used - sum(conversation.size(s.message) for s in conversation.sent)
        for stays in range(keep, 1, -1):
            upto = boundary(conversation.items, conversation.view, stays)
            spared = set(kept(conversation.items, conversation.view, upto))
            tail = sum(size for seq, size in sizes.items() if seq > upto or seq in spared)
            head = sum(size for seq, size in sizes.items() if seq <= upto)
            if upto and fixed + tail + target_tokens(window, head) < step.goal:
                return stays
        return 1

    async def _asked(self, upto: int) -> tuple[int, NativeAnswer] | None:
        """How far the provider compacted, and its answer; None where it gave none that counts."""
        step = self._pass
        for _ in range(ATTEMPTS):
            step.ports.probe("summary: before request")
            try:
                answer = await step.ports.compact(upto, self._instructions)
            except SummaryFailed as failed:
                step.error_type, step.line = failed.kind, f"the provider did not compact: {failed}"
                upto = self._nearer(upto) if failed.too_large else 0
                if not upto:
                    break
                continue
            step.ports.probe("summary: after request")
            step.error_type = step.line = ""
            return upto, answer
        step.status = "failed"
        return None

    def _nearer(self, upto: int) -> int:
        """The boundary that leaves about half of what is compacted up to ``upto``; 0 where there is none."""
        conversation = self._pass.conversation
        atoms = batches(i for i in shown(conversation.items, conversation.view) if i.seq <= upto)
        sizes = [sum(conversation.size(item.message) for item in atom) for atom in atoms]
        reached, most = 0, sum(sizes) // 2
        for atom, size in zip(atoms, sizes, strict=True):
            most -= size
            if most < 0:
                break
            reached = max(item.seq for item in atom)
        return reached

    async def _replace(self, upto: int, answer: NativeAnswer) -> None:
        step = self._pass
        conversation = step.conversation
        items, view = conversation.items, conversation.view
        stays = kept(items, view, upto)
        head = [i for i in items if i.seq <= upto and not view.hides(i.seq)]
        tail = [s.message for s in conversation.sent if s.seq > upto or s.seq in stays]
        gone = await asyncio.to_thread(lost, head, answer.content, tail, previous=standing(step))
        first = view.stands.first if view.stands is not None else head[0].seq
        operation = Native(
            first, upto, answer.raw, answer.provider, kept=stays, seamless=not stays and joins(items, view, upto)
        )
        written = Written(answer.content, local=False, model=answer.model, provider=answer.provider)
        if not await replace(step, operation, written, len(head), self._keep, gone) and step.status == "failed":
            step.line = step.line or "the provider's compaction does not make the prompt smaller"


def joins(items: Sequence[Item], view: View, upto: int) -> bool:
    """Whether what follows ``upto`` is another side's message than what stands before it: the provider would take two
    of the same side for one, and the thinking after them no longer for its own.
    """
    visible = shown(items, view)
    before = [item for item in visible if item.seq <= upto]
    after = [item for item in visible if item.seq > upto]
    if not before or not after:
        return True
    return (before[-1].message.role == "assistant") != (after[0].message.role == "assistant")
