"""What every adapter does alike, through the real SDKs, over real sockets, against the lab."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
from typing import Any

import pytest

from geode_tui.core.messages import (
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    decode_blocks,
    encode_blocks,
    tool_text,
    user_text,
)
from geode_tui.providers.base import Delta, Finished, Opened, Progress
from geode_tui.providers.errors import ErrorKind, ProviderError
from tests.lab import (
    Answer,
    Call,
    Cut,
    Drip,
    Empty,
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
from tests.providers.wires import (
    ANTHROPIC,
    CHAT,
    CODEX,
    GO,
    KEY,
    READ,
    RESPONSES,
    ROUTER,
    Route,
    adapter,
    answer,
    events,
    every_route,
    every_wire,
    failure,
    request,
    routes_where,
    said,
)


@every_route
async def test_an_answer_streams_and_ends_with_the_whole(route: Route) -> None:
    async with Lab(script=[Say("안녕하세요 👋 and more", chunk=4)]) as lab, adapter(lab, route) as provider:
        streamed = await events(provider, request(route))
    assert isinstance(streamed[0], Opened)
    finished = streamed[-1]
    assert isinstance(finished, Finished)
    (block,) = finished.blocks
    assert isinstance(block, TextBlock)
    assert block.text == said(streamed) == "안녕하세요 👋 and more"
    assert finished.stop_reason == "end_turn"
    assert finished.response_id
    assert route.model.endswith(finished.model)
    assert finished.usage.prompt_tokens > 0
    assert finished.usage.output_tokens > 0
    assert [e.usage for e in streamed if isinstance(e, Progress)][-1] == finished.usage


@every_route
async def test_parallel_calls_and_their_results_make_a_history_the_vendor_takes(route: Route) -> None:
    calls = (Say("Reading."), Call("read_file", {"path": "a"}), Call("read_file", {"path": "b"}))
    async with Lab(script=[calls, Say("Both read.")]) as lab, adapter(lab, route) as provider:
        streamed = await events(provider, request(route, tools=(READ,)))
        first = streamed[-1]
        assert isinstance(first, Finished)
        a, b = Message("assistant", first.blocks).calls
        history = (GO, Message("assistant", first.blocks), tool_text(b, "B"), tool_text(a, "A", is_error=True))
        second = await answer(provider, request(route, *history, tools=(READ,)))
    assert (first.stop_reason, second.stop_reason) == ("tool_use", "end_turn")
    assert [json.loads(c.arguments) for c in (a, b)] == [{"path": "a"}, {"path": "b"}]
    assert [e.name for e in streamed if isinstance(e, Delta) and e.name] == ["read_file", "read_file"]
    assert said(streamed, "tool_call") == a.arguments + b.arguments
    sent = lab.requests[1].raw.decode()
    assert sent.index('"A"') < sent.index('"B"')


@every_route
async def test_reasoning_comes_back_to_the_server_as_it_was(route: Route) -> None:
    """The lab refuses reasoning that was changed, and calls without the reasoning they belong to."""
    script: list[ScriptStep] = [(Think("생각: hm\n"), Call("read_file", {"path": "a"})), Say("done")]
    async with Lab(script=script, bound_thinking=True) as lab, adapter(lab, route) as provider:
        first = await answer(provider, request(route, tools=(READ,)))
        stored = decode_blocks(encode_blocks(first.blocks))
        (call,) = Message("assistant", stored).calls
        history = (GO, Message("assistant", stored), tool_text(call, "A"))
        second = await answer(provider, request(route, *history, tools=(READ,)))
    assert second.stop_reason == "end_turn"
    thinking = [block for block in first.blocks if isinstance(block, ThinkingBlock)]
    assert [block.text for block in thinking] == (["생각: hm\n"] if route.thinks else [])
    if route.cached:
        assert first.usage.reasoning_tokens
    for block in thinking:
        assert block.raw is not None
        fields = json.loads(block.raw)
        sent = next(item for item in _objects(lab.requests[1].body) if fields.items() <= item.items())
        assert {name: sent[name] for name in fields} == fields


def _objects(value: Any) -> list[dict[str, Any]]:
    """Every object inside ``value``."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [*([value] if isinstance(value, dict) else []), *(found for v in inner for found in _objects(v))]


