"""The vendor's rules for a Messages request, each with the status and wording it refuses with, in the vendor's order:
headers, body, model, parameters, cache marks, messages, sizes.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.lab.anthropic_edits import edits_valid
from tests.lab.cache import mark_of
from tests.lab.compaction_rules import compactions_valid
from tests.lab.on_demand import compaction_valid, summarisable
from tests.lab.place import Place
from tests.lab.rules import Body, Inquiry, Limits, Refused, Rule, bearer, lone_surrogate, parsed
from tests.lab.tokens import text_blocks

BOUND_MODELS = ("claude-fable-5-1", "claude-opus-5-5")
"""Models whose thinking is bound to what stands before it (RUNTIME.md 3.1)."""


def invalid(message: str) -> Refused:
    """A 400 of the vendor's most common type."""
    return Refused(400, "invalid_request_error", message)


def parse_body(raw: bytes) -> dict[str, Any] | Refused:
    """The request's JSON object, or the refusal of bytes that are none."""
    try:
        body = parsed(raw)
    except ValueError as error:
        return invalid(f"The request body is not valid JSON: {error}")
    if not isinstance(body, dict):
        return invalid("The request body must be a JSON object.")
    at = lone_surrogate(body)
    if at is not None:
        return invalid(f"The request body is not valid JSON: no low surrogate in string: line 1 column {at}")
    return body


def key_given(inquiry: Inquiry) -> Refused | None:
    """A key by ``x-api-key`` or as a bearer token, and the right one."""
    key = inquiry.headers.get("x-api-key") or bearer(inquiry.headers)
    if not key:
        return Refused(401, "authentication_error", "x-api-key header is required")
    if inquiry.limits.api_key is not None and key != inquiry.limits.api_key:
        return Refused(401, "authentication_error", "invalid x-api-key")
    return None


def version_given(inquiry: Inquiry) -> Refused | None:
    """The ``anthropic-version`` header."""
    if "anthropic-version" not in inquiry.headers:
        return invalid("anthropic-version: header is required")
    return None


def fields_given(inquiry: Inquiry) -> Refused | None:
    """The three required fields, a positive output limit, and a list of messages."""
    for name in ("model", "max_tokens", "messages"):
        if name not in inquiry.body:
            return invalid(f"{name}: Field required")
    if inquiry.body["max_tokens"] < 1:
        return invalid("max_tokens: must be greater than or equal to 1")
    if not inquiry.body["messages"]:
        return invalid("messages: at least one message is required")
    return None


def model_known(inquiry: Inquiry) -> Refused | None:
    """A model this lab serves."""
    model = str(inquiry.body["model"])
    known = model in inquiry.limits.models if inquiry.limits.models else model.startswith("claude-")
    return None if known else Refused(404, "not_found_error", f"model: {model}")


def output_limit(inquiry: Inquiry) -> Refused | None:
    """``max_tokens`` within the model's output limit, and above the thinking budget."""
    asked, most = inquiry.body["max_tokens"], inquiry.limits.max_output
    if asked > most:
        return invalid(
            f"max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens for this model"
        )
    thinking = inquiry.body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        if thinking["budget_tokens"] < 1_024:
            return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        if thinking["budget_tokens"] >= asked:
            return invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
    return None


