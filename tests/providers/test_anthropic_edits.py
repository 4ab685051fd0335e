"""What a provider is asked to take off a prompt, and what it says it did, exactly as the wire has it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.messages import Message, OpaqueBlock, TextBlock, decode_blocks, encode_blocks, user_text
from geode_tui.core.usage import Usage
from geode_tui.providers.anthropic_edits import COMPACT_BETA, EDITS_BETA, betas_for, cleared_in
from geode_tui.providers.anthropic_request import encode_request
from geode_tui.providers.anthropic_usage import by_iteration
from geode_tui.providers.base import Cleared, Edits, Request
from geode_tui.providers.errors import ErrorKind, ProviderError
from tests.lab import Block, Lab, Say
from tests.providers.test_anthropic_stream import block, run, text
from tests.providers.wires import ANTHROPIC, adapter, answer, request

COMPACTED = OpaqueBlock("anthropic", "compaction", '{"type":"compaction","content":"S","encrypted_content":null}')
FULL = Edits(60_000, 40_000, 7, 3_000, ("use_skill",))


def asked(edits: Edits, *messages: Message) -> Request:
    return Request("claude-opus-5", (), messages or (user_text("go"),), edits=edits)


def test_edits_are_listed_with_the_clearing_first() -> None:
    clear, compact = encode_request(asked(FULL))["context_management"]["edits"]
    assert clear == {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 40_000},
        "keep": {"type": "tool_uses", "value": 7},
        "clear_at_least": {"type": "input_tokens", "value": 3_000},
        "exclude_tools": ["use_skill"],
        "clear_tool_inputs": False,
    }
    assert compact == {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 60_000}}


def test_without_edits_nothing_is_sent_of_them() -> None:
    body = encode_request(asked(Edits()))
    assert "context_management" not in body
    assert list(body) == ["model", "max_tokens", "stream", "messages"]
    assert betas_for(asked(Edits())) == ()


@pytest.mark.parametrize(
    ("edits", "messages", "betas"),
    [
        (FULL, (), (EDITS_BETA, COMPACT_BETA)),
        (Edits(clear_at=9), (), (EDITS_BETA,)),
        (Edits(compact_at=50_000), (), (EDITS_BETA, COMPACT_BETA)),
        (Edits(), (user_text("go"), Message("assistant", (COMPACTED,))), (COMPACT_BETA,)),
    ],
)
def test_each_edit_and_each_block_brings_its_beta(
    edits: Edits, messages: tuple[Message, ...], betas: tuple[str, ...]
) -> None:
    assert betas_for(asked(edits, *messages)) == betas


async def test_betas_are_added_to_what_stands_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"anthropic-beta: first-2026-01-01,{EDITS_BETA}")
    async with Lab() as lab, adapter(lab, ANTHROPIC) as provider:
        await answer(provider, request(ANTHROPIC, edits=FULL, betas=("last-2026-01-01",)))
        sent = lab.requests[0].headers["anthropic-beta"].split(",")
    assert sent == ["first-2026-01-01", EDITS_BETA, COMPACT_BETA, "last-2026-01-01"]


# -- blocks -----------------------------------------------------------------------------------------------------------
START = {"type": "compaction", "content": None, "encrypted_content": None, "signature": "s/+="}


@given(st.none() | st.text(), st.none() | st.text(), st.none() | st.just([]))
def test_a_streamed_compaction_is_kept_and_sent_back_as_it_came(
    content: str | None, encrypted: str | None, changes: Any
) -> None:
    whole = {**START, "content": content, "encrypted_content": encrypted, "tool_changes": changes}
    delta = {"type": "compaction_delta", "content": content, "encrypted_content": encrypted}
    _, finished = run(*block(0, {**START, "tool_changes": changes}, delta), *text(1, "on"))
    kept = decode_blocks(encode_blocks(finished.blocks))
    assert isinstance(kept[0], OpaqueBlock)
    assert kept[0].kind == "compaction"
    sent = encode_request(asked(Edits(), user_text("go"), Message("assistant", kept)))["messages"][1]["content"]
    assert list(sent[0].items()) == list(whole.items())


async def test_a_compaction_the_vendor_did_not_write_is_a_fault_of_the_history() -> None:
    made = Message("assistant", (COMPACTED, TextBlock("on")))
    async with Lab() as lab, adapter(lab, ANTHROPIC) as provider:
        with pytest.raises(ProviderError) as caught:
            await answer(provider, request(ANTHROPIC, user_text("go"), made, user_text("on"), edits=FULL))
    assert caught.value.kind is ErrorKind.HISTORY_INVALID


async def test_a_model_that_does_not_compact_says_so_and_that_is_no_overflow() -> None:
    async with Lab() as lab, adapter(lab, ANTHROPIC) as provider:
        with pytest.raises(ProviderError) as caught:
            await answer(provider, request(ANTHROPIC, model="claude-haiku-4-5", edits=FULL))
    assert caught.value.kind is ErrorKind.BAD_REQUEST
    assert "does not support compaction" in caught.value.message


async def test_one_that_failed_goes_round_with_its_null() -> None:
    failed = {"type": "compaction", "content": None, "signature": None}
    async with Lab(script=[(Block(failed), Say("on"))]) as lab, adapter(lab, ANTHROPIC) as provider:
        first = await answer(provider, request(ANTHROPIC, edits=FULL))
        said = Message("assistant", first.blocks)
        await answer(provider, request(ANTHROPIC, user_text("go"), said, user_text("on"), edits=FULL))
        assert lab.requests[1].body["messages"][1]["content"][0] == failed


# -- figures ----------------------------------------------------------------------------------------------------------
def test_what_was_cleared_is_read_off_the_end_of_an_answer() -> None:
    cleared = {"type": "clear_tool_uses_20250919", "cleared_input_tokens": 9_000, "cleared_tool_uses": 4}
    other = {"type": "clear_thinking_20251015", "cleared_input_tokens": 70, "cleared_thinking_turns": 1}
    assert cleared_in({"context_management": {"applied_edits": [other, cleared]}}) == Cleared(4, 9_000)
    without: list[Any] = [
        None,
        {},
        {"applied_edits": None},
        {"applied_edits": [other, None, 7]},
        {"applied_edits": [{}]},
    ]
    for nothing in without:
        assert cleared_in({"context_management": nothing}) is None


def test_the_prompt_before_a_compaction_is_neither_its_size_nor_paid_for_twice() -> None:
    before = {"input_tokens": 12, "cache_read_input_tokens": 164_830, "output_tokens": 40}
    written = {"type": "message", "input_tokens": 900, "cache_read_input_tokens": 0, "output_tokens": 40}
    report = {**before, "output_tokens_details": {"thinking_tokens": 9}}
    usage, others = by_iteration({**report, "iterations": [{"type": "compaction", **before}, written]})
    assert usage == Usage(900, 40, 0, reasoning_tokens=9)
    assert others == (Usage(12, 40, 164_830),)
    alone = by_iteration({**report, "iterations": [{"type": "compaction", **before}]})
    assert alone == (Usage(), (Usage(12, 40, 164_830),))
