"""Each rule of the Responses wire, and of the subscription's, refuses a request over a real socket."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.lab import Call, Fail, Lab, Say, ScriptStep, Think

HEADERS = {"authorization": "Bearer k"}
ACCOUNT = {**HEADERS, "chatgpt-account-id": "a"}
INCLUDE = ["reasoning.encrypted_content"]


def user(text: str = "hi") -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "input_text", "text": text}]}


def call(call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}", **more}


def output(call_id: str = "c1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "ok"}


def said(*parts: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": list(parts)}


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": {"type": "object"}}


def body(*items: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-6-sol", "stream": True, "store": False, "input": list(items) or [user()], **more}


def codex(*items: Any, **more: Any) -> dict[str, Any]:
    return body(*items, **{"instructions": "be brief", **more})


def without(name: str, request: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in request.items() if key != name}


async def post(url: str, content: Any, headers: dict[str, str] | None = None) -> httpx2.Response:
    async with httpx2.AsyncClient(verify=False) as client:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        return await client.post(f"{url}/responses", content=raw, headers=HEADERS if headers is None else headers)


def error(answer: httpx2.Response) -> tuple[int, str | None, str | None, str]:
    found = answer.json()["error"]
    assert found["type"] == "invalid_request_error"
    return answer.status_code, found["param"], found["code"], found["message"]


def items(stream: str) -> list[dict[str, Any]]:
    """The finished output items of an answer."""
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
    assert [e["sequence_number"] for e in events] == list(range(len(events)))
    return [e["item"] for e in events if e["type"] == "response.output_item.done"]


REFUSED: list[tuple[dict[str, Any], str | None, str | None, str]] = [
    (without("model", body()), "model", "missing_required_parameter", "Missing required parameter: 'model'."),
    (without("input", body()), "input", "missing_required_parameter", 'One of "input" or "previous_response_id"'),
    (body(max_tokens=5), "max_tokens", "unknown_parameter", "Unknown parameter: 'max_tokens'."),
    (body(model="claude-sonnet-5"), "model", "model_not_found", "The requested model 'claude-sonnet-5' does not"),
    (
        body(previous_response_id="resp_9"),
        "previous_response_id",
        "previous_response_not_found",
        "Previous response with id 'resp_9' not found.",
    ),
    (
        body(max_output_tokens=64_001),
        "max_output_tokens",
        "integer_above_max_value",
        "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 64000, but got 64001",
    ),
    (
        body(max_output_tokens=1),
        "max_output_tokens",
        "integer_below_min_value",
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1",
    ),
    (body(reasoning={"effort": "huge"}), "reasoning.effort", "invalid_value", "Invalid value: 'huge'."),
    (body(truncation="maybe"), "truncation", "invalid_value", "Invalid value: 'maybe'."),
    (body(tools=[{"name": "a"}]), "tools[0].type", "missing_required_parameter", "Missing required parameter"),
    (
        body(tools=[{"type": "function", "function": {"name": "a"}}]),
        "tools[0].name",
        "missing_required_parameter",
        "Missing required parameter: 'tools[0].name'.",
    ),
    (body(tools=[tool("a b")]), "tools[0].name", "invalid_value", "Invalid 'tools[0].name': string does not match"),
    (body(tools=[tool("a" * 65)]), "tools[0].name", "string_above_max_length", "Invalid 'tools[0].name': string too"),
    (body(tools=[tool("a"), tool("a")]), "tools", None, "tools: Tool names must be unique."),
    (
        body(tools=[tool(f"t{i}") for i in range(129)]),
        "tools",
        "array_above_max_length",
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129",
    ),
    (body(tool_choice="required"), "tool_choice", None, "Tool choice 'required' must be specified with 'tools'"),
    (body({"type": "odd"}), "input[0].type", "invalid_value", "Invalid value: 'odd'."),
    (body({"role": "tool", "content": "x"}), "input[0].role", "invalid_value", "Invalid value: 'tool'. Supported"),
    (body({"role": "user"}), "input[0].content", "missing_required_parameter", "Missing required parameter"),
    (body(said(role="user")), "input[0].content", "empty_array", "Invalid 'input[0].content': empty array."),
    (
        body(user(), said({"type": "input_text", "text": "x"})),
        "input[1].content[0].type",
        "invalid_value",
        "Invalid value: 'input_text'. Supported values are: 'output_text', and 'refusal'.",
    ),
    (body(said({"type": "input_text"}, role="user")), "input[0].content[0].text", "missing_required_parameter", ""),
    (
        body(user(), call(id="call_1"), output()),
        "input[1].id",
        "invalid_value",
        "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
    ),
    (body(user(), without("arguments", call()), output()), "input[1].arguments", "missing_required_parameter", ""),
    (body(user(), call(arguments={}), output()), "input[1].arguments", "invalid_type", "Invalid type for"),
    (body(user(), call("c" * 65)), "input[1].call_id", "string_above_max_length", "Invalid 'input[1].call_id'"),
    (body(user(), call()), "input", None, "No tool output found for function call c1."),
    (body(user(), output()), "input", None, "No tool call found for function call output with call_id c1."),
    (body(user(), output(), call()), "input", None, "No tool call found for function call output with call_id c1."),
    (body(user(), call(), output(), output()), "input", None, "Duplicate function_call_output found with call_id c1."),
    (body(user(), call(), call(), output()), "input", None, "Duplicate function_call found with call_id c1."),
    (
        body(user(), call(id="fc_1"), call("c2", id="fc_1"), output(), output("c2")),
        "input",
        None,
        "Duplicate item found with id fc_1.",
    ),
    (
        body(user(), {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABzzz"}, call()),
        "input",
        None,
        "No tool output found",
    ),
    (
        body({"type": "reasoning", "summary": [], "encrypted_content": "gAAAAABzzz"}, said({"type": "output_text"})),
        "input[1].content[0].text",
        "missing_required_parameter",
        "",
    ),
    (
        body({"type": "reasoning", "summary": [], "encrypted_content": "gAAAAABzzz"}),
        None,
        "invalid_encrypted_content",
        "The encrypted content gAAA...Bzzz could not be verified. Reason: Encrypted content could not be decrypted",
    ),
    (
        body(user(), call(id="fc_0007_1r0"), output()),
        "input",
        None,
        "Item 'fc_0007_1r0' of type 'function_call' was provided without its required 'reasoning' item: 'rs_0007_0'.",
    ),
    (body(stream=False), "stream", None, "This server only streams."),
]


@pytest.mark.parametrize(("request_body", "param", "code", "message"), REFUSED)
async def test_refuses_an_invalid_request_in_the_vendors_words(
    request_body: dict[str, Any], param: str | None, code: str | None, message: str
) -> None:
    async with Lab(script=[Say("never")]) as lab:
        status, *found, text = error(await post(lab.openai_url, request_body))
        assert (status, *found) == (400, param, code)
        assert text.startswith(message)
        assert lab.remaining == 1


async def test_refuses_keys_bodies_and_sizes() -> None:
    async with Lab(api_key="right") as lab:
        none = await post(lab.openai_url, body(), {})
        wrong = await post(lab.openai_url, body())
        broken = await post(lab.openai_url, b"[1", {"authorization": "Bearer right"})
        large = await post(lab.openai_url, b" " * (32 * 1024 * 1024 + 1), {"authorization": "Bearer right"})
    assert error(none)[:3] == (401, None, None)
    assert error(wrong)[:3] == (401, None, "invalid_api_key")
    assert error(broken)[3].startswith("We could not parse the JSON body of your request.")
    assert large.status_code == 413


async def test_refuses_a_prompt_over_the_window_unless_it_may_be_shortened() -> None:
    async with Lab(window=1_000) as lab:
        long = await post(lab.openai_url, body(user("x" * 8_000)))
        shortened = await post(lab.openai_url, body(user("x" * 8_000), truncation="auto"))
    assert error(long)[:3] == (400, "input", "context_length_exceeded")
    assert shortened.status_code == 200


async def answered(script: list[ScriptStep], **more: Any) -> tuple[Lab, list[dict[str, Any]]]:
    """A lab that has answered once, still running, and the items it gave."""
    lab = Lab(script=script)
    await lab.start()
    return lab, items((await post(lab.openai_url, body(**more))).text)


async def test_sealed_reasoning_is_taken_back_only_as_it_was() -> None:
    lab, (thought, asked) = await answered([(Think("생각"), Call("look", {}))], include=INCLUDE)
    done = output(asked["call_id"])
    sealed = thought["encrypted_content"]
    try:
        whole = await post(lab.openai_url, body(user(), thought, asked, done))
        assert whole.status_code == 200
        bare = await post(lab.openai_url, body(user(), without("id", thought), without("id", asked), done))
        assert bare.status_code == 200
        for changed, reason in (
            ({"encrypted_content": sealed[:-1]}, "could not be decrypted or parsed"),
            ({"encrypted_content": sealed + "A"}, "could not be decrypted or parsed"),
            ({"id": "rs_0009_0"}, "item_id did not match the target item id"),
        ):
            refused = error(await post(lab.openai_url, body(user(), {**thought, **changed}, asked, done)))
            assert refused[:3] == (400, None, "invalid_encrypted_content")
            assert reason in refused[3]
        alone = error(await post(lab.openai_url, body(user(), thought)))
        assert alone[3].endswith("of type 'reasoning' was provided without its required following item.")
        missing = error(await post(lab.openai_url, body(user(), asked, done)))
        assert missing[3].endswith(f"without its required 'reasoning' item: '{thought['id']}'.")
    finally:
        await lab.stop()


async def test_reasoning_that_was_not_asked_for_sealed_cannot_be_sent_back() -> None:
    lab, (thought, asked) = await answered([(Think("hm"), Call("look", {}))])
    try:
        refused = await post(lab.openai_url, body(user(), thought, asked, output(asked["call_id"])))
        assert thought["encrypted_content"] is None
        assert error(refused)[0] == 404
        assert "Items are not persisted when `store` is set to false." in error(refused)[3]
    finally:
        await lab.stop()


async def test_what_opens_an_item_is_not_yet_what_has_to_be_sent_back() -> None:
    async with Lab(script=[(Think("hm"), Say("so"))]) as lab:
        streamed = (await post(lab.openai_url, body(include=INCLUDE))).text
    events = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: ")]
    added, done = [e["item"] for e in events if e.get("output_index") == 0 and "item" in e]
    assert added["encrypted_content"] != done["encrypted_content"]


# -- the subscription -------------------------------------------------------------------------------------------------
TERSE: list[tuple[dict[str, Any], str]] = [
    *(
        (codex(**{name: value}), f"Unsupported parameter: {name}")
        for name, value in {
            "max_output_tokens": 100,
            "temperature": 1,
            "top_p": 1,
            "truncation": "disabled",
            "metadata": {"a": "b"},
            "user": "u",
            "previous_response_id": "resp_1",
            "safety_identifier": "s",
        }.items()
    ),
    (without("instructions", codex()), "Instructions are required"),
    (codex(input="hi"), "Input must be a list"),
    (codex(store=True), "Store must be set to false"),
    (without("store", codex()), "Store must be set to false"),
    (codex(stream=False), "Stream must be set to true"),
    (codex(model="glm-5"), "The 'glm-5' model is not supported when using Codex with a ChatGPT account."),
]


@pytest.mark.parametrize(("request_body", "detail"), TERSE)
async def test_the_subscription_refuses_tersely(request_body: dict[str, Any], detail: str) -> None:
    async with Lab() as lab:
        answer = await post(lab.codex_url, request_body, ACCOUNT)
    assert (answer.status_code, answer.json()) == (400, {"detail": detail})


async def test_the_subscription_wants_a_token_and_its_account() -> None:
    async with Lab(api_key="right") as lab:
        for headers in ({}, HEADERS, {"chatgpt-account-id": "a"}):
            answer = await post(lab.codex_url, codex(), headers)
            assert (answer.status_code, answer.json()) == (401, {"detail": "Unauthorized"})
        old = await post(lab.codex_url, codex(), ACCOUNT)
        assert (old.status_code, old.json()["error"]["code"]) == (401, "token_expired")
        taken = await post(lab.codex_url, codex(), {**ACCOUNT, "authorization": "Bearer right"})
        assert taken.status_code == 200


async def test_the_subscription_checks_the_history_as_strictly() -> None:
    async with Lab() as lab:
        answer = await post(lab.codex_url, codex(user(), call()), ACCOUNT)
    assert error(answer) == (400, "input", None, "No tool output found for function call c1.")


async def test_the_subscription_refuses_a_long_prompt_inside_the_stream() -> None:
    async with Lab(window=1_000, script=[Say("never")]) as lab:
        answer = await post(lab.codex_url, codex(user("x" * 8_000)), ACCOUNT)
        assert lab.remaining == 1
    assert answer.status_code == 200
    (event,) = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert (event["type"], event["response"]["error"]["code"]) == ("response.failed", "context_length_exceeded")


async def test_a_spent_subscription_says_when_it_is_whole_again() -> None:
    details = {"resets_in_seconds": 3_600, "plan_type": "plus"}
    spent = Fail(429, "usage_limit_reached", "The usage limit has been reached", details=details)
    async with Lab(script=[spent]) as lab:
        answer = await post(lab.codex_url, codex(), ACCOUNT)
    assert answer.status_code == 429
    assert answer.json()["error"] == {
        "message": "The usage limit has been reached",
        "type": "usage_limit_reached",
        "resets_in_seconds": 3_600,
        "plan_type": "plus",
    }
