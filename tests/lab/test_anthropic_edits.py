"""The lab takes the edits that the vendor takes, makes them as the vendor does, and knows its own compactions again."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from tests.lab import Lab, Say
from tests.lab.anthropic_edits import CLEAR, CLEAR_THINKING, CLEARED, COMPACT, COMPACTING, edited
from tests.lab.compaction import compaction, failed_compaction
from tests.lab.server import SECRET
from tests.lab.test_anthropic_rules import HEADERS, body, call, post, result, text
from tests.lab.tokens import text_blocks

BETAS = "context-management-2025-06-27,compact-2026-01-12"
LONG = "word " * 44_000
"""About 55,000 tokens by the lab's count."""


def compacting(value: int = 50_000) -> dict[str, Any]:
    return {"type": COMPACT, "trigger": {"type": "input_tokens", "value": value}}


def clearing(value: int, keep: int = 1, **more: Any) -> dict[str, Any]:
    trigger, kept = {"type": "input_tokens", "value": value}, {"type": "tool_uses", "value": keep}
    return {"type": CLEAR, "trigger": trigger, "keep": kept, **more}


def asking(*edits: dict[str, Any], messages: Any = (("user", "hi"),), **more: Any) -> dict[str, Any]:
    return body(*messages, context_management={"edits": list(edits)}, **more)


async def answered(lab: Lab, sent: dict[str, Any], betas: str = BETAS) -> list[dict[str, Any]]:
    """The events of the answer."""
    given = await post(lab, sent, headers={**HEADERS, "anthropic-beta": betas})
    assert given.status_code == 200, given.text
    return [json.loads(line[6:]) for line in given.text.splitlines() if line.startswith("data: ")]


async def refused(lab: Lab, sent: dict[str, Any], betas: str = BETAS) -> dict[str, Any]:
    given = await post(lab, sent, headers={**HEADERS, "anthropic-beta": betas})
    assert given.status_code == 400, given.text
    error: dict[str, Any] = given.json()["error"]
    return error


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("an edit without its beta", asking(compacting()), "", "context_management: Extra inputs are not permitted"),
    (
        "a compaction with the other beta",
        asking(compacting()),
        "context-management-2025-06-27",
        f"context_management.edits.0: Input tag '{COMPACT}' found using 'type' does not match",
    ),
    ("an edit nobody knows", asking({"type": "forget"}), BETAS, "context_management.edits.0: Input tag 'forget' found"),
    ("a field nobody knows", asking({**compacting(), "keep": 1}), BETAS, f".0.{COMPACT}.keep: Extra inputs"),
    ("a trigger below the floor", asking(compacting(49_999)), BETAS, "greater than or equal to 50000"),
    (
        "thinking that is not cleared first",
        asking(clearing(1), {"type": CLEAR_THINKING}),
        BETAS,
        "must be the first edit",
    ),
    *(
        (
            f"a model that does not compact ({model})",
            asking(compacting(), model=model),
            BETAS,
            f"{model} does not support compaction",
        )
        for model in ("claude-haiku-4-5", "claude-sonnet-4-5", "claude-opus-4-5-20251101")
    ),
]


@pytest.mark.parametrize(("sent", "betas", "message"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
async def test_an_edit_the_vendor_does_not_take_is_refused(sent: dict[str, Any], betas: str, message: str) -> None:
    async with Lab() as lab:
        assert message in (await refused(lab, sent, betas))["message"]
        assert lab.sent.rejections == 0, "it is no overflow"


@pytest.mark.parametrize("model", [*COMPACTING, "claude-opus-4-6-20260101"])
async def test_every_listed_model_takes_it(model: str) -> None:
    async with Lab() as lab:
        await answered(lab, asking(clearing(1), compacting(), model=model))


async def test_a_prompt_past_its_trigger_is_compacted_and_counted_from_there_on() -> None:
    async with Lab(script=[Say("on"), Say("and on")]) as lab:
        sent = asking(compacting(), messages=(("user", LONG),))
        events = await answered(lab, sent)
        start, delta = (e for e in events[2:4])
        assert start["content_block"]["type"] == "compaction"
        assert (start["content_block"]["content"], delta["delta"]["type"]) == (None, "compaction_delta")
        end = next(e for e in events if e["type"] == "message_delta")
        assert end["context_management"] == {"applied_edits": []}
        compacted, written = end["usage"]["iterations"]
        assert (compacted["type"], written["type"]) == ("compaction", "message")
        assert compacted["input_tokens"] > 50_000 > 100 > written["input_tokens"] == end["usage"]["input_tokens"]

        block = {**start["content_block"], "content": delta["delta"]["content"]}
        block["encrypted_content"] = delta["delta"]["encrypted_content"]
        sent["messages"] += [{"role": "assistant", "content": [block, text("on")]}, {"role": "user", "content": "go"}]
        again = await answered(lab, sent)
        assert again[2]["content_block"]["type"] == "text"
        assert again[0]["message"]["usage"]["input_tokens"] < 100
        assert lab.requests[1].tokens == again[0]["message"]["usage"]["input_tokens"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"content": "something else"}, "compaction_content_mismatch"),
        ({"encrypted_content": "x"}, "compaction_content_mismatch"),
        ({"signature": "cmp_made.up"}, "compaction_signature_invalid"),
        ({"signature": None}, "compaction_signature_invalid"),
    ],
)
async def test_a_compaction_that_was_touched_is_refused(change: dict[str, Any], code: str) -> None:
    block = compaction(SECRET, "S")
    whole = asking(compacting(), messages=(("user", "hi"), ("assistant", [block, text("a")]), ("user", "b")))
    async with Lab() as lab:
        await answered(lab, whole)
        touched = deepcopy(whole)
        touched["messages"][1]["content"][0] |= change
        assert (await refused(lab, touched))["details"]["error_code"] == code
        moved = asking(compacting(), messages=(("user", [block, text("hi")]),))
        assert (await refused(lab, moved))["details"]["error_code"] == "compaction_block_misplaced"


