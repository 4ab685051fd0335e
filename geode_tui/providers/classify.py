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
from geode_tui.providers.overflow import TokenFigures, output_limit_of, overflow_of

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
        "usage_limit_reached",
        "usage_not_included",
        "1113",
        "1114",
        "1308",
        "1309",
        "1310",
    }
)
"""Four digits are GLM's: a balance, a plan or its allowance is used up."""
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
    "compaction_tool_changes_mismatch": ErrorKind.HISTORY_INVALID,
    "compaction_block_misplaced": ErrorKind.HISTORY_INVALID,
    "compaction_block_ambiguous": ErrorKind.HISTORY_INVALID,
    "compaction_incomplete_turn": ErrorKind.BAD_REQUEST,
    "compaction_nothing_to_summarize": ErrorKind.BAD_REQUEST,
    "compaction_too_many_tool_references": ErrorKind.BAD_REQUEST,
    "invalid_encrypted_content": ErrorKind.HISTORY_INVALID,
    "1110": ErrorKind.AUTH,
    "1111": ErrorKind.AUTH,
    "1112": ErrorKind.AUTH,
    "1121": ErrorKind.AUTH,
    "1234": ErrorKind.SERVER,
    "1301": ErrorKind.BAD_REQUEST,
    "content_filter": ErrorKind.BAD_REQUEST,
    "content_policy_violation": ErrorKind.BAD_REQUEST,
    "1302": ErrorKind.RATE_LIMIT,
    "1303": ErrorKind.RATE_LIMIT,
    "1305": ErrorKind.OVERLOADED,
}
"""GLM answers with status 429 to accounts that are locked, too."""
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
    "slow_down": 529,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    "vector_store_timeout": 504,
    "invalid_prompt": 400,
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
_BILLING_PHRASE = re.compile(
    r"credit balance is too low|reached your specified api usage limits|key limit exceeded"
    r"|insufficient (?:credits|balance)",
    re.IGNORECASE,
)
_HISTORY_PHRASE = re.compile(
    r"`tool_use` ids (?:were found without|must be unique)"
    r"|unexpected `tool_use_id` found|tool_use must have a single result"
    r"|invalid `(?:signature|data)` in `(?:redacted_)?thinking`"
    r"|`?thinking`? (?:or `?redacted_thinking`? )?blocks .*cannot be modified"
    r"|expected `thinking` or `redacted_thinking`"
    r"|(?:request body is not valid|could not parse the) json|no low surrogate"
    r"|text content blocks must (?:be non-empty|contain non-whitespace)|must have non-empty content"
    r"|first message must use the"
    r"|did not have response messages|no tool (?:call|output) found for"
    r"|must be a response to a prece\w+ message with 'tool_calls'"
    r"|duplicate (?:item|function_call(?:_output)?) found|duplicate value for 'tool_call_id'"
    r"|was provided without its required|is missing its reasoning|items are not persisted when"
    r"|encrypted content .*could not be verified"
    r"|`compaction` blocks? (?:require|with `content` requires|with a `signature` requires)",
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
    output: int | None = None


def classify_status(
    status: int, body: object, headers: Mapping[str, str] | None = None, *, now: float = 0.0
) -> Verdict:
    """What an answer of ``status`` with ``body`` (decoded JSON, text, or None) means.

    Header names may have any case. ``now``, epoch seconds, is only needed for a ``retry-after`` that is a date.
    """
    headers = {name.lower(): value for name, value in (headers or {}).items()}
    facts = _Facts(body)
    status = status if status >= 400 else next((s for c in facts.codes if (s := _status_of(c))), status)
    message = facts.message[:_MAX_MESSAGE] or f"the server answered with status {status} and no message"
    kind, figures = _kind(status, message, facts.codes)
    if kind is ErrorKind.BILLING and (left := facts.resets_in(now)):
        message = f"{message.rstrip('. ')}; it resets in {left // 3600} h {left // 60 % 60} min"
    retryable = headers.get("x-should-retry", "").lower() != "false"
    wait = retry_after_of(headers, now)
    if wait is None and kind is ErrorKind.RATE_LIMIT:
        wait = _named_wait(message)
    return Verdict(kind, message, figures.limit, figures.actual, wait if retryable else None, retryable, figures.output)


def _status_of(code: str) -> int | None:
    """The status that ``code`` names or is."""
    return int(code) if re.fullmatch(r"[45]\d\d", code, re.ASCII) else _STATUS_OF_TYPE.get(code)


def _kind(status: int, message: str, codes: tuple[str, ...]) -> tuple[ErrorKind, TokenFigures]:
    none = TokenFigures()
    by_code = next((_KIND_OF_CODE[code] for code in codes if code in _KIND_OF_CODE), None)
    if by_code is ErrorKind.CONTEXT_OVERFLOW:
        return by_code, overflow_of(message) or none
    if by_code is not None:
        return by_code, none
    if _BILLING_PHRASE.search(message):
        return ErrorKind.BILLING, none
    if status in _KIND_OF_STATUS:
        return _KIND_OF_STATUS[status], none
    if figures := output_limit_of(message):
        return ErrorKind.OUTPUT_TOO_LARGE, figures
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


def _named_wait(message: str) -> float | None:
    """Seconds to wait as OpenAI words it: ``try again in 6m0s``, ``11.05s``, ``20ms``."""
    match = re.search(r"try again in (?:(\d{1,6})m)?(\d{1,9}(?:\.\d+)?)(ms|s)\b", message, re.ASCII)
    if match is None:
        return None
    seconds = float(match[2]) / (1_000 if match[3] == "ms" else 1)
    return int(match[1] or 0) * 60 + seconds


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
        messages = [text for name, text in pairs if name in {"message", "status_msg", "detail", "error", ""} and text]
        self.message = messages[-1] if messages else ""
        self._figures = {name: text for name, text in pairs if name in {"resets_in_seconds", "resets_at"}}

    def resets_in(self, now: float) -> int:
        """Seconds until an allowance is there again, 0 where nothing is said of it."""
        left, at = _number(self._figures.get("resets_in_seconds", "")), _number(self._figures.get("resets_at", ""))
        if left is None and at is not None and now:
            left = at - now
        return max(0, int(left or 0))


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