def tools_valid(inquiry: Inquiry) -> Refused | None:
    """Tool names of the allowed form, each once; a choice only among tools that exist."""
    names = [tool["name"] for tool in inquiry.body.get("tools", ())]
    for i, name in enumerate(names):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", name):
            return invalid(f"tools.{i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
    if len(names) != len(set(names)):
        return invalid("tools: Tool names must be unique.")
    if "tool_choice" in inquiry.body and not names:
        return invalid("tool_choice: may only be specified while providing tools")
    return None


def marks_allowed(inquiry: Inquiry) -> Refused | None:
    """At most four marks, none on thinking or empty text, 1-hour ones before 5-minute ones."""
    marked = [(where, block) for where, block in _every_block(inquiry.body) if mark_of(block)]
    for where, block in marked:
        kind = block.get("type")
        if kind in {"thinking", "redacted_thinking"}:
            return invalid(f"{where}.{kind}.cache_control: Extra inputs are not permitted")
        if kind == "text" and not block["text"]:
            return invalid(f"{where}.text: cache_control cannot be set for empty text blocks")
    if len(marked) > 4:
        return invalid(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}.")
    short_seen = False
    for where, block in marked:
        if mark_of(block) == "5m":
            short_seen = True
        elif short_seen:
            return invalid(
                f"{where}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. "
                "Note that blocks are processed in the following order: `tools`, `system`, `messages`."
            )
    return None


def roles_valid(inquiry: Inquiry) -> Refused | None:
    """The first message is the user's, or begins with a compaction; other roles than the two do not exist."""
    messages = inquiry.body["messages"]
    for i, message in enumerate(messages):
        if message["role"] not in {"user", "assistant"}:
            return invalid(f"messages.{i}.role: Input should be 'user' or 'assistant'")
    first = next(iter(text_blocks(messages[0]["content"])), {})
    if messages[0]["role"] != "user" and first.get("type") != "compaction":
        return invalid('messages: first message must use the "user" role')
    return None


def content_filled(inquiry: Inquiry) -> Refused | None:
    """No message without content but a final answer of the assistant, and no text block without text."""
    messages = inquiry.body["messages"]
    for i, message in enumerate(messages):
        final_answer = i == len(messages) - 1 and message["role"] == "assistant"
        if not message["content"] and not final_answer:
            return invalid(
                f"messages.{i}: all messages must have non-empty content "
                "except for the optional final assistant message"
            )
    for where, block in _every_block(inquiry.body):
        if block.get("type") == "text" and not block["text"]:
            return invalid(f"{where.partition('.')[0]}: text content blocks must be non-empty")
        if block.get("type") == "text" and not block["text"].strip():
            return invalid(f"{where.partition('.')[0]}: text content blocks must contain non-whitespace text")
        if block.get("type") == "tool_result" and block.get("is_error") and not block.get("content"):
            return invalid(f"{where}.tool_result: content cannot be empty if `is_error` is true")
        if block.get("type") == "tool_use" and not isinstance(block["input"], dict):
            return invalid(f"{where}.tool_use.input: Input should be a valid dictionary")
    return None


def calls_answered(inquiry: Inquiry) -> Refused | None:
    """Every call has its result at the head of the next message, every result its call, every id is used once."""
    messages = inquiry.body["messages"]
    seen: set[str] = set()
    for i, message in enumerate(messages):
        blocks = text_blocks(message["content"])
        for j, block in enumerate(blocks):
            if block.get("type") == "tool_use":
                if block["id"] in seen:
                    return invalid(f"messages.{i}.content.{j}: `tool_use` ids must be unique")
                seen.add(block["id"])
        refused = _results_fit(i, _calls(messages[i - 1]) if i else [], blocks)
        if refused:
            return refused
    last = len(messages) - 1
    return _unanswered(last, _calls(messages[last]), [])


def _results_fit(i: int, calls: list[str], blocks: list[dict[str, Any]]) -> Refused | None:
    head: list[str] = []
    for j, block in enumerate(blocks):
        if block.get("type") != "tool_result":
            continue
        result_id = block["tool_use_id"]
        if result_id not in calls:
            return invalid(
                f"messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` blocks: {result_id}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if result_id in head:
            return invalid(
                f"messages.{i}.content.{j}: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {result_id}"
            )
        if len(head) == j:
            head.append(result_id)
    return _unanswered(i - 1, calls, head)


def _unanswered(i: int, calls: list[str], results: list[str]) -> Refused | None:
    missing = [call for call in calls if call not in results]
    if not missing:
        return None
    return invalid(
        f"messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(missing)}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _calls(message: Mapping[str, Any]) -> list[str]:
    return [b["id"] for b in text_blocks(message["content"]) if b.get("type") == "tool_use"]


def binds_thinking(limits: Limits, model: Any) -> bool:
    """Whether the thinking of ``model`` is valid only after what it was written after."""
    return limits.bound_thinking or model in BOUND_MODELS


def signatures_valid(inquiry: Inquiry) -> Refused | None:
    """Every thinking block is one this lab's model wrote; where its model binds it, wrote after just these messages."""
    if not any(block.get("type") == "thinking" for _, block in _every_block(inquiry.body)):
        return None
    bound = binds_thinking(inquiry.limits, inquiry.body["model"])
    place = Place(inquiry.secret)
    for i, message in enumerate(inquiry.body["messages"]):
        for j, block in enumerate(text_blocks(message["content"])):
            if block.get("type") == "thinking":
                own, given = place.signatures(block["thinking"]), str(block.get("signature", ""))
                where = f"messages.{i}.content.{j}: Invalid `signature` in `thinking` block"
                if not _equal(own[0].partition(".")[0], given.partition(".")[0]):
                    return invalid(where)
                if bound and not any(_equal(one, given) for one in own):
                    return invalid(f"{where}: the content before the block is not what it was written after")
            place.add(message["role"], block)
    return None


def _equal(right: str, given: str) -> bool:
    return hmac.compare_digest(right.encode(), given.encode())


def prompt_fits(inquiry: Inquiry) -> Refused | None:
    """The prompt, and the prompt with the output asked for, within the window."""
    (size, window), output = inquiry.measure(), inquiry.body["max_tokens"]
    if size > window:
        return _overflow(f"prompt is too long: {size} tokens > {window} maximum")
    if size + output > window:
        return _overflow(
            f"input length and `max_tokens` exceed context limit: {size} + {output} > {window}, "
            "decrease input length or `max_tokens` and try again"
        )
    return None


def _overflow(message: str) -> Refused:
    return replace(invalid(message), overflow=True)


def _every_block(body: Body) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for i, tool in enumerate(body.get("tools", ())):
        yield f"tools.{i}", tool
    for i, part in enumerate(text_blocks(body.get("system", ()))):
        yield f"system.{i}", part
    for i, message in enumerate(body["messages"]):
        for j, block in enumerate(text_blocks(message["content"])):
            yield f"messages.{i}.content.{j}", block


PROMPT_RULES: tuple[Rule, ...] = (
    model_known,
    tools_valid,
    marks_allowed,
    roles_valid,
    content_filled,
    calls_answered,
    signatures_valid,
    edits_valid,
    compactions_valid,
)
RULES: tuple[Rule, ...] = (
    key_given,
    version_given,
    summarisable,
    fields_given,
    output_limit,
    model_known,
    compaction_valid,
    *PROMPT_RULES,
    prompt_fits,
)
COUNT_RULES: tuple[Rule, ...] = (key_given, version_given, *PROMPT_RULES)
"""What a token count checks: the prompt, but neither its size nor the output limit."""
