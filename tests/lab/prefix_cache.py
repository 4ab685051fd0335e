"""Prompt caching by itself: the longest prefix that was sent before under the same key, in whole steps."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

MINIMUM = 1_024
"""Tokens of the shortest prefix that is cached."""
STEP = 128
"""Tokens between two positions at which a cached prefix may end."""
TTL_S = 1_800.0
"""Seconds an entry lives after it was last used."""
BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class Prefix:
    """A prompt's tokens: all of them, those that were read from the cache, and those that are new in it."""

    total: int
    cached: int
    written: int


class PrefixCache:
    """Entries by the hash of everything up to a position. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float], minimum: int = MINIMUM) -> None:
        self._clock = clock
        self._minimum = minimum
        self._expiry: dict[bytes, float] = {}

    def serve(self, scope: str, prompt: str) -> Prefix:
        """Serve ``prompt``: what it reads is refreshed, the rest of its steps are stored. Entries of one ``scope``
        (model and key) are unknown to every other."""
        data = prompt.encode()
        total = tokens_of(prompt)
        digest = hashlib.sha256(scope.encode() + b"\0")
        now = self._clock()
        cached = stored = 0
        for end in range(STEP, total + 1, STEP):
            digest.update(data[(end - STEP) * BYTES_PER_TOKEN : end * BYTES_PER_TOKEN])
            key = digest.digest()
            if end < self._minimum:
                continue
            if self._expiry.get(key, 0.0) > now and cached == stored:
                cached = end
            stored = end
            self._expiry[key] = now + TTL_S
        return Prefix(total, cached, stored - cached)


def tokens_of(prompt: str) -> int:
    """Tokens of a prompt: its UTF-8 bytes divided by four, rounded up."""
    return -(-len(prompt.encode()) // BYTES_PER_TOKEN)
