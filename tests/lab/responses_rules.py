"""OpenAI's rules for a Responses request, each with the status and wording it refuses with.

Ids tell what belongs together: those of one answer share a number, and ``fc_0004_2r1`` names the reasoning item
``rs_0004_1`` that has to come before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.lab.openai_rules import (
    EFFORTS,
    fields_known,
    invalid,
    key_given,
    knows,
    missing,
    names_valid,
    not_among,
    too_short,
)
from tests.lab.rules import Inquiry, Refused, Rule
from tests.lab.sealing import unseal
from tests.lab.tokens import items_of

_PARAMETERS = """
access_programs background background_options context_management conversation image include input instructions
max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt
prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream
stream_options temperature text tool_choice tools top_logprobs top_p truncation user
"""
PARAMETERS = frozenset(_PARAMETERS.split())
ITEM_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
ITEM_TYPES = frozenset({*ITEM_PREFIXES, "function_call_output", "item_reference", "compaction", "compaction_trigger"})
ROLES = frozenset({"user", "assistant", "system", "developer"})
PARTS = {"assistant": frozenset({"output_text", "refusal"})}
INPUT_PARTS = frozenset({"input_text", "input_image", "input_file"})
TIED = re.compile(r"(?:fc|msg)_(\d+)_\d+r(\d+)")
SEALED = "reasoning.encrypted_content"


def fields_given(inquiry: Inquiry) -> Refused | None:
    """A model, something to answer, and no parameter that does not exist."""
    body = inquiry.body
    if "model" not in body:
        return missing("model")
    if refused := fields_known(body, PARAMETERS):
        return refused
    if not body.get("input"):
        message = 'One of "input" or "previous_response_id" or "prompt" or "conversation_id" must be provided.'
        return invalid(message, "input", "missing_required_parameter")
    return None


def model_known(inquiry: Inquiry) -> Refused | None:
    """A model this lab serves."""
    model = str(inquiry.body["model"])
    if knows(inquiry.limits, model):
        return None
    return invalid(f"The requested model '{model}' does not exist.", "model", "model_not_found")


def nothing_kept(inquiry: Inquiry) -> Refused | None:
    """No answer of before: this server keeps none, as for organisations that keep no data."""
    previous = inquiry.body.get("previous_response_id")
    if previous is None:
        return None
    message = f"Previous response with id '{previous}' not found."
    return invalid(message, "previous_response_id", "previous_response_not_found")


def values_valid(inquiry: Inquiry) -> Refused | None:
    """An output limit the model has, a known effort and truncation."""
    asked, most = inquiry.body.get("max_output_tokens"), inquiry.limits.max_output
    for holds, bound, word, code in (
        (asked is None or asked >= 16, 16, "below minimum value. Expected a value >=", "integer_below_min_value"),
        (asked is None or asked <= most, most, "above maximum value. Expected a value <=", "integer_above_max_value"),
    ):
        if not holds:
            message = f"Invalid 'max_output_tokens': integer {word} {bound}, but got {asked} instead."
            return invalid(message, "max_output_tokens", code)
    effort = (inquiry.body.get("reasoning") or {}).get("effort")
    if effort is not None and effort not in EFFORTS:
        return not_among(effort, EFFORTS, "reasoning.effort")
    truncation = inquiry.body.get("truncation", "disabled")
    return None if truncation in {"auto", "disabled"} else not_among(truncation, {"auto", "disabled"}, "truncation")


def tools_valid(inquiry: Inquiry) -> Refused | None:
    """Functions with names as `names_valid` wants them; a choice only among tools that exist."""
    tools = inquiry.body.get("tools") or ()
    for i, tool in enumerate(tools):
        if "type" not in tool:
            return missing(f"tools[{i}].type")
    functions = [(i, tool) for i, tool in enumerate(tools) if tool["type"] == "function"]
    if refused := names_valid([(f"tools[{i}].name", tool.get("name")) for i, tool in functions]):
        return refused
    choice = inquiry.body.get("tool_choice", "auto")
    if choice not in ("auto", "none") and not tools:
        return invalid("Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice")
    return None


def items_valid(inquiry: Inquiry) -> Refused | None:
    """Items of known types with the fields, roles and content parts they may have."""
    for i, item in enumerate(items_of(inquiry.body)):
        where = f"input[{i}]"
        kind = item.get("type", "message")
        if kind not in ITEM_TYPES:
            return not_among(kind, ITEM_TYPES, f"{where}.type")
        refused = _id_valid(where, kind, item) or (
            _message_valid(where, item) if kind == "message" else _call_valid(where, kind, item)
        )
        if refused:
            return refused
    return None


def _id_valid(where: str, kind: str, item: Mapping[str, Any]) -> Refused | None:
    prefix, given = ITEM_PREFIXES.get(kind), item.get("id")
    if prefix is None or given is None or str(given).startswith(prefix):
        return None
    message = f"Invalid '{where}.id': '{given}'. Expected an ID that begins with '{prefix}'."
    return invalid(message, f"{where}.id", "invalid_value")


def _message_valid(where: str, item: Mapping[str, Any]) -> Refused | None:
    role = item.get("role")
    if role not in ROLES:
        return not_among(role, ROLES, f"{where}.role")
    content = item.get("content")
    if content is None:
        return missing(f"{where}.content")
    if content == []:
        return too_short(f"{where}.content")
    supported = PARTS.get(str(role), INPUT_PARTS)
    for j, part in enumerate(() if isinstance(content, str) else content):
        if part.get("type") not in supported:
            return not_among(part.get("type"), supported, f"{where}.content[{j}].type")
        wanted = "refusal" if part["type"] == "refusal" else "text"
        if part["type"] in {"input_text", "output_text", "refusal"} and wanted not in part:
            return missing(f"{where}.content[{j}].{wanted}")
    return None


def _call_valid(where: str, kind: str, item: Mapping[str, Any]) -> Refused | None:
    wanted = {
        "function_call": ("call_id", "name", "arguments"),
        "function_call_output": ("call_id", "output"),
        "reasoning": ("summary",),
    }.get(kind, ())
    for name in wanted:
        if name not in item:
            return missing(f"{where}.{name}")
    if len(item.get("call_id", "")) > 64:
        message = (
            f"Invalid '{where}.call_id': string too long. Expected a string with maximum length 64, "
            f"but got a string with length {len(item['call_id'])} instead."
        )
        return invalid(message, f"{where}.call_id", "string_above_max_length")
    if kind == "function_call" and not isinstance(item["arguments"], str):
        message = f"Invalid type for '{where}.arguments': expected a string, but got an object instead."
        return invalid(message, f"{where}.arguments", "invalid_type")
    return None


def items_once(inquiry: Inquiry) -> Refused | None:
    """Every id and every call at most once."""
    seen: set[str] = set()
    for item in items_of(inquiry.body):
        given = item.get("id")
        if given is not None and given in seen:
            return invalid(f"Duplicate item found with id {given}. Remove duplicate items from your input.", "input")
        seen.add(str(given))
    for kind in ("function_call", "function_call_output"):
        called: set[str] = set()
        for item in items_of(inquiry.body):
            if item.get("type") == kind and item["call_id"] in called:
                message = f"Duplicate {kind} found with call_id {item['call_id']}."
                return invalid(f"{message} Remove duplicate items from your input.", "input")
            if item.get("type") == kind:
                called.add(item["call_id"])
    return None


def calls_answered(inquiry: Inquiry) -> Refused | None:
    """Every call has its output after it and every output its call before it."""
    calls: list[str] = []
    answered: set[str] = set()
    for item in items_of(inquiry.body):
        if item.get("type") == "function_call":
            calls.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] not in calls:
                message = f"No tool call found for function call output with call_id {item['call_id']}."
                return invalid(message, "input")
            answered.add(item["call_id"])
    open_call = next((call for call in calls if call not in answered), None)
    return None if open_call is None else invalid(f"No tool output found for function call {open_call}.", "input")


def reasoning_kept(inquiry: Inquiry) -> Refused | None:
    """Reasoning comes back exactly as it was sealed, together with what it led to."""
    items = items_of(inquiry.body)
    for item, following in zip(items, [*items[1:], None], strict=True):
        if item.get("type") != "reasoning":
            continue
        if refused := _unsealed(inquiry, item):
            return refused
        if following is None or not _is_output(following):
            shown = item.get("id", "reasoning")
            message = f"Item '{shown}' of type 'reasoning' was provided without its required following item."
            return invalid(message, "input")
    given = {str(item.get("id")) for item in items}
    for item in items:
        tied = TIED.fullmatch(str(item.get("id", "")))
        if tied and f"rs_{tied[1]}_{tied[2]}" not in given:
            kind = item.get("type", "message")
            wanted = f"rs_{tied[1]}_{tied[2]}"
            message = f"Item '{item['id']}' of type '{kind}' was provided without its required 'reasoning' item"
            return invalid(f"{message}: '{wanted}'.", "input")
    return None


def _unsealed(inquiry: Inquiry, item: Mapping[str, Any]) -> Refused | None:
    sealed = item.get("encrypted_content")
    if not sealed:
        message = (
            f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to false. "
            "Try again with `store` set to true, or remove this item from your input."
        )
        return invalid(message, "input", status=404)
    opened = unseal(inquiry.secret, sealed)
    if opened is None:
        reason = "Encrypted content could not be decrypted or parsed."
    elif item.get("id") not in (None, opened[0]):
        reason = "Encrypted content item_id did not match the target item id."
    else:
        return None
    shown = f"{sealed[:4]}...{sealed[-4:]}"
    message = f"The encrypted content {shown} could not be verified. Reason: {reason}"
    return invalid(message, None, "invalid_encrypted_content")


def _is_output(item: Mapping[str, Any]) -> bool:
    """Whether an item is something a model wrote."""
    kind = item.get("type", "message")
    return bool(item.get("role") == "assistant") if kind == "message" else kind in {"function_call", "reasoning"}


def prompt_fits(inquiry: Inquiry) -> Refused | None:
    """The prompt within the window, unless the server was asked to shorten it."""
    size, window = inquiry.measure()
    if inquiry.body.get("truncation") == "auto" or size <= window:
        return None
    message = "Your input exceeds the context window of this model. Please adjust your input and try again."
    return replace(invalid(message, "input", "context_length_exceeded"), overflow=True)


def prompt_parts(body: Mapping[str, Any]) -> Iterator[Any]:
    """The prompt in cache order, without what a model never sees."""
    yield from body.get("tools") or ()
    if body.get("instructions"):
        yield body["instructions"]
    for item in items_of(body):
        yield {name: value for name, value in item.items() if name not in {"id", "status"}}


INPUT_RULES: tuple[Rule, ...] = (tools_valid, items_valid, items_once, calls_answered, reasoning_kept)
RULES: tuple[Rule, ...] = (
    key_given,
    fields_given,
    model_known,
    nothing_kept,
    values_valid,
    *INPUT_RULES,
    prompt_fits,
)
