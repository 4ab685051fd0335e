"""What the composer offers while one writes: commands, paths of the project, earlier prompts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from typing import Literal, TypeAlias

import msgspec

from geode_tui.core.text import clean, fold_width
from geode_tui.tui.look import Look
from geode_tui.tui.slash import COMMANDS

MOST_PATHS = 20_000
"""Most paths of a project that are offered."""
MOST = 50
"""Most offers at a time."""
PROMPT_CHARS = 2_000
"""Characters of an earlier prompt that are searched."""

Kind: TypeAlias = Literal["command", "path", "prompt"]

_COMMAND = re.compile(r"/([A-Za-z]*)\Z")
_PATH = re.compile(r"(?:^|(?<=\s))@(\S*)\Z")


class Token(msgspec.Struct, frozen=True):
    """What is being written: ``word`` without its sign, which stands at column ``start`` of the line."""

    kind: Kind
    start: int
    word: str


class Offer(msgspec.Struct, frozen=True):
    """One thing to choose: ``text`` takes the token's place, ``shown`` is a clean line, ``note`` stands beside it."""

    text: str
    shown: str
    note: str = ""


def token_at(before: str, *, first_line: bool) -> Token | None:
    """The token at the end of ``before``, the cursor's line up to the cursor; None where there is none."""
    if first_line and (match := _COMMAND.match(before)):
        return Token("command", 0, match[1])
    if match := _PATH.search(before):
        return Token("path", match.start(), match[1])
    return None


def command_offers(word: str, look: Look) -> list[Offer]:
    """The commands that begin with ``word``."""
    names = (name for name in COMMANDS if name.startswith(word.lower()))
    return [Offer(f"/{name}", f"/{name}", look.t(f"slash.help_{name}")) for name in names]


class PathIndex:
    """Paths of a project, ready to be searched."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._paths = [(_key(path), path) for path in paths if clean(path) == path]

    def offers(self, word: str, look: Look) -> list[Offer]:
        """The paths that hold ``word``: those whose last name begins with it first, then those whose last name holds
        it, then the others; shorter ones before longer ones.
        """
        wanted = _key(word)
        hits = ((_rank(key, wanted), len(key), path) for key, path in self._paths if wanted in key)
        return [Offer(path, look.line(path)) for *_, path in nsmallest(MOST, hits)]


def _key(path: str) -> str:
    return fold_width(path).casefold()


def _rank(key: str, wanted: str) -> int:
    name = key.rpartition("/")[2]
    if name.startswith(wanted):
        return 0
    return 1 if wanted in name else 2


def prompt_offers(query: str, history: Sequence[str], look: Look) -> list[Offer]:
    """Earlier prompts that hold ``query`` in their beginning, newest first, each once."""
    wanted = _key(query)
    hits = dict.fromkeys(prompt for prompt in reversed(history) if wanted in _key(prompt[:PROMPT_CHARS]))
    return [Offer(prompt, look.line(prompt)) for prompt in list(hits)[:MOST]]
