"""B098, B099: every backend's overflow is recognised with its figures, and nothing else is taken for one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.providers.classify import classify_status, retry_after_of
from geode_tui.providers.errors import ErrorKind
from geode_tui.providers.overflow import overflow_of

CASES = json.loads((Path(__file__).parent / "overflow_bodies.json").read_text())
CLASSES = {
    "rate_limit": ErrorKind.RATE_LIMIT,
    "overloaded": ErrorKind.OVERLOADED,
    "quota": ErrorKind.BILLING,
    "bad_parameter": ErrorKind.BAD_REQUEST,
    "history_invalid": ErrorKind.HISTORY_INVALID,
}


@pytest.mark.parametrize("case", CASES["positive"], ids=lambda case: case["name"])
def test_an_overflow_is_recognised_with_its_figures(case: dict[str, Any]) -> None:
    verdict = classify_status(case["status"], case["body"])
    assert (verdict.kind, verdict.limit, verdict.actual) == (ErrorKind.CONTEXT_OVERFLOW, case["limit"], case["actual"])


@pytest.mark.parametrize("case", CASES["negative"], ids=lambda case: case["name"])
def test_a_look_alike_is_not_taken_for_an_overflow(case: dict[str, Any]) -> None:
    verdict = classify_status(case["status"], case["body"])
    assert (verdict.kind, verdict.limit, verdict.actual) == (CLASSES[case["expect"]], None, None)


@pytest.mark.parametrize(
    "message",
    [
        "'max_tokens' is too large: 300000. This model's maximum context length is 262144 tokens.",
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "too many tokens requested in max_tokens",
        "The file context.md exceeds the size allowed for uploads",
        "Rate limit reached: too many tokens, please wait",
    ],
)
def test_a_complaint_about_something_else_is_no_overflow(message: str) -> None:
    assert overflow_of(message) is None


def test_figures_may_have_thousands_separators() -> None:
    figures = overflow_of("prompt is too long: 213,462 tokens > 200,000 maximum")
    assert figures is not None
    assert (figures.actual, figures.limit) == (213_462, 200_000)


def error(kind: str, message: str = "no", code: str | None = None) -> dict[str, Any]:
    details = {"details": {"error_code": code}} if code else {}
    return {"type": "error", "error": {"type": kind, "message": message, **details}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, error("authentication_error"), ErrorKind.AUTH),
        (402, error("billing_error"), ErrorKind.BILLING),
        (403, error("permission_error"), ErrorKind.BAD_REQUEST),
        (404, error("not_found_error", "model: claude-9"), ErrorKind.BAD_REQUEST),
        (408, None, ErrorKind.TIMEOUT),
        (422, error("invalid_request_error"), ErrorKind.BAD_REQUEST),
        (429, error("rate_limit_error"), ErrorKind.RATE_LIMIT),
        (429, error("rate_limit_error", code="enforced_spend_limit_reached"), ErrorKind.BILLING),
        (429, error("rate_limit_error", code="contract_spend_limit_reached"), ErrorKind.BILLING),
        (429, error("rate_limit_error", code="ramp_limit_exceeded"), ErrorKind.RATE_LIMIT),
        (400, error("invalid_request_error", "Your credit balance is too low to go on."), ErrorKind.BILLING),
        (400, error("invalid_request_error", code="compaction_signature_invalid"), ErrorKind.HISTORY_INVALID),
        (500, error("api_error"), ErrorKind.SERVER),
        (502, "<html>Bad gateway</html>", ErrorKind.SERVER),
        (529, error("overloaded_error", code="compaction_unavailable"), ErrorKind.OVERLOADED),
        (200, error("overloaded_error"), ErrorKind.OVERLOADED),
        (200, error("api_error"), ErrorKind.SERVER),
        (200, error("a_new_error"), ErrorKind.UNKNOWN),
    ],
)
def test_status_and_code_decide_the_class(status: int, body: object, kind: ErrorKind) -> None:
    assert classify_status(status, body).kind is kind


def test_the_message_is_the_backends_own_and_never_empty() -> None:
    wrapped = {"error": {"message": "Provider returned error", "metadata": {"raw": '{"error": {"message": "no"}}'}}}
    assert classify_status(400, wrapped).message == "no"
    assert classify_status(502, "<html>Bad gateway</html>").message == "<html>Bad gateway</html>"
    assert classify_status(503, None).message == "the server answered with status 503 and no message"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "37"}, 37.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:20:00 GMT"}, 200.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_read_from_seconds_milliseconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(headers, now=1_000.0) == seconds


def test_a_server_that_forbids_a_retry_is_heard() -> None:
    verdict = classify_status(503, None, {"X-Should-Retry": "false", "Retry-After": "5"})
    assert (verdict.retryable, verdict.retry_after) == (False, None)
    assert classify_status(503, None, {"Retry-After": "5"}).retry_after == 5.0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.just("error"), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.integers(100, 599), JSON, st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text()))
def test_any_body_gets_a_class_and_a_message(status: int, body: object, headers: dict[str, str]) -> None:
    verdict = classify_status(status, body, headers)
    assert isinstance(verdict.kind, ErrorKind)
    assert verdict.message
    assert verdict.retry_after is None or verdict.retry_after >= 0
