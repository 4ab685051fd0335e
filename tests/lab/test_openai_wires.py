"""What OpenAI's wires stream, read by the vendor's own SDK: content, usage, caching and how they fail."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import openai
import pytest

from tests.lab import Answer, Block, Call, Cut, Fail, Lab, Malformed, Refusal, Say, StreamError, Think

HI: Any = [{"role": "user", "content": "hi"}]
MODELS = {"openai": "gpt-6-sol", "glm": "glm-5.3", "openrouter": "anthropic/claude-sonnet-5", "ollama": "qwen3"}


class Clock:
    now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


@contextlib.asynccontextmanager
async def client(url: str) -> AsyncIterator[openai.AsyncOpenAI]:
    # Loading the system's certificates takes longer than a request, and nothing here is encrypted.
    http = openai.DefaultAsyncHttpxClient(verify=False)
    async with openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0, http_client=http) as made:
        yield made


async def responses(lab: Lab, **request: Any) -> list[Any]:
    """The SDK's typed events of one request."""
    asked = {"model": "gpt-6-sol", "input": HI, "store": False, "stream": True, **request}
    async with client(lab.openai_url) as sdk:
        return [event async for event in await sdk.responses.create(**asked)]


async def chat(lab: Lab, vendor: str = "openai", **request: Any) -> list[Any]:
    """The SDK's typed chunks of one request."""
    options = {"include_usage": True}
    asked = {"model": MODELS[vendor], "messages": HI, "stream": True, "stream_options": options, **request}
    async with client(lab.chat_url(vendor)) as sdk:
        return [chunk async for chunk in await sdk.chat.completions.create(**asked)]


# -- Responses --------------------------------------------------------------------------------------------------------
async def test_a_response_with_reasoning_text_and_calls_is_what_the_sdk_expects() -> None:
    script = (Think("hm"), Say("Both.", chunk=3), Call("look", {"n": 1}), Call("look", {"n": 2}))
    async with Lab(script=[script]) as lab:
        include = ["reasoning.encrypted_content"]
        events = await responses(lab, include=include, reasoning={"effort": "high", "summary": "auto"})
    names = [event.type.removeprefix("response.") for event in events]
    assert names[:4] == ["created", "in_progress", "output_item.added", "reasoning_summary_part.added"]
    assert names[-2:] == ["output_item.done", "completed"]
    done = events[-1].response
    thought, said, first, second = done.output
    assert (thought.type, thought.summary[0].text) == ("reasoning", "hm")
    assert (said.content[0].text, said.phase) == ("Both.", "commentary")
    assert [(c.name, json.loads(c.arguments)) for c in (first, second)] == [("look", {"n": 1}), ("look", {"n": 2})]
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == "Both."
    assert "".join(e.delta for e in events if e.type == "response.reasoning_summary_text.delta") == "hm"
    assert done.usage.output_tokens_details.reasoning_tokens == 1
    assert done.usage.total_tokens == done.usage.input_tokens + done.usage.output_tokens


async def test_a_summary_is_only_streamed_where_it_was_asked_for() -> None:
    async with Lab(script=[(Think("hm"), Say("so"))]) as lab:
        events = await responses(lab)
    assert not [e for e in events if "reasoning_summary" in e.type]
    assert events[-1].response.output[0].summary == []


@pytest.mark.parametrize(
    ("answer", "ending", "reason"),
    [
        (Answer((Say("a"),)), "response.completed", None),
        (Answer((Say("a"),), "max_tokens"), "response.incomplete", "max_output_tokens"),
        (Answer((Say("a"),), "content_filter"), "response.incomplete", "content_filter"),
        (Answer((Say("a"),), "brand_new"), "response.incomplete", "brand_new"),
    ],
)
async def test_a_response_ends_as_the_script_says(answer: Answer, ending: str, reason: str | None) -> None:
    async with Lab(script=[answer]) as lab:
        last = (await responses(lab))[-1]
    assert last.type == ending
    assert (last.response.incomplete_details.reason if reason else None) == reason


async def test_a_refusal_is_said_in_words() -> None:
    async with Lab(script=[Refusal(), Refusal()]) as lab:
        response = (await responses(lab))[-1].response
        chunks = await chat(lab)
    assert response.output[0].content[0].type == "refusal"
    assert [c.choices[0].delta.refusal for c in chunks if c.choices and c.choices[0].delta.refusal]
    assert chunks[-2].choices[0].finish_reason == "stop"


