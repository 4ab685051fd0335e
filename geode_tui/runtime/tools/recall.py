"""recall_tool_result: a result that was put into a file, whole where it is short, else page by page (RUNTIME.md 4.4).

It reads the files of its own session only, changes nothing, and what it returns is never put into a file again.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from geode_tui.context.offload import LEAST_PAGE, MAX_PAGE, RECALL
from geode_tui.core.events import BlobRef
from geode_tui.core.text import clean_line
from geode_tui.core.tokens import CHARS_PER_TOKEN, text_tokens
from geode_tui.core.tools import Safety
from geode_tui.log import offloads, receipts
from geode_tui.log.pieces import of_bytes
from geode_tui.log.store import StoreError
from geode_tui.runtime.tools.arguments import Arguments
from geode_tui.runtime.tools.background import Stop
from geode_tui.runtime.tools.base import Tool, ToolContext, ToolOutcome
from geode_tui.runtime.tools.builtin import Builtin, threaded
from geode_tui.runtime.tools.texts import counted

_DESCRIPTION = """\
Bring back a tool result that is stored outside the conversation: one that reads {"_offloaded": true, ...}, or whose \
marker names a ref_id. A short result comes whole; of a long one a page comes, as {"ref_id", "total_tokens", "offset", \
"next_offset", "content"}: ask again with next_offset until it is null. With a query only the lines that hold it come, \
each behind the offset at which it begins."""
LINE_CHARS = 400
"""Characters of a line that holds what was asked for, around the first place where it does."""


class RecallArguments(Arguments, frozen=True):
    """Arguments of recall_tool_result."""

    ref_id: Annotated[str, Meta(description="The reference of the stored result.")]
    offset: Annotated[int, Meta(ge=0, description="Characters to skip.")] = 0
    limit: Annotated[int, Meta(ge=0, description="Characters to return at most; 0 is a full page.")] = 0
    query: Annotated[str, Meta(max_length=400, description="Return only the lines with this text, in any case.")] = ""


class RecallPage(msgspec.Struct, frozen=True):
    """A part of a stored result, from character ``offset`` on. ``next_offset`` is None at its end."""

    ref_id: str
    total_tokens: int
    offset: int
    next_offset: int | None
    content: str


class Excerpt(msgspec.Struct, frozen=True):
    """``text`` of a result of ``size`` characters and ``tokens``, from character ``start`` on: more than a page, or up
    to the result's end.
    """

    ref_id: str
    text: str
    start: int
    size: int
    tokens: int


def recall_tool(geode: Path, session_id: str) -> Tool:
    """The tool recall_tool_result for one session; ``geode`` is its project's ``.geode``."""

    def work(arguments: RecallArguments, context: ToolContext, stop: Stop) -> ToolOutcome:
        room = max(context.page_tokens() if context.page_tokens is not None else MAX_PAGE, LEAST_PAGE)
        try:
            with text_of(geode, session_id, arguments.ref_id, context.receipts) as (pieces, tokens):
                return recalled(_stoppable(pieces, stop), tokens, arguments, room)
        except offloads.OffloadUnknown as error:
            return ToolOutcome(str(error), is_error=True, summary="unknown reference")
        except StoreError as error:
            return ToolOutcome(f"{error}: call the tool again instead", is_error=True, summary="failed")

    prepare = threaded(lambda _arguments, _context: None, work)
    return Builtin(RECALL, _DESCRIPTION, Safety.NOTE, RecallArguments, _brief, prepare)


def _brief(arguments: RecallArguments) -> str:
    ref = clean_line(arguments.ref_id, 60)
    if arguments.query:
        return f"{ref}: {clean_line(arguments.query, 40)}"
    return f"{ref} from {arguments.offset:,}" if arguments.offset else ref


def _stoppable(pieces: Iterator[str], stop: Stop) -> Iterator[str]:
    for piece in pieces:
        stop.check()
        yield piece


@contextlib.contextmanager
def text_of(
    geode: Path, session_id: str, ref_id: str, receipts_of: Callable[[], Mapping[str, BlobRef]] | None = None
) -> Iterator[tuple[Iterator[str], int]]:
    """(pieces, tokens) of a result that has a file, or else a receipt. Raises as `log.offloads.reading`."""
    cut = receipts_of() if receipts_of is not None else {}
    if ref_id in cut:
        with receipts.opened(geode, cut[ref_id].sha256) as file:
            yield of_bytes(file), os.fstat(file.fileno()).st_size // CHARS_PER_TOKEN
        return
    try:
        stored = offloads.reading(geode, session_id, ref_id)
    except offloads.OffloadUnknown as error:
        if not cut:
            raise
        raise offloads.OffloadUnknown(f"{error}; of those that were cut: {', '.join(list(cut)[-20:])}") from error
    with stored:
        about = stored.about
        yield stored.pieces(), about.original_tokens or about.bytes // CHARS_PER_TOKEN


