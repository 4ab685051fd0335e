"""The lab compacts when it is asked to, takes and refuses what the vendor does, and knows its own blocks again."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab import Answer, Block, Call, Cut, Fail, Lab, Say, ScriptStep, Think
from tests.lab.anthropic_edits import COMPACTING
from tests.lab.compaction import Swap, asked_compaction, compaction, failed_compaction
from tests.lab.on_demand import LONGEST_INSTRUCTIONS
from tests.lab.server import SECRET
from tests.lab.summaries import blank, cut_off, of_messages, refusal, thoughts_only
from tests.lab.test_anthropic_edits import answered, clearing, compacting, refused
from tests.lab.test_anthropic_rules import HEADERS, body, call, post, result, text
from tests.lab.tokens import count_block, count_text

ON_DEMAND, BY_ITSELF, EDITS = "compact-2026-09-04", "compact-2026-01-12", "context-management-2025-06-27"
TALK: tuple[tuple[str, Any], ...] = (("user", "Look into it. " * 40), ("assistant", "I did. " * 40), ("user", "And?"))
TOOLS = [{"name": "read_file", "input_schema": {"type": "object"}}]
KEPT = asked_compaction(SECRET, "what was said", Swap((), "user"))
OLD = compaction(SECRET, "what was said")


def asking(*messages: tuple[str, Any], instructions: str | None = None, **more: Any) -> dict[str, Any]:
    given = {"type": "summarize", **({"instructions": instructions} if instructions is not None else {})}
    return body(*messages or TALK, **{"compaction": given, **more})


def after(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The next request once ``blocks`` stand for the conversation."""
    return body(("assistant", list(blocks)), ("user", "Go on."), **more)


def block_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    assert [e["type"] for e in events] == [
        "message_start", "ping", "content_block_start", "content_block_stop", "message_delta", "message_stop",
    ]  # fmt: skip
    block: dict[str, Any] = events[2]["content_block"]
    return block


async def compacted(lab: Lab, sent: dict[str, Any]) -> dict[str, Any]:
    return block_of(await answered(lab, sent, ON_DEMAND))


# -- what it answers --------------------------------------------------------------------------------------------------
async def test_the_block_comes_whole_and_the_call_is_reported_beside_a_reply_of_nothing() -> None:
    async with Lab() as lab:
        events = await answered(lab, asking(), ON_DEMAND)
        block = block_of(events)
        assert set(block) == {"type", "content", "signature"}
        assert "And?" in block["content"]
        end = events[-2]
        assert end["delta"]["stop_reason"] == "compaction"
        assert "context_management" not in end
        (iteration,) = end["usage"].pop("iterations")
        assert end["usage"] == {"input_tokens": 0, "output_tokens": 0}
        assert iteration["type"] == "compaction"
        assert iteration["input_tokens"] == lab.requests[0].tokens
        assert iteration["output_tokens"] == count_text(block["content"])
        assert lab.sent.kinds == ("compaction",)


async def test_afterwards_the_block_and_what_follows_is_all_that_is_read() -> None:
    async with Lab() as lab:
        block = await compacted(lab, asking())
        next_one = after(block)
        await answered(lab, next_one, ON_DEMAND)
        assert (
            lab.requests[1].tokens == count_block(block) + count_block(text("Go on.")) < (lab.requests[0].tokens or 0)
        )
        await answered(lab, body(("user", [block, text("Go on.")])), ON_DEMAND)
        assert lab.requests[2].tokens == lab.requests[1].tokens


async def test_a_second_one_stands_for_the_first_and_all_after_it() -> None:
    async with Lab() as lab:
        first = await compacted(lab, asking())
        second = await compacted(lab, asking(("assistant", [first]), ("user", "Look at `b.py`. " * 40)))
        assert "b.py" in second["content"]
        await answered(lab, after(second), ON_DEMAND)
        error = await refused(lab, after(second, first), ON_DEMAND)
        assert error["details"]["error_code"] == "compaction_block_ambiguous"


async def test_it_reads_the_prefix_that_the_turns_have_cached() -> None:
    said = [("user", "word " * 6_000), ("assistant", "Yes."), ("user", [text("Go on.", "5m")])]
    shared: dict[str, Any] = {"system": [text("You are brief.", "1h")], "tools": TOOLS}
    async with Lab() as lab:
        turn = (await answered(lab, body(*said, **shared), ON_DEMAND))[0]["message"]["usage"]
        assert turn["cache_creation_input_tokens"] > 7_000
        (iteration,) = (await answered(lab, asking(*said, **shared), ON_DEMAND))[-2]["usage"]["iterations"]
        assert iteration["cache_read_input_tokens"] == turn["cache_creation_input_tokens"]
        assert iteration["cache_creation_input_tokens"] == iteration["input_tokens"] == 0