async def test_unknown_items_and_events_are_sent_as_they_are() -> None:
    item = {"type": "brand_new", "id": "bn_1", "data": "Zm9v/+="}
    async with Lab(script=[Block(item, ({"type": "response.brand_new.delta", "delta": "x"},))]) as lab:
        events = await responses(lab)
    assert "response.brand_new.delta" in [e.type for e in events]
    assert next(e for e in events if e.type == "response.output_item.done").item.to_dict() == item


async def test_errors_have_the_vendors_shape_on_each_wire() -> None:
    limited = Fail(429, "rate_limit_error", "slow down", {"retry-after": "37"})
    async with Lab(script=[limited, limited, Fail(429, "billing_error", "spent"), limited, limited]) as lab:
        with pytest.raises(openai.RateLimitError) as first:
            await responses(lab)
        with pytest.raises(openai.RateLimitError) as second:
            await chat(lab)
        with pytest.raises(openai.RateLimitError) as billing:
            await chat(lab)
        with pytest.raises(openai.RateLimitError) as glm:
            await chat(lab, "glm")
        with pytest.raises(openai.RateLimitError) as routed:
            await chat(lab, "openrouter")
    assert (first.value.code, second.value.code) == ("rate_limit_exceeded", "rate_limit_exceeded")
    assert (billing.value.code, glm.value.code) == ("insufficient_quota", "1302")
    assert routed.value.body == {"message": "slow down", "code": 429}
    assert first.value.response.headers["retry-after"] == "37"


async def test_a_stream_that_fails_says_so_in_the_vendors_words() -> None:
    async with Lab(script=[StreamError((Say("a"),))] * 4) as lab:
        failed = (await responses(lab))[-1]
        assert (failed.type, failed.response.error.code) == ("response.failed", "server_is_overloaded")
        for vendor, code in (("openai", "server_is_overloaded"), ("glm", "1305"), ("openrouter", 529)):
            with pytest.raises(openai.APIError) as caught:
                await chat(lab, vendor)
            assert caught.value.body["code"] == code  # type: ignore[index]


async def test_broken_events_and_cut_streams() -> None:
    async with Lab(script=[Malformed(), Malformed(), Cut((Say("abc"),), 1), Cut((Say("abc"),), 1, "clean")]) as lab:
        with pytest.raises(json.JSONDecodeError):
            await responses(lab)
        with pytest.raises(json.JSONDecodeError):
            await chat(lab)
        with pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
            await responses(lab)
        cut = await chat(lab)
    assert [c.choices[0].finish_reason for c in cut] == [None, None]


# -- Chat Completions -------------------------------------------------------------------------------------------------
async def test_parallel_calls_stream_by_index() -> None:
    async with Lab(script=[(Say("ok"), Call("look", {"n": 1}), Call("look", {"n": 2}))]) as lab:
        chunks = await chat(lab)
    deltas = [c.choices[0].delta for c in chunks if c.choices]
    calls = [call for delta in deltas for call in delta.tool_calls or ()]
    arguments = ["".join(c.function.arguments for c in calls if c.index == index) for index in (0, 1)]
    assert [json.loads(text) for text in arguments] == [{"n": 1}, {"n": 2}]
    assert [c.id for c in calls if c.id] == ["call_0001_0", "call_0001_1"]
    assert chunks[-2].choices[0].finish_reason == "tool_calls"
    assert (chunks[-1].choices, chunks[-2].usage) == ([], None)
    assert chunks[-1].usage.prompt_tokens > 0


@pytest.mark.parametrize(
    ("vendor", "field"), [("glm", "reasoning_content"), ("openrouter", "reasoning"), ("ollama", "reasoning")]
)
async def test_each_vendor_has_its_own_field_for_reasoning(vendor: str, field: str) -> None:
    async with Lab(script=[(Think("hm"), Say("so")), (Think("hm"), Say("so"))]) as lab:
        chunks = await chat(lab, vendor)
        hidden = await chat(lab)
    assert "".join(getattr(c.choices[0].delta, field, "") for c in chunks if c.choices) == "hm"
    assert not any(hasattr(c.choices[0].delta, field) for c in hidden if c.choices)
    assert hidden[-1].usage.completion_tokens_details.reasoning_tokens == 1


async def test_a_router_says_what_an_answer_cost() -> None:
    async with Lab() as lab:
        usage = (await chat(lab, "openrouter"))[-1].usage
    assert usage.cost == pytest.approx(usage.total_tokens * 0.000_002)


async def test_usage_comes_in_the_last_chunk_where_the_vendor_puts_it_there() -> None:
    async with Lab(script=[Answer((Say("a"),), "model_context_window_exceeded")]) as lab:
        last = (await chat(lab, "glm"))[-1]
    assert (last.choices[0].finish_reason, last.usage.completion_tokens) == ("model_context_window_exceeded", 1)


