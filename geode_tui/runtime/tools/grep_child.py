"""The program grep runs its search in: standard library only, started with ``python -I -S``, ended with a signal.

A regular expression can take longer than anyone waits, and while one is being matched no other thread of its process
runs. In a process of its own it can be ended, and the worker goes on meanwhile.

Standard input is a file of JSON lines: a request, then one ``[path, shown name]`` a file to search. Standard output
gets the lines found. Standard error is a file that always holds one JSON object, the figures so far.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO

MAX_LINE_CHARS = 10_000
"""Longer lines are not searched."""
SHOWN_CHARS = 300
"""How much of a line is shown."""

_SAMPLE_BYTES = 8_192
_PIECE = MAX_LINE_CHARS * 4 + 2
_FIGURES_WIDTH = 4_096


class Search:
    """One search over many files; ``figures`` tell how far it got."""

    def __init__(self, request: dict[str, Any]) -> None:
        flags = re.IGNORECASE if request["ignore_case"] else 0
        self._pattern = re.compile(request["pattern"], flags)
        self._context: int = request["context"]
        self._left: int = request["max_matches"]
        self._separate = False
        self.figures: dict[str, Any] = {
            "searched": 0,
            "matches": 0,
            "files": 0,
            "long": 0,
            "current": "",
            "full": False,
        }

    def file(self, path: str, shown: str) -> None:
        """Search one file. What cannot be read, is binary or no regular file any more is passed over."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return
        with os.fdopen(descriptor, "rb") as source:
            try:
                if b"\0" in source.read(_SAMPLE_BYTES):
                    return
                source.seek(0)
                self._lines(self._numbered(source), shown)
            except OSError:
                return
        self.figures["searched"] += 1

    def _numbered(self, source: BinaryIO) -> Iterator[tuple[int, str]]:
        number = 0
        while raw := source.readline(_PIECE):
            number += 1
            too_long = False
            while not raw.endswith(b"\n") and len(raw) == _PIECE:
                too_long = True
                raw = source.readline(_PIECE)
            encoding = "utf-8-sig" if number == 1 else "utf-8"
            text = raw.decode(encoding, "replace").removesuffix("\n").removesuffix("\r")
            if too_long or len(text) > MAX_LINE_CHARS:
                self.figures["long"] += 1
            else:
                yield number, text

    def _lines(self, lines: Iterator[tuple[int, str]], shown: str) -> None:
        before: deque[tuple[int, str]] = deque(maxlen=self._context)
        after, last = 0, -1
        first = True
        for number, text in lines:
            found = None if self.figures["full"] else self._pattern.search(text)
            if found is not None:
                earlier = before[0][0] if before else number
                if self._context and self._separate and earlier != last + 1:
                    _write("--")
                for old, line in before:
                    _write(f"{shown}-{old}- {_cut(line, 0)}")
                before.clear()
                _write(f"{shown}:{number}: {_cut(text, found.start())}")
                self._count(first)
                first = False
                after, last = self._context, number
            elif after:
                _write(f"{shown}-{number}- {_cut(text, 0)}")
                after, last = after - 1, number
            elif self.figures["full"]:
                return
            else:
                before.append((number, text))

    def _count(self, first_of_file: bool) -> None:
        self._separate = True
        self.figures["matches"] += 1
        self.figures["files"] += first_of_file
        self._left -= 1
        self.figures["full"] = not self._left


def _cut(text: str, start: int) -> str:
    """At most `SHOWN_CHARS` characters of ``text``, among them those at ``start``."""
    if len(text) <= SHOWN_CHARS:
        return text
    begin = 0 if start < SHOWN_CHARS - 50 else start - 50
    piece = text[begin : begin + SHOWN_CHARS]
    return ("…" if begin else "") + piece + ("…" if begin + SHOWN_CHARS < len(text) else "")


def _write(line: str) -> None:
    sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + b"\n")


def _report(figures: dict[str, Any]) -> None:
    sys.stdout.buffer.flush()
    os.pwrite(2, json.dumps(figures).ljust(_FIGURES_WIDTH).encode(), 0)


def main() -> None:
    """Read the request and search."""
    request = json.loads(sys.stdin.buffer.readline())
    limit = int(request["limit_s"]) + 2
    # The one bound that still holds if the worker that would end this process is itself gone.
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    search = Search(request)
    for line in sys.stdin.buffer:
        path, shown = json.loads(line)
        search.figures["current"] = shown[:200]
        _report(search.figures)
        search.file(path, shown)
        if search.figures["full"]:
            break
    search.figures["current"] = ""
    _report(search.figures)


if __name__ == "__main__":
    main()
