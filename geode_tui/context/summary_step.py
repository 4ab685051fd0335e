"""The step that costs money: a summary stands for the older part of the conversation (RUNTIME.md 3.3).

It is written by the conversation's own route. Where no model can be asked, or the run depends on it and the model's
summary cannot be used, it is put together here from what the messages say, and is marked as such.
"""

from __future__ import annotations

import asyncio

from geode_tui.context.local_summary import local_summary
from geode_tui.context.lost import lost
from geode_tui.context.protect import boundary, kept, latest_input
from geode_tui.context.replacing import Written, nothing_new, permitted, replace, standing
from geode_tui.context.steps import Pass
from geode_tui.context.summary_check import Accepted, accept
from geode_tui.context.summary_source import (
    Source,
    SourceTooLarge,
    per_message,
    source,
    source_limit,
    summary_max_tokens,
)
from geode_tui.context.upkeep import SummaryAnswer, SummaryFailed
from geode_tui.context.view import Item
from geode_tui.core.views import Summarise
from geode_tui.routes.budget import max_summary

ATTEMPTS = 3
"""Of a model's summary: each after the first with half of every message (RUNTIME.md 3.3)."""
MARGIN = 0.9
"""Of the room that there is: the source is counted by an estimate."""


class SummaryStep:
    """Summarises up to where the newest ``keep`` messages begin."""

    def __init__(self, step: Pass, keep: int, focus: str = "", *, model: bool = True) -> None:
        self._pass = step
        self._keep = keep
        self._focus = focus
        self._model = model and not step.ports.local
        self.refused = False
        """Whether a model's summary could not be used."""

    async def run(self) -> None:
        """See the class. What came of it stands in the pass."""
        step = self._pass
        conversation = step.conversation
        allowed = await permitted(step, self._keep)
        if allowed is None:
            return
        self._keep = allowed
        upto = boundary(conversation.items, conversation.view, self._keep)
        if not upto:
            step.line = nothing_new(step, self._keep)
            return
        await step.begin()
        stays = kept(conversation.items, conversation.view, upto)
        head = [i for i in conversation.items if i.seq <= upto and not conversation.view.hides(i.seq)]
        number = conversation.view.number
        written = await self._written(head, stays)
        if written is None:
            return
        tail = [s.message for s in conversation.sent if s.seq > upto or s.seq in stays]
        gone = await asyncio.to_thread(lost, head, written.text, tail, previous=standing(step))
        if conversation.view.number != number:
            step.status, step.line = "deferred", "the conversation changed while the summary was being written"
            return
        stands = conversation.view.stands
        first = stands.first if stands is not None else head[0].seq
        operation = Summarise(first, upto, written.text, local=written.local, kept=stays)
        await replace(step, operation, written, len(head), self._keep, gone)

    # -- writing ------------------------------------------------------------------------------------------------------
    async def _written(self, head: list[Item], stays: tuple[int, ...]) -> Written | None:
        step = self._pass
        if self._model:
            step.ports.probe("summary: before request")
            made = await self._asked(head, stays)
            step.ports.probe("summary: after request")
            if made is not None or not step.hard:
                return made
        return self._local(head, stays)

    async def _asked(self, head: list[Item], stays: tuple[int, ...]) -> Written | None:
        """A model's summary; None where none can be used, with the reason in the pass."""
        step = self._pass
        for attempt in range(ATTEMPTS):
            try:
                material, most = self._source(head, attempt)
                answer = await step.ports.summarise(material, most)
            except SourceTooLarge as error:
                step.error_type, step.line = "context_overflow", f"no summary: {error}"
                break
            except SummaryFailed as failed:
                step.error_type, step.line = failed.kind, f"no summary: {failed}"
                if not failed.too_large:
                    break
                continue
            return self._judged(answer, material, head, stays)
        step.status, self.refused = "failed", True
        return None

    def _source(self, head: list[Item], attempt: int) -> tuple[Source, int]:
        """The request's texts and the output to ask for. Raises `SourceTooLarge`."""
        step = self._pass
        conversation, budget = step.conversation, step.need.budget
        whole = sum(conversation.size(i.message) for i in head)
        most = min(summary_max_tokens(budget.window, whole), step.need.route.max_output)
        room = source_limit(budget.window, most, budget.input_cap)
        made = source(
            head,
            standing(step),
            self._focus,
            self._latest,
            int(room * MARGIN) >> attempt,
            per_message(attempt),
            window=budget.window,
            count=conversation.meter.counter.count,
        )
        return made, most

    @property
    def _latest(self) -> str:
        item = latest_input(self._pass.conversation.items)
        return item.message.text if item is not None else ""

    def _judged(
        self, answer: SummaryAnswer, material: Source, head: list[Item], stays: tuple[int, ...]
    ) -> Written | None:
        step = self._pass
        verdict = accept(
            answer.text,
            source=material,
            replaced_tokens=self._replaced(head, stays),
            latest=self._latest,
            stop_reason=answer.stop_reason,
            count=step.conversation.meter.counter.count,
        )
        if isinstance(verdict, Accepted):
            step.error_type = step.line = ""
            return Written(verdict.text, local=False, model=answer.model, provider=answer.provider)
        step.status, step.error_type, step.line = "failed", f"summary_{verdict.why}", verdict.line
        self.refused = True
        return None

    def _local(self, head: list[Item], stays: tuple[int, ...]) -> Written | None:
        step = self._pass
        conversation = step.conversation
        text = local_summary(
            head,
            previous=standing(step),
            latest=self._latest,
            limit_tokens=min(max_summary(step.need.budget.window), self._replaced(head, stays) // 2),
            count=conversation.meter.counter.count,
        )
        return Written(text, local=True)

    def _replaced(self, head: list[Item], stays: tuple[int, ...]) -> int:
        """Tokens of what is sent now and would not be any more."""
        conversation = self._pass.conversation
        gone = {i.seq for i in head} - set(stays)
        tokens = sum(conversation.size(s.message) for s in conversation.sent if s.seq in gone)
        return tokens + sum(conversation.size(s.message) for s in conversation.sent if s.state == "summary")
