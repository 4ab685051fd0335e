"""One error type for every wire, with the classes of RUNTIME.md section 8.6."""

from __future__ import annotations

from enum import StrEnum

from geode_tui.core.usage import Usage


class ErrorKind(StrEnum):
    """What went wrong, as far as the runtime's next step depends on it."""

    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    SERVER = "server"
    EMPTY = "empty"
    AUTH = "auth"
    BILLING = "billing"
    BAD_REQUEST = "bad_request"
    HISTORY_INVALID = "history_invalid"
    CONTEXT_OVERFLOW = "context_overflow"
    SILENT_OVERFLOW = "silent_overflow"
    OUTPUT_TOO_LARGE = "output_too_large"
    STREAM_INTERRUPTED = "stream_interrupted"
    INVALID_RESPONSE = "invalid_response"
    UNKNOWN = "unknown"


class ProviderError(Exception):
    """A request that did not end in a complete answer.

    ``message`` is the provider's own text, not yet cleaned for a screen. ``visible`` says whether text or a tool call
    had already been streamed: such a request is never re-sent silently. ``usage`` is the last figure that was
    reported, a lower bound of what was billed. ``limit``/``actual`` are the token figures an overflow named, and
    ``output`` the part of ``actual`` that is the output asked for. ``retryable`` is False where the server itself says
    that sending the same request again is of no use.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        visible: bool = False,
        usage: Usage | None = None,
        limit: int | None = None,
        actual: int | None = None,
        retryable: bool = True,
        output: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.retry_after = retry_after
        self.visible = visible
        self.usage = usage
        self.limit = limit
        self.actual = actual
        self.retryable = retryable
        self.output = output


class MalformedEvent(ValueError):
    """An event of a stream that does not have the shape its wire promises."""


class ErrorEvent(ValueError):
    """An error that the server sent inside an answer that had begun well. ``body`` is what it said, decoded."""

    def __init__(self, body: object) -> None:
        super().__init__("the server sent an error inside its answer")
        self.body = body
