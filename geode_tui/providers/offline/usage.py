"""Token figures of the offline provider: estimates from sizes, since no tokeniser is involved."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from geode_tui.core.messages import (
    Block,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from geode_tui.core.usage import Usage
from geode_tui.providers.base import Request

CHARS_A_TOKEN: Final = 4
MESSAGE_TOKENS: Final = 4
"""What a message costs beside its content."""
IMAGE_TOKENS: Final = 1_600
_WIDE = re.compile(r"[ᄀ-ᇿ⺀-鿿ꥠ-꥿가-힣豈-﫿]")


def text_tokens(text: str) -> int:
    """Tokens of ``text``: one a CJK character or Hangul syllable, one in four of other characters, rounded up."""
    wide = len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) // CHARS_A_TOKEN)


def block_tokens(block: Block) -> int:
    """Tokens of one content block."""
    match block:
        case TextBlock() | ThinkingBlock():
            return text_tokens(block.text)
        case ToolCallBlock():
            return text_tokens(block.name) + text_tokens(block.arguments) + MESSAGE_TOKENS
        case ToolResultBlock():
            return sum(block_tokens(b) for b in block.content) + MESSAGE_TOKENS
        case OpaqueBlock():
            return text_tokens(block.raw)
        case _:
            return IMAGE_TOKENS


def _messages_tokens(messages: Sequence[Message]) -> int:
    return sum(MESSAGE_TOKENS + sum(block_tokens(b) for b in m.blocks) for m in messages)


def prompt_usage(request: Request) -> Usage:
    """Usage of the prompt. What stood before the newest assistant message was sent with the request before, so it
    counts as read from the cache; the rest is written to it."""
    head = sum(text_tokens(p.text) for p in request.system)
    head += sum(text_tokens(t.name + t.description + json.dumps(t.schema, default=str)) for t in request.tools)
    spoken = [i for i, m in enumerate(request.messages) if m.role == "assistant"]
    cut = spoken[-1] if spoken else 0
    before = head + _messages_tokens(request.messages[:cut]) if spoken else 0
    rest = _messages_tokens(request.messages[cut:]) + (0 if spoken else head)
    return Usage(cache_read_tokens=before, cache_write_5m_tokens=rest)