@pytest.mark.parametrize("ask", [responses, chat])
async def test_a_wire_without_the_word_fails_the_test_that_asks_for_it(ask: Any) -> None:
    lab = Lab(script=[Answer((Say("a"),), "pause_turn")])
    await lab.start()
    with pytest.raises(openai.APIConnectionError):
        await ask(lab)
    with pytest.raises(ValueError, match="no word for pause_turn"):
        await lab.__aexit__(None, None, None)


# -- caching ----------------------------------------------------------------------------------------------------------
def prompt(*texts: str) -> Any:
    return [{"role": "user", "content": text} for text in texts]


async def cached(lab: Lab, *texts: str, **more: Any) -> tuple[int, int, int | None]:
    """(tokens, cached ones, written ones) of a request."""
    usage = (await responses(lab, input=prompt(*texts), **more))[-1].response.usage
    details = usage.input_tokens_details
    return usage.input_tokens, details.cached_tokens, details.cache_write_tokens


async def test_the_longest_prefix_in_whole_steps_is_read_from_the_cache() -> None:
    clock = Clock()
    long = "x" * 8_000
    async with Lab(clock=clock) as lab:
        total, *_ = first = await cached(lab, long)
        written = total // 128 * 128
        assert first == (total, 0, written)
        more, read, new = await cached(lab, long, "y" * 2_000)
        assert (read, new) == (written, more // 128 * 128 - written)
        assert (await cached(lab, long, "z" * 2_000))[1] == written
        assert (await cached(lab, "!" + long))[1] == 0
        assert (await cached(lab, long, model="gpt-5.5"))[1:] == (0, None), "an older model does not say what it wrote"
        assert (await cached(lab, long, prompt_cache_key="other"))[1] == 0
        clock.now += 1_799
        assert (await cached(lab, long))[1] == written
        clock.now += 1_801
        assert (await cached(lab, long))[1] == 0


async def test_a_short_prompt_is_not_cached() -> None:
    async with Lab() as lab:
        for _ in range(2):
            assert (await cached(lab, "x" * 3_900))[1:] == (0, 0)


async def test_a_miss_is_explained_where_that_was_asked() -> None:
    long = "x" * 8_000

    async def finding(lab: Lab, compare_with: str, *texts: str, **more: Any) -> Any:
        options = {"prompt_cache_options": {"comparison_response_id": compare_with}}
        response = (await responses(lab, input=prompt(*texts), extra_body=options, **more))[-1].response
        return response.prompt_cache_diagnostics

    async with Lab() as lab:
        await responses(lab, input=prompt(long))
        assert (await finding(lab, "resp_0001", long, "more")).type == "cache_hit"
        changed = await finding(lab, "resp_0001", "!" + long)
        assert (changed.type, changed.reason) == ("cache_miss", "input_changed")
        assert changed.cache_missed_tokens > 2_000
        assert (await finding(lab, "resp_0001", long, model="gpt-5.5")).reason == "model_changed"
        assert (await finding(lab, "resp_0001", long, reasoning={"effort": "low"})).reason == "reasoning_effort_changed"
        assert (await finding(lab, "resp_9999", long)).type == "comparison_response_not_found"


# -- models -----------------------------------------------------------------------------------------------------------
async def test_each_vendor_lists_the_models_in_its_own_shape() -> None:
    async with Lab(models=("claude-opus-5", "gpt-6-sol"), window=1_000) as lab:
        async with client(lab.openai_url) as sdk:
            assert [m.id async for m in sdk.models.list()] == ["claude-opus-5", "gpt-6-sol"]
        async with httpx2.AsyncClient(verify=False) as http:
            version = {"anthropic-version": "2023-06-01"}
            own = (await http.get(f"{lab.base_url}/v1/models", headers=version)).json()
            routed = (await http.get(f"{lab.chat_url('openrouter')}/models")).json()
        assert own["data"][0]["max_input_tokens"] == routed["data"][0]["context_length"] == 1_000
        assert (len(lab.listed), lab.requests) == (3, [])


async def test_the_input_can_be_counted_before_it_is_sent() -> None:
    async with Lab() as lab, client(lab.openai_url) as sdk:
        counted = await sdk.responses.input_tokens.count(model="gpt-6-sol", input=HI)
        usage = (await responses(lab))[-1].response.usage
        assert (counted.input_tokens, len(lab.counted), len(lab.requests)) == (usage.input_tokens, 1, 1)
