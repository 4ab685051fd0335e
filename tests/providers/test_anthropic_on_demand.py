"""A compaction that is asked for: how it goes out, what comes back and what it costs, and how a run goes on from it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.messages import (
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    decode_blocks,
    encode_blocks,
    user_text,
)
from geode_tui.core.native import succeeded
from geode_tui.core.usage import Usage
from geode_tui.providers.anthropic_edits import COMPACT_BETA, EDITS_BETA, ON_DEMAND_BETA, betas_for
from geode_tui.providers.anthropic_request import encode_request
from geode_tui.providers.anthropic_stream import Assembly
from geode_tui.providers.base import Delta, Edits, Finished, Request
from geode_tui.providers.classify import classify_status
from geode_tui.providers.errors import ErrorKind, ProviderError
from tests.lab import Answer, Call, Cut, Drip, Fail, Lab, Say, ScriptStep, StreamError, Think
from tests.lab.scripts import Refusal
from tests.providers.wires import ANTHROPIC, BOUND, READ, Route, adapter, answer, events, request

NATIVE = OpaqueBlock("anthropic", "compaction", '{"type":"compaction","content":"S","signature":"s/+="}')
BEFORE = (user_text("Look into it. " * 60), Message("assistant", (TextBlock("I did. " * 60),)), user_text("And?"))
FULL = Edits(60_000, 40_000, 7, 3_000, ("use_skill",))


def wanted(*messages: Message, how: str = "", **more: Any) -> Request:
    """A request for a compaction, with all that its turn would have."""
    given = {"tools": (READ,), "effort": "low", "edits": FULL, "compare_with": "msg_1", "compaction": how}
    return request(ANTHROPIC, *messages or BEFORE, **{**given, **more})


def onwards(block: OpaqueBlock, *tail: Message, **more: Any) -> Request:
    return request(ANTHROPIC, Message("assistant", (block,)), *tail, **{"tools": (READ,), **more})


# -- on the way out ---------------------------------------------------------------------------------------------------
def test_all_that_makes_the_cached_prefix_stays_and_what_the_vendor_does_not_take_is_left_out() -> None:
    turn = encode_request(wanted(cache_messages=(2,), edits=Edits(), compaction=None, compare_with=None))
    asked = encode_request(wanted(cache_messages=(2,)))
    assert asked.pop("compaction") == {"type": "summarize"}
    assert asked == turn
    assert "compaction" not in encode_request(request(ANTHROPIC, edits=FULL))


@given(st.text())
def test_instructions_are_sent_as_they_are_unless_they_are_blank(how: str) -> None:
    sent = encode_request(wanted(how=how))["compaction"]
    assert sent == ({"type": "summarize", "instructions": how} if how.strip() else {"type": "summarize"})


ALL_THREE = (EDITS_BETA, COMPACT_BETA, ON_DEMAND_BETA)


@pytest.mark.parametrize(
    ("asked", "betas"),
    [
        (wanted(), (ON_DEMAND_BETA,)),
        (onwards(NATIVE, user_text("on")), (ON_DEMAND_BETA,)),
        (onwards(NATIVE, user_text("on"), edits=Edits(clear_at=9)), (EDITS_BETA, ON_DEMAND_BETA)),
        (wanted(Message("assistant", (NATIVE,)), user_text("on")), (ON_DEMAND_BETA,)),
        (request(ANTHROPIC, user_text("go"), Message("assistant", (NATIVE,))), (COMPACT_BETA,)),
        (onwards(NATIVE, Message("assistant", (NATIVE,)), edits=Edits(9)), ALL_THREE),
        (request(ANTHROPIC), ()),
    ],
)
def test_each_kind_of_block_and_request_brings_its_own_beta(asked: Request, betas: tuple[str, ...]) -> None:
    assert betas_for(asked) == betas


# -- there and back ---------------------------------------------------------------------------------------------------
async def test_one_block_comes_back_and_the_run_goes_on_from_it() -> None:
    async with Lab(compacting=Say("They looked into it.")) as lab, adapter(lab, ANTHROPIC) as provider:
        streamed = await events(provider, wanted(how="Keep names."))
        assert not [e for e in streamed if isinstance(e, Delta)], "nothing of it is a reply"
        made = streamed[-1]
        assert isinstance(made, Finished)
        assert made.stop_reason == "compaction"
        (block,) = made.blocks
        assert isinstance(block, OpaqueBlock)
        assert succeeded(block)
        assert made.usage == Usage(), "nothing was read that has the size of the conversation"
        assert made.extra_usage[0].prompt_tokens == lab.requests[0].tokens
        assert made.extra_usage[0].output_tokens == 5

        (kept,) = decode_blocks(encode_blocks(made.blocks))
        assert isinstance(kept, OpaqueBlock)
        reply = await answer(provider, onwards(kept, user_text("Go on."), edits=Edits(clear_at=9)))
        sent = lab.requests[1].body["messages"]
        assert sent[0] == {"role": "assistant", "content": [msgspec.json.decode(block.raw)]}
        assert reply.usage.prompt_tokens == lab.requests[1].tokens
        assert (lab.requests[1].tokens or 0) < (lab.requests[0].tokens or 0) / 2


async def test_it_can_be_compacted_again() -> None:
    async with Lab() as lab, adapter(lab, ANTHROPIC) as provider:
        (first,) = (await answer(provider, wanted())).blocks
        again = await answer(provider, wanted(Message("assistant", (first,)), *BEFORE))
        assert (again.stop_reason, len(again.blocks)) == ("compaction", 1)
        assert again.blocks[0] != first


async def test_what_the_turns_have_cached_is_read_and_paid_as_such() -> None:
    long = (user_text("word " * 6_000), Message("assistant", (TextBlock("Yes."),)), user_text("Go on."))
    shared: dict[str, Any] = {"cache_messages": (2,), "edits": Edits(), "compare_with": None}
    async with Lab() as lab, adapter(lab, ANTHROPIC) as provider:
        await answer(provider, wanted(*long, compaction=None, **shared))
        (spent,) = (await answer(provider, wanted(*long, **shared))).extra_usage
        assert spent.cache_read_tokens == spent.prompt_tokens > 7_000


@pytest.mark.parametrize("route", BOUND, ids=lambda route: route.name)
async def test_signed_thinking_in_the_kept_tail_still_holds_behind_the_block(route: Route) -> None:
    script = [(Think("one"), Say("First.")), (Think("two"), Say("Second."))]
    async with Lab(script=script) as lab, adapter(lab, route) as provider:
        said: list[Message] = [user_text("go")]
        for _ in range(2):
            reply = await answer(provider, request(route, *said))
            said += [Message("assistant", reply.blocks), user_text("go on")]
        made = await answer(provider, request(route, *said[:3], compaction=""))
        block, *tail = Message("assistant", made.blocks), *said[3:]
        assert any(isinstance(b, ThinkingBlock) for b in tail[0].blocks)
        assert (await answer(provider, request(route, block, *tail))).stop_reason == "end_turn"
        with pytest.raises(ProviderError) as caught:
            await answer(provider, request(route, block, user_text("by the way"), *tail))
        assert caught.value.kind is ErrorKind.HISTORY_INVALID


# -- when nothing comes of it -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("step", "stop_reason"),
    [
        (Refusal(), "refusal"),
        (Say("  "), "end_turn"),
        (Answer((Think("Hm."),)), "end_turn"),
        (Answer((Say("Half of"),), "max_tokens"), "max_tokens"),
        (Call("read_file", {"path": "a"}), "tool_use"),
    ],
)
async def test_without_a_summary_there_is_no_block_and_the_call_is_paid_all_the_same(
    step: ScriptStep, stop_reason: str
) -> None:
    async with Lab(compacting=step) as lab, adapter(lab, ANTHROPIC) as provider:
        made = await answer(provider, wanted())
    assert (made.blocks, made.stop_reason, made.usage) == ((), stop_reason, Usage())
    assert [u.prompt_tokens for u in made.extra_usage] == [lab.requests[0].tokens]


def test_a_reply_that_says_nothing_is_still_an_error() -> None:
    assembly = Assembly()
    start = {"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 3}}}
    entry = {"type": "message", "input_tokens": 3, "output_tokens": 1}
    usage = {"output_tokens": 1, "iterations": [{"type": "compaction", "input_tokens": 9, "output_tokens": 9}, entry]}
    for event in (start, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}):
        assembly.feed(event)
    with pytest.raises(ProviderError) as caught:
        assembly.finish()
    assert caught.value.kind is ErrorKind.EMPTY


UNAVAILABLE = {"error_code": "compaction_unavailable"}


@pytest.mark.parametrize(
    ("step", "kind", "retryable"),
    [
        (Fail(529, "overloaded_error", "Overloaded", details=UNAVAILABLE), ErrorKind.OVERLOADED, True),
        (StreamError((Say("S"),)), ErrorKind.OVERLOADED, True),
        (Cut((Say("S"),)), ErrorKind.CONNECTION, True),
    ],
)
async def test_what_breaks_off_is_told_apart_and_nothing_of_it_was_visible(
    step: ScriptStep, kind: ErrorKind, retryable: bool
) -> None:
    async with Lab(compacting=step) as lab, adapter(lab, ANTHROPIC) as provider:
        with pytest.raises(ProviderError) as caught:
            await answer(provider, wanted())
    assert (caught.value.kind, caught.value.retryable, caught.value.visible) == (kind, retryable, False)


async def test_one_that_does_not_fit_says_how_large_it_is() -> None:
    async with Lab(window=200) as lab, adapter(lab, ANTHROPIC) as provider:
        with pytest.raises(ProviderError) as caught:
            await answer(provider, wanted(max_tokens=1))
    assert caught.value.kind is ErrorKind.CONTEXT_OVERFLOW
    assert (caught.value.limit, caught.value.actual) == (200, lab.requests[0].tokens)


async def test_a_slow_one_is_as_good() -> None:
    async with Lab(compacting=Drip((Say("S"),), chars_per_s=1_000)) as lab, adapter(lab, ANTHROPIC) as provider:
        assert (await answer(provider, wanted())).stop_reason == "compaction"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("compaction_signature_invalid", ErrorKind.HISTORY_INVALID),
        ("compaction_content_mismatch", ErrorKind.HISTORY_INVALID),
        ("compaction_tool_changes_mismatch", ErrorKind.HISTORY_INVALID),
        ("compaction_block_misplaced", ErrorKind.HISTORY_INVALID),
        ("compaction_block_ambiguous", ErrorKind.HISTORY_INVALID),
        ("compaction_incomplete_turn", ErrorKind.BAD_REQUEST),
        ("compaction_nothing_to_summarize", ErrorKind.BAD_REQUEST),
        ("compaction_too_many_tool_references", ErrorKind.BAD_REQUEST),
    ],
)
def test_every_code_of_the_vendor_has_its_class(code: str, kind: ErrorKind) -> None:
    # The words alone would be those of an overflow: the code is what counts.
    error = {"type": "invalid_request_error", "message": "prompt is too long", "details": {"error_code": code}}
    assert classify_status(400, {"type": "error", "error": error}).kind is kind


async def test_what_the_vendor_says_of_a_block_without_a_code_is_a_fault_of_the_history() -> None:
    unsigned = OpaqueBlock("anthropic", "compaction", '{"type":"compaction","content":"S"}')
    async with Lab() as lab, adapter(lab, ANTHROPIC) as provider:
        with pytest.raises(ProviderError) as caught:
            await answer(provider, onwards(unsigned, user_text("on")))
    assert caught.value.kind is ErrorKind.HISTORY_INVALID
    assert "requires its `signature`" in caught.value.message
