"""The rules for a Chat Completions request, worded as OpenAI does; other vendors' wordings are in `chat_profiles`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.lab.openai_rules import (
    fields_known,
    invalid,
    missing,
    names_valid,
    not_among,
    too_short,
    unsupported,
)
from tests.lab.rules import Body, Inquiry, Refused
from tests.lab.sealing import mac, unseal

_PARAMETERS = """
audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages
metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier
stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options
"""
PARAMETERS = frozenset(_PARAMETERS.split())
ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
TIED = re.compile(r"call_\d+_\d+r")
"""Ids of calls that came with reasoning, which has to come back with them."""
UPSTREAM = "upstream"
"""The type of a refusal by the model's own vendor behind a router."""


def fields_given(inquiry: Inquiry) -> Refused | None:
    """A model and messages."""
    for name in ("model", "messages"):
        if name not in inquiry.body:
            return missing(name)
    return None if inquiry.body["messages"] else too_short("messages")


def parameters_known(inquiry: Inquiry) -> Refused | None:
    """No parameter that does not exist, and the one for the output that reasoning models take."""
    if "max_tokens" in inquiry.body:
        return unsupported("max_tokens", "max_completion_tokens")
    return fields_known(inquiry.body, PARAMETERS)


def output_limit(inquiry: Inquiry) -> Refused | None:
    """An output limit that the model has."""
    asked, most = output_of(inquiry.body), inquiry.limits.max_output
    if asked is None or 1 <= asked <= most:
        return None
    if asked < 1:
        message = f"Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got {asked} instead."
        return invalid(message, "max_tokens", "integer_below_min_value")
    message = (
        f"max_tokens is too large: {asked}. "
        f"This model supports at most {most} completion tokens, whereas you provided {asked}."
    )
    return invalid(message, "max_tokens", "invalid_value")


def tools_valid(inquiry: Inquiry) -> Refused | None:
    """Functions with names as `names_valid` wants them; a choice only among tools that exist."""
    tools = inquiry.body.get("tools")
    if tools == []:
        return too_short("tools")
    for i, tool in enumerate(tools or ()):
        if tool.get("type") != "function":
            return not_among(tool.get("type"), ("custom", "function"), f"tools[{i}].type")
        if "function" not in tool:
            return missing(f"tools[{i}].function")
    named = [(f"tools[{i}].function.name", t["function"].get("name")) for i, t in enumerate(tools or ())]
    if refused := names_valid(named):
        return refused
    if "tool_choice" in inquiry.body and not tools:
        message = "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
        return invalid(message, "tool_choice")
    return None


def messages_valid(inquiry: Inquiry) -> Refused | None:
    """Messages of known roles, each with the content its role needs."""
    for i, message in enumerate(inquiry.body["messages"]):
        where, role = f"messages[{i}]", message.get("role")
        if role not in ROLES:
            return not_among(role, ROLES, f"{where}.role")
        calls = message.get("tool_calls")
        if calls == []:
            return too_short(f"{where}.tool_calls")
        content = message.get("content")
        if content is None and not (role == "assistant" and calls):
            return invalid("Invalid value for 'content': expected a string, got null.", f"messages.[{i}].content")
        if content == []:
            return too_short(f"{where}.content")
        refused = _parts_valid(where, role, content) or _calls_valid(where, calls or ())
        if refused:
            return refused
        if role == "tool" and "tool_call_id" not in message:
            return missing(f"{where}.tool_call_id")
    return None


def _parts_valid(where: str, role: str, content: object) -> Refused | None:
    supported = ("file", "image_url", "input_audio", "text") if role == "user" else ("refusal", "text")
    for j, part in enumerate(content if isinstance(content, list) else ()):
        if part.get("type") == "image_url" and role != "user":
            return invalid(
                f"Invalid '{where}'. Image URLs are only allowed for messages with role 'user', "
                f"but this message with role '{role}' contains an image URL.",
                where,
                "invalid_value",
            )
        if part.get("type") not in supported:
            return not_among(part.get("type"), supported, f"{where}.content[{j}].type")
    return None


