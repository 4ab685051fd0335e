"""Whether a failed request is sent again, and when (RUNTIME.md 8.6). Pure: the clock and the dice are arguments."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from geode_tui.core.endings import Ending
from geode_tui.providers.errors import ErrorKind, ProviderError

BASE_S, CEILING_S = 2.0, 60.0
DOUBLINGS = 5
"""After so many the ceiling is reached."""
RETRY_AFTER_LIMIT_S = 900.0
FEW_ATTEMPTS = 3
_PATIENT = {ErrorKind.OVERLOADED, ErrorKind.RATE_LIMIT, ErrorKind.CONNECTION, ErrorKind.SERVER}
_FEW = {ErrorKind.TIMEOUT, ErrorKind.EMPTY, ErrorKind.UNKNOWN}


class Wait(msgspec.Struct, frozen=True):
    """Send the same request again after ``delay_s`` seconds."""

    delay_s: float
    max_attempts: int | None = None


class Stop(msgspec.Struct, frozen=True):
    """The turn ends with ``ending``; ``advice`` is what the person can do."""

    ending: Ending
    advice: str


Decision: TypeAlias = Wait | Stop

_ADVICE = {
    ErrorKind.AUTH: "check the API key, then: geode-tui resume",
    ErrorKind.BAD_REQUEST: "the provider does not accept this request; another model may, then: geode-tui resume",
    ErrorKind.HISTORY_INVALID: "the provider does not accept this history; start a new session",
    ErrorKind.INVALID_RESPONSE: "the answer could not be used; geode-tui resume asks again",
    ErrorKind.OUTPUT_TOO_LARGE: "the provider gives this request no room for an answer; another model may",
    ErrorKind.BILLING: "the provider wants its bill settled, then: geode-tui resume",
    ErrorKind.CONTEXT_OVERFLOW: "the conversation no longer fits; start a new session. Nothing was reset",
    ErrorKind.STREAM_INTERRUPTED: "the answer broke off; what came of it is kept. geode-tui resume asks again",
}


LEAST_OUTPUT = 1_024
"""Tokens; an answer with less room than this is not asked for."""


def smaller_output(error: ProviderError, asked: int) -> int | None:
    """How much output to ask for instead of ``asked`` tokens, or None where that is not what the error is about.

    The limit that the provider named, else half.
    """
    if error.kind is not ErrorKind.OUTPUT_TOO_LARGE or error.visible:
        return None
    lower = error.limit if error.limit and error.limit < asked else asked // 2
    return lower if lower >= LEAST_OUTPUT else None


def decide(error: ProviderError, attempt: int, elapsed_s: float, retry_for_s: float, dice: float) -> Decision:
    """What follows attempt number ``attempt`` (from 1), ``elapsed_s`` after the first; ``dice`` is in [0, 1).

    Full jitter over 2 s doubling to 60 s, never below the provider's ``Retry-After`` (honoured up to 15 minutes).
    """
    if error.visible:
        return Stop(Ending.MODEL_ACTION_REQUIRED, _ADVICE[ErrorKind.STREAM_INTERRUPTED])
    if error.kind is ErrorKind.BILLING:
        return Stop(Ending.BILLING_ERROR, _ADVICE[error.kind])
    if error.kind is ErrorKind.CONTEXT_OVERFLOW:
        return Stop(Ending.CONTEXT_EXHAUSTED, _ADVICE[error.kind])
    if error.kind not in _PATIENT and error.kind not in _FEW:
        return Stop(Ending.MODEL_ACTION_REQUIRED, _ADVICE.get(error.kind, "geode-tui resume asks again"))
    if not getattr(error, "retryable", True):
        return Stop(Ending.MODEL_ACTION_REQUIRED, "the provider asked not to be asked again; geode-tui resume does")
    if error.kind in _FEW and attempt >= FEW_ATTEMPTS:
        return Stop(Ending.MODEL_ACTION_REQUIRED, f"{attempt} attempts gave no answer; geode-tui resume asks again")
    after = error.retry_after or 0.0
    if after > RETRY_AFTER_LIMIT_S:
        return Stop(
            Ending.MODEL_ACTION_REQUIRED, f"the provider asks to wait {after:.0f} s; geode-tui resume after that"
        )
    delay = max(after, dice * min(CEILING_S, BASE_S * 2 ** min(attempt - 1, DOUBLINGS)))
    if elapsed_s + delay > retry_for_s:
        return Stop(Ending.MODEL_ACTION_REQUIRED, f"no answer for {elapsed_s:.0f} s; geode-tui resume asks again")
    return Wait(delay, FEW_ATTEMPTS if error.kind in _FEW else None)
