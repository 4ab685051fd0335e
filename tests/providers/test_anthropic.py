"""What only the Messages API has, through the real SDK, over a real socket, against the lab."""

from __future__ import annotations

from typing import Any

import pytest

from geode_tui.core.messages import Message, OpaqueBlock, TextBlock, ThinkingBlock, ToolCallBlock, tool_text, user_text
from geode_tui.core.usage import Usage
from geode_tui.providers.base import CacheMiss, SystemPart
from geode_tui.providers.errors import ErrorKind, ProviderError
from tests.lab import Answer, Block, Call, Events, Fail, Lab, Say, ScriptStep, Think
from tests.providers.wires import ANTHROPIC, GO, adapter, answer, failure, request


async def test_signed_thinking_comes_back_to_the_server_byte_for_byte() -> None:
    redacted = {"type": "redacted_thinking", "data": "Zm9v/+=", "unknown": None}
    script: list[ScriptStep] = [(Think("생각: hm"), Block(redacted), Call("read_file", {"path": "a"})), Say("done")]
    async with Lab(script=script, bound_thinking=True) as lab, adapter(lab, ANTHROPIC) as provider:
        first = await answer(provider, request(ANTHROPIC, system=(), thinking="budgeted", thinking_budget=1_024))
        thinking, opaque, call = first.blocks
        assert isinstance(thinking, ThinkingBlock)
        assert isinstance(opaque, OpaqueBlock)
        assert isinstance(call, ToolCallBlock)
        history = (GO, Message("assistant", first.blocks), tool_text(call, "A"))
        await answer(provider, request(ANTHROPIC, *history, system=(), thinking="budgeted", thinking_budget=1_024))
    sent = lab.requests[1].body["messages"][1]["content"]
    assert thinking.raw is not None
    assert thinking.raw.encode() in lab.requests[1].raw
    assert opaque.raw.encode() in lab.requests[1].raw
    assert (sent[0]["thinking"], sent[1]) == ("생각: hm", redacted)
    assert first.usage.reasoning_tokens


async def test_cache_reads_and_writes_are_counted_by_lifetime() -> None:
    system = (SystemPart("s" * 8_000, "1h"), SystemPart("today"))
    async with Lab() as lab, adapter(lab, ANTHROPIC) as provider:
        first = await answer(provider, request(ANTHROPIC, user_text("g" * 8_000), system=system, cache_messages=(0,)))
        longer = request(ANTHROPIC, user_text("g" * 8_000), user_text("more"), system=system, cache_messages=(0, 1))
        second = await answer(provider, longer)
    assert (first.usage.cache_read_tokens, first.usage.cache_write_1h_tokens) == (0, 2_004)
    assert first.usage.cache_write_5m_tokens == 2_004 + 6
    assert second.usage.cache_read_tokens == first.usage.prompt_tokens
    assert second.usage.cache_write_5m_tokens == 5
    marks = [block.get("cache_control") for block in lab.requests[0].body["system"]]
    assert marks == [{"type": "ephemeral", "ttl": "1h"}, None]


async def test_an_overflow_names_its_figures() -> None:
    async with Lab(window=2_000) as lab, adapter(lab, ANTHROPIC) as provider:
        with pytest.raises(ProviderError) as long:
            await answer(provider, request(ANTHROPIC, user_text("x" * 16_000), system=(), max_tokens=100))
        with pytest.raises(ProviderError) as both:
            await answer(provider, request(ANTHROPIC, user_text("x" * 4_000), system=(), max_tokens=1_500))
    for caught, actual in ((long, 4_004), (both, 2_504)):
        assert caught.value.kind is ErrorKind.CONTEXT_OVERFLOW
        assert (caught.value.limit, caught.value.actual) == (2_000, actual)