@every_route
async def test_ten_rounds_with_tools_and_reasoning_repeat_themselves_byte_for_byte(route: Route) -> None:
    """Each request is what the one before sent, with more after it: what a cache can read."""
    rounds: list[ScriptStep] = [(Think(f"round {i}"), Say(f"Step {i}."), Call("read_file", {"n": i})) for i in range(9)]
    async with Lab(script=[*rounds, Say("done")], bound_thinking=True) as lab, adapter(lab, route) as provider:
        history: tuple[Message, ...] = (GO,)
        ends = []
        for i in range(10):
            made = await answer(provider, request(route, *history, tools=(READ,), cache_key="run-1"))
            ends.append(made.stop_reason)
            # What is kept between two rounds is what a store can give back after a crash.
            message = Message("assistant", decode_blocks(encode_blocks(made.blocks)))
            results = (tool_text(call, f"result {i}") for call in message.calls)
            history = (*history, message, *results)
    assert ends == [*["tool_use"] * 9, "end_turn"]
    bodies = [r.body for r in lab.requests]
    name = "input" if "input" in bodies[0] else "messages"
    for before, after in itertools.pairwise(bodies):
        assert {k: v for k, v in before.items() if k != name} == {k: v for k, v in after.items() if k != name}
        texts = [json.dumps(item, ensure_ascii=False) for item in after[name]]
        assert [json.dumps(item, ensure_ascii=False) for item in before[name]] == texts[: len(before[name])]