def _calls_valid(where: str, calls: Sequence[Mapping[str, Any]]) -> Refused | None:
    for j, call in enumerate(calls):
        at = f"{where}.tool_calls[{j}]"
        for name in ("id", "type", "function"):
            if name not in call:
                return missing(f"{at}.{name}")
        for name in ("name", "arguments"):
            if name not in call["function"]:
                return missing(f"{at}.function.{name}")
        if not isinstance(call["function"]["arguments"], str):
            message = f"Invalid type for '{at}.function.arguments': expected a string, but got an object instead."
            return invalid(message, f"{at}.function.arguments", "invalid_type")
    return None


def calls_answered(inquiry: Inquiry) -> Refused | None:
    """The results of a message's calls come right after it, one a call, and nowhere else."""
    waiting: list[str] = []
    answered: set[str] = set()
    for i, message in enumerate(inquiry.body["messages"]):
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            if call_id in answered:
                return invalid(f"Duplicate value for 'tool_call_id' of '{call_id}' in message[{i}]", "messages")
            if call_id not in waiting:
                message = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                return invalid(f"Invalid parameter: {message}", f"messages.[{i}].role")
            waiting.remove(call_id)
            answered.add(call_id)
            continue
        if waiting:
            break
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        answered = set()
    if not waiting:
        return None
    return invalid(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(waiting)}",
        "messages",
    )


def arguments_valid(inquiry: Inquiry) -> Refused | None:
    """Arguments that are a JSON object: some local servers read them again."""
    for message in inquiry.body["messages"]:
        for call in message.get("tool_calls") or ():
            try:
                arguments = json.loads(call["function"]["arguments"])
            except ValueError:
                arguments = None
            if not isinstance(arguments, dict):
                return invalid("invalid tool call arguments")
    return None


def reasoning_kept(inquiry: Inquiry) -> Refused | None:
    """Reasoning details come back as they were written, and with the calls they led to."""
    for i, message in enumerate(inquiry.body["messages"]):
        details = merged(message.get("reasoning_details") or ())
        for detail in details:
            if not _written(inquiry.secret, detail):
                return Refused(400, UPSTREAM, f"messages.{i}.content.0: Invalid `signature` in `thinking` block")
        tied = [call["id"] for call in message.get("tool_calls") or () if TIED.fullmatch(call["id"])]
        if tied and not details:
            return Refused(400, UPSTREAM, f"Function call {tied[0]} is missing its reasoning.")
    return None


def merged(details: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Details as whole blocks: the pieces a stream gave them in may come back one by one or joined."""
    whole: dict[tuple[Any, Any], dict[str, Any]] = {}
    for detail in details:
        block = whole.setdefault((detail.get("index"), detail.get("type")), {})
        for name, value in detail.items():
            joins = name in {"text", "summary"} and name in block
            block[name] = block[name] + value if joins else value
    return list(whole.values())


def _written(secret: bytes, detail: Mapping[str, Any]) -> bool:
    if detail.get("type") == "reasoning.text":
        return bool(detail.get("signature") == mac(secret, str(detail.get("text", ""))))
    if detail.get("type") == "reasoning.encrypted":
        opened = unseal(secret, str(detail.get("data", "")))
        return opened is not None and opened[0] == detail.get("id")
    return detail.get("type") == "reasoning.summary"


def prompt_measured(inquiry: Inquiry) -> Refused | None:
    """Any prompt, for a server that cuts what does not fit: its size goes on record."""
    inquiry.measure()
    return None


def prompt_fits(inquiry: Inquiry) -> Refused | None:
    """The prompt, and the prompt with the output asked for, within the window."""
    (size, window), output = inquiry.measure(), output_of(inquiry.body) or 0
    if size + output <= window:
        return None
    if size > window:
        rest = f"your messages resulted in {size} tokens. Please reduce the length of the messages."
    else:
        rest = (
            f"you requested {size + output} tokens ({size} in the messages, {output} in the completion). "
            "Please reduce the length of the messages or completion."
        )
    message = f"This model's maximum context length is {window} tokens. However, {rest}"
    return replace(invalid(message, "messages", "context_length_exceeded"), overflow=True)


def output_of(body: Body) -> int | None:
    """The output limit a request asks for, tokens."""
    asked: int | None = body.get("max_completion_tokens", body.get("max_tokens"))
    return asked


def prompt_parts(body: Body) -> Iterator[Any]:
    """The prompt in cache order."""
    yield from body.get("tools") or ()
    yield from body["messages"]
