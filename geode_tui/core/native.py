"""A provider's own compaction in an answer: a block that stands for everything before it (RUNTIME.md 3.1). Pure."""

from __future__ import annotations

import msgspec

from geode_tui.core.messages import Block, Message, OpaqueBlock

COMPACTION = "compaction"


def is_native(block: Block) -> bool:
    """Whether ``block`` is a provider's compaction, or its failure."""
    return isinstance(block, OpaqueBlock) and block.kind == COMPACTION


def succeeded(block: Block) -> bool:
    """Whether ``block`` is a provider's compaction that has a text: one that failed has none."""
    return isinstance(block, OpaqueBlock) and is_native(block) and bool(content_of(block.raw))


def content_of(raw: str) -> str:
    """The readable text of a compaction, whose JSON text is ``raw``; empty where it has none."""
    try:
        content = msgspec.json.decode(raw).get("content")
    except (msgspec.DecodeError, AttributeError):
        return ""
    return content if isinstance(content, str) else ""


def compacts(message: Message) -> bool:
    """Whether a compaction in ``message`` succeeded: what stands before it is kept and sent, and not read any more."""
    return _last(message) is not None


def compacts_only(message: Message) -> bool:
    """Whether ``message`` is a compaction, successful or not, and nothing else."""
    return bool(message.blocks) and all(map(is_native, message.blocks))


def still_read(message: Message) -> Message:
    """``message`` from its last successful compaction on, or all of it where there is none."""
    at = _last(message)
    return msgspec.structs.replace(message, blocks=message.blocks[at:]) if at else message


def _last(message: Message) -> int | None:
    return next((at for at in reversed(range(len(message.blocks))) if succeeded(message.blocks[at])), None)
