"""Prompt caching by exact prefix: what a request reads, writes, and what remains uncached."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from tests.lab.compaction import still_read
from tests.lab.tokens import canonical, count_block, text_blocks

TTL_S = {"5m": 300.0, "1h": 3_600.0}
LOOK_BACK = 20
"""How many positions are searched for an earlier entry from a mark backwards, its own included."""


@dataclass(frozen=True)
class Segment:
    """One block of the prompt in cache order: tools, system, messages."""

    text: str
    tokens: int
    mark: str | None


@dataclass(frozen=True)
class Split:
    """A prompt's tokens by what the cache did with them."""

    uncached: int
    read: int
    written_5m: int
    written_1h: int

    @property
    def total(self) -> int:
        """Tokens of the whole prompt."""
        return self.uncached + self.read + self.written_5m + self.written_1h


def segments(body: Mapping[str, Any]) -> list[Segment]:
    """The prompt's blocks in cache order, each with the lifetime of its mark."""
    return [
        Segment(f"{where}\0{canonical(block)}", count_block(block), mark_of(block)) for where, block in _blocks(body)
    ]


def prompt_tokens(body: Mapping[str, Any]) -> int:
    """Tokens of the prompt that is read: what a compaction stands for is not."""
    return sum(count_block(block) for _, block in _blocks(body))


def mark_of(block: Mapping[str, Any]) -> str | None:
    """The lifetime of a block's cache mark, None without one."""
    control = block.get("cache_control")
    return control.get("ttl", "5m") if control else None


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for tool in body.get("tools", ()):
        yield "tool", tool
    for part in text_blocks(body.get("system", ())):
        yield "system", part
    yield from still_read([(m["role"], block) for m in body["messages"] for block in text_blocks(m["content"])])


class PromptCache:
    """Entries by the hash of everything up to a mark. ``minimum`` is the smallest prefix that is cached, tokens."""

    def __init__(self, clock: Callable[[], float], minimum: int) -> None:
        self._clock = clock
        self._minimum = minimum
        self._expiry: dict[bytes, tuple[float, float]] = {}
        """Prefix hash to (expires at, lifetime), seconds."""

    def measure(self, body: Mapping[str, Any]) -> Split:
        """How the cache would serve ``body`` now; changes nothing."""
        return self._serve(body)[0]

    def serve(self, body: Mapping[str, Any]) -> Split:
        """Serve ``body``: the entry it reads is refreshed, the prefixes it marks are stored."""
        split, touched = self._serve(body)
        now = self._clock()
        for key, lifetime in touched:
            self._expiry[key] = (now + lifetime, lifetime)
        return split

    def _serve(self, body: Mapping[str, Any]) -> tuple[Split, list[tuple[bytes, float]]]:
        parts = segments(body)
        sizes = list(accumulate(part.tokens for part in parts))
        keys = _prefix_keys(str(body["model"]), parts)
        marks = [i for i, part in enumerate(parts) if part.mark and sizes[i] >= self._minimum]
        hit = max((i for mark in marks for i in self._hits(keys, mark)), default=-1)
        done = sizes[hit] if hit >= 0 else 0
        read = done
        touched = [(keys[hit], self._expiry[keys[hit]][1])] if hit >= 0 else []
        written = {"5m": 0, "1h": 0}
        for mark in marks:
            if mark > hit:
                lifetime = parts[mark].mark or "5m"
                written[lifetime] += sizes[mark] - done
                done = sizes[mark]
                touched.append((keys[mark], TTL_S[lifetime]))
        total = sizes[-1] if sizes else 0
        return Split(total - done, read, written["5m"], written["1h"]), touched

    def _hits(self, keys: list[bytes], mark: int) -> Iterator[int]:
        now = self._clock()
        for position in range(mark, max(mark - LOOK_BACK, -1), -1):
            if self._expiry.get(keys[position], (0.0, 0.0))[0] > now:
                yield position


def _prefix_keys(model: str, parts: list[Segment]) -> list[bytes]:
    digest = hashlib.sha256(model.encode())
    keys = []
    for part in parts:
        digest.update(part.text.encode() + b"\0")
        keys.append(digest.digest())
    return keys
