"""Each of the vendor's rules refuses a request over a real socket with the vendor's status and wording."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.lab import Lab, Say, Think

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}


def call(call_id: str = "toolu_01") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "read_file", "input": {}}


def result(call_id: str = "toolu_01", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok", **more}


def text(value: str, ttl: str | None = None) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": value}
    return {**block, "cache_control": {"type": "ephemeral", "ttl": ttl}} if ttl else block


def body(*messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    wire = [{"role": role, "content": content} for role, content in messages or [("user", "hi")]]
    return {"model": "claude-sonnet-5", "max_tokens": 100, "stream": True, "messages": wire, **more}


async def post(
    lab: Lab, content: Any, *, headers: dict[str, str] | None = None, path: str = "/v1/messages"
) -> httpx2.Response:
    async with httpx2.AsyncClient(verify=False, base_url=lab.base_url) as client:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        return await client.post(path, content=raw, headers=HEADERS if headers is None else headers)


USER = ("user", "hi")
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "a call without its result",
        body(USER, ("assistant", [call()]), ("user", "and?")),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01.",
    ),
    (
        "a call at the end",
        body(USER, ("assistant", [call()])),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01.",
    ),
    (
        "text before the result",
        body(USER, ("assistant", [call()]), ("user", [text("well"), result()])),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01.",
    ),
    (
        "a result without its call",
        body(("user", [result("toolu_09")])),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_09.",
    ),
    (
        "two results for one call",
        body(USER, ("assistant", [call()]), ("user", [result(), result()])),
        "messages.2.content.1: each tool_use must have a single result.",
    ),
    (
        "an id used twice",
        body(USER, ("assistant", [call(), call()]), ("user", [result()])),
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    (
        "a signature nobody made",
        body(USER, ("assistant", [{"type": "thinking", "thinking": "hm", "signature": "AAAA"}])),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    (
        "a mark on empty text",
        body(("user", [text("", "5m")])),
        "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
    ),
    (
        "a mark on thinking",
        body(
            USER,
            ("assistant", [{"type": "thinking", "thinking": "hm", "signature": "A", "cache_control": {"ttl": "5m"}}]),
        ),
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    (
        "five marks",
        body(("user", [text(c, "5m") for c in "abcde"])),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    (
        "an hour after five minutes",
        body(("user", [text("a", "1h")]), system=[text("s", "5m")]),
        "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
    ),
    ("empty text", body(("user", [text("")])), "messages: text content blocks must be non-empty"),
    ("blank text", body(("user", [text(" \n")])), "messages: text content blocks must contain non-whitespace text"),
    ("empty content", body(("user", [])), "messages.0: all messages must have non-empty content"),
    ("no messages", {**body(), "messages": []}, "messages: at least one message is required"),
    ("the assistant first", body(("assistant", "hi")), 'messages: first message must use the "user" role'),
    ("a third role", body(USER, ("tool", "hi")), "messages.1.role: Input should be 'user' or 'assistant'"),
    (
        "an empty error result",
        body(USER, ("assistant", [call()]), ("user", [result(is_error=True, content=[])])),
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
    ),
    (
        "an input that is no object",
        body(USER, ("assistant", [{**call(), "input": []}]), ("user", [result()])),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    (
        "too much output",
        body(max_tokens=64_001),
        "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for this model",
    ),
    (
        "thinking beyond the output",
        body(max_tokens=2_000, thinking={"type": "enabled", "budget_tokens": 2_000}),
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ),
    (
        "too little thinking",
        body(max_tokens=2_000, thinking={"type": "enabled", "budget_tokens": 100}),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    (
        "a bad tool name",
        body(tools=[{"name": "a b", "input_schema": {}}]),
        "tools.0.custom.name: String should match pattern",
    ),
    ("a tool twice", body(tools=[{"name": "a"}, {"name": "a"}]), "tools: Tool names must be unique."),
    (
        "a choice of no tools",
        body(tool_choice={"type": "none"}),
        "tool_choice: may only be specified while providing tools",
    ),
    ("no model", {"max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}, "model: Field required"),
]


@pytest.mark.parametrize(("request_body", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
async def test_refuses_an_invalid_request_in_the_vendors_words(request_body: dict[str, Any], message: str) -> None:
    async with Lab(script=[Say("never")]) as lab:
        answer = await post(lab, request_body)
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["type"] == "invalid_request_error"
        assert error["message"].startswith(message)
        assert lab.remaining == 1


async def test_refuses_a_prompt_over_the_window_with_both_figures() -> None:
    async with Lab(window=1_000) as lab:
        long = await post(lab, body(("user", "x" * 8_000)))
        assert long.json()["error"]["message"] == "prompt is too long: 2004 tokens > 1000 maximum"
        both = await post(lab, body(("user", "x" * 3_600), max_tokens=200))
        assert both.json()["error"]["message"].startswith(
            "input length and `max_tokens` exceed context limit: 904 + 200 > 1000"
        )


@pytest.mark.parametrize(
    ("headers", "status", "message"),
    [
        ({"anthropic-version": "2023-06-01"}, 401, "x-api-key header is required"),
        ({**HEADERS, "x-api-key": "wrong"}, 401, "invalid x-api-key"),
        ({"x-api-key": "right"}, 400, "anthropic-version: header is required"),
    ],
)
async def test_refuses_missing_headers(headers: dict[str, str], status: int, message: str) -> None:
    async with Lab(api_key="right") as lab:
        answer = await post(lab, body(), headers=headers)
        assert (answer.status_code, answer.json()["error"]["message"]) == (status, message)


async def test_refuses_what_is_not_there() -> None:
    async with Lab(models=("claude-opus-5",)) as lab:
        model = await post(lab, body())
        path = await post(lab, body(), path="/v1/complete")
    assert (model.status_code, model.json()["error"]["message"]) == (404, "model: claude-sonnet-5")
    assert path.status_code == 404


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"model": ', "The request body is not valid JSON"),
        (rb'{"model": "\ud83d"}', "The request body is not valid JSON: no low surrogate in string: line 1 column"),
        (b"[]", "The request body must be a JSON object."),
    ],
)
async def test_refuses_a_body_that_is_no_json_object(raw: bytes, message: str) -> None:
    async with Lab() as lab:
        answer = await post(lab, raw)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith(message)


async def test_refuses_a_body_over_the_size_limit() -> None:
    async with Lab() as lab:
        answer = await post(lab, b" " * (32 * 1024 * 1024 + 1))
        assert (answer.status_code, answer.json()["error"]["type"]) == (413, "request_too_large")


async def test_a_bound_signature_holds_only_after_its_own_conversation() -> None:
    def thought(stream: str) -> dict[str, Any]:
        events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
        signature = next(e["delta"]["signature"] for e in events if "signature" in e.get("delta", {}))
        return {"type": "thinking", "thinking": "hm", "signature": signature}

    async def replay(lab: Lab, first: str) -> int:
        block = thought((await post(lab, body())).text)
        answer = await post(lab, body(("user", first), ("assistant", [block, text("so")]), ("user", "on")))
        return answer.status_code

    async with Lab(script=[(Think("hm"), Say("so"))], bound_thinking=True) as lab:
        assert await replay(lab, "hi") == 200
    async with Lab(script=[(Think("hm"), Say("so"))], bound_thinking=True) as lab:
        assert await replay(lab, "something else") == 400
    async with Lab(script=[(Think("hm"), Say("so"))]) as lab:
        assert await replay(lab, "something else") == 200


async def test_counts_tokens_as_it_bills_them() -> None:
    conversation = body(USER, ("assistant", [call()]), ("user", [result(content=[text("x" * 40)])]), system="be brief")
    async with Lab() as lab:
        counted = await post(lab, conversation, path="/v1/messages/count_tokens")
        billed = await post(lab, conversation)
    start = json.loads(
        next(line for line in billed.text.splitlines() if "message_start" in line and "data" in line)[6:]
    )
    assert counted.json() == {"input_tokens": start["message"]["usage"]["input_tokens"]}
    assert counted.json()["input_tokens"] > 40 // 4
    assert len(lab.counted) == len(lab.requests) == 1


@pytest.mark.parametrize(
    "valid",
    [
        body(USER, ("assistant", [text("a"), call("a"), call("b")]), ("user", [result("b"), result("a"), text("on")])),
        body(USER, ("user", "again")),
        body(USER, ("assistant", [])),
        body(("user", [text("a", "5m")]), system=[text("s", "1h")], tools=[{"name": "t", "input_schema": {}}]),
    ],
)
async def test_accepts_what_the_vendor_accepts(valid: dict[str, Any]) -> None:
    async with Lab() as lab:
        assert (await post(lab, valid)).status_code == 200
