"""Each rule of the Chat Completions wire refuses a request over a real socket, in its vendor's words."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.lab import Call, Lab, Say, Think

HEADERS = {"authorization": "Bearer k"}
MODELS = {"openai": "gpt-6-sol", "glm": "glm-5.3", "openrouter": "anthropic/claude-sonnet-5", "ollama": "qwen3"}
USER = {"role": "user", "content": "hi"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def call(call_id: str = "c1", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}


def asks(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def result(call_id: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


def body(*messages: Any, vendor: str = "openai", **more: Any) -> dict[str, Any]:
    return {"model": MODELS[vendor], "stream": True, "messages": list(messages) or [USER], **more}


async def post(
    lab: Lab, content: Any, vendor: str = "openai", headers: dict[str, str] | None = None
) -> httpx2.Response:
    async with httpx2.AsyncClient(verify=False) as client:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        return await client.post(
            f"{lab.chat_url(vendor)}/chat/completions", content=raw, headers=HEADERS if headers is None else headers
        )


def chunks(answer: httpx2.Response) -> list[dict[str, Any]]:
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def error(answer: httpx2.Response) -> tuple[int, str | None, str | None, str]:
    found = answer.json()["error"]
    assert found["type"] == "invalid_request_error"
    return answer.status_code, found["param"], found["code"], found["message"]


REFUSED: list[tuple[dict[str, Any], str | None, str | None, str]] = [
    ({"messages": [USER]}, "model", "missing_required_parameter", "Missing required parameter: 'model'."),
    ({"model": "gpt-6-sol"}, "messages", "missing_required_parameter", "Missing required parameter: 'messages'."),
    ({**body(), "messages": []}, "messages", "empty_array", "Invalid 'messages': empty array."),
    (
        body(max_tokens=5),
        "max_tokens",
        "unsupported_parameter",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    (body(thinking={"type": "enabled"}), "thinking", "unknown_parameter", "Unknown parameter: 'thinking'."),
    (
        body(max_completion_tokens=64_001),
        "max_tokens",
        "invalid_value",
        "max_tokens is too large: 64001. This model supports at most 64000 completion tokens, whereas you provided",
    ),
    (body(max_completion_tokens=0), "max_tokens", "integer_below_min_value", "Invalid 'max_tokens': integer below"),
    (body(tools=[]), "tools", "empty_array", "Invalid 'tools': empty array."),
    (body(tools=[{"name": "a"}]), "tools[0].type", "invalid_value", "Invalid value: 'None'."),
    (body(tools=[{"type": "function", "name": "a"}]), "tools[0].function", "missing_required_parameter", "Missing"),
    (body(tools=[tool("a b")]), "tools[0].function.name", "invalid_value", "Invalid 'tools[0].function.name': string"),
    (body(tools=[tool("a"), tool("a")]), "tools", None, "tools: Tool names must be unique."),
    (
        body(tools=[tool(f"t{i}") for i in range(129)]),
        "tools",
        "array_above_max_length",
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129",
    ),
    (body(tool_choice="none"), "tool_choice", None, "Invalid value for 'tool_choice': 'tool_choice' is only allowed"),
    (body({"role": "odd", "content": "x"}), "messages[0].role", "invalid_value", "Invalid value: 'odd'."),
    (body({"role": "user", "content": None}), "messages.[0].content", None, "Invalid value for 'content': expected a"),
    (body(USER, {"role": "assistant", "content": None}), "messages.[1].content", None, "Invalid value for 'content'"),
    (body({"role": "user", "content": []}), "messages[0].content", "empty_array", "Invalid 'messages[0].content'"),
    (body({"role": "user", "content": [{"type": "odd"}]}), "messages[0].content[0].type", "invalid_value", "Invalid"),
    (body(USER, asks()), "messages[1].tool_calls", "empty_array", "Invalid 'messages[1].tool_calls': empty array."),
    (
        body(USER, asks({"type": "function"})),
        "messages[1].tool_calls[0].id",
        "missing_required_parameter",
        "Missing required parameter: 'messages[1].tool_calls[0].id'.",
    ),
    (
        body(USER, asks({**call(), "function": {"name": "look"}})),
        "messages[1].tool_calls[0].function.arguments",
        "missing_required_parameter",
        "",
    ),
    (body(USER, asks(call(arguments={}))), "messages[1].tool_calls[0].function.arguments", "invalid_type", "Invalid"),
    (
        body(USER, asks(call()), {**result(), "content": [IMAGE]}),
        "messages[2]",
        "invalid_value",
        "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role",
    ),
    (
        body(USER, asks(call()), {"role": "tool", "content": "x"}),
        "messages[2].tool_call_id",
        "missing_required_parameter",
        "",
    ),
    (
        body(USER, result()),
        "messages.[1].role",
        None,
        "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
    ),
    (
        body(USER, asks(call()), USER, result()),
        "messages",
        None,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    ),
    (body(USER, asks(call(), call("c2")), result()), "messages", None, "An assistant message with 'tool_calls' must"),
    (
        body(USER, asks(call()), result(), result()),
        "messages",
        None,
        "Duplicate value for 'tool_call_id' of 'c1' in message[3]",
    ),
    (body(stream=False), "stream", None, "This server only streams."),
]


@pytest.mark.parametrize(("request_body", "param", "code", "message"), REFUSED)
async def test_refuses_an_invalid_request_in_the_vendors_words(
    request_body: dict[str, Any], param: str | None, code: str | None, message: str
) -> None:
    async with Lab(script=[Say("never")]) as lab:
        status, *found, text = error(await post(lab, request_body))
        assert (status, *found) == (400, param, code)
        assert text.startswith(message)
        assert lab.remaining == 1


async def test_refuses_a_model_and_a_key_it_does_not_know() -> None:
    async with Lab(api_key="right") as lab:
        wrong, none = await post(lab, body()), await post(lab, body(), headers={})
        right = {"authorization": "Bearer right"}
        model = await post(lab, {**body(), "model": "x"}, headers=right)
        broken = await post(lab, b"{", headers=right)
    assert error(wrong)[:3] == (401, None, "invalid_api_key")
    assert error(none)[0] == 401
    assert error(model)[:3] == (404, None, "model_not_found")
    assert error(broken)[3].startswith("We could not parse the JSON body")


async def test_refuses_a_prompt_over_the_window_with_both_figures() -> None:
    async with Lab(window=1_000) as lab:
        long = error(await post(lab, body({"role": "user", "content": "x" * 7_970})))
        both = error(await post(lab, body({"role": "user", "content": "x" * 3_570}, max_completion_tokens=200)))
    assert long[:3] == both[:3] == (400, "messages", "context_length_exceeded")
    assert "maximum context length is 1000 tokens. However, your messages resulted in 2000 tokens." in long[3]
    assert "However, you requested 1100 tokens (900 in the messages, 200 in the completion)." in both[3]


@pytest.mark.parametrize(
    "valid",
    [
        body(USER, asks(call(), call("c2")), result("c2"), result(), USER),
        body({"role": "developer", "content": "be brief"}, USER, {"role": "assistant", "content": "yes"}),
        body({"role": "user", "content": [{"type": "text", "text": "look"}, IMAGE]}, tools=[tool("look")]),
        body(USER, asks(call(arguments="{broken")), result()),
    ],
)
async def test_accepts_what_the_vendor_accepts(valid: dict[str, Any]) -> None:
    async with Lab() as lab:
        assert (await post(lab, valid)).status_code == 200


# -- other vendors ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("request_body", "headers", "status", "code"),
    [
        (body(vendor="glm"), {}, 401, "1001"),
        (body(vendor="glm"), {"authorization": "Bearer wrong"}, 401, "1002"),
        (body(vendor="openai"), HEADERS, 404, "1211"),
        (body({"role": "user", "content": "x" * 9_000}, vendor="glm"), HEADERS, 400, "1261"),
        (body(USER, result(), vendor="glm"), HEADERS, 400, "1214"),
        (body(tools=[tool("a"), tool("a")], vendor="glm"), HEADERS, 400, "1210"),
    ],
)
async def test_glm_refuses_by_number(request_body: Any, headers: dict[str, str], status: int, code: str) -> None:
    async with Lab(window=1_000, api_key="k") as lab:
        answer = await post(lab, request_body, "glm", headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_a_router_names_its_own_limit_and_passes_on_what_the_models_vendor_says() -> None:
    async with Lab(window=1_000, script=[(Think("생각"), Call("look"))]) as lab:
        model = (await post(lab, {**body(), "model": "nobody"}, "openrouter")).json()["error"]
        long = await post(lab, body({"role": "user", "content": "x" * 7_970}, vendor="openrouter"), "openrouter")
        streamed = chunks(await post(lab, body(vendor="openrouter"), "openrouter"))
        deltas = [chunk["choices"][0]["delta"] for chunk in streamed if chunk["choices"]]
        details = [detail for delta in deltas for detail in delta.get("reasoning_details", ())]
        call_id = next(c["id"] for delta in deltas for c in delta.get("tool_calls", ()) if "id" in c)

        async def replayed(*sent: dict[str, Any]) -> httpx2.Response:
            history = (
                USER,
                asks(call(call_id), **({"reasoning_details": list(sent)} if sent else {})),
                result(call_id),
            )
            return await post(lab, body(*history, vendor="openrouter"), "openrouter")

        whole, missing = await replayed(*details), await replayed()
        joined = await replayed({**details[-1], "text": "생각"})
        changed = await replayed({**details[-1], "text": "생각!"})
    assert model == {"message": "The requested model is not a valid model ID", "code": 404}
    assert long.json()["error"]["message"].startswith(
        "This endpoint's maximum context length is 1000 tokens. However, you requested about 2000 tokens "
        "(2000 of text input, 0 in the output)."
    )
    assert (whole.status_code, joined.status_code) == (200, 200)
    for answer, word in ((missing, "is missing its reasoning"), (changed, "Invalid `signature`")):
        found = answer.json()["error"]
        assert (answer.status_code, found["message"]) == (400, "Provider returned error")
        assert word in json.loads(found["metadata"]["raw"])["error"]["message"]


async def test_sealed_details_of_a_router_come_back_as_they_were() -> None:
    request = {**body(vendor="openrouter"), "model": "openai/gpt-6-sol"}
    async with Lab(script=[(Think("hm"), Say("so"))]) as lab:
        deltas = [c["choices"][0]["delta"] for c in chunks(await post(lab, request, "openrouter")) if c["choices"]]
        details = [detail for delta in deltas for detail in delta.get("reasoning_details", ())]
        said = {"role": "assistant", "content": "so", "reasoning_details": details}
        good = await post(lab, {**request, "messages": [USER, said, USER]}, "openrouter")
        details[-1] = {**details[-1], "data": details[-1]["data"][:-4]}
        bad = await post(lab, {**request, "messages": [USER, said, USER]}, "openrouter")
    assert [d["type"] for d in details] == ["reasoning.summary", "reasoning.encrypted"]
    assert (good.status_code, bad.status_code) == (200, 400)


async def test_a_local_server_cuts_what_does_not_fit_and_says_nothing() -> None:
    long = {"role": "user", "content": "x" * 7_000}
    history = ({"role": "system", "content": "be brief"}, long, {"role": "assistant", "content": "yes"}, USER)
    async with Lab(window=1_000) as lab:
        answer = await post(
            lab, body(*history, vendor="ollama", stream_options={"include_usage": True}), "ollama", headers={}
        )
    usage = chunks(answer)[-1]["usage"]
    assert answer.status_code == 200
    assert 0 < usage["prompt_tokens"] < 100
    assert "prompt_tokens_details" not in usage


@pytest.mark.parametrize("arguments", ["{broken", "[1]", ""])
async def test_a_local_server_reads_arguments_again(arguments: str) -> None:
    async with Lab() as lab:
        answer = await post(lab, body(USER, asks(call(arguments=arguments)), result(), vendor="ollama"), "ollama")
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "invalid tool call arguments")
