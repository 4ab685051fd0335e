"""Token usage and money.

Tokens are ints; money is integer micro-dollars (1 USD = 1,000,000) inside the program and a decimal string at its edge.
"""

from __future__ import annotations

from decimal import Decimal

import msgspec

MICRO = 1_000_000


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call's tokens. ``input_tokens`` is what was neither read from nor written to a cache; None means that the
    provider did not say. ``reasoning_tokens`` are part of ``output_tokens``.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int | None = None
    cache_write_5m_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    reasoning_tokens: int | None = None

    @property
    def prompt_tokens(self) -> int:
        """The size of the prompt: what was sent, cached or not."""
        cached = (self.cache_read_tokens, self.cache_write_5m_tokens, self.cache_write_1h_tokens)
        return self.input_tokens + sum(c or 0 for c in cached)

    def plus(self, other: Usage) -> Usage:
        """Field-wise sum; None counts as 0 unless both are None."""

        def add(a: int | None, b: int | None) -> int | None:
            return None if a is None and b is None else (a or 0) + (b or 0)

        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            add(self.cache_read_tokens, other.cache_read_tokens),
            add(self.cache_write_5m_tokens, other.cache_write_5m_tokens),
            add(self.cache_write_1h_tokens, other.cache_write_1h_tokens),
            add(self.reasoning_tokens, other.reasoning_tokens),
        )


CACHE_WARNING_TOKENS, CACHE_WARNING_PERCENT = 50_000, 30
"""From so many cacheable tokens on, a share below this that was read is told of (RUNTIME.md 7)."""
_LEAST_CACHED = 1_024
"""The shortest prompt that a provider caches which does not say what it writes (OpenAI's prompt caching guide)."""


class CacheUse(msgspec.Struct, frozen=True):
    """Tokens that a session's requests read from their provider's cache, of those that it held or could have held."""

    read: int = 0
    cacheable: int = 0

    @property
    def low(self) -> bool:
        """Whether enough could have been read, and too little was."""
        enough = self.cacheable >= CACHE_WARNING_TOKENS
        return enough and 100 * self.read < CACHE_WARNING_PERCENT * self.cacheable

    def plus(self, usage: Usage) -> CacheUse:
        """With one more request. What was not read is what was written to the cache; where the provider does not say
        what it writes, all that was sent. Where it says nothing of a cache, nothing is known.
        """
        writes = (usage.cache_write_5m_tokens, usage.cache_write_1h_tokens)
        if writes != (None, None):
            missed = sum(tokens or 0 for tokens in writes)
        elif usage.cache_read_tokens is None or usage.prompt_tokens < _LEAST_CACHED:
            return self
        else:
            missed = usage.input_tokens
        read = usage.cache_read_tokens or 0
        return CacheUse(self.read + read, self.cacheable + read + missed)


def usd(micro: int) -> str:
    """Decimal dollars of ``micro``, at least two decimals, no trailing zeros beyond: ``1840000`` is ``"1.84"``."""
    sign = "-" if micro < 0 else ""
    whole, part = divmod(abs(micro), MICRO)
    digits = f"{part:06d}".rstrip("0").ljust(2, "0")
    return f"{sign}{whole}.{digits}"


def micro_usd(amount: Decimal) -> int:
    """Micro-dollars of a decimal amount, rounded half up so that a price is never shown below what is billed by more
    than half a micro-dollar.
    """
    return int((amount * MICRO).quantize(Decimal(1), rounding="ROUND_HALF_UP"))
