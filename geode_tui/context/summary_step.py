"""The step that costs money: a summary stands for the older part of the conversation (RUNTIME.md 3.3).

It is written by the conversation's own route. Where no model can be asked, or the run depends on it and the model's
summary cannot be used, it is put together here from what the messages say, and is marked as such.
"""

from __future__ import annotations

import asyncio

import msgspec

from geode_tui.context.local_summary import local_summary
from geode_tui.context.lost import lost
from geode_tui.context.protect import boundary, kept, latest_input
from geode_tui.context.rendering import summary_text
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
from geode_tui.core.events import LostItem
from geode_tui.core.views import Summarise
from geode_tui.log.views import Artifact, artifact_id
from geode_tui.routes.budget import max_summary

ATTEMPTS = 3
"""Of a model's summary: each after the first with half of every message (RUNTIME.md 3.3)."""
MARGIN = 0.9
"""Of the room that there is: the source is counted by an estimate."""


class Written(msgspec.Struct, frozen=True):
    """A summary that was accepted."""

    text: str
    local: bool
    model: str = ""
    provider: str = ""


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
        allowed = await step.ports.pre_compact(step.cause, len(conversation.messages), self._keep, hard=step.hard)
        if allowed.deferred and not step.hard:
            step.status, step.line = "deferred", allowed.reason or "an extension put it off"
            return
        self._keep = allowed.keep_recent
        upto = boundary(conversation.items, conversation.view, self._keep)
        if not upto:
            step.line = self._nothing_new()
            return
        await step.begin()
        stays = kept(conversation.items, conversation.view, upto)
        head = [i for i in conversation.items if i.seq <= upto and not conversation.view.hides(i.seq)]
        number = conversation.view.number
        written = await self._written(head, stays)
        if written is None:
            return
        tail = [s.message for s in conversation.sent if s.seq > upto or s.seq in stays]
        gone = await asyncio.to_thread(lost, head, written.text, tail, previous=self._standing)
        if conversation.view.number != number:
            step.status, step.line = "deferred", "the conversation changed while the summary was being written"
            return
        await self._replace(written, head, upto, stays, gone)

    def _nothing_new(self) -> str:
        view = self._pass.conversation.view
        if view.summary is not None:
            return f"nothing new to summarise since message {view.summary.upto}: the newest messages stay as they are"
        count = len(self._pass.conversation.messages)
        return f"nothing to summarise: of {count} messages the newest {self._keep} stay as they are"

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
            self._standing,
            self._focus,
            self._latest,
            int(room * MARGIN) >> attempt,
            per_message(attempt),
            window=budget.window,
            count=conversation.meter.counter.count,
        )
        return made, most

    @property
    def _standing(self) -> str:
        summary = self._pass.conversation.view.summary
        return summary.text if summary is not None else ""

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
            previous=self._standing,
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

    # -- replacing ----------------------------------------------------------------------------------------------------
    async def _replace(
        self, written: Written, head: list[Item], upto: int, stays: tuple[int, ...], gone: tuple[LostItem, ...]
    ) -> None:
        step = self._pass
        conversation, ports = step.conversation, step.ports
        standing = conversation.view.summary
        first = standing.first if standing is not None else head[0].seq
        artifact = self._artifact(written, first, upto, len(head))
        ports.probe("artifact: before row")
        step.persisted = await ports.keep_artifact(artifact)
        ports.probe("artifact: after row")
        if not step.persisted:
            step.status, step.error_type = "failed", "artifact"
            step.line = "the summary could not be stored, so it does not replace anything"
            return
        before = len(conversation.messages)
        operation = Summarise(first, upto, written.text, artifact.artifact_id, written.local, stays)
        step.artifact_id = artifact.artifact_id
        if not await step.commit([operation], "compact", artifact_id=artifact.artifact_id, lost=gone):
            if step.status != "failed":
                step.status, step.error_type = "failed", "summary_inflated"
                await ports.forget_artifact(artifact.artifact_id, step.line)
            return
        await ports.post_compact(step.cause, before, len(conversation.messages), self._keep, persisted=step.persisted)

    def _artifact(self, written: Written, first: int, upto: int, messages: int) -> Artifact:
        step = self._pass
        named = artifact_id(step.ports.session_id, "compaction_summary", first, upto, written.text)
        count = step.conversation.meter.counter.count
        return Artifact(
            artifact_id=named,
            kind="compaction_summary",
            content=written.text,
            source_start_seq=first,
            source_end_seq=upto,
            metadata={
                "trigger": step.cause,
                "original_message_count": step.original,
                "summarized_message_count": messages,
                "local": written.local,
                "applied": False,
            },
            token_count=count(summary_text(Summarise(first, upto, written.text))),
            model=written.model,
            provider=written.provider,
        )
