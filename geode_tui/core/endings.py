"""Why a turn ended, and what a command's exit status says of it (RUNTIME.md 8.5, PRODUCT.md "Exit status")."""

from __future__ import annotations

from enum import StrEnum


class Ending(StrEnum):
    """The closed set of termination reasons. Some are only ever read from records of other programs."""

    NATURAL = "natural"
    FORCED_TEXT = "forced_text"
    MAX_ROUNDS = "max_rounds"
    TIME_BUDGET_EXPIRED = "time_budget_expired"
    SESSION_TIME_BUDGET_HANDOFF = "session_time_budget_handoff"
    SESSION_TIME_BUDGET_EXPIRED = "session_time_budget_expired"
    CONTEXT_EXHAUSTED = "context_exhausted"
    COST_BUDGET_EXCEEDED = "cost_budget_exceeded"
    BILLING_ERROR = "billing_error"
    MODEL_ACTION_REQUIRED = "model_action_required"
    MODEL_REFUSAL = "model_refusal"
    USER_CLARIFICATION_NEEDED = "user_clarification_needed"
    CONVERGENCE_DETECTED = "convergence_detected"
    REPEATED_SUCCESS_NO_PROGRESS = "repeated_success_no_progress"
    INPUT_BLOCKED = "input_blocked"
    USER_CANCELLED = "user_cancelled"
    ACTIONABLE_PARTIAL = "actionable_partial"
    TOOL_USE_YIELD = "tool_use_yield"
    EXTERNAL_VERIFICATION_REQUIRED = "external_verification_required"
    LLM_ERROR = "llm_error"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, text: str) -> Ending:
        """The reason named ``text``; a name from a newer program reads as `UNKNOWN`."""
        try:
            return cls(text)
        except ValueError:
            return cls.UNKNOWN


SUCCESS = frozenset({Ending.NATURAL, Ending.FORCED_TEXT, Ending.ACTIONABLE_PARTIAL})
GUARDS = frozenset(
    {
        Ending.MAX_ROUNDS,
        Ending.TIME_BUDGET_EXPIRED,
        Ending.SESSION_TIME_BUDGET_EXPIRED,
        Ending.SESSION_TIME_BUDGET_HANDOFF,
        Ending.COST_BUDGET_EXCEEDED,
        Ending.CONVERGENCE_DETECTED,
        Ending.REPEATED_SUCCESS_NO_PROGRESS,
    }
)
RESUMABLE = GUARDS | {Ending.USER_CANCELLED, Ending.MODEL_ACTION_REQUIRED, Ending.BILLING_ERROR, Ending.LLM_ERROR}
"""Endings after which `resume` has something to go on with."""

EXIT_OK = 0
EXIT_DIED = 1
EXIT_USAGE = 2
EXIT_GUARD = 3
EXIT_MODEL = 4
EXIT_CONTEXT = 5
EXIT_CANCELLED = 130

_EXIT = {
    **dict.fromkeys(SUCCESS, EXIT_OK),
    **dict.fromkeys(GUARDS, EXIT_GUARD),
    Ending.INPUT_BLOCKED: EXIT_USAGE,
    Ending.CONTEXT_EXHAUSTED: EXIT_CONTEXT,
    Ending.USER_CANCELLED: EXIT_CANCELLED,
}


def exit_status(ending: Ending) -> int:
    """Exit status of a headless run that ended so. What has no row of its own needs the person's action: 4."""
    return _EXIT.get(ending, EXIT_MODEL)
