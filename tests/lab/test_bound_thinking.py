"""Signed thinking and what stands before it: the two models that bind the one to the other, and all others."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from tests.lab import Call, Lab, Think
from tests.lab.anthropic_rules import BOUND_MODELS
from tests.lab.test_anthropic_rules import body, post, result

FREE = "claude-sonnet-5"
REFUSED = (
    "messages.3.content.0: Invalid `signature` in `thinking` block: "
    "the content before the block is not what it was written after"
)


async def conversation(lab: Lab, model: str) -> dict[str, Any]:
    """Two rounds of thought and call, as the client holds them. Arguments are short enough to come in one piece."""
    lab.script((Think("one"), Call("look", {"n": 1}, "toolu_1")), (Think("two"), Call("look", {"n": 2}, "toolu_2")))
    sent = body(model=model, tools=[{"name": "look", "input_schema": {"type": "object"}}])
    for call_id, seen in (("toolu_1", "first"), ("toolu_2", "second")):
        sent["messages"].append({"role": "assistant", "content": blocks((await post(lab, sent)).text)})
        sent["messages"].append({"role": "user", "content": [result(call_id, content=seen)]})
    return sent


def blocks(stream: str) -> list[dict[str, Any]]:
    """The blocks of a streamed answer, as they are sent back."""
    found: list[dict[str, Any]] = []
    for line in stream.splitlines():
        event = json.loads(line[6:]) if line.startswith("data: ") else {}
        delta = event.get("delta", {})
        if event.get("type") == "content_block_start":
            found.append(event["content_block"])
        elif "thinking" in delta:
            found[-1]["thinking"] += delta["thinking"]
        elif "signature" in delta:
            found[-1]["signature"] = delta["signature"]
        elif "partial_json" in delta:
            found[-1]["input"] = json.loads(delta["partial_json"])
    return found


async def status(lab: Lab, sent: dict[str, Any]) -> tuple[int, str]:
    answer = await post(lab, sent)
    return answer.status_code, "" if answer.status_code == 200 else answer.json()["error"]["message"]


@pytest.mark.parametrize("model", [*BOUND_MODELS, FREE])
async def test_an_edit_before_signed_thinking_is_caught_where_it_is_bound(model: str) -> None:
    async with Lab() as lab:
        sent = await conversation(lab, model)
        assert await status(lab, sent) == (200, "")
        edited = deepcopy(sent)
        edited["messages"][2]["content"][0]["content"] = "[masked]"
        assert await status(lab, edited) == ((400, REFUSED) if model in BOUND_MODELS else (200, ""))


@pytest.mark.parametrize("model", BOUND_MODELS)
async def test_what_is_edited_behind_it_does_not_matter(model: str) -> None:
    async with Lab() as lab:
        sent = await conversation(lab, model)
        sent["messages"][4]["content"][0]["content"] = "[masked]"
        assert await status(lab, sent) == (200, "")


@pytest.mark.parametrize("model", BOUND_MODELS)
async def test_thinking_that_lost_its_place_may_be_left_out(model: str) -> None:
    async with Lab() as lab:
        sent = await conversation(lab, model)
        sent["messages"][2]["content"][0]["content"] = "[masked]"
        del sent["messages"][3]["content"][0]
        assert await status(lab, sent) == (200, "")


@pytest.mark.parametrize("left_out", [(1,), (3,), (1, 3)])
async def test_thinking_may_be_left_out_of_any_answer(left_out: tuple[int, ...]) -> None:
    async with Lab() as lab:
        sent = await conversation(lab, BOUND_MODELS[0])
        for index in left_out:
            del sent["messages"][index]["content"][0]
        assert await status(lab, sent) == (200, "")


async def test_cache_marks_and_the_borders_of_messages_are_no_edits() -> None:
    async with Lab() as lab:
        sent = await conversation(lab, BOUND_MODELS[0])
        marked = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
        sent["messages"][0]["content"] = [marked]
        assert await status(lab, sent) == (200, "")


@pytest.mark.parametrize("model", [*BOUND_MODELS, FREE])
async def test_a_changed_thought_is_refused_by_every_model(model: str) -> None:
    async with Lab() as lab:
        sent = await conversation(lab, model)
        sent["messages"][1]["content"][0]["thinking"] = "something else"
        refusal = "messages.1.content.0: Invalid `signature` in `thinking` block"
        assert await status(lab, sent) == (400, refusal)
