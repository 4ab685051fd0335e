"""What the two ways of replacing the older part of a conversation have in common: a summary of ours, and a block that
the provider writes when it is asked to. Nothing is replaced before what stands for it is stored.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from geode_tui.context.rendering import summary_text
from geode_tui.context.steps import Pass
from geode_tui.core.events import LostItem
from geode_tui.core.native import content_of
from geode_tui.core.views import Native, Summarise
from geode_tui.log.views import Artifact, artifact_id

Replacement: TypeAlias = Summarise | Native


class Written(msgspec.Struct, frozen=True):
    """A text that was accepted as what stands for the older messages, and who wrote it."""

    text: str
    local: bool
    model: str = ""
    provider: str = ""


async def permitted(step: Pass, keep: int) -> int | None:
    """How many of the newest messages stay, as the extensions have it; None where they put it off."""
    allowed = await step.ports.pre_compact(step.cause, len(step.conversation.messages), keep, hard=step.hard)
    if allowed.deferred and not step.hard:
        step.status, step.line = "deferred", allowed.reason or "an extension put it off"
        return None
    return allowed.keep_recent


def standing(step: Pass) -> str:
    """The text that stands for the older messages now; empty where none does."""
    stands = step.conversation.view.stands
    if stands is None:
        return ""
    return stands.text if isinstance(stands, Summarise) else content_of(stands.raw)


def nothing_new(step: Pass, keep: int) -> str:
    """Why there is nothing to replace, as one line."""
    stands = step.conversation.view.stands
    if stands is not None:
        return f"nothing new to summarise since message {stands.upto}: the newest messages stay as they are"
    count = len(step.conversation.messages)
    return f"nothing to summarise: of {count} messages the newest {keep} stay as they are"


async def replace(
    step: Pass, operation: Replacement, written: Written, messages: int, keep: int, gone: tuple[LostItem, ...]
) -> bool:
    """Store what was written and make ``operation`` hold; whether it does. What came of it stands in the pass.

    Args:
        step: The pass that it belongs to.
        operation: Without the id of its artifact.
        written: Its text.
        messages: How many it stands for.
        keep: How many of the newest stay.
        gone: What neither it nor the messages that stay hold any more.
    """
    conversation, ports = step.conversation, step.ports
    artifact = _artifact(step, operation, written, messages)
    ports.probe("artifact: before row")
    step.persisted = await ports.keep_artifact(artifact)
    ports.probe("artifact: after row")
    if not step.persisted:
        step.status, step.error_type = "failed", "artifact"
        step.line = "the summary could not be stored, so it does not replace anything"
        return False
    before = len(conversation.messages)
    operation = msgspec.structs.replace(operation, artifact_id=artifact.artifact_id)
    step.artifact_id = artifact.artifact_id
    if not await step.commit([operation], "compact", artifact_id=artifact.artifact_id, lost=gone):
        if step.status != "failed":
            step.status, step.error_type = "failed", "summary_inflated"
            await ports.forget_artifact(artifact.artifact_id, step.line)
        return False
    await ports.post_compact(step.cause, before, len(conversation.messages), keep, persisted=step.persisted)
    return True


def _artifact(step: Pass, operation: Replacement, written: Written, messages: int) -> Artifact:
    first, upto, text = operation.first, operation.upto, written.text
    named = artifact_id(step.ports.session_id, "compaction_summary", first, upto, text)
    count = step.conversation.meter.counter.count
    return Artifact(
        artifact_id=named,
        kind="compaction_summary",
        content=text,
        source_start_seq=first,
        source_end_seq=upto,
        metadata={
            "trigger": step.cause,
            "original_message_count": step.original,
            "summarized_message_count": messages,
            "local": written.local,
            "native": isinstance(operation, Native),
            "applied": False,
        },
        token_count=count(summary_text(operation)) if isinstance(operation, Summarise) else count(text),
        model=written.model,
        provider=written.provider,
    )
