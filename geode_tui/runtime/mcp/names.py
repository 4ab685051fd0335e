"""From a server's names for its tools to names that every provider takes, and no two of which are the same."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

PREFIX = "mcp__"
MAX_NAME = 64
"""Longest name that every provider takes, of letters, digits, ``_`` and ``-``."""
_HASH = 8
_PLAIN = re.compile(r"[A-Za-z0-9_-]+\Z")
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


def likeness(name: str) -> str:
    """What names have in common that a reader may take for one another: case, underscores, forms of a letter."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name).casefold())


def look_alike(names: Sequence[str]) -> frozenset[str]:
    """Those of ``names`` that another of them looks like."""
    counted = Counter(map(likeness, names))
    return frozenset(name for name in names if counted[likeness(name)] > 1)


def tool_name(server: str, tool: str, *, marked: bool = False) -> str:
    """The name of ``tool`` in requests. It is readable where that is unambiguous; where it would not be, or where it is
    ``marked``, it ends in a hash of both whole names.
    """
    name = f"{PREFIX}{server}__{tool}"
    unambiguous = "__" not in server and not server.endswith("_") and _PLAIN.match(server) and _PLAIN.match(tool)
    if unambiguous and not marked and len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    readable = _OTHER.sub("_", name)[: MAX_NAME - _HASH - 1]
    return f"{readable}_{digest}"
