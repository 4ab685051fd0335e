"""The adapter through the real SDK, over a real socket, against the lab."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from geode_tui.core.messages import Message, OpaqueBlock, TextBlock, ThinkingBlock, ToolCallBlock, tool_text, user_text
from geode_tui.core.tools import ToolSpec
from geode_tui.core.usage import Usage
from geode_tui.providers.anthropic import AnthropicProvider
from geode_tui.providers.base import Delta, Finished, Opened, Progress, Provider, Request, StreamEvent, SystemPart
from geode_tui.providers.errors import ErrorKind, ProviderError
from tests.lab import (
    Answer,
    Block,
    Call,
    Cut,
    Drip,
    Empty,
    Events,
    Fail,
    HangUp,
    Lab,
    Malformed,
    Refusal,
    Say,
    ScriptStep,
    Stall,
    StreamError,
    Think,
)

KEY = "sk-ant-test-0123456789abcdef"
GO = user_text("go")


@contextlib.asynccontextmanager
async def adapter(lab: Lab, **options: Any) -> AsyncIterator[AnthropicProvider]:
    provider = AnthropicProvider(KEY, lab.base_url, **options)
    try:
        yield provider
    finally:
        await provider.aclose()


def request(*messages: Message, **more: Any) -> Request:
    return Request(
        **{"model": "claude-sonnet-5", "system": (), "messages": messages or (GO,), "max_tokens": 4_096, **more}
    )


async def events(provider: Provider, asked: Request) -> list[StreamEvent]:
    return [event async for event in provider.stream(asked)]


async def answer(provider: Provider, asked: Request) -> Finished:
    last = (await events(provider, asked))[-1]
    assert isinstance(last, Finished)
    return last


async def failure(lab: Lab, **options: Any) -> tuple[ProviderError, list[StreamEvent]]:
    """The error of one request, and what had been streamed before it."""
    streamed: list[StreamEvent] = []
    async with adapter(lab, **options) as provider:
        with pytest.raises(ProviderError) as caught:
            await _collect(provider, streamed)
    assert KEY not in f"{caught.value} {caught.value.message}"
    return caught.value, streamed


async def _collect(provider: AnthropicProvider, into: list[StreamEvent]) -> None:
    async for event in provider.stream(request()):
        into.append(event)  # noqa: PERF401 - what came before an error must be kept


async def test_an_answer_streams_and_ends_with_the_whole() -> None:
    async with Lab(script=[Say("안녕하세요 👋 and more", chunk=4)]) as lab, adapter(lab) as provider:
        streamed = await events(provider, request())
    assert isinstance(streamed[0], Opened)
    assert isinstance(streamed[-2], Progress)
    finished = streamed[-1]
    assert isinstance(finished, Finished)
    assert finished.blocks == (TextBlock("안녕하세요 👋 and more"),)
    assert "".join(e.text for e in streamed if isinstance(e, Delta)) == finished.blocks[0].text
    assert (finished.stop_reason, finished.response_id, finished.model) == ("end_turn", "msg_0001", "claude-sonnet-5")
    assert streamed[0].usage.input_tokens == finished.usage.input_tokens > 0
    assert finished.usage.output_tokens == streamed[-2].usage.output_tokens > streamed[0].usage.output_tokens


async def test_parallel_calls_and_their_results_make_a_history_the_vendor_takes() -> None:
    calls = (Say("Reading."), Call("read_file", {"path": "a"}), Call("read_file", {"path": "b"}))
    async with Lab(script=[calls, Say("Both read.")]) as lab, adapter(lab) as provider:
        tools = (ToolSpec("read_file", "Reads a file.", {"type": "object"}),)
        first = await answer(provider, request(tools=tools))
        a, b = Message("assistant", first.blocks).calls
        history = (GO, Message("assistant", first.blocks), tool_text(b, "B"), tool_text(a, "A", is_error=True))
        second = await answer(provider, request(*history, tools=tools))
    assert (first.stop_reason, second.stop_reason) == ("tool_use", "end_turn")
    assert [json.loads(c.arguments) for c in (a, b)] == [{"path": "a"}, {"path": "b"}]
    results = lab.requests[1].body["messages"][2]["content"]
    assert [(r["tool_use_id"], r.get("is_error", False)) for r in results] == [(a.call_id, True), (b.call_id, False)]


async def test_signed_thinking_comes_back_to_the_server_byte_for_byte() -> None:
    redacted = {"type": "redacted_thinking", "data": "Zm9v/+=", "unknown": None}
    script: list[ScriptStep] = [(Think("생각: hm"), Block(redacted), Call("read_file", {"path": "a"})), Say("done")]
    async with Lab(script=script, bound_thinking=True) as lab, adapter(lab) as provider:
        first = await answer(provider, request(thinking="budgeted", thinking_budget=1_024))
        thinking, opaque, call = first.blocks
        assert isinstance(thinking, ThinkingBlock)
        assert isinstance(opaque, OpaqueBlock)
        assert isinstance(call, ToolCallBlock)
        history = (GO, Message("assistant", first.blocks), tool_text(call, "A"))
        await answer(provider, request(*history, thinking="budgeted", thinking_budget=1_024))
    sent = lab.requests[1].body["messages"][1]["content"]
    assert thinking.raw is not None
    assert thinking.raw.encode() in lab.requests[1].raw
    assert opaque.raw.encode() in lab.requests[1].raw
    assert (sent[0]["thinking"], sent[1]) == ("생각: hm", redacted)
    assert first.usage.reasoning_tokens


async def test_cache_reads_and_writes_are_counted_by_lifetime() -> None:
    system = (SystemPart("s" * 8_000, "1h"), SystemPart("today"))
    async with Lab() as lab, adapter(lab) as provider:
        first = await answer(provider, request(user_text("g" * 8_000), system=system, cache_messages=(0,)))
        longer = request(user_text("g" * 8_000), user_text("more"), system=system, cache_messages=(0, 1))
        second = await answer(provider, longer)
    assert (first.usage.cache_read_tokens, first.usage.cache_write_1h_tokens) == (0, 2_004)
    assert first.usage.cache_write_5m_tokens == 2_004 + 6
    assert second.usage.cache_read_tokens == first.usage.prompt_tokens
    assert second.usage.cache_write_5m_tokens == 5
    marks = [block.get("cache_control") for block in lab.requests[0].body["system"]]
    assert marks == [{"type": "ephemeral", "ttl": "1h"}, None]


@pytest.mark.parametrize(
    ("fail", "kind", "retry_after"),
    [
        (Fail(401, "authentication_error", f"invalid x-api-key {KEY}"), ErrorKind.AUTH, None),
        (Fail(429, "rate_limit_error", "slow down", {"retry-after": "37"}), ErrorKind.RATE_LIMIT, 37.0),
        (
            Fail(429, "rate_limit_error", "slow down", {"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}),
            ErrorKind.RATE_LIMIT,
            50.0,
        ),
        (
            Fail(429, "rate_limit_error", "no more", details={"error_code": "enforced_spend_limit_reached"}),
            ErrorKind.BILLING,
            None,
        ),
        (Fail(529, "overloaded_error", "Overloaded"), ErrorKind.OVERLOADED, None),
        (Fail(500), ErrorKind.SERVER, None),
        (Fail(404, "not_found_error", "model: claude-9"), ErrorKind.BAD_REQUEST, None),
        (Fail(502, body=b"<html>Bad gateway</html>"), ErrorKind.SERVER, None),
    ],
)
async def test_an_error_answer_is_classified_and_sent_only_once(
    fail: Fail, kind: ErrorKind, retry_after: float | None
) -> None:
    async with Lab(script=[fail]) as lab:
        error, streamed = await failure(lab, clock=lambda: 10.0)
        assert (error.kind, error.status, error.retry_after) == (kind, fail.status, retry_after)
        assert error.retryable
        assert not error.visible
        assert (len(lab.requests), streamed) == (1, [])


async def test_a_server_that_forbids_a_retry_is_heard() -> None:
    async with Lab(script=[Fail(503, headers={"x-should-retry": "false", "retry-after": "5"})]) as lab:
        error, _ = await failure(lab)
        assert (error.kind, error.retryable, error.retry_after) == (ErrorKind.SERVER, False, None)


async def test_the_key_never_reaches_a_message() -> None:
    async with Lab(script=[Fail(401, "authentication_error", f"no such key: {KEY}")]) as lab:
        error, _ = await failure(lab)
        assert error.message == "no such key: [API key]"


async def test_an_overflow_names_its_figures() -> None:
    async with Lab(window=2_000) as lab, adapter(lab) as provider:
        with pytest.raises(ProviderError) as long:
            await answer(provider, request(user_text("x" * 16_000), max_tokens=100))
        with pytest.raises(ProviderError) as both:
            await answer(provider, request(user_text("x" * 4_000), max_tokens=1_500))
    for caught, actual in ((long, 4_004), (both, 2_504)):
        assert caught.value.kind is ErrorKind.CONTEXT_OVERFLOW
        assert (caught.value.limit, caught.value.actual) == (2_000, actual)


@pytest.mark.parametrize("how", ["close", "reset", "clean"])
@pytest.mark.parametrize("after_chars", [0, 3])
async def test_a_cut_stream_is_an_interruption_only_after_visible_output(how: Any, after_chars: int) -> None:
    async with Lab(script=[Cut((Say("hello"),), after_chars, how)]) as lab:
        error, streamed = await failure(lab)
    # A reset may discard what the client had not read yet.
    if how != "reset":
        assert "".join(e.text for e in streamed if isinstance(e, Delta)) == "hello"[:after_chars]
        assert error.usage is not None
        assert error.usage.input_tokens > 0
    visible = any(isinstance(e, Delta) for e in streamed)
    assert error.visible is visible
    assert error.kind is (ErrorKind.STREAM_INTERRUPTED if visible else ErrorKind.CONNECTION)


async def test_thinking_alone_does_not_make_a_cut_visible() -> None:
    async with Lab(script=[Cut((Think("hm"), Say("x")), 2)]) as lab:
        error, streamed = await failure(lab)
    assert [e.kind for e in streamed if isinstance(e, Delta)] == ["thinking", "thinking"]
    assert (error.kind, error.visible) == (ErrorKind.CONNECTION, False)


async def test_b103_a_cut_call_is_never_an_answer() -> None:
    cut = Cut((Call("write_file", '{"path":"a.txt","content":"line1'),), None, "clean")
    async with Lab(script=[Cut(cut.parts, 20, "clean"), cut]) as lab:
        for _ in range(2):
            error, _ = await failure(lab)
            assert (error.kind, error.visible) == (ErrorKind.STREAM_INTERRUPTED, True)


async def test_a_stop_reason_is_enough_without_the_very_last_event() -> None:
    started = {"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 1}}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "whole"}}
    stopped = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
    script = [Events((started, block, {"type": "content_block_stop", "index": 0}, stopped))]
    async with Lab(script=script) as lab, adapter(lab) as provider:
        assert (await answer(provider, request())).blocks == (TextBlock("whole"),)


async def test_b010_the_wire_usage_is_read_as_cumulative() -> None:
    started = {"type": "message_start", "message": {"usage": {"input_tokens": 0, "output_tokens": 1}}}
    deltas = (
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 12}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "refusal"},
            "usage": {"input_tokens": 10_682, "cache_read_input_tokens": None, "output_tokens": 15},
        },
    )
    async with Lab(script=[Events((started, *deltas, {"type": "message_stop"}))]) as lab, adapter(lab) as provider:
        assert (await answer(provider, request())).usage == Usage(input_tokens=10_682, output_tokens=15)


async def test_b064_a_failed_attempt_keeps_its_last_usage() -> None:
    usage = {"input_tokens": 9, "cache_creation_input_tokens": 150_000}
    text = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": t}} for t in "abc"]
    script = Events(
        (
            {"type": "message_start", "message": {"usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *text,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        )
    )
    async with Lab(script=[script]) as lab:
        error, _ = await failure(lab)
    assert error.usage == Usage(input_tokens=9, cache_write_5m_tokens=150_000)
    assert error.usage.prompt_tokens == 150_009


@pytest.mark.parametrize(
    ("parts", "visible"),
    [((), False), ((Say("part " * 30),), True), ((Call("read_file", {"path": "a"}),), True)],
    ids=["before any delta", "after text", "after a complete call"],
)
async def test_b102_an_error_event_inside_a_stream_is_that_error(parts: Any, visible: bool) -> None:
    async with Lab(script=[StreamError(parts)]) as lab:
        error, streamed = await failure(lab)
    assert (error.kind, error.message, error.visible) == (ErrorKind.OVERLOADED, "Overloaded", visible)
    assert error.status is None
    assert not any(isinstance(e, Finished) for e in streamed)


@pytest.mark.parametrize("visible", [False, True])
async def test_a_broken_event_is_the_servers_failure(visible: bool) -> None:
    async with Lab(script=[Malformed((Say("a"),) if visible else ())]) as lab:
        error, _ = await failure(lab)
    assert error.kind is (ErrorKind.STREAM_INTERRUPTED if visible else ErrorKind.SERVER)
    assert error.message == "the server sent a broken stream: an event is not valid JSON"


async def test_an_empty_answer_is_an_error_and_a_refusal_is_not() -> None:
    async with Lab(script=[Empty(), Refusal()]) as lab:
        error, _ = await failure(lab)
        assert (error.kind, error.visible) == (ErrorKind.EMPTY, False)
        assert error.usage is not None
        async with adapter(lab) as provider:
            refused = await answer(provider, request())
    assert (refused.blocks, refused.stop_reason) == ((), "refusal")


async def test_b106_a_paused_turn_is_sent_back_as_it_was() -> None:
    tail = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    deltas = ({"type": "input_json_delta", "partial_json": '{"query": "x"}'},)
    paused = Answer((Say("Looking."), Block(tail, deltas)), stop_reason="pause_turn")
    async with Lab(script=[paused, Say("Found.")]) as lab, adapter(lab) as provider:
        first = await answer(provider, request())
        second = await answer(provider, request(GO, Message("assistant", first.blocks)))
    assert (first.stop_reason, second.stop_reason) == ("pause_turn", "end_turn")
    assert lab.requests[1].body["messages"][1]["content"][1] == {**tail, "input": {"query": "x"}}


async def test_malformed_arguments_are_kept_and_their_replay_is_accepted() -> None:
    async with Lab(script=[Call("read_file", '{"city": "Par')]) as lab, adapter(lab) as provider:
        first = await answer(provider, request())
        (call,) = Message("assistant", first.blocks).calls
        assert call.arguments == '{"city": "Par'
        history = (GO, Message("assistant", first.blocks), tool_text(call, "not valid JSON", is_error=True))
        await answer(provider, request(*history))
    sent = lab.requests[1].body["messages"][1]["content"][0]["input"]
    assert sent == {"_malformed_arguments": '{"city": "Par'}


@pytest.mark.parametrize("after_chars", [0, 2])
async def test_cancelling_the_consumer_closes_the_connection(after_chars: int) -> None:
    stall = Stall((Say("hello"),), after_chars)
    async with Lab(script=[stall]) as lab, adapter(lab) as provider:
        consumer = asyncio.create_task(answer(provider, request()))
        await stall.reached.wait()
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        await asyncio.wait_for(lab.requests[0].disconnected.wait(), 1)


async def test_closing_the_stream_early_closes_the_connection() -> None:
    stall = Stall((Say("hello"),), 2)
    async with Lab(script=[stall]) as lab, adapter(lab) as provider:
        stream = provider.stream(request())
        async for event in stream:
            if isinstance(event, Delta):
                break
        await stream.aclose()
        await asyncio.wait_for(lab.requests[0].disconnected.wait(), 1)


@pytest.mark.parametrize(("after_chars", "kind"), [(0, ErrorKind.TIMEOUT), (2, ErrorKind.STREAM_INTERRUPTED)])
async def test_a_silent_stream_is_given_up(after_chars: int, kind: ErrorKind) -> None:
    async with Lab(script=[Stall((Say("hello"),), after_chars)]) as lab:
        error, _ = await failure(lab, idle_timeout_s=0.2)
        assert (error.kind, error.message) == (kind, "the server did not answer in time")
        await asyncio.wait_for(lab.requests[0].disconnected.wait(), 1)


async def test_a_slow_stream_is_not_a_silent_one() -> None:
    async with Lab(script=[Drip((Say("slowly but surely"),), 14)]) as lab, adapter(lab, idle_timeout_s=1.0) as provider:
        assert (await answer(provider, request())).blocks == (TextBlock("slowly but surely"),)


async def test_no_answer_at_all_is_a_connection_failure() -> None:
    async with Lab(script=[HangUp()]) as lab:
        hung_up, _ = await failure(lab)
        assert (hung_up.kind, hung_up.usage) == (ErrorKind.CONNECTION, None)
    unused = AnthropicProvider(KEY, "http://127.0.0.1:9")
    with pytest.raises(ProviderError, match="the connection failed: ") as refused:
        await answer(unused, request())
    await unused.aclose()
    assert refused.value.kind is ErrorKind.CONNECTION


async def test_an_answer_that_is_no_stream_points_at_the_base_url() -> None:
    async with Lab(script=[Fail(200, body=b"<html>hello</html>", headers={"content-type": "text/html"})]) as lab:
        error, _ = await failure(lab)
    assert error.kind is ErrorKind.INVALID_RESPONSE
    assert error.message == "the server answered with text/html, not a stream: check the base URL"


async def test_text_that_cannot_be_sent_is_an_invalid_history() -> None:
    async with Lab() as lab, adapter(lab) as provider:
        with pytest.raises(ProviderError) as caught:
            await answer(provider, request(user_text("a\ud83d")))
        assert (caught.value.kind, lab.requests) == (ErrorKind.HISTORY_INVALID, [])


@pytest.mark.parametrize("key", ["", "  ", "clé", "a\nb"])
async def test_a_key_that_is_none_fails_before_anything_is_sent(key: str) -> None:
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY") as caught:
        await answer(AnthropicProvider(key), request())
    assert caught.value.kind is ErrorKind.AUTH


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://host", "http://", "http://[::1"])
async def test_a_base_url_that_is_none_fails_before_anything_is_sent(url: str) -> None:
    with pytest.raises(ProviderError, match="the base URL must be") as caught:
        await answer(AnthropicProvider(KEY, url), request())
    assert caught.value.kind is ErrorKind.BAD_REQUEST


async def test_a_damaged_stored_block_is_an_invalid_history() -> None:
    damaged = Message("assistant", (OpaqueBlock("anthropic", "redacted_thinking", '{"type":'),))
    with pytest.raises(ProviderError, match="not valid JSON") as caught:
        await answer(AnthropicProvider(KEY), request(GO, damaged))
    assert caught.value.kind is ErrorKind.HISTORY_INVALID


async def test_several_requests_at_a_time_keep_apart() -> None:
    script = [lambda body: Say(str(body["messages"][0]["content"][0]["text"]))] * 8
    async with Lab(script=script) as lab, adapter(lab) as provider:
        answers = await asyncio.gather(*(answer(provider, request(user_text(f"n{i}"))) for i in range(8)))
    assert [a.blocks for a in answers] == [(TextBlock(f"n{i}"),) for i in range(8)]


def test_the_sdk_is_not_imported_with_the_adapter() -> None:
    code = "import sys, geode_tui.providers.anthropic; sys.exit(bool({'anthropic', 'httpx2'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
