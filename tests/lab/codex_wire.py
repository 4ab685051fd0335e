"""The Responses wire of a subscription: stricter about what is sent, and terse about what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.lab.http import Response, Send, Whole
from tests.lab.openai_rules import error_body, failed_body, knows, refused_answer
from tests.lab.playing import NextReply, event_stream, failed_with, json_answer
from tests.lab.responses_rules import INPUT_RULES, fields_given, prompt_fits, values_valid
from tests.lab.responses_wire import ResponsesWire
from tests.lab.rules import Inquiry, Refused, Rule, bearer, refusal
from tests.lab.scripts import Fail, StreamError

CODEX = "/backend-api/codex/responses"
ACCOUNT = "chatgpt-account-id"
DETAIL = "detail"
"""The type of a refusal that is one sentence, not an error object."""
NOT_TAKEN = (
    "max_output_tokens",
    "temperature",
    "top_p",
    "truncation",
    "metadata",
    "user",
    "previous_response_id",
    "safety_identifier",
    "context_management",
)


def _detail(message: str, status: int = 400) -> Refused:
    return Refused(status, DETAIL, message)


def signed_in(inquiry: Inquiry) -> Refused | None:
    """A token, the right one, and the account it belongs to."""
    token = bearer(inquiry.headers)
    if not token or not inquiry.headers.get(ACCOUNT):
        return _detail("Unauthorized", 401)
    if inquiry.limits.api_key is not None and token != inquiry.limits.api_key:
        message = "Provided authentication token is expired. Please try signing in again."
        return Refused(401, "authentication_error", message, None, "token_expired")
    return None


def model_offered(inquiry: Inquiry) -> Refused | None:
    """A model that the subscription has."""
    model = str(inquiry.body["model"])
    if knows(inquiry.limits, model):
        return None
    return _detail(f"The '{model}' model is not supported when using Codex with a ChatGPT account.")


def shape_wanted(inquiry: Inquiry) -> Refused | None:
    """Instructions, a list of items, a stream, nothing stored, and none of the parameters that are not taken."""
    body = inquiry.body
    taken = next((name for name in NOT_TAKEN if body.get(name) is not None), None)
    if taken is not None:
        return _detail(f"Unsupported parameter: {taken}")
    if not body.get("instructions"):
        return _detail("Instructions are required")
    if not isinstance(body["input"], list):
        return _detail("Input must be a list")
    if body.get("store") is not False:
        return _detail("Store must be set to false")
    return None if body.get("stream") is True else _detail("Stream must be set to true")


class CodexWire(ResponsesWire):
    """One model behind the subscription's endpoint."""

    rules: tuple[Rule, ...] = (signed_in, fields_given, model_offered, shape_wanted, values_valid, *INPUT_RULES)

    def refused(self, refused: Refused) -> Response:
        """See `ResponsesWire.refused`."""
        if refused.type == DETAIL:
            return json_answer(refused.status, {"detail": refused.message})
        return refused_answer(refused)

    def answered(self, inquiry: Inquiry, body: dict[str, Any], next_reply: NextReply) -> Response:
        """See `ResponsesWire.answered`. A prompt that does not fit is only refused inside the stream."""
        refused = refusal(inquiry, (prompt_fits,))
        if refused is None:
            return super().answered(inquiry, body, next_reply)
        failed = StreamError(type=refused.code or "", message=refused.message)
        return event_stream(iter([Send(self.error_event(failed))]))

    def failed(self, fail: Fail) -> Whole:
        """See `playing.Voice`. A script's type that is no neutral one is the vendor's own, with its details beside."""
        if fail.status in {400, 401, 403, 404}:
            return failed_with(fail, {"detail": fail.message})
        if fail.type.startswith("usage_limit"):
            return failed_with(fail, _without_empty(error_body(fail.type, fail.message, **(fail.details or {}))))
        return failed_with(fail, failed_body(fail))


def _without_empty(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"error": {name: value for name, value in body["error"].items() if value is not None}}