async def test_a_stop_reason_is_enough_without_the_very_last_event() -> None:
    started = {"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 1}}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "whole"}}
    stopped = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
    script = [Events((started, block, {"type": "content_block_stop", "index": 0}, stopped))]
    async with Lab(script=script) as lab, adapter(lab, ANTHROPIC) as provider:
        assert (await answer(provider, request(ANTHROPIC))).blocks == (TextBlock("whole"),)


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
    async with (
        Lab(script=[Events((started, *deltas, {"type": "message_stop"}))]) as lab,
        adapter(lab, ANTHROPIC) as provider,
    ):
        assert (await answer(provider, request(ANTHROPIC))).usage == Usage(input_tokens=10_682, output_tokens=15)


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
        error, _ = await failure(lab, ANTHROPIC)
    assert error.usage == Usage(input_tokens=9, cache_write_5m_tokens=150_000)
    assert error.usage.prompt_tokens == 150_009


async def test_b106_a_paused_turn_is_sent_back_as_it_was() -> None:
    tail = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    deltas = ({"type": "input_json_delta", "partial_json": '{"query": "x"}'},)
    paused = Answer((Say("Looking."), Block(tail, deltas)), stop_reason="pause_turn")
    async with Lab(script=[paused, Say("Found.")]) as lab, adapter(lab, ANTHROPIC) as provider:
        first = await answer(provider, request(ANTHROPIC))
        second = await answer(provider, request(ANTHROPIC, GO, Message("assistant", first.blocks)))
    assert (first.stop_reason, second.stop_reason) == ("pause_turn", "end_turn")
    assert lab.requests[1].body["messages"][1]["content"][1] == {**tail, "input": {"query": "x"}}


@pytest.mark.parametrize("code", ["enforced_spend_limit_reached", "contract_spend_limit_reached"])
async def test_a_spend_limit_is_no_rate_limit(code: str) -> None:
    async with Lab(script=[Fail(429, "rate_limit_error", "no more", details={"error_code": code})]) as lab:
        error, _ = await failure(lab, ANTHROPIC)
    assert (error.kind, error.retry_after) == (ErrorKind.BILLING, None)


@pytest.mark.parametrize("word", ["stop_sequence", "model_context_window_exceeded", "compaction", "brand_new_reason"])
async def test_b106_every_stop_reason_is_passed_on(word: str) -> None:
    async with Lab(script=[Answer((Say("part"),), stop_reason=word)]) as lab, adapter(lab, ANTHROPIC) as provider:
        assert (await answer(provider, request(ANTHROPIC))).stop_reason == word


async def test_betas_are_added_to_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "anthropic-beta: first-2026-01-01, second-2026-01-01")
    async with Lab() as lab, adapter(lab, ANTHROPIC) as provider:
        await answer(provider, request(ANTHROPIC, betas=("second-2026-01-01", "third-2026-01-01")))
        await answer(provider, request(ANTHROPIC))
    sent = [received.headers["anthropic-beta"] for received in lab.requests]
    assert sent[0] == "first-2026-01-01,second-2026-01-01,third-2026-01-01"
    assert sent[1].split(",") == ["first-2026-01-01", "second-2026-01-01"]


def started(**more: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 1}, **more}}


def whole(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return (
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    )


def stopped(**usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2, **usage}}


@pytest.mark.parametrize(
    ("reason", "miss"),
    [
        ({"type": "tools_changed", "cache_missed_input_tokens": 1_200}, CacheMiss("tools_changed", 1_200)),
        ({"type": "previous_message_not_found"}, None),
        (None, None),
    ],
)
async def test_a_missed_cache_is_explained_where_that_was_asked_for(reason: Any, miss: CacheMiss | None) -> None:
    events = (started(diagnostics={"cache_miss_reason": reason}), *whole(0, {"type": "text", "text": "a"}), stopped())
    async with Lab(script=[Events(events), Events(events)]) as lab, adapter(lab, ANTHROPIC) as provider:
        first = await answer(provider, request(ANTHROPIC, compare_with=""))
        await answer(provider, request(ANTHROPIC, compare_with="msg_1"))
        await answer(provider, request(ANTHROPIC))
    assert first.cache_miss == miss
    asked = [received.body.get("diagnostics") for received in lab.requests]
    assert asked == [{"previous_message_id": None}, {"previous_message_id": "msg_1"}, None]


async def test_what_a_compaction_took_is_billed_but_is_not_the_size_of_the_conversation() -> None:
    iterations = [
        {"type": "compaction", "input_tokens": 150_000, "output_tokens": 3_000},
        {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000, "cache_read_input_tokens": 5_000},
    ]
    summary = {"type": "compaction", "content": None, "encrypted_content": None, "signature": "s"}
    delta = {"type": "compaction_delta", "content": "요약", "encrypted_content": "x"}
    ending = stopped(input_tokens=23_000, cache_read_input_tokens=5_000, output_tokens=1_000, iterations=iterations)
    events = (started(), *whole(0, summary, delta), *whole(1, {"type": "text", "text": "a"}), ending)
    async with Lab(script=[Events(events)]) as lab, adapter(lab, ANTHROPIC) as provider:
        made = await answer(provider, request(ANTHROPIC))
    assert made.usage == Usage(23_000, 1_000, cache_read_tokens=5_000)
    assert made.extra_usage == (Usage(150_000, 3_000),)
    block = made.blocks[0]
    assert isinstance(block, OpaqueBlock)
    assert block.raw == '{"type":"compaction","content":"요약","encrypted_content":"x","signature":"s"}'


async def test_what_else_a_block_says_is_kept_and_goes_back() -> None:
    cited = [{"type": "citations_delta", "citation": {"type": "char_location", "n": n}} for n in (1, 2)]
    text = whole(0, {"type": "text", "text": "", "citations": None}, {"type": "text_delta", "text": "a"}, *cited)
    caller = {"type": "code_execution_20260101", "tool_id": "srvtoolu_1"}
    call = whole(1, {"type": "tool_use", "id": "t1", "name": "read_file", "input": {}, "caller": caller})
    script = [Events((started(), *text, *call, stopped()))]
    async with Lab(script=script) as lab, adapter(lab, ANTHROPIC) as provider:
        blocks = (await answer(provider, request(ANTHROPIC))).blocks
        asked = request(
            ANTHROPIC, GO, Message("assistant", blocks), tool_text(Message("assistant", blocks).calls[0], "A")
        )
        await answer(provider, asked)
    sent = lab.requests[1].body["messages"][1]["content"]
    assert sent[0]["citations"] == [delta["citation"] for delta in cited]
    assert sent[1]["caller"] == caller
