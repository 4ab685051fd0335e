"""The content of a Claude Code record as blocks and messages. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from geode_tui.core.messages import (
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    Origin,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from geode_tui.core.text import scrub
from geode_tui.core.usage import Usage
from geode_tui.sources.claude_rows import CacheWrites, RawMessage, RawUsage, part

PROVIDER = "anthropic"
NO_OUTPUT = "(no output)"
_MARKUP = ("<command-", "<local-command-", "<task-notification>", "<bash-", "<system-reminder>", "[Request interrupted")
"""How texts begin that the program wrote in the person's name."""


class _Source(msgspec.Struct, frozen=True):
    media_type: str = ""
    data: str = ""


class _Block(msgspec.Struct, frozen=True):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw()
    tool_use_id: str = ""
    content: str | list[msgspec.Raw] | None = None
    is_error: bool | None = None
    source: _Source | None = None


class _Iteration(msgspec.Struct, frozen=True):
    type: str = ""
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


def _raw_text(raw: msgspec.Raw) -> str:
    return bytes(raw).decode("utf-8", "replace")


def answer_blocks(message: RawMessage) -> list[Block]:
    """The blocks of one record of an answer."""
    if not isinstance(message.content, list):
        return [TextBlock(scrub(message.content))] if message.content else []
    made: list[Block] = []
    for raw in message.content:
        block = part(raw, _Block)
        if block is None:
            continue
        match block.type:
            case "text":
                if block.text.strip():
                    made.append(TextBlock(block.text))
            case "thinking":
                made.append(ThinkingBlock(block.thinking, PROVIDER, _raw_text(raw) if block.signature else None))
            case "tool_use":
                made.append(ToolCallBlock(block.id, block.name, _raw_text(block.input) or "{}"))
            case _:
                made.append(OpaqueBlock(PROVIDER, block.type or "unknown", _raw_text(raw)))
    return made


def spoken(message: RawMessage, origin: Origin, tools: Mapping[str, str]) -> list[Message]:
    """The messages of one record that is no answer: each result one of its own, what stands between them one each.

    ``tools`` maps call ids to tool names.
    """
    if not isinstance(message.content, list):
        text = message.content or ""
        return [Message("user", (TextBlock(scrub(text)),), _origin(text, origin))] if text.strip() else []
    made: list[Message] = []
    own: list[Block] = []

    def close() -> None:
        if own:
            text = next((b.text for b in own if isinstance(b, TextBlock)), "")
            made.append(Message("user", tuple(own), _origin(text, origin)))
            own.clear()

    for raw in message.content:
        block = part(raw, _Block)
        if block is None:
            continue
        match block.type:
            case "tool_result":
                close()
                made.append(_result(block, tools))
            case "text":
                own += [TextBlock(block.text)] if block.text.strip() else []
            case "image":
                own.append(_image(block))
            case _:
                own.append(OpaqueBlock(PROVIDER, block.type or "unknown", _raw_text(raw)))
    close()
    return made


def _origin(text: str, origin: Origin) -> Origin:
    return "runtime" if text.lstrip().startswith(_MARKUP) else origin


def _image(block: _Block) -> ImageBlock:
    source = block.source or _Source()
    return ImageBlock(source.media_type, source.data)


def _result(block: _Block, tools: Mapping[str, str]) -> Message:
    content: list[TextBlock | ImageBlock] = []
    for piece in _pieces(block.content):
        if piece.type == "image":
            content.append(_image(piece))
        elif piece.text.strip():
            content.append(TextBlock(piece.text))
    made = tuple(content) or (TextBlock(NO_OUTPUT),)
    result = ToolResultBlock(block.tool_use_id, tools.get(block.tool_use_id, ""), made, bool(block.is_error))
    return Message("tool", (result,), "tool")


def _pieces(content: str | list[msgspec.Raw] | None) -> Iterable[_Block]:
    if not isinstance(content, list):
        return [_Block(type="text", text=content or "")]
    return [piece for piece in (part(raw, _Block) for raw in content) if piece is not None]


def merged(before: RawUsage, after: RawUsage) -> RawUsage:
    """The largest of each figure: records of one answer repeat its usage, the early ones with less in it."""
    writes = before.cache_creation or CacheWrites()
    later = after.cache_creation or CacheWrites()
    return RawUsage(
        _larger(before.input_tokens, after.input_tokens),
        _larger(before.output_tokens, after.output_tokens),
        _larger(before.cache_creation_input_tokens, after.cache_creation_input_tokens),
        _larger(before.cache_read_input_tokens, after.cache_read_input_tokens),
        CacheWrites(
            _larger(writes.ephemeral_5m_input_tokens, later.ephemeral_5m_input_tokens),
            _larger(writes.ephemeral_1h_input_tokens, later.ephemeral_1h_input_tokens),
        ),
        _larger(before.thinking_tokens, after.thinking_tokens),
        after.iterations if bytes(after.iterations) else before.iterations,
    )


def _larger(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def neutral_usage(raw: RawUsage) -> Usage:
    """What an answer is billed by. Cache writes that are not split by lifetime are the 5-minute ones."""
    writes = raw.cache_creation or CacheWrites()
    long = writes.ephemeral_1h_input_tokens
    short = writes.ephemeral_5m_input_tokens
    if raw.cache_creation_input_tokens is not None:
        short = max(short or 0, raw.cache_creation_input_tokens - (long or 0))
    return Usage(
        raw.input_tokens or 0, raw.output_tokens or 0, raw.cache_read_input_tokens, short, long, raw.thinking_tokens
    )


def conversation_tokens(raw: RawUsage) -> int:
    """The size of the conversation that was sent: of several calls for one answer, that of the last ``message``."""
    iterations = part(raw.iterations, list[_Iteration]) or []
    last = next((i for i in reversed(iterations) if i.type == "message"), None)
    return _prompt(raw) if last is None else _prompt(last)


def _prompt(figures: RawUsage | _Iteration) -> int:
    parts = (figures.input_tokens, figures.cache_creation_input_tokens, figures.cache_read_input_tokens)
    return sum(tokens or 0 for tokens in parts)
