"""What stands before a conversation: the system prompt and the tools."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from geode_tui.core.tokens import TokenCounter
from geode_tui.core.tools import ToolSpec


class Prefix(msgspec.Struct, frozen=True):
    """What stands before the conversation, as the meter's counter counts it. ``digest`` names its exact content.
    ``dynamic`` is the part of ``system`` that is assembled anew each turn, None where that is not known.
    """

    system: int = 0
    tools: int = 0
    digest: str = ""
    dynamic: int | None = None

    @property
    def tokens(self) -> int:
        """Both together."""
        return self.system + self.tools


def prefix_of(
    system: Iterable[str], tools: Iterable[ToolSpec], counter: TokenCounter, dynamic: str | None = None
) -> Prefix:
    """The prefix of these system texts and of the real schemas, as they are sent. ``dynamic`` is the system text that
    is assembled anew each turn.
    """
    texts = tuple(system)
    schemas = tuple(msgspec.json.encode(tool).decode() for tool in tools)
    digest = hashlib.blake2b("\0".join((*texts, "", *schemas)).encode(), digest_size=12).hexdigest()
    anew = None if dynamic is None else counter.count(dynamic)
    return Prefix(sum(map(counter.count, texts)), sum(map(counter.count, schemas)), digest, anew)
