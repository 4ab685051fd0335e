"""The lab streams what its script says, misbehaves on request, and keeps a record."""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import Any

import httpx2
import pytest

from tests.lab import (
    Answer,
    Call,
    Cut,
    Drip,
    Events,
    Fail,
    HangUp,
    Lab,
    Malformed,
    Say,
    Stall,
    StreamError,
    Think,
    lab_thread,
)

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
BODY: dict[str, Any] = {
    "model": "claude-sonnet-5",
    "max_tokens": 100,
    "stream": True,
    "messages": [{"role": "user", "content": "hi"}],
}


async def post(lab: Lab, body: dict[str, Any] = BODY) -> httpx2.Response:
    async with httpx2.AsyncClient(verify=False, base_url=lab.base_url, headers=HEADERS) as client:
        return await client.post("/v1/messages", json=body)


def events(answer: httpx2.Response) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]


async def test_answers_follow_the_script_and_then_it_is_done() -> None:
    async with Lab(script=[Say("one"), (Think("hm"), Call("read_file", {"path": "a"}))]) as lab:
        lab.script(lambda body: Say(f"you said {body['messages'][0]['content']}"))
        answers = [events(await post(lab)) for _ in range(4)]
    texts = ["".join(e["delta"].get("text", "") for e in a if e["type"] == "content_block_delta") for a in answers]
    assert texts == ["one", "", "you said hi", "done"]
    assert [a[-2]["delta"]["stop_reason"] for a in answers] == ["end_turn", "tool_use", "end_turn", "end_turn"]
    assert [r.body["max_tokens"] for r in lab.requests] == [100] * 4


async def test_events_come_in_the_vendors_order() -> None:
    async with Lab(script=[Answer((Say("ab", chunk=1),), usage={"output_tokens": 7})]) as lab:
        streamed = events(await post(lab))
    assert [e["type"] for e in streamed] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert streamed[-2]["usage"]["output_tokens"] == 7


async def test_an_http_error_carries_its_headers_and_body() -> None:
    async with Lab(script=[Fail(429, "rate_limit_error", "slow down", {"retry-after": "37"})]) as lab:
        answer = await post(lab)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "37")
    assert answer.json() == {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_cut_breaks_the_body(how: Any) -> None:
    async with Lab(script=[Cut((Say("hello"),), 2, how)]) as lab:
        with pytest.raises(httpx2.TransportError):
            await post(lab)


async def test_a_clean_cut_looks_like_an_end() -> None:
    async with Lab(script=[Cut((Say("hello"),), 2, "clean"), Cut((Say("hello"),), None, "clean")]) as lab:
        short, whole = events(await post(lab)), events(await post(lab))
    assert [e["delta"]["text"] for e in short if e["type"] == "content_block_delta"] == ["h", "e"]
    assert whole[-1]["type"] == "content_block_stop"


async def test_a_hang_up_gives_no_answer_at_all() -> None:
    async with Lab(script=[HangUp()]) as lab:
        with pytest.raises(httpx2.RemoteProtocolError):
            await post(lab)
        assert lab.requests[0].status is None


async def test_a_stall_goes_on_when_it_is_released() -> None:
    stall = Stall((Say("hello"),), after_chars=2)
    async with Lab(script=[stall]) as lab:
        answer = asyncio.create_task(post(lab))
        await stall.reached.wait()
        assert not answer.done()
        stall.release.open()
        assert events(await answer)[-1]["type"] == "message_stop"


async def test_the_record_shows_a_client_that_left() -> None:
    stall = Stall((Say("hello"),))
    async with Lab(script=[stall]) as lab:
        answer = asyncio.create_task(post(lab))
        await stall.reached.wait()
        answer.cancel()
        await asyncio.wait_for(lab.requests[0].disconnected.wait(), 5)
        assert not stall.release.is_open


async def test_broken_and_failing_streams() -> None:
    async with Lab() as lab:
        lab.script(Malformed((Say("a"),)), StreamError((Say("a"),)))
        lab.script(Drip((Say("abc"),), 1_000), Events(({"type": "ping"},)))
        malformed, failed, dripped, raw = [(await post(lab)).text for _ in range(4)]
    assert 'data: {"type": "content_block_delta", "index"\n' in malformed
    assert failed.rstrip().endswith('"error":{"type":"overloaded_error","message":"Overloaded"}}')
    assert dripped.count("text_delta") == 3
    assert raw == 'event: ping\ndata: {"type":"ping"}\n\n'


async def test_a_miss_is_explained_where_that_was_asked() -> None:
    async def finding(lab: Lab, previous: str | None, *words: str, **more: Any) -> Any:
        messages = [{"role": "user", "content": word} for word in words]
        body = {**BODY, "messages": messages, "diagnostics": {"previous_message_id": previous}, **more}
        start = events(await post(lab, body))[0]
        return start["message"]["diagnostics"]

    async with Lab() as lab:
        assert "diagnostics" not in events(await post(lab))[0]["message"]
        assert await finding(lab, None, "hi") is None
        assert await finding(lab, "msg_0002", "hi", "there") is None
        for change, reason in (
            ({"model": "claude-opus-5"}, "model_changed"),
            ({"system": "be brief"}, "system_changed"),
            ({"tools": [{"name": "t", "input_schema": {}}]}, "tools_changed"),
        ):
            found = await finding(lab, "msg_0002", "hi", **change)
            assert found["cache_miss_reason"]["type"] == reason
        changed = await finding(lab, "msg_0002", "ho")
        assert changed["cache_miss_reason"]["type"] == "messages_changed"
        assert changed["cache_miss_reason"]["cache_missed_input_tokens"] > 0
        unknown = await finding(lab, "msg_9999", "hi")
        assert unknown["cache_miss_reason"] == {"type": "previous_message_not_found"}


async def test_one_connection_serves_many_requests() -> None:
    async with Lab() as lab, httpx2.AsyncClient(verify=False, base_url=lab.base_url, headers=HEADERS) as client:
        for _ in range(20):
            answer = await client.post("/v1/messages", json=BODY)
            assert events(answer)[-1]["type"] == "message_stop"
        assert len(lab.requests) == 20


async def test_a_failing_script_fails_its_test() -> None:
    def broken(body: dict[str, Any]) -> Say:
        raise LookupError("no such turn")

    lab = Lab(script=[broken])
    await lab.start()
    with pytest.raises(httpx2.TransportError):
        await post(lab)
    with pytest.raises(LookupError, match="no such turn"):
        await lab.__aexit__(None, None, None)


def test_a_lab_in_a_thread_serves_code_without_a_loop() -> None:
    with lab_thread(script=[Say("from afar")]) as lab:
        connection = http.client.HTTPConnection(lab.base_url.removeprefix("http://"), timeout=10)
        connection.request("POST", "/v1/messages", json.dumps(BODY), HEADERS)
        assert b"from afar" in connection.getresponse().read()
        connection.close()
        assert lab.requests[0].headers["x-api-key"] == "k"
