"""Messages, real conversations and answers for the tests of summaries."""

from __future__ import annotations

from pathlib import Path

from geode_tui.context.view import Item
from geode_tui.core.headings import SUMMARY_HEADINGS
from geode_tui.core.messages import Block, Message, TextBlock, ToolCallBlock, tool_text, user_text
from geode_tui.log.rows import ResultMeta
from geode_tui.sources.base import Compacted
from geode_tui.sources.claude_code import read_claude_code
from tests.sources.records import real

CASES = Path(__file__).parents[3] / "shared" / "cases" / "inputs"


def items(*messages: Message) -> list[Item]:
    """A transcript of these messages, from seq 1."""
    return [Item(seq, 1, 1, message) for seq, message in enumerate(messages, 1)]


def user(seq: int, text: str) -> Item:
    """What a person typed."""
    return Item(seq, 1, 1, user_text(text))


def agent(seq: int, text: str, *calls: tuple[str, str, str]) -> Item:
    """An answer with calls: id, name, arguments."""
    blocks: tuple[Block, ...] = (TextBlock(text),) if text else ()
    return Item(seq, 1, 1, Message("assistant", (*blocks, *(ToolCallBlock(*call) for call in calls))))


def result(
    seq: int, call_id: str, name: str, text: str, *, exit_code: int | None = None, is_error: bool = False
) -> Item:
    """A call's result."""
    meta = ResultMeta(is_error=is_error, facts={} if exit_code is None else {"exit_code": exit_code})
    return Item(seq, 1, 1, tool_text(ToolCallBlock(call_id, name, "{}"), text, is_error=is_error), meta)


def real_items(name: str) -> tuple[list[Item], str]:
    """A real conversation up to where it was compacted, and the summary that its own program wrote there."""
    with real(name).open("rb") as lines:
        parts = read_claude_code(lines).main.items
    at = next(n for n, part in enumerate(parts) if isinstance(part, Compacted))
    before = [part.message for part in parts[:at] if not isinstance(part, Compacted)]
    following = (part.message for part in parts[at:] if not isinstance(part, Compacted))
    return items(*before), next(m.text for m in following if m.role == "user")


def summary(**said: str) -> str:
    """A summary in its form. ``said`` are texts by the headings' first words, in lower case."""
    parts = []
    for heading in SUMMARY_HEADINGS:
        body = next((text for key, text in said.items() if heading.lower().replace(" ", "_").startswith(key)), "none")
        parts.append(f"## {heading}\n- {body}")
    return "\n\n".join(parts)