ERRORS = [
    (Fail(401, "authentication_error", f"invalid x-api-key {KEY}"), ErrorKind.AUTH, None),
    (Fail(402, "billing_error", "pay first"), ErrorKind.BILLING, None),
    (Fail(429, "rate_limit_error", "slow down", {"retry-after": "37"}), ErrorKind.RATE_LIMIT, 37.0),
    (
        Fail(429, "rate_limit_error", "slow down", {"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}),
        ErrorKind.RATE_LIMIT,
        50.0,
    ),
    (Fail(529, "overloaded_error", "Overloaded"), ErrorKind.OVERLOADED, None),
    (Fail(500), ErrorKind.SERVER, None),
    (Fail(404, "not_found_error", "no such model"), ErrorKind.BAD_REQUEST, None),
    (Fail(502, body=b"<html>Bad gateway</html>"), ErrorKind.SERVER, None),
]


@every_route
@pytest.mark.parametrize(("fail", "kind", "retry_after"), ERRORS, ids=lambda value: str(getattr(value, "status", "")))
async def test_an_error_answer_is_classified_and_sent_only_once(
    route: Route, fail: Fail, kind: ErrorKind, retry_after: float | None
) -> None:
    async with Lab(script=[fail]) as lab:
        error, streamed = await failure(lab, route, clock=lambda: 10.0)
        assert (error.kind, error.status, error.retry_after) == (kind, fail.status, retry_after)
        assert error.retryable
        assert not error.visible
        assert (len(lab.requests), streamed) == (1, [])


@every_wire
async def test_a_server_that_forbids_a_retry_is_heard(route: Route) -> None:
    async with Lab(script=[Fail(503, headers={"x-should-retry": "false", "retry-after": "5"})]) as lab:
        error, _ = await failure(lab, route)
        assert (error.kind, error.retryable, error.retry_after) == (ErrorKind.SERVER, False, None)


@every_wire
async def test_the_key_never_reaches_a_message(route: Route) -> None:
    async with Lab(script=[Fail(401, "authentication_error", f"no such key: {KEY}")]) as lab:
        error, _ = await failure(lab, route)
        assert error.message == "no such key: [API key]"


@routes_where(lambda route: route.window)
async def test_an_overflow_is_told_apart_from_every_other_refusal(route: Route) -> None:
    async with Lab(window=2_000) as lab, adapter(lab, route) as provider:
        with pytest.raises(ProviderError) as caught:
            await answer(provider, request(route, user_text("word " * 16_000), max_tokens=100))
    assert caught.value.kind is ErrorKind.CONTEXT_OVERFLOW
    assert not caught.value.visible
    if route in {ANTHROPIC, CHAT, ROUTER}:
        assert caught.value.limit == 2_000
        assert (caught.value.actual or 0) > 4_000


@routes_where(lambda route: route.limits)
async def test_too_much_output_asked_for_is_no_overflow(route: Route) -> None:
    async with Lab(max_output=1_000) as lab, adapter(lab, route) as provider:
        with pytest.raises(ProviderError) as caught:
            await answer(provider, request(route, max_tokens=5_000))
    assert (caught.value.kind, caught.value.limit, caught.value.actual) == (ErrorKind.OUTPUT_TOO_LARGE, 1_000, 5_000)


@every_wire
@pytest.mark.parametrize("how", ["close", "reset", "clean"])
@pytest.mark.parametrize("after_chars", [0, 3])
async def test_a_cut_stream_is_an_interruption_only_after_visible_output(
    route: Route, how: Any, after_chars: int
) -> None:
    async with Lab(script=[Cut((Say("hello"),), after_chars, how)]) as lab:
        error, streamed = await failure(lab, route)
    # A reset may discard what the client had not read yet.
    if how != "reset":
        assert said(streamed) == "hello"[:after_chars]
    visible = any(isinstance(e, Delta) for e in streamed)
    assert error.visible is visible
    assert error.kind is (ErrorKind.STREAM_INTERRUPTED if visible else ErrorKind.CONNECTION)


@routes_where(lambda route: route.thinks)
async def test_thinking_alone_does_not_make_a_cut_visible(route: Route) -> None:
    async with Lab(script=[Cut((Think("hm"), Say("x")), 2)]) as lab:
        error, streamed = await failure(lab, route)
    assert said(streamed, "thinking") == "hm"
    assert (error.kind, error.visible) == (ErrorKind.CONNECTION, False)


@every_wire
async def test_b103_a_cut_call_is_never_an_answer(route: Route) -> None:
    whole = Call("write_file", '{"path":"a.txt","content":"line1')
    async with Lab(script=[Cut((whole,), 20, "clean"), Cut((whole,), None, "clean")]) as lab:
        cut, _ = await failure(lab, route)
        unfinished, streamed = await failure(lab, route)
    assert unfinished.kind is cut.kind is ErrorKind.STREAM_INTERRUPTED or not cut.visible
    assert (unfinished.kind, unfinished.visible) == (ErrorKind.STREAM_INTERRUPTED, True)
    assert not any(isinstance(e, Finished) for e in streamed)


@every_wire
async def test_b103_a_call_cut_by_the_output_limit_says_so(route: Route) -> None:
    cut = Answer((Call("write_file", '{"path":"a.txt","content":"line1'),), stop_reason="max_tokens")
    async with Lab(script=[cut]) as lab, adapter(lab, route) as provider:
        made = await answer(provider, request(route))
    assert made.stop_reason == "max_tokens"
    assert Message("assistant", made.blocks).calls[0].arguments == '{"path":"a.txt","content":"line1'


@every_route
@pytest.mark.parametrize(
    ("parts", "visible"),
    [((), False), ((Say("part " * 30),), True), ((Call("read_file", {"path": "a"}),), True)],
    ids=["before any delta", "after text", "after a complete call"],
)
async def test_b102_an_error_event_inside_a_stream_is_that_error(route: Route, parts: Any, visible: bool) -> None:
    async with Lab(script=[StreamError(parts)]) as lab:
        error, streamed = await failure(lab, route)
    assert (error.kind, error.message, error.visible) == (ErrorKind.OVERLOADED, "Overloaded", visible)
    assert error.status is None
    assert not any(isinstance(e, Finished) for e in streamed)


@every_wire
@pytest.mark.parametrize("visible", [False, True])
async def test_a_broken_event_is_the_servers_failure(route: Route, visible: bool) -> None:
    async with Lab(script=[Malformed((Say("a"),) if visible else ())]) as lab:
        error, _ = await failure(lab, route)
    assert error.kind is (ErrorKind.STREAM_INTERRUPTED if visible else ErrorKind.SERVER)
    assert error.message == "the server sent a broken stream: an event is not valid JSON"


@every_route
async def test_an_empty_answer_is_an_error(route: Route) -> None:
    async with Lab(script=[Empty()]) as lab:
        error, _ = await failure(lab, route)
    assert (error.kind, error.visible) == (ErrorKind.EMPTY, False)
    assert error.usage is not None
    assert error.usage.prompt_tokens > 0


@every_wire
async def test_an_answer_of_reasoning_alone_is_empty_too(route: Route) -> None:
    async with Lab(script=[Answer((Think("hm"),), stop_reason="end_turn")]) as lab:
        error, _ = await failure(lab, route)
    assert error.kind is ErrorKind.EMPTY


@every_route
async def test_b105_a_refusal_is_an_answer_with_a_name(route: Route) -> None:
    async with Lab(script=[Refusal()]) as lab, adapter(lab, route) as provider:
        refused = await answer(provider, request(route))
    assert refused.stop_reason in {"refusal", "content_filter"}
    assert not Message("assistant", refused.blocks).calls


@every_wire
async def test_b109_a_call_written_as_text_stays_text(route: Route) -> None:
    text = '<tool_call>{"name":"wait","arg'
    async with Lab(script=[Say(text)]) as lab, adapter(lab, route) as provider:
        made = Message("assistant", (await answer(provider, request(route))).blocks)
    assert (made.text, made.calls) == (text, ())


@every_route
@pytest.mark.parametrize("arguments", ["", '{"city": "Par', "[1]"])
async def test_b104_malformed_arguments_are_kept_and_their_replay_is_accepted(route: Route, arguments: str) -> None:
    async with Lab(script=[Call("read_file", arguments)]) as lab, adapter(lab, route) as provider:
        first = await answer(provider, request(route, tools=(READ,)))
        (call,) = Message("assistant", first.blocks).calls
        assert call.arguments == arguments
        history = (GO, Message("assistant", first.blocks), tool_text(call, "not valid JSON", is_error=True))
        second = await answer(provider, request(route, *history, tools=(READ,)))
    assert second.stop_reason == "end_turn"


@every_route
async def test_what_another_provider_wrote_can_be_sent_on(route: Route) -> None:
    """Its text and its calls travel; its reasoning, and what only it understands, do not."""
    other = "codex" if route is RESPONSES else "openai"
    call = ToolCallBlock(
        "toolu_1", "read_file", "{}", other, '{"type":"function_call","id":"fc_9","status":"completed"}'
    )
    foreign = (
        ThinkingBlock("hm", other, '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}'),
        OpaqueBlock(other, "compaction", '{"type":"compaction","id":"cmp_1","encrypted_content":"x"}'),
        TextBlock("Reading.", other, '{"item":{"id":"msg_9"},"part":{"annotations":[]}}'),
        call,
    )
    async with Lab() as lab, adapter(lab, route) as provider:
        history = (GO, Message("assistant", foreign), tool_text(call, "A"))
        assert (await answer(provider, request(route, *history, tools=(READ,)))).stop_reason == "end_turn"
    sent = lab.requests[0].raw.decode()
    assert "Reading." in sent
    assert not any(secret in sent for secret in ("rs_1", "cmp_1"))


@every_wire
@pytest.mark.parametrize("after_chars", [0, 2])
async def test_cancelling_the_consumer_closes_the_connection(route: Route, after_chars: int) -> None:
    stall = Stall((Say("hello"),), after_chars)
    async with Lab(script=[stall]) as lab, adapter(lab, route) as provider:
        consumer = asyncio.create_task(answer(provider, request(route)))
        await stall.reached.wait()
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        await asyncio.wait_for(lab.requests[0].disconnected.wait(), 1)


@every_wire
async def test_closing_the_stream_early_closes_the_connection(route: Route) -> None:
    stall = Stall((Say("hello"),), 2)
    async with Lab(script=[stall]) as lab, adapter(lab, route) as provider:
        stream = provider.stream(request(route))
        async for event in stream:
            if isinstance(event, Delta):
                break
        await stream.aclose()
        await asyncio.wait_for(lab.requests[0].disconnected.wait(), 1)


@every_wire
@pytest.mark.parametrize(("after_chars", "kind"), [(0, ErrorKind.TIMEOUT), (2, ErrorKind.STREAM_INTERRUPTED)])
async def test_a_silent_stream_is_given_up(route: Route, after_chars: int, kind: ErrorKind) -> None:
    async with Lab(script=[Stall((Say("hello"),), after_chars)]) as lab:
        error, _ = await failure(lab, route, idle_timeout_s=0.2)
        assert (error.kind, error.message) == (kind, "the server did not answer in time")
        await asyncio.wait_for(lab.requests[0].disconnected.wait(), 1)


@every_wire
async def test_a_slow_stream_is_not_a_silent_one(route: Route) -> None:
    drip = Drip((Say("slowly but surely"),), 14)
    async with Lab(script=[drip]) as lab, adapter(lab, route, idle_timeout_s=1.0) as provider:
        made = await answer(provider, request(route))
    assert Message("assistant", made.blocks).text == "slowly but surely"


@every_wire
async def test_no_answer_at_all_is_a_connection_failure(route: Route) -> None:
    async with Lab(script=[HangUp()]) as lab:
        hung_up, _ = await failure(lab, route)
        assert (hung_up.kind, hung_up.usage) == (ErrorKind.CONNECTION, None)
    unused = route.build(KEY, "http://127.0.0.1:9")
    with pytest.raises(ProviderError, match="the connection failed: ") as refused:
        await answer(unused, request(route))
    await unused.aclose()
    assert refused.value.kind is ErrorKind.CONNECTION


@every_wire
async def test_an_answer_that_is_no_stream_points_at_the_base_url(route: Route) -> None:
    async with Lab(script=[Fail(200, body=b"<html>hello</html>", headers={"content-type": "text/html"})]) as lab:
        error, _ = await failure(lab, route)
    assert error.kind is ErrorKind.INVALID_RESPONSE
    assert error.message == "the server answered with text/html, not a stream: check the base URL"


@every_wire
async def test_an_error_inside_a_success_answer_is_that_error(route: Route) -> None:
    body = b'{"error": {"code": "insufficient_quota", "message": "nothing left"}}'
    async with Lab(script=[Fail(200, body=body, headers={"content-type": "application/json"})]) as lab:
        error, _ = await failure(lab, route)
    assert (error.kind, error.message) == (ErrorKind.BILLING, "nothing left")


@every_wire
async def test_text_that_cannot_be_sent_is_an_invalid_history(route: Route) -> None:
    async with Lab() as lab, adapter(lab, route) as provider:
        with pytest.raises(ProviderError) as caught:
            await answer(provider, request(route, user_text("a\ud83d")))
        assert (caught.value.kind, lab.requests) == (ErrorKind.HISTORY_INVALID, [])


@every_wire
@pytest.mark.parametrize("key", ["", "  ", "clé", "a\nb"])
async def test_a_key_that_is_none_fails_before_anything_is_sent(route: Route, key: str) -> None:
    with pytest.raises(ProviderError, match="is empty or not a") as caught:
        await answer(route.build(key, "http://127.0.0.1:9"), request(route))
    assert caught.value.kind is ErrorKind.AUTH


@every_wire
@pytest.mark.parametrize("url", ["localhost:8080", "ftp://host", "http://", "http://[::1"])
async def test_a_base_url_that_is_none_fails_before_anything_is_sent(route: Route, url: str) -> None:
    with pytest.raises(ProviderError, match="the base URL must be") as caught:
        await answer(route.build(KEY, url), request(route))
    assert caught.value.kind is ErrorKind.BAD_REQUEST


@routes_where(lambda route: route in {ANTHROPIC, RESPONSES, ROUTER})
async def test_a_damaged_stored_block_is_an_invalid_history(route: Route) -> None:
    tag = {"responses": "openai"}.get(route.name, route.name)
    damaged = Message("assistant", (ThinkingBlock("", tag, '{"type":'), TextBlock("x")))
    with pytest.raises(ProviderError, match="not valid JSON") as caught:
        await answer(route.build(KEY, "http://127.0.0.1:9"), request(route, GO, damaged))
    assert caught.value.kind is ErrorKind.HISTORY_INVALID


@every_wire
async def test_several_requests_at_a_time_keep_apart(route: Route) -> None:
    def echo(body: dict[str, Any]) -> Say:
        return Say(
            next(text for text in ("n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7") if f'"{text}"' in json.dumps(body))
        )

    async with Lab(script=[echo] * 8) as lab, adapter(lab, route) as provider:
        made = await asyncio.gather(*(answer(provider, request(route, user_text(f"n{i}"))) for i in range(8)))
    assert [Message("assistant", a.blocks).text for a in made] == [f"n{i}" for i in range(8)]


@routes_where(lambda route: route.cached)
async def test_what_was_read_from_a_cache_is_not_counted_twice(route: Route) -> None:
    long = user_text("many words " * 2_000)
    async with Lab() as lab, adapter(lab, route) as provider:
        first = await answer(provider, request(route, long, cache_messages=(0,), cache_key="run-1"))
        second = await answer(
            provider, request(route, long, user_text("more"), cache_messages=(0, 1), cache_key="run-1")
        )
    assert not first.usage.cache_read_tokens
    assert (second.usage.cache_read_tokens or 0) > 2_000
    assert second.usage.input_tokens < first.usage.prompt_tokens / 2
    assert second.usage.prompt_tokens > first.usage.prompt_tokens


@pytest.mark.parametrize("module", ["anthropic", "openai_responses", "openai_chat"])
def test_no_sdk_is_imported_with_an_adapter(module: str) -> None:
    sdks = "{'anthropic', 'openai', 'httpx2', 'httpx'}"
    code = f"import sys, geode_tui.providers.{module}; sys.exit(bool({sdks} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_only_the_codex_backend_is_told_the_account() -> None:
    async with Lab() as lab:
        for route in (CODEX, RESPONSES):
            async with adapter(lab, route) as provider:
                await answer(provider, request(route, cache_key="run-1"))
    codex, own = (r.headers for r in lab.requests)
    assert (codex["chatgpt-account-id"], codex["originator"], codex["session_id"]) == (
        "account-1",
        "geode_tui",
        "run-1",
    )
    assert not {"chatgpt-account-id", "originator", "session_id"} & set(own)
