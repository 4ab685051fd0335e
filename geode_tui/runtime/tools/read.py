"""read_file: numbered lines of a text file, page by page."""

from __future__ import annotations

import hashlib
import io
import os
from typing import Annotated, BinaryIO

from msgspec import Meta

from geode_tui.core.binary import SAMPLE_BYTES, is_binary
from geode_tui.core.tools import Safety
from geode_tui.runtime.tools.arguments import Arguments
from geode_tui.runtime.tools.background import Stop
from geode_tui.runtime.tools.base import Tool, ToolContext, ToolOutcome
from geode_tui.runtime.tools.builtin import Builtin, Facts, threaded
from geode_tui.runtime.tools.confine import locate, open_file
from geode_tui.runtime.tools.pages import Page, read_page
from geode_tui.runtime.tools.stamps import read_whole
from geode_tui.runtime.tools.texts import binary_text, counted, one_line, quoted, size_text

DEFAULT_LINES = 2_000
PAGE_BYTES = 256 * 1024
WHOLE_BYTES = 8 * 1024 * 1024
MAX_BINARY_HASHED = 256 * 1024 * 1024

_DESCRIPTION = f"""\
Read a text file of the project. Every line comes with its number and a tab, which are not part of the file. One call \
gives up to {DEFAULT_LINES:,} lines and {PAGE_BYTES // 1024} KiB; the last line of the answer says how to continue. \
Use start_line and max_lines for a range and start_char to go on inside a very long line. A file must be read before \
it can be changed."""


class ReadArguments(Arguments, frozen=True):
    """Arguments of read_file."""

    path: Annotated[str, Meta(min_length=1, description="File, relative to the project.")]
    start_line: Annotated[int, Meta(ge=1, description="First line to show, from 1.")] = 1
    max_lines: Annotated[int, Meta(ge=1, description="How many lines to show at most.")] | None = None
    start_char: Annotated[int, Meta(ge=0, description="Characters of the first line to leave out.")] = 0
    whole: Annotated[bool, Meta(description="Lift the bounds of one call to 8 MiB.")] = False


def read_file_tool() -> Tool:
    """The tool read_file."""
    return Builtin("read_file", _DESCRIPTION, Safety.READ, ReadArguments, _brief, threaded(_check, _read))


def _brief(arguments: ReadArguments) -> str:
    path = one_line(arguments.path, 100)
    return path if arguments.start_line == 1 else f"{path} from line {arguments.start_line}"


def _check(arguments: ReadArguments, context: ToolContext) -> None:
    os.close(open_file(context, locate(context, arguments.path)))


def _read(arguments: ReadArguments, context: ToolContext, stop: Stop) -> ToolOutcome:
    place = locate(context, arguments.path)
    with os.fdopen(open_file(context, place), "rb") as source:
        content, stamp = read_whole(source)
        text: BinaryIO = source if content is None else io.BytesIO(content)
        text.seek(0)
        sample = text.read(SAMPLE_BYTES)
        text.seek(0)
        if b"\0" in sample or is_binary(sample):
            outcome = _binary(place.relative, stamp.size, stamp.sha256 or _hash(source, stamp.size, stop))
        elif not stamp.size:
            outcome = ToolOutcome("[empty file]", summary="empty", facts={"path": place.relative, "lines": 0})
        else:
            page = _page(text, stamp.size, arguments, stop)
            outcome = _outcome(arguments, place.relative, page, None if content is None else _line_count(content))
    context.seen[str(place.real)] = stamp
    return outcome


def _binary(path: str, size: int, sha256: str) -> ToolOutcome:
    return ToolOutcome(binary_text(size, sha256), summary=f"binary {size_text(size)}", facts={"path": path})


def _page(source: BinaryIO, size: int, arguments: ReadArguments, stop: Stop) -> Page:
    max_lines = arguments.max_lines or (None if arguments.whole else DEFAULT_LINES)
    max_bytes = WHOLE_BYTES if arguments.whole else PAGE_BYTES
    return read_page(source, size, (arguments.start_line, arguments.start_char), max_lines, max_bytes, stop)


def _outcome(arguments: ReadArguments, path: str, page: Page, total: int | None) -> ToolOutcome:
    if page.past_end:
        return ToolOutcome(_past_end(arguments, total), is_error=True, summary="past the end", facts={"path": path})
    facts: Facts = {
        "path": path,
        "start_line": arguments.start_line,
        "lines": len(page.lines),
        "chars": page.shown_chars,
    }
    shown = list(page.lines)
    if page.next is not None:
        shown.append(_more(arguments.start_line, page, total))
    return ToolOutcome("\n".join(shown), summary=counted(len(page.lines), "line"), facts=facts)


def _more(start_line: int, page: Page, total: int | None) -> str:
    assert page.next is not None
    line, char = page.next
    of = "" if total is None else f" of {total:,}"
    last = start_line + len(page.lines) - 1
    left = f"[lines {start_line:,} to {last:,}{of} shown, {size_text(page.left)} left: continue with start_line={line}"
    return f"{left} start_char={char}]" if char else f"{left}]"


def _past_end(arguments: ReadArguments, total: int | None) -> str:
    where = quoted(arguments.path)
    if total is not None and arguments.start_line > total:
        return f"{where} has {counted(total, 'line')}: start_line {arguments.start_line} is past its end"
    if arguments.start_char:
        return f"line {arguments.start_line} of {where} is shorter than start_char {arguments.start_char}"
    return f"{where} ends before line {arguments.start_line}"


def _line_count(content: bytes) -> int:
    return content.count(b"\n") + (not content.endswith(b"\n"))


def _hash(source: BinaryIO, size: int, stop: Stop) -> str:
    """The sha-256 of ``source``, empty where that would mean to read more than `MAX_BINARY_HASHED`."""
    if size > MAX_BINARY_HASHED:
        return ""
    source.seek(0)
    digest = hashlib.sha256()
    while chunk := source.read(1 << 20):
        stop.check()
        digest.update(chunk)
    return digest.hexdigest()
