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
    "bad_parameter": ErrorKind.OUTPUT_TOO_LARGE,
    "history_invalid": ErrorKind.HISTORY_INVALID,
}


@pytest.mark.parametrize("case", CASES["positive"], ids=lambda case: case["name"])
def test_an_overflow_is_recognised_with_its_figures(case: dict[str, Any]) -> None:
    verdict = classify_status(case["status"], case["body"])
    assert (verdict.kind, verdict.limit, verdict.actual) == (ErrorKind.CONTEXT_OVERFLOW, case["limit"], case["actual"])


@pytest.mark.parametrize("case", CASES["negative"], ids=lambda case: case["name"])
def test_a_look_alike_is_not_taken_for_an_overflow(case: dict[str, Any]) -> None:
    verdict = classify_status(case["status"], case["body"])
    assert verdict.kind is CLASSES[case["expect"]]
    figures = (64_000, 200_000) if verdict.kind is ErrorKind.OUTPUT_TOO_LARGE else (None, None)
    assert (verdict.limit, verdict.actual) == figures


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


@pytest.mark.parametrize(
    ("message", "limit", "asked"),
    [
        ("max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for x", 64_000, 200_000),
        (
            "max_tokens is too large: 300000. This model supports at most 128000 completion tokens, not 300000.",
            128_000,
            300_000,
        ),
        (
            (
                "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got 300000"
                " instead."
            ),
            128_000,
            300_000,
        ),
        (
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 70000. This model's maximum context length is"
                " 131072 tokens and your request has 100000 input tokens."
            ),
            None,
            70_000,
        ),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192, None),
        ("Range of max_tokens should be [1, 8192]", 8_192, None),
    ],
)
def test_an_output_limit_the_model_does_not_have_is_told_with_its_figures(
    message: str, limit: int | None, asked: int | None
) -> None:
    verdict = classify_status(400, {"error": {"message": message}})
    assert (verdict.kind, verdict.limit, verdict.actual) == (ErrorKind.OUTPUT_TOO_LARGE, limit, asked)
    assert overflow_of(message) is None


def test_a_parameter_that_is_not_taken_is_no_limit() -> None:
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    assert classify_status(400, {"error": {"message": message}}).kind is ErrorKind.BAD_REQUEST


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
        (200, {"code": "server_error", "message": "no"}, ErrorKind.SERVER),
        (200, {"code": "rate_limit_exceeded", "message": "no"}, ErrorKind.RATE_LIMIT),
        (200, {"code": "server_is_overloaded", "message": "no"}, ErrorKind.OVERLOADED),
        (200, {"code": "invalid_prompt", "message": "no"}, ErrorKind.BAD_REQUEST),
        (200, {"code": "context_length_exceeded", "message": "no"}, ErrorKind.CONTEXT_OVERFLOW),
        (200, {"code": 502, "message": "Provider disconnected"}, ErrorKind.SERVER),
        (200, {"code": 429, "message": "no"}, ErrorKind.RATE_LIMIT),
        (400, {"detail": "Unsupported parameter: truncation"}, ErrorKind.BAD_REQUEST),
        (429, {"error": {"type": "usage_not_included", "message": "no"}}, ErrorKind.BILLING),
        (403, {"error": {"code": 403, "message": "Key limit exceeded (total limit)."}}, ErrorKind.BILLING),
        (400, {"error": {"code": "invalid_encrypted_content", "message": "no"}}, ErrorKind.HISTORY_INVALID),
        *(
            (429, {"error": {"code": code, "message": "no"}}, kind)
            for code, kind in {
                "1112": ErrorKind.AUTH,
                "1113": ErrorKind.BILLING,
                "1302": ErrorKind.RATE_LIMIT,
                "1305": ErrorKind.OVERLOADED,
                "1308": ErrorKind.BILLING,
            }.items()
        ),
        (400, {"error": {"code": "1301", "message": "unsafe content"}}, ErrorKind.BAD_REQUEST),
        (200, {"code": "content_filter", "message": "blocked"}, ErrorKind.BAD_REQUEST),
        *(
            (400, {"error": {"message": message}}, ErrorKind.HISTORY_INVALID)
            for message in (
                "No tool output found for function call call_1.",
                "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
                (
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with"
                    " 'tool_calls'."
                ),
                "Duplicate item found with id fc_1. Remove duplicate items from your input.",
                "The encrypted content gAAA...abcd could not be verified.",
            )
        ),
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


def test_a_used_up_allowance_says_when_it_is_there_again() -> None:
    spent = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "resets_in_seconds": 12_360}
    verdict = classify_status(429, {"error": spent}, {"retry-after": "5"})
    assert verdict.kind is ErrorKind.BILLING
    assert verdict.message == "The usage limit has been reached; it resets in 3 h 26 min"
    at = {"type": "usage_limit_reached", "message": "The usage limit has been reached.", "resets_at": 1_000_600}
    assert classify_status(429, {"error": at}, now=1_000_000.0).message.endswith("reached; it resets in 0 h 10 min")
    assert classify_status(429, {"error": at}).message == "The usage limit has been reached."


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("11.054s", 11.054), ("20ms", 0.02), ("6m0s", 360.0), ("a while", None)],
)
def test_a_wait_that_stands_only_in_the_message_is_honoured(words: str, seconds: float | None) -> None:
    body = {"error": {"code": "rate_limit_exceeded", "message": f"Rate limit reached. Please try again in {words}."}}
    assert classify_status(429, body).retry_after == seconds
    assert classify_status(429, body, {"retry-after": "7"}).retry_after == 7.0
    assert classify_status(500, {"error": {"message": f"Please try again in {words}."}}).retry_after is None


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
