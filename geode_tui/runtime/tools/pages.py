"""One page of a text file: numbered lines from a position, bounded in lines and bytes, whatever the file's size."""

from __future__ import annotations

import codecs
from typing import BinaryIO

import msgspec

from geode_tui.runtime.tools.background import Stop

_PIECE = 65_536


class Page(msgspec.Struct, frozen=True):
    """Lines as shown, and where the next page begins (line, character offset in it), None at the file's end.

    ``left`` is about how many bytes follow; ``past_end`` says that the start lies behind the end: of the file, or of
    the line asked for.
    """

    lines: tuple[str, ...] = ()
    shown_chars: int = 0
    next: tuple[int, int] | None = None
    left: int = 0
    past_end: bool = False


class _Line(msgspec.Struct, frozen=True):
    """Text of a line, how many characters before it were skipped, and whether it is all of it."""

    text: str
    skipped: int
    whole: bool


def read_page(
    source: BinaryIO, size: int, start: tuple[int, int], max_lines: int | None, max_bytes: int, stop: Stop
) -> Page:
    """The page of ``source`` (``size`` bytes of UTF-8) that begins at ``start``: (line from 1, characters to skip).

    A line that does not fit is left for the next page, or cut where it is the only one. Raises `Stopped`.
    """
    number, skip = start
    if not _skip_lines(source, number - 1, stop):
        return Page(past_end=True)
    lines: list[str] = []
    shown = 0
    room = max_bytes
    while max_lines is None or len(lines) < max_lines:
        begin = source.tell()
        line = _read_line(source, skip, room, stop)
        if line is None:
            return Page(tuple(lines), shown, past_end=not lines and number > 1)
        if line.skipped < skip:
            return Page(past_end=True)
        if not line.whole and lines:
            return Page(tuple(lines), shown, (number, 0), size - begin)
        text = line.text if line.whole else line.text.encode()[:room].decode("utf-8", "ignore")
        lines.append(f"{number:>5}\t{text}")
        shown += len(text)
        if not line.whole:
            left = size - source.tell() + len(line.text[len(text) :].encode())
            return Page(tuple(lines), shown, (number, skip + len(text)), left)
        room -= len(lines[-1].encode()) + 1
        number, skip = number + 1, 0
    left = size - source.tell()
    return Page(tuple(lines), shown, (number, 0) if left > 0 else None, max(left, 0))


def _skip_lines(source: BinaryIO, count: int, stop: Stop) -> bool:
    """Move ``source`` behind ``count`` line ends; False if it has fewer."""
    while count > 0:
        stop.check()
        begin = source.tell()
        chunk = source.read(_PIECE)
        if not chunk:
            return False
        found = chunk.count(b"\n")
        if found < count:
            count -= found
            continue
        position = -1
        for _ in range(count):
            position = chunk.index(b"\n", position + 1)
        source.seek(begin + position + 1)
        count = 0
    return True


def _read_line(source: BinaryIO, skip: int, room: int, stop: Stop) -> _Line | None:
    """The next line without its end and its first ``skip`` characters, None at the end of the file.

    Reading stops once the text is over ``room`` bytes, so that a line of any length is never held whole.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig" if source.tell() == 0 else "utf-8")("replace")
    piece = source.readline(_PIECE)
    if not piece:
        return None
    parts: list[str] = []
    skipped = held = 0
    while True:
        stop.check()
        ended = not piece or piece.endswith(b"\n")
        text = decoder.decode(piece, final=ended).removesuffix("\n")
        drop = min(skip - skipped, len(text))
        skipped += drop
        parts.append(text[drop:])
        held += len(parts[-1].encode())
        if ended:
            whole = "".join(parts)
            whole = whole.removesuffix("\r") if piece else whole
            return _Line(whole, skipped, len(whole.encode()) <= room)
        if held > room:
            return _Line("".join(parts), skipped, False)
        piece = source.readline(_PIECE)
