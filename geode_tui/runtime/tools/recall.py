"""recall_tool_result: a result that was put into a file, whole where it is short, else page by page (RUNTIME.md 4.4).

It reads the files of its own session only, changes nothing, and what it returns is never put into a file again.
"""

from __future__ import annotations

import bisect
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from geode_tui.context.offload import LEAST_PAGE, MAX_PAGE, RECALL
from geode_tui.core.text import clean_line
from geode_tui.core.tokens import CHARS_PER_TOKEN, text_tokens
from geode_tui.core.tools import Safety
from geode_tui.log import offloads
from geode_tui.runtime.tools.arguments import Arguments
from geode_tui.runtime.tools.background import Stop
from geode_tui.runtime.tools.base import Tool, ToolContext, ToolOutcome
from geode_tui.runtime.tools.builtin import Builtin, threaded
from geode_tui.runtime.tools.texts import counted

_DESCRIPTION = """\
Bring back a tool result that is stored outside the conversation: one that reads {"_offloaded": true, ...}, or whose \
marker names a ref_id. A short result comes whole; of a long one a page comes, as {"ref_id", "total_tokens", "offset", \
"next_offset", "content"}: ask again with next_offset until it is null."""


class RecallArguments(Arguments, frozen=True):
    """Arguments of recall_tool_result."""

    ref_id: Annotated[str, Meta(description="The reference of the stored result.")]
    offset: Annotated[int, Meta(ge=0, description="Characters to skip.")] = 0
    limit: Annotated[int, Meta(ge=0, description="Characters to return at most; 0 is a full page.")] = 0


class RecallPage(msgspec.Struct, frozen=True):
    """A part of a stored result, from character ``offset`` on. ``next_offset`` is None at its end."""

    ref_id: str
    total_tokens: int
    offset: int
    next_offset: int | None
    content: str


def recall_tool(geode: Path, session_id: str) -> Tool:
    """The tool recall_tool_result for one session; ``geode`` is its project's ``.geode``."""

    def work(arguments: RecallArguments, context: ToolContext, _stop: Stop) -> ToolOutcome:
        try:
            stored = offloads.load(geode, session_id, arguments.ref_id)
        except offloads.OffloadUnknown as error:
            return ToolOutcome(str(error), is_error=True, summary="unknown reference")
        except offloads.OffloadDamaged as error:
            return ToolOutcome(f"{error}: call the tool again instead", is_error=True, summary="failed")
        room = context.page_tokens() if context.page_tokens is not None else MAX_PAGE
        return recalled(stored, arguments, room)

    prepare = threaded(lambda _arguments, _context: None, work)
    return Builtin(RECALL, _DESCRIPTION, Safety.NOTE, RecallArguments, _brief, prepare)


def _brief(arguments: RecallArguments) -> str:
    ref = clean_line(arguments.ref_id, 60)
    return f"{ref} from {arguments.offset:,}" if arguments.offset else ref


def recalled(stored: offloads.Stored, arguments: RecallArguments, room: int) -> ToolOutcome:
    """What the model gets of ``stored`` within ``room`` tokens, envelope included."""
    text, start, limit = stored.text, arguments.offset, arguments.limit
    room = max(room, LEAST_PAGE)
    if not start and (not limit or limit >= len(text)) and text_tokens(text) <= room:
        return _outcome(text, text, stored.ref_id, start)
    if start >= len(text):
        return ToolOutcome(
            f"the result has {len(text):,} characters: offset {start:,} is past its end",
            is_error=True,
            summary="past the end",
        )
    page = page_of(stored, start, limit, room)
    return _outcome(msgspec.json.encode(page).decode(), page.content, stored.ref_id, start)


def _outcome(shown: str, content: str, ref_id: str, start: int) -> ToolOutcome:
    lines = content.count("\n") + (not content.endswith("\n"))
    facts: dict[str, str | int | float | bool] = {"recalled": ref_id, "offset": start, "chars": len(content)}
    return ToolOutcome(shown, summary=counted(lines, "line"), facts=facts)


def page_of(stored: offloads.Stored, start: int, limit: int, room: int) -> RecallPage:
    """The page of ``stored`` from character ``start`` on: as much as fits in ``room`` tokens, and at least one
    character; at most ``limit`` characters (0: no such bound). It ends at a line's end where there is one in its second
    half.
    """
    text = stored.text
    total = stored.original_tokens or text_tokens(text)

    def page(size: int) -> RecallPage:
        end = start + size
        after = end if end < len(text) else None
        return RecallPage(stored.ref_id, total, start, after, text[start:end])

    def tokens(size: int) -> int:
        return text_tokens(msgspec.json.encode(page(size)).decode())

    most = min(len(text) - start, limit or len(text), room * CHARS_PER_TOKEN)
    size = max(1, bisect.bisect_right(range(most + 1), room, key=tokens) - 1)
    if start + size < len(text) and size != limit:
        line_end = text.rfind("\n", start + size // 2, start + size)
        size = size if line_end < 0 else line_end + 1 - start
    return page(size)
