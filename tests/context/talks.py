"""Conversations written down message by message, for tests of the steps over the window."""

from __future__ import annotations

import json

from geode_tui.context.view import Item
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
    user_text,
)
from geode_tui.core.tokens import text_tokens
from geode_tui.log.rows import ResultMeta

LONG = "one line of what a tool said\n" * 40
NATIVE = OpaqueBlock("anthropic", "compaction", '{"type":"compaction","content":"S"}')


def tokens(item: Item) -> int:
    """Tokens of a message's texts by script."""
    return sum(text_tokens(str(getattr(block, "text", block))) for block in item.message.blocks)


def thought(text: str = "so") -> ThinkingBlock:
    """Signed thinking."""
    return ThinkingBlock(text, "anthropic", json.dumps({"type": "thinking", "thinking": text, "signature": "s"}))


def call(tool: str, /, **arguments: object) -> ToolCallBlock:
    """A call; its id comes when it is said."""
    return ToolCallBlock("", tool, json.dumps(arguments, ensure_ascii=False), "anthropic")


class Talk:
    """A transcript that is being written."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def user(self, text: str = "go on", origin: Origin = "user_input") -> Item:
        """A message of the person or the program."""
        return self._add(user_text(text, origin))

    def agent(self, *blocks: Block | str) -> Item:
        """An answer; its calls get ids of their own."""
        at = len(self.items) + 1
        made = [TextBlock(b) if isinstance(b, str) else b for b in blocks]
        numbered = [
            ToolCallBlock(f"c{at}_{n}", b.name, b.arguments, b.provider) if isinstance(b, ToolCallBlock) else b
            for n, b in enumerate(made)
        ]
        return self._add(Message("assistant", tuple(numbered), "agent"))

    def result(
        self, text: str = LONG, *, is_error: bool = False, images: int = 0, meta: ResultMeta | None = None
    ) -> Item:
        """The result of the first call that has none yet."""
        given = {b.call_id for i in self.items for b in i.message.blocks if isinstance(b, ToolResultBlock)}
        asked = next(c for i in self.items for c in i.message.calls if c.call_id not in given)
        content: tuple[TextBlock | ImageBlock, ...] = (TextBlock(text), *[ImageBlock("image/png", "AAAA")] * images)
        block = ToolResultBlock(asked.call_id, asked.name, content, is_error)
        return self._add(Message("tool", (block,), "tool"), meta)

    def round(self, tool: str = "read_file", text: str = LONG, **arguments: object) -> tuple[Item, Item]:
        """A call and its result."""
        return self.agent(call(tool, **arguments)), self.result(text)

    def _add(self, message: Message, meta: ResultMeta | None = None) -> Item:
        seq = len(self.items) + 1
        self.items.append(Item(seq, 1, seq, message, meta))
        return self.items[-1]