async def test_a_failed_compaction_is_taken_and_changes_nothing_and_an_empty_one_is_not() -> None:
    sent = asking(messages=(("user", "x " * 400), ("assistant", [failed_compaction(), text("a")]), ("user", "b")))
    async with Lab() as lab:
        await answered(lab, sent)
        assert (lab.requests[0].tokens or 0) > 200
        sent["messages"][1]["content"][0]["content"] = ""
        assert "at least 1 character" in (await refused(lab, sent))["message"]


async def test_a_compaction_needs_its_beta_and_a_model_that_reads_it() -> None:
    messages = (("user", "hi"), ("assistant", [compaction(SECRET, "S"), text("a")]), ("user", "b"))
    async with Lab() as lab:
        assert "'compaction'" in (await refused(lab, body(*messages), ""))["message"]
        haiku = body(*messages, model="claude-haiku-4-5")
        assert "does not support compaction" in (await refused(lab, haiku))["message"]


# -- clearing ---------------------------------------------------------------------------------------------------------
def worked(*, keep: int = 1, trigger: int = 1_000, **more: Any) -> dict[str, Any]:
    """Three calls with results of 500 tokens each."""
    messages: list[tuple[str, Any]] = [("user", "hi")]
    for n in range(3):
        messages += [("assistant", [call(f"toolu_{n}")]), ("user", [result(f"toolu_{n}", content="word" * 500)])]
    return asking(clearing(trigger, keep, **more), messages=messages)


def emptied(sent: dict[str, Any]) -> list[int]:
    results = [
        b for m in edited(sent).body["messages"] for b in text_blocks(m["content"]) if b["type"] == "tool_result"
    ]
    return [n for n, block in enumerate(results) if block["content"] == CLEARED]


def test_the_oldest_results_are_cleared_where_that_is_enough() -> None:
    assert emptied(worked()) == [0, 1]
    assert emptied(worked(keep=2)) == [0]
    assert emptied(worked(keep=5)) == []
    assert emptied(worked(trigger=2_000)) == []
    assert emptied(worked(clear_at_least={"type": "input_tokens", "value": 900})) == [0, 1]
    assert emptied(worked(clear_at_least={"type": "input_tokens", "value": 1_000})) == []
    assert emptied(worked(exclude_tools=["read_file"])) == []


async def test_what_was_cleared_is_reported_and_not_counted() -> None:
    async with Lab() as lab:
        end = next(e for e in await answered(lab, worked()) if e["type"] == "message_delta")
        (edit,) = end["context_management"]["applied_edits"]
        assert (edit["type"], edit["cleared_tool_uses"]) == (CLEAR, 2)
        assert 900 < edit["cleared_input_tokens"] < 1_000
        whole = await answered(lab, worked(keep=3))
        assert lab.requests[0].tokens == (lab.requests[1].tokens or 0) - edit["cleared_input_tokens"]
        assert next(e for e in whole if e["type"] == "message_delta")["context_management"] == {"applied_edits": []}


async def test_a_token_count_says_what_the_edits_would_take_off() -> None:
    async with Lab() as lab:
        headers = {**HEADERS, "anthropic-beta": BETAS}
        counted = (await post(lab, worked(), headers=headers, path="/v1/messages/count_tokens")).json()
        assert counted["context_management"]["original_input_tokens"] - counted["input_tokens"] > 900