def recalled(pieces: Iterable[str], tokens: int, arguments: RecallArguments, room: int) -> ToolOutcome:
    """What the model gets of a result within ``room`` tokens, envelope included. ``tokens`` is its size."""
    start = arguments.offset
    if arguments.query:
        return _found(pieces, tokens, arguments, room)
    part = excerpt(arguments.ref_id, pieces, tokens, start, room * CHARS_PER_TOKEN)
    whole = not start and (not arguments.limit or arguments.limit >= part.size)
    if whole and len(part.text) == part.size and text_tokens(part.text) <= room:
        return _outcome(part.text, part.text, part.ref_id, start)
    if start >= part.size:
        return ToolOutcome(
            f"the result has {part.size:,} characters: offset {start:,} is past its end",
            is_error=True,
            summary="past the end",
        )
    page = page_of(part, arguments.limit, room)
    return _outcome(msgspec.json.encode(page).decode(), page.content, part.ref_id, start)


def _outcome(shown: str, content: str, ref_id: str, start: int) -> ToolOutcome:
    lines = content.count("\n") + (not content.endswith("\n"))
    facts: dict[str, str | int | float | bool] = {"recalled": ref_id, "offset": start, "chars": len(content)}
    return ToolOutcome(shown, summary=counted(lines, "line"), facts=facts)


def excerpt(ref_id: str, pieces: Iterable[str], tokens: int, start: int, most: int) -> Excerpt:
    """``most`` characters and one more from ``start`` on of what ``pieces`` are together."""
    size = 0
    parts: list[str] = []
    for piece in pieces:
        if size + len(piece) > start and size < start + most + 1:
            parts.append(piece[max(0, start - size) : start + most + 1 - size])
        size += len(piece)
    return Excerpt(ref_id, "".join(parts), start, size, tokens)


def page_of(part: Excerpt, limit: int, room: int) -> RecallPage:
    """The page at the beginning of ``part``: as much as fits in ``room`` tokens, and at least one character; at most
    ``limit`` characters (0: no such bound). It ends at a line's end where there is one in its second half.
    """
    text, start = part.text, part.start

    def page(size: int) -> RecallPage:
        after = start + size if start + size < part.size else None
        return RecallPage(part.ref_id, part.tokens, start, after, text[:size])

    def tokens(size: int) -> int:
        return text_tokens(msgspec.json.encode(page(size)).decode())

    most = min(len(text), limit or len(text), room * CHARS_PER_TOKEN)
    size = max(1, bisect.bisect_right(range(most + 1), room, key=tokens) - 1)
    if start + size < part.size and size != limit:
        line_end = text.rfind("\n", size // 2, size)
        size = size if line_end < 0 else line_end + 1
    return page(size)


# -- searching --------------------------------------------------------------------------------------------------------
def _found(pieces: Iterable[str], tokens: int, arguments: RecallArguments, room: int) -> ToolOutcome:
    """The places that hold the query, from the offset on, as many as fit."""
    ref_id, start = arguments.ref_id, arguments.offset
    page = RecallPage(ref_id, tokens, start, None, "")
    for at, line in places(pieces, arguments.query):
        if at < start:
            continue
        more = msgspec.structs.replace(page, content=f"{page.content}[{at}] {line}\n")
        full = text_tokens(msgspec.json.encode(more).decode()) > room
        if page.content and (full or len(more.content) > (arguments.limit or len(more.content))):
            page = msgspec.structs.replace(page, next_offset=at)
            break
        page = more
    if not page.content:
        text = f"no line from character {start:,} on holds that text"
        return ToolOutcome(text, summary="no line", facts={"recalled": ref_id, "offset": start, "chars": 0})
    return _outcome(msgspec.json.encode(page).decode(), page.content, ref_id, start)


def places(pieces: Iterable[str], query: str) -> Iterator[tuple[int, str]]:
    """(offset, text) of every line that holds ``query`` in any case, a long one only around it. At the end of a piece
    is looked again once the next one has come.
    """
    needle, lowered = re.compile(re.escape(query), re.IGNORECASE), query.lower()
    data, base, begin = "", 0, 0
    for piece in chain(pieces, ("",)):
        data += piece
        end = max(begin, len(data) - LINE_CHARS) if piece else len(data)
        near = lowered in data.lower()  # many times as fast as the expression
        while near and (found := needle.search(data, begin)) is not None and found.start() < end:
            low = max(begin, found.start() - LINE_CHARS // 2)
            start = max(low, data.rfind("\n", low, found.start()) + 1)
            stop = data.find("\n", found.end(), found.end() + LINE_CHARS // 2)
            stop = stop if stop >= 0 else min(len(data), found.end() + LINE_CHARS // 2)
            yield base + start, data[start:stop]
            begin = max(stop, found.end())
        begin = max(begin, end)
        past = max(0, min(begin, len(data)) - LINE_CHARS)
        data, base, begin = data[past:], base + past, begin - past
