"""What OpenAI's two wires have in common: error bodies, keys, the model, and the rules for tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tests.lab.http import Whole
from tests.lab.playing import json_answer
from tests.lab.rules import Inquiry, Limits, Refused, bearer, parsed
from tests.lab.scripts import Fail

MAX_TOOLS = 128
MODEL_NAME = re.compile(r"gpt-|o\d|chat-|codex-")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_VENDORS_WORDS: Mapping[str, tuple[str, str | None]] = {
    "rate_limit_error": ("tokens", "rate_limit_exceeded"),
    "overloaded_error": ("service_unavailable_error", "server_is_overloaded"),
    "api_error": ("server_error", None),
    "authentication_error": ("invalid_request_error", "invalid_api_key"),
    "billing_error": ("insufficient_quota", "insufficient_quota"),
    "permission_error": ("invalid_request_error", "unsupported_country_region_territory"),
    "not_found_error": ("invalid_request_error", "model_not_found"),
}
"""A script's error type as this vendor's (type, code)."""


def invalid(message: str, param: str | None = None, code: str | None = None, status: int = 400) -> Refused:
    """A refusal of the vendor's most common type."""
    return Refused(status, "invalid_request_error", message, param, code)


def missing(param: str) -> Refused:
    """A required parameter that is not there."""
    return invalid(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")


def not_among(value: object, supported: Collection[str], param: str) -> Refused:
    """A value that is none of a list."""
    *some, last = [f"'{word}'" for word in sorted(supported)]
    return invalid(
        f"Invalid value: '{value}'. Supported values are: {', '.join(some)}, and {last}.", param, "invalid_value"
    )


def unsupported(param: str, instead: str = "") -> Refused:
    """A parameter that this model does not take."""
    hint = f" Use '{instead}' instead." if instead else ""
    message = f"Unsupported parameter: '{param}' is not supported with this model.{hint}"
    return invalid(message, param, "unsupported_parameter")


def too_short(param: str) -> Refused:
    """An array without elements where one is needed."""
    message = (
        f"Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    )
    return invalid(message, param, "empty_array")


def parse_body(raw: bytes) -> dict[str, Any] | Refused:
    """The request's JSON object, or the refusal of bytes that are none."""
    try:
        body = parsed(raw)
    except ValueError:
        body = None
    if isinstance(body, dict):
        return body
    return invalid(
        "We could not parse the JSON body of your request. The API expects a JSON payload, but what was sent was not "
        "valid JSON."
    )


def key_given(inquiry: Inquiry) -> Refused | None:
    """A bearer token, and the right one."""
    key = bearer(inquiry.headers)
    if not key:
        message = "You didn't provide an API key. You need to provide your API key in an Authorization header."
        return invalid(message, status=401)
    if inquiry.limits.api_key is not None and key != inquiry.limits.api_key:
        shown = f"{key[:8]}***{key[-4:]}"
        return invalid(f"Incorrect API key provided: {shown}.", None, "invalid_api_key", 401)
    return None


def knows(limits: Limits, model: str) -> bool:
    """Whether the lab serves ``model`` on these wires."""
    return model in limits.models if limits.models else bool(MODEL_NAME.match(model))


def fields_known(body: Mapping[str, Any], known: Collection[str]) -> Refused | None:
    """No parameter that does not exist."""
    name = next((name for name in body if name not in known), None)
    return None if name is None else invalid(f"Unknown parameter: '{name}'.", name, "unknown_parameter")


def names_valid(names: Sequence[tuple[str, Any]]) -> Refused | None:
    """Tool names of the allowed form, each once, at most 128. ``names`` are (parameter, name)."""
    if len(names) > MAX_TOOLS:
        return invalid(
            f"Invalid 'tools': array too long. Expected an array with maximum length {MAX_TOOLS}, "
            f"but got an array with length {len(names)} instead.",
            "tools",
            "array_above_max_length",
        )
    seen = set()
    for param, name in names:
        if name is None:
            return missing(param)
        if len(name) > 64:
            return invalid(
                f"Invalid '{param}': string too long. Expected a string with maximum length 64, "
                f"but got a string with length {len(name)} instead.",
                param,
                "string_above_max_length",
            )
        if not re.fullmatch(r"[a-zA-Z0-9_-]+", name):
            return invalid(
                f"Invalid '{param}': string does not match pattern. "
                "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
                param,
                "invalid_value",
            )
        if name in seen:
            return invalid("tools: Tool names must be unique.", "tools")
        seen.add(name)
    return None


def error_body(
    kind: str, message: str, param: str | None = None, code: str | int | None = None, **more: Any
) -> dict[str, Any]:
    """The vendor's error object."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code, **more}}


def refused_answer(refused: Refused) -> Whole:
    """A refusal as an HTTP answer."""
    return json_answer(refused.status, error_body(refused.type, refused.message, refused.param, refused.code))


def vendors_words(kind: str, details: Mapping[str, Any] | None = None) -> tuple[str, str | None]:
    """(type, code) of a script's error type. A type that is not neutral is the vendor's own already."""
    if details and "error_code" in details:
        return kind, str(details["error_code"])
    return _VENDORS_WORDS.get(kind, (kind, None))


def failed_body(fail: Fail) -> dict[str, Any]:
    """The error object of a script's `Fail`."""
    kind, code = vendors_words(fail.type, fail.details)
    more = {name: value for name, value in (fail.details or {}).items() if name != "error_code"}
    return error_body(kind, fail.message, None, code, **more)