async def test_it_takes_nothing_off_the_script_and_its_text_can_be_given() -> None:
    async with Lab(script=[Say("a reply")], compacting=Say("  as told\n")) as lab:
        assert (await compacted(lab, asking(instructions="Keep names.")))["content"] == "as told"
        assert lab.remaining == 1


NOTHING: list[tuple[ScriptStep, str]] = [
    (refusal(), "refusal"),
    (blank(), "end_turn"),
    (thoughts_only(), "end_turn"),
    (cut_off("Look."), "max_tokens"),
    ((Say("I look."), Call("read_file", {"path": "a"})), "tool_use"),
    (Answer((), "model_context_window_exceeded"), "model_context_window_exceeded"),
]


@pytest.mark.parametrize(("step", "stop_reason"), NOTHING, ids=[f"{i}-{n[1]}" for i, n in enumerate(NOTHING)])
async def test_where_no_summary_is_written_there_is_no_block_but_a_bill(step: ScriptStep, stop_reason: str) -> None:
    async with Lab(compacting=step) as lab:
        events = await answered(lab, asking(tools=TOOLS), ON_DEMAND)
        assert [e["type"] for e in events] == ["message_start", "ping", "message_delta", "message_stop"]
        assert events[2]["delta"]["stop_reason"] == stop_reason
        assert [i["type"] for i in events[2]["usage"]["iterations"]] == ["compaction"]


async def test_a_script_may_have_it_fail_in_every_other_way() -> None:
    async with Lab(compacting=Block(failed_compaction())) as lab:
        assert (await compacted(lab, asking()))["content"] is None
        lab.compacting = Fail(529, "overloaded_error", "Overloaded", details={"error_code": "compaction_unavailable"})
        given = await post(lab, asking(), headers={**HEADERS, "anthropic-beta": ON_DEMAND})
        assert (given.status_code, given.json()["error"]["details"]["error_code"]) == (529, "compaction_unavailable")
        lab.compacting = Cut((Say("a summary"),), 0, "clean")
        given = await post(lab, asking(), headers={**HEADERS, "anthropic-beta": ON_DEMAND})
        assert "content_block_start" not in given.text
    async with Lab(window=200) as lab:
        assert "prompt is too long" in (await refused(lab, asking(max_tokens=1), ON_DEMAND))["message"]
        assert lab.sent.rejections == 1


@given(st.lists(st.text("ab /.\n", min_size=1, max_size=300).filter(str.strip), min_size=1, max_size=6))
def test_what_it_writes_by_itself_is_the_same_each_time_and_shorter(words: list[str]) -> None:
    sent = asking(*((("user", "assistant")[i % 2], word) for i, word in enumerate(words)))
    written = of_messages(sent)
    assert written == of_messages(deepcopy(sent))
    assert isinstance(written, Say)
    assert written.text
    assert count_text(written.text) <= sum(count_block(text(word)) for word in words)


# -- what it refuses --------------------------------------------------------------------------------------------------
CALLED = ("assistant", [call()])
REFUSED: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("no beta", asking(), "", f"requires anthropic-beta: {ON_DEMAND}", ""),
    ("the beta of the other kind", asking(), BY_ITSELF, f"requires anthropic-beta: {ON_DEMAND}", ""),
    ("another type", asking(compaction={"type": "forget"}), ON_DEMAND, "Input should be 'summarize'", ""),
    ("a field too many", asking(compaction={"type": "summarize", "trigger": 1}), ON_DEMAND, "Extra inputs", ""),
    ("endless instructions", asking(instructions="x" * (LONGEST_INSTRUCTIONS + 1)), ON_DEMAND, "at most 16384", ""),
    ("edits beside it", asking(context_management={"edits": []}), f"{ON_DEMAND},{EDITS}", "context_management:", ""),
    ("stop sequences", asking(stop_sequences=["."]), ON_DEMAND, "stop_sequences:", ""),
    ("any tool", asking(tools=TOOLS, tool_choice={"type": "any"}), ON_DEMAND, "tool_choice:", ""),
    ("one tool", asking(tools=TOOLS, tool_choice={"type": "tool", "name": "read_file"}), ON_DEMAND, "tool_choice:", ""),
    ("a form", asking(output_config={"format": {"type": "json_schema"}}), ON_DEMAND, "output_config.format:", ""),
    ("the old form", asking(output_format={"type": "json_schema"}), ON_DEMAND, "output_format:", ""),
    ("what is left", asking(output_config={"task_budget": {"remaining": 9}}), ON_DEMAND, "task_budget.remaining:", ""),
    ("an old model", asking(model="claude-haiku-4-5"), ON_DEMAND, "does not support compaction", ""),
    ("an open call", asking(*TALK, CALLED), ON_DEMAND, "not finished", "compaction_incomplete_turn"),
    ("nothing at all", asking(messages=[]), ON_DEMAND, "nothing to summarize", "compaction_nothing_to_summarize"),
    ("nothing said", asking(("user", "")), ON_DEMAND, "nothing to summarize", "compaction_nothing_to_summarize"),
    (
        "a block inside",
        asking(*TALK, ("assistant", [OLD])),
        f"{ON_DEMAND},{BY_ITSELF}",
        "",
        "compaction_block_misplaced",
    ),
]


