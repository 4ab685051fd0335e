"""Who speaks Chat Completions, and how each differs: paths, reasoning, usage, limits and error bodies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.lab import chat_rules
from tests.lab.openai_rules import MODEL_NAME, error_body, failed_body, invalid, key_given
from tests.lab.rules import Inquiry, Refused, Rule
from tests.lab.scripts import Fail, StreamError

Reasoning = Literal["hidden", "reasoning_content", "reasoning_details", "reasoning"]
_SAME: tuple[Rule, ...] = (chat_rules.output_limit, chat_rules.tools_valid, chat_rules.messages_valid)


@dataclass(frozen=True)
class Profile:
    """One vendor of the wire. ``reasoning`` is the field its reasoning is streamed in."""

    name: str
    path: str
    """Its base path; completions are below it."""
    reasoning: Reasoning
    rules: tuple[Rule, ...]
    refused: Callable[[Refused], Mapping[str, Any]]
    failed: Callable[[Fail], Mapping[str, Any]]
    error_chunk: Callable[[StreamError], Mapping[str, Any]]
    usage: Literal["asked", "last", "own"]
    """``asked``: a chunk of its own where the request wants it; ``last``: in the chunk that ends the answer; ``own``:
    always a chunk of its own, with the price."""
    refusal: str = ""
    """The finish reason of an answer the vendor withholds; empty says it in words."""
    whole_calls: bool = False
    """Whether a call is streamed in one piece."""
    truncates: bool = False
    """Whether a prompt that does not fit is cut without a word."""
    comment: str = ""
    """A comment line sent before anything else."""


def model_known(pattern: re.Pattern[str]) -> Rule:
    """A model this lab serves under this vendor's names."""

    def rule(inquiry: Inquiry) -> Refused | None:
        model = str(inquiry.body["model"])
        known = model in inquiry.limits.models if inquiry.limits.models else pattern.match(model)
        message = f"The model `{model}` does not exist or you do not have access to it."
        return None if known else invalid(message, None, "model_not_found", 404)

    return rule


# -- OpenAI -----------------------------------------------------------------------------------------------------------
def _plain(refused: Refused) -> Mapping[str, Any]:
    return error_body(refused.type, refused.message, refused.param, refused.code)


def _plain_chunk(error: StreamError) -> Mapping[str, Any]:
    return failed_body(Fail(200, error.type, error.message))


OPENAI = Profile(
    name="openai",
    path="/v1",
    reasoning="hidden",
    rules=(
        key_given,
        chat_rules.fields_given,
        chat_rules.parameters_known,
        model_known(MODEL_NAME),
        *_SAME,
        chat_rules.calls_answered,
        chat_rules.prompt_fits,
    ),
    refused=_plain,
    failed=failed_body,
    error_chunk=_plain_chunk,
    usage="asked",
)

# -- GLM --------------------------------------------------------------------------------------------------------------
_GLM_NAME = re.compile(r"glm-")
_GLM_CODES = {
    "invalid_api_key": ("1002", "Invalid Authentication Token"),
    "model_not_found": ("1211", "Unknown Model, please check the model code."),
    "context_length_exceeded": ("1261", "Prompt exceeds max length"),
}
_GLM_TYPES = {
    "rate_limit_error": "1302",
    "overloaded_error": "1305",
    "api_error": "1234",
    "authentication_error": "1002",
    "billing_error": "1113",
}


def _glm_error(code: str, message: str) -> Mapping[str, Any]:
    return {"error": {"code": code, "message": message}}


def _glm_refused(refused: Refused) -> Mapping[str, Any]:
    if refused.status == 401 and refused.code is None:
        return _glm_error("1001", "Authentication parameter not received in Header")
    if refused.code in _GLM_CODES:
        return _glm_error(*_GLM_CODES[refused.code])
    if (refused.param or "").startswith("messages"):
        return _glm_error("1214", "The messages parameter is illegal. Please check the documentation.")
    return _glm_error("1210", f"Invalid API parameter, please check the documentation. {refused.message}")


