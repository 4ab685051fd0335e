"""Events of requests to a model."""

from __future__ import annotations

from geode_tui.core.events.base import ContextFigures, Payload
from geode_tui.core.layers import CacheCause, PromptLayers
from geode_tui.core.usage import Usage


class LlmCall(Payload, frozen=True):
    """What every event of one attempt at a request names. No event itself."""

    call_id: str
    attempt: int
    purpose: str
    model: str
    provider: str
    source: str


class LlmCallStarted(LlmCall, frozen=True):
    """Intent to send a request; ``worst_micro`` bounds what it can cost, None where no price is known."""

    effort: str | None
    max_tokens: int
    context: ContextFigures
    worst_micro: int | None = None
    forced: bool = False


class LlmCallEnded(LlmCall, frozen=True):
    """A complete answer. ``context`` is the gauge with the provider's own count of the prompt."""

    latency_ms: int
    usage: Usage
    cost_micro: int | None
    stop_reason: str
    context: ContextFigures
    response_id: str = ""
    response_model: str = ""
    message_seq: int | None = None
    simulated: bool = False
    prefix: str = ""
    """Names the system text and the tools that the prompt began with."""
    layers: PromptLayers | None = None
    """What the prompt was made of, to compare the next one with."""
    beside: Usage | None = None
    """What the provider billed for work of its own beside the answer; ``cost_micro`` holds it, ``context`` does not."""
    counted_prefix: tuple[int, int] | None = None
    """Tokens of the system text and of the tools that ``prefix`` names, as they were counted here."""
    original: bool = True
    """Whether its messages were the session's own conversation: what was counted of others says nothing of that."""
    read_micro: int | None = None
    """Micro-dollars for reading a million tokens of such a prompt again (`routes.prices.read_micro`); None without a
    price."""
    beside_micro: int | None = None
    """The part of ``cost_micro`` that the work in ``beside`` cost; None where that is not known apart."""


class LlmCallFailed(LlmCall, frozen=True):
    """An attempt without a complete answer. ``usage`` is the last known figure: a lower bound of what was billed."""

    error_type: str
    severity: str
    message: str
    usage: Usage | None = None
    cost_micro: int | None = None
    visible: bool = False
    simulated: bool = False


class LlmCallRetried(Payload, frozen=True):
    """The same request will be sent again after ``delay_s`` seconds, at ``at`` (epoch seconds)."""

    call_id: str
    attempt: int
    error_type: str
    delay_s: float
    at: float
    max_attempts: int | None = None


class CacheBroken(Payload, frozen=True):
    """A request paid again for ``tokens`` of its prompt that could have been read from the provider's cache.

    ``cost_micro`` is what that cost more than reading them, None where no price is known. ``said`` is the provider's
    own word for the cause, empty where it gave none. ``position`` is the place of the first message that differs,
    counted from 1; 0 where the cause is no message.
    """

    call_id: str
    cause: CacheCause
    tokens: int
    cost_micro: int | None = None
    said: str = ""
    position: int = 0


class CacheHitLow(Payload, frozen=True):
    """Only ``read_tokens`` of the ``cacheable_tokens`` of a session's prompts came from the provider's cache: told once
    a session (RUNTIME.md 7).
    """

    read_tokens: int
    cacheable_tokens: int