@pytest.mark.parametrize(("sent", "betas", "message", "code"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
async def test_a_request_for_one_the_vendor_does_not_take_is_refused(
    sent: dict[str, Any], betas: str, message: str, code: str
) -> None:
    async with Lab() as lab:
        error = await refused(lab, sent, betas)
        assert message in error["message"]
        assert error.get("details", {}).get("error_code", "") == code
        assert lab.sent.rejections == 0, "it is no overflow"


@pytest.mark.parametrize("model", [*COMPACTING, "claude-opus-4-6-20260101"])
async def test_every_listed_model_takes_what_belongs_to_a_turn(model: str) -> None:
    shaped: dict[str, Any] = {
        "tool_choice": {"type": "none"},
        "output_config": {"effort": "low"},
        "thinking": {"type": "adaptive"},
    }
    answered_call = (CALLED, ("user", [result()]))
    async with Lab() as lab:
        assert await compacted(lab, asking(*TALK, *answered_call, model=model, tools=TOOLS, **shaped))


async def test_a_token_count_does_not_mind_the_parameter() -> None:
    async with Lab() as lab:
        counted = [(await post(lab, sent, path="/v1/messages/count_tokens")).json() for sent in (asking(), body(*TALK))]
        assert counted[0] == counted[1]


PLACED: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("what it stands for is still there", body(*TALK, ("assistant", [KEPT]), ("user", "b")), ON_DEMAND, "not the first",
     "compaction_block_misplaced"),
    ("two of them", after(KEPT, text("a"), KEPT), ON_DEMAND, "more than one", "compaction_block_ambiguous"),
    ("one of the other kind behind it", after(KEPT, OLD), f"{ON_DEMAND},{BY_ITSELF}", "more than one",
     "compaction_block_ambiguous"),
    ("no beta", after(KEPT), "", "Input tag 'compaction'", ""),
    ("the beta of the other kind", after(KEPT), BY_ITSELF, f"requires anthropic-beta: {ON_DEMAND}", ""),
    ("an old model", after(KEPT, model="claude-haiku-4-5"), ON_DEMAND, "does not support compaction", ""),
    ("another text", after({**KEPT, "content": "more"}), ON_DEMAND, "does not match", "compaction_content_mismatch"),
    ("a made up signature", after({**KEPT, "signature": "ond_x.y"}), ON_DEMAND, "", "compaction_signature_invalid"),
    ("no signature", after({"type": "compaction", "content": "S"}), ON_DEMAND, "requires its `signature`", ""),
    ("fields of the client's own", after({**KEPT, "citations": None}), ON_DEMAND, "compaction.citations: Extra", ""),
    ("compaction at a threshold", after(KEPT, context_management={"edits": [compacting()]}), f"{ON_DEMAND},{BY_ITSELF}",
     "cannot run on a request that carries", ""),
    ("one of its own, nothing asked of it", body(("user", "a"), ("assistant", [OLD]), ("user", "b")), BY_ITSELF,
     "require a `compact_20260112`", ""),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "betas", "message", "code"), [r[1:] for r in PLACED], ids=[r[0] for r in PLACED])
async def test_a_block_that_is_not_where_it_belongs_as_it_came_is_refused(
    sent: dict[str, Any], betas: str, message: str, code: str
) -> None:
    async with Lab() as lab:
        error = await refused(lab, sent, betas)
        assert message in error["message"]
        assert error.get("details", {}).get("error_code", "") == code


async def test_results_may_be_cleared_behind_it_and_a_cache_mark_set_on_it() -> None:
    marked = {**KEPT, "cache_control": {"type": "ephemeral"}}
    async with Lab() as lab:
        sent = after(marked, context_management={"edits": [clearing(1)]})
        assert json.dumps(await answered(lab, sent, f"{ON_DEMAND},{EDITS}")).count("content_block_stop") == 1


async def test_a_thought_is_no_text() -> None:
    async with Lab(compacting=(Think("What matters?"), Say("This does."))) as lab:
        events = await answered(lab, asking(), ON_DEMAND)
        assert block_of(events)["content"] == "This does."
        (iteration,) = events[-2]["usage"]["iterations"]
        assert iteration["output_tokens"] == count_text("What matters?") + count_text("This does.")
