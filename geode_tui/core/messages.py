"""Messages and their content blocks: the one neutral form between log, runtime, providers and screen.

A block that only its provider understands is kept as the exact JSON text it came in (``raw``), so that it can be
replayed byte for byte whatever happens around it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Role: TypeAlias = Literal["user", "assistant", "tool"]
Origin: TypeAlias = Literal["user_input", "resume", "runtime", "note", "summary", "agent", "tool", "import"]
"""``runtime`` is a message that the program wrote, not the person; ``summary`` one that stands for earlier ones."""


class TextBlock(msgspec.Struct, frozen=True, tag_field="type", tag="text", omit_defaults=True):
    """Plain or Markdown text. ``extra`` is a JSON object of what else ``provider`` said of the block and wants back."""

    text: str
    provider: str = ""
    extra: str | None = None


class ThinkingBlock(msgspec.Struct, frozen=True, tag_field="type", tag="thinking"):
    """Readable reasoning. ``raw`` is the provider's own block (with its signature) as JSON text, or None when it
    was never signed: an unsigned block is shown but never replayed.
    """

    text: str
    provider: str = ""
    raw: str | None = None


class ToolCallBlock(msgspec.Struct, frozen=True, tag_field="type", tag="tool_call", omit_defaults=True):
    """A call the model asks for. ``arguments`` is the JSON text exactly as it was streamed; it may be malformed.
    ``extra`` is a JSON object of what else ``provider`` said of the call and wants back.
    """

    call_id: str
    name: str
    arguments: str
    provider: str = ""
    extra: str | None = None


class ImageBlock(msgspec.Struct, frozen=True, tag_field="type", tag="image"):
    """An image, base64-encoded."""

    media_type: str
    data: str


class ToolResultBlock(msgspec.Struct, frozen=True, tag_field="type", tag="tool_result"):
    """The one result of one call."""

    call_id: str
    name: str
    content: tuple[TextBlock | ImageBlock, ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        """The textual part, joined."""
        return "\n".join(b.text for b in self.content if isinstance(b, TextBlock))


class OpaqueBlock(msgspec.Struct, frozen=True, tag_field="type", tag="opaque"):
    """A block this program does not interpret (redacted thinking, native compaction, a kind not known yet)."""

    provider: str
    kind: str
    raw: str


Block: TypeAlias = TextBlock | ThinkingBlock | ToolCallBlock | ImageBlock | ToolResultBlock | OpaqueBlock


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation. Tool results are messages of role ``tool``, one a call."""

    role: Role
    blocks: tuple[Block, ...]
    origin: Origin = "agent"

    @property
    def text(self) -> str:
        """The visible text of the message, blocks joined by blank lines."""
        return "\n\n".join(b.text for b in self.blocks if isinstance(b, TextBlock))

    @property
    def calls(self) -> tuple[ToolCallBlock, ...]:
        """The tool calls in order."""
        return tuple(b for b in self.blocks if isinstance(b, ToolCallBlock))


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(tuple[Block, ...])


def encode_blocks(blocks: tuple[Block, ...]) -> str:
    """JSON text of ``blocks``; non-ASCII is kept as it is. Lone surrogates must have been replaced before
    (`core.text.scrub`), since JSON text cannot carry them.
    """
    return _ENCODER.encode(blocks).decode()


def decode_blocks(text: str) -> tuple[Block, ...]:
    """Inverse of `encode_blocks`. Raises ``msgspec.ValidationError`` on anything else."""
    return _DECODER.decode(text)


def user_text(text: str, origin: Origin = "user_input") -> Message:
    """A user message of plain text."""
    return Message("user", (TextBlock(text),), origin)


def tool_text(
    call: ToolCallBlock, text: str, *, is_error: bool = False, images: tuple[ImageBlock, ...] = ()
) -> Message:
    """The result message of ``call``; an empty text becomes ``(no output)`` since providers refuse empty results."""
    said = TextBlock(text if text.strip() else "(no output)")
    block = ToolResultBlock(call.call_id, call.name, (said, *images), is_error)
    return Message("tool", (block,), "tool")


def answered(messages: tuple[Message, ...]) -> bool:
    """Whether every tool call has exactly one result, after its call and before the next assistant message."""
    open_calls: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            if open_calls:
                return False
            ids = [c.call_id for c in message.calls]
            if len(ids) != len(set(ids)):
                return False
            open_calls = set(ids)
        for block in message.blocks:
            if isinstance(block, ToolResultBlock):
                if block.call_id not in open_calls:
                    return False
                open_calls.discard(block.call_id)
        if message.role == "user" and open_calls:
            return False
    return not open_calls
