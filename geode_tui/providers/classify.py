"""What an error answer means, whichever backend worded it: structured codes first, then narrow phrases.

Pure functions; the classes are those of RUNTIME.md 8.6, the overflow rules those of 2.7.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from geode_tui.providers.errors import ErrorKind
from geode_tui.providers.overflow import OverflowFigures, overflow_of

_BILLING_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "linked_organization_spend_limit_reached",
        "linked_organization_billing_unavailable",
        "1113",
        "1114",
        "1301",
    }
)
_OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "prompt_too_long",
        "model_max_prompt_tokens_exceeded",
        "exceed_context_size_error",
        "request_too_large",
        "request_body_too_large_after_decoding",
        "1261",
    }
)
_KIND_OF_CODE = {
    **dict.fromkeys(_BILLING_CODES, ErrorKind.BILLING),
    **dict.fromkeys(_OVERFLOW_CODES, ErrorKind.CONTEXT_OVERFLOW),
    "compaction_signature_invalid": ErrorKind.HISTORY_INVALID,
    "compaction_content_mismatch": ErrorKind.HISTORY_INVALID,
}
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "server_is_overloaded": 529,
}
"""The status an error event inside a 200 stream would have had."""
_KIND_OF_STATUS = {
    401: ErrorKind.AUTH,
    402: ErrorKind.BILLING,
    403: ErrorKind.BAD_REQUEST,
    408: ErrorKind.TIMEOUT,
    413: ErrorKind.CONTEXT_OVERFLOW,
    429: ErrorKind.RATE_LIMIT,
    529: ErrorKind.OVERLOADED,
}
"""Statuses that settle the class by themselves: their messages may speak of tokens and mean something else."""
_BILLING_PHRASE = re.compile(r"credit balance is too low|reached your specified api usage limits", re.IGNORECASE)
_HISTORY_PHRASE = re.compile(
    r"`tool_use` ids (?:were found without|must be unique)"
    r"|unexpected `tool_use_id` found|tool_use must have a single result"
    r"|invalid `(?:signature|data)` in `(?:redacted_)?thinking`"
    r"|`?thinking`? (?:or `?redacted_thinking`? )?blocks .*cannot be modified"
    r"|expected `thinking` or `redacted_thinking`"
    r"|(?:request body is not valid|could not parse the) json|no low surrogate"
    r"|text content blocks must (?:be non-empty|contain non-whitespace)|must have non-empty content"
    r"|first message must use the"
    r"|did not have response messages|no tool (?:call|output) found for",
    re.IGNORECASE,
)
_DEPTH = 8
"""How deep error bodies are searched; a wrapped one nests seven levels."""


_MAX_MESSAGE = 2_000
"""Characters kept of a message: some servers answer with a whole web page."""


class Verdict(msgspec.Struct, frozen=True):
    """A classified error answer. ``retry_after`` is in seconds, ``limit`` and ``actual`` in tokens."""

    kind: ErrorKind
    message: str
    limit: int | None = None
    actual: int | None = None
    retry_after: float | None = None
    retryable: bool = True


def classify_status(
    status: int, body: object, headers: Mapping[str, str] | None = None, *, now: float = 0.0
) -> Verdict:
    """What an answer of ``status`` with ``body`` (decoded JSON, text, or None) means.

    Header names may have any case. ``now``, epoch seconds, is only needed for a ``retry-after`` that is a date.
    """
    headers = {name.lower(): value for name, value in (headers or {}).items()}
    facts = _Facts(body)
    status = status if status >= 400 else next((s for c in facts.codes if (s := _STATUS_OF_TYPE.get(c))), status)
    message = facts.message[:_MAX_MESSAGE] or f"the server answered with status {status} and no message"
    kind, figures = _kind(status, message, facts.codes)
    retryable = headers.get("x-should-retry", "").lower() != "false"
    return Verdict(
        kind,
        message,
        figures.limit,
        figures.actual,
        retry_after_of(headers, now) if retryable else None,
        retryable,
    )


def _kind(status: int, message: str, codes: tuple[str, ...]) -> tuple[ErrorKind, OverflowFigures]:
    none = OverflowFigures()
    by_code = next((_KIND_OF_CODE[code] for code in codes if code in _KIND_OF_CODE), None)
    if by_code is ErrorKind.CONTEXT_OVERFLOW:
        return by_code, overflow_of(message) or none
    if by_code is not None:
        return by_code, none
    if status in _KIND_OF_STATUS:
        return _KIND_OF_STATUS[status], none
    if _BILLING_PHRASE.search(message):
        return ErrorKind.BILLING, none
    if _HISTORY_PHRASE.search(message):
        return ErrorKind.HISTORY_INVALID, none
    if figures := overflow_of(message):
        return ErrorKind.CONTEXT_OVERFLOW, figures
    if status >= 500:
        return ErrorKind.SERVER, none
    return (ErrorKind.BAD_REQUEST if status >= 400 else ErrorKind.UNKNOWN), none


def retry_after_of(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait by ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date), or None. Never negative."""
    millis = _number(headers.get("retry-after-ms", ""))
    if millis is not None:
        return millis / 1_000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, aware.timestamp() - now)


def _number(text: str) -> float | None:
    """A plain non-negative decimal number, or None."""
    return float(text) if re.fullmatch(r"\s*\d{1,12}(?:\.\d+)?\s*", text, re.ASCII) else None


class _Facts:
    """The codes and the message of an error body, whatever envelope they are in."""

    def __init__(self, body: object) -> None:
        pairs = tuple(_pairs(body, _DEPTH))
        self.codes = tuple(text for name, text in pairs if name in {"code", "error_code", "type", "__type"} and text)
        self.codes += tuple(text for name, text in pairs if name in {"stop_reason", "finish_reason"} and text)
        # Gateways wrap the backend's own words, so the deepest message says most.
        messages = [text for name, text in pairs if name in {"message", "status_msg", "error", ""} and text]
        self.message = messages[-1] if messages else ""


def _pairs(value: object, depth: int, name: str = "") -> Iterator[tuple[str, str]]:
    """Every (field name, text) of an error body, outside first; text that is JSON itself is opened."""
    if depth == 0 or value is None or isinstance(value, bool):
        return
    if isinstance(value, Mapping):
        for key, inner in sorted(value.items(), key=lambda item: isinstance(item[1], Mapping | list)):
            yield from _pairs(inner, depth - 1, str(key))
    elif isinstance(value, list):
        for inner in value[:4]:
            yield from _pairs(inner, depth - 1, name)
    elif isinstance(value, str) and value[:1] in {"{", "["} and (opened := _opened(value)) is not None:
        yield from _pairs(opened, depth - 1, name)
    else:
        yield name, str(value).strip()


def _opened(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
