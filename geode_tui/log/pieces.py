"""Texts of any size, piece by piece: out of bytes, out of a JSON string, and into one. Nothing is whole in memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import msgspec

from geode_tui.core.text import scrub

PIECE = 1 << 20
"""Characters or bytes of a piece, about."""
_PLAIN = re.compile(rb'[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*+)*+')
"""What a JSON string consists of, up to its end or to an escape of which a part is missing."""
_HIGH = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_LONGEST_PART = 5
"""Bytes of an escape of which one is missing."""


def of_text(text: str) -> Iterator[str]:
    """``text`` in pieces."""
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))


def of_bytes(file: BinaryIO) -> Iterator[str]:
    """The rest of ``file`` as text; what is not UTF-8 becomes U+FFFD."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while block := file.read(PIECE):
        if piece := decoder.decode(block):
            yield piece
    if rest := decoder.decode(b"", True):
        yield rest


def into_json(pieces: Iterable[str]) -> Iterator[bytes]:
    """The inside of the JSON string of what ``pieces`` are together."""
    return (msgspec.json.encode(piece)[1:-1] for piece in pieces)


class JsonString:
    """A JSON string in a file, from behind its opening quote. ``rest`` is what follows it in the file's last block,
    once `pieces` has come to its end.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.rest = b""

    def pieces(self) -> Iterator[str]:
        """The string. Raises ``ValueError`` where it is none, or does not end."""
        decoder = codecs.getincrementaldecoder("utf-8")("strict")
        held = b""
        while True:
            block = self._file.read(PIECE)
            data = held + block
            end = _end_of_plain(data)
            closed = data[end : end + 1] == b'"'
            if not closed:
                if not block or len(data) - end > _LONGEST_PART:
                    raise ValueError("the string does not end, or an escape in it is none")
                end = _before_half_a_pair(data, end)
            if piece := _unescaped(decoder.decode(data[:end], final=closed)):
                yield piece
            if closed:
                self.rest = data[end + 1 :]
                return
            held = data[end:]


def _end_of_plain(data: bytes) -> int:
    found = _PLAIN.match(data)
    return found.end() if found is not None else 0


def _before_half_a_pair(data: bytes, end: int) -> int:
    """``end``, or where the escape of a high surrogate begins that stands right before it: the low one may follow."""
    start = end - 6
    if start < 0 or _HIGH.fullmatch(data, start, end) is None:
        return end
    slashes = start + 1 - len(data[: start + 1].rstrip(b"\\"))
    return start if slashes % 2 else end


def _unescaped(text: str) -> str:
    return scrub(json.loads(f'"{text}"', strict=False)) if "\\" in text else text