GLM = Profile(
    name="glm",
    path="/api/paas/v4",
    reasoning="reasoning_content",
    rules=(
        key_given,
        chat_rules.fields_given,
        model_known(_GLM_NAME),
        *_SAME,
        chat_rules.calls_answered,
        chat_rules.prompt_fits,
    ),
    refused=_glm_refused,
    failed=lambda fail: _glm_error(_GLM_TYPES.get(fail.type, fail.type), fail.message),
    error_chunk=lambda error: _glm_error(_GLM_TYPES.get(error.type, error.type), error.message),
    usage="last",
    refusal="sensitive",
    whole_calls=True,
)

# -- OpenRouter -------------------------------------------------------------------------------------------------------
_ROUTER_NAME = re.compile(r"[a-z0-9.-]+/[a-z0-9.:-]+")


def _router_refused(refused: Refused) -> Mapping[str, Any]:
    if refused.type == chat_rules.UPSTREAM:
        raw = json.dumps({"error": {"type": "invalid_request_error", "message": refused.message}})
        return _router_error("Provider returned error", refused.status, {"raw": raw, "provider_name": "Lab"})
    message = refused.message
    if refused.code == "model_not_found":
        message = "The requested model is not a valid model ID"
    elif refused.code == "context_length_exceeded":
        message = _router_overflow(message)
    return _router_error(message, refused.status)


def _router_overflow(message: str) -> str:
    """The router's own wording, with the figures of ``message``."""
    window, asked, *parts = re.findall(r"\d+", message)
    text, output = parts or (asked, "0")
    return (
        f"This endpoint's maximum context length is {window} tokens. However, you requested about {asked} tokens "
        f"({text} of text input, {output} in the output). Please reduce the length of either one, or use the "
        '"middle-out" transform to compress your prompt automatically.'
    )


def _router_error(message: str, code: int, metadata: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    error: dict[str, Any] = {"message": message, "code": code}
    return {"error": {**error, "metadata": metadata} if metadata else error, "user_id": "user_lab"}


def _router_chunk(error: StreamError) -> Mapping[str, Any]:
    status = {"overloaded_error": 529, "rate_limit_error": 429}.get(error.type, 502)
    choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": "error"}
    return {
        "id": "gen-failed",
        "object": "chat.completion.chunk",
        "provider": "Lab",
        "error": {"code": status, "message": error.message},
        "choices": [choice],
    }


OPENROUTER = Profile(
    name="openrouter",
    path="/api/v1",
    reasoning="reasoning_details",
    rules=(
        key_given,
        chat_rules.fields_given,
        model_known(_ROUTER_NAME),
        *_SAME,
        chat_rules.calls_answered,
        chat_rules.reasoning_kept,
        chat_rules.prompt_fits,
    ),
    refused=_router_refused,
    failed=lambda fail: _router_error(fail.message, fail.status),
    error_chunk=_router_chunk,
    usage="own",
    refusal="content_filter",
    comment="OPENROUTER PROCESSING",
)

# -- a local server ---------------------------------------------------------------------------------------------------
_ANY_NAME = re.compile(r".+")
OLLAMA = Profile(
    name="ollama",
    path="/ollama/v1",
    reasoning="reasoning",
    rules=(
        chat_rules.fields_given,
        model_known(_ANY_NAME),
        *_SAME,
        chat_rules.calls_answered,
        chat_rules.arguments_valid,
        chat_rules.prompt_measured,
    ),
    refused=lambda refused: error_body("invalid_request_error", refused.message),
    failed=lambda fail: error_body("api_error", fail.message),
    error_chunk=_plain_chunk,
    usage="asked",
    refusal="content_filter",
    whole_calls=True,
    truncates=True,
)

PROFILES = (OPENAI, GLM, OPENROUTER, OLLAMA)
