"""Signed thinking behind a compaction that was asked for: what was kept still holds as long as it directly follows."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.lab import Call, Lab, Think
from tests.lab.anthropic_rules import BOUND_MODELS
from tests.lab.test_anthropic_rules import HEADERS, body, post, result, text
from tests.lab.test_bound_thinking import FREE, blocks

BETAS = {**HEADERS, "anthropic-beta": "compact-2026-09-04"}
TOOLS = [{"name": "look", "input_schema": {"type": "object"}}]
SUMMARISED = 3
"""Messages: what the person said, the first call, and its result."""
ELSEWHERE = "the content before the block is not what it was written after"
both = pytest.mark.parametrize("model", BOUND_MODELS)


async def worked(lab: Lab, sent: dict[str, Any], *numbers: int) -> None:
    """Further rounds of thought and call, added to ``sent``."""
    for n in numbers:
        lab.script((Think(f"thought {n}"), Call("look", {"n": n}, f"toolu_{n}")))
        said = blocks((await post(lab, sent, headers=BETAS)).text)
        sent["messages"].append({"role": "assistant", "content": said})
        sent["messages"].append({"role": "user", "content": [result(f"toolu_{n}", content=f"seen {n}")]})


async def summarised(lab: Lab, sent: dict[str, Any], upto: int = SUMMARISED, **more: Any) -> dict[str, Any]:
    """``sent`` with a block in place of its first ``upto`` messages."""
    asked = {**sent, "messages": sent["messages"][:upto], "compaction": {"type": "summarize"}, **more}
    made = blocks((await post(lab, asked, headers=BETAS)).text)
    tail = deepcopy(sent["messages"][upto:])
    return {**sent, "messages": [{"role": "assistant", "content": made}, *tail]}


async def verdict(lab: Lab, sent: dict[str, Any]) -> str:
    """What is wrong with the thinking of a request, empty for nothing."""
    answer = await post(lab, sent, headers=BETAS)
    return "" if answer.status_code == 200 else answer.json()["error"]["message"].rpartition(": ")[2]


def thoughts(message: dict[str, Any]) -> list[Any]:
    return [b for b in message["content"] if b["type"] == "thinking"]


async def talk(lab: Lab, model: str, rounds: int = 3) -> dict[str, Any]:
    sent = body(model=model, tools=TOOLS)
    await worked(lab, sent, *range(1, rounds + 1))
    return sent


@both
async def test_the_thinking_of_a_kept_tail_still_holds(model: str) -> None:
    async with Lab() as lab:
        sent = await summarised(lab, await talk(lab, model))
        assert [b["type"] for b in sent["messages"][1]["content"]] == ["thinking", "tool_use"]
        assert await verdict(lab, sent) == ""


@both
@pytest.mark.parametrize("change", ["put between", "edited", "left out"])
async def test_it_does_not_where_the_tail_is_not_what_followed(model: str, change: str) -> None:
    async with Lab() as lab:
        sent = await summarised(lab, await talk(lab, model))
        if change == "put between":
            sent["messages"].insert(1, {"role": "user", "content": [text("A note that was pinned.")]})
        elif change == "edited":
            sent["messages"][2]["content"][0]["content"] = "[masked]"
        else:
            del sent["messages"][1:3]
        assert await verdict(lab, sent) == ELSEWHERE
        for message in sent["messages"]:
            message["content"] = [b for b in message["content"] if b not in thoughts(message)]
        assert await verdict(lab, sent) == "", "without the thinking it is taken"


@both
@pytest.mark.parametrize("first", ["user", "assistant"])
async def test_it_does_not_where_the_tail_begins_on_the_side_that_ended_the_rest(model: str, first: str) -> None:
    async with Lab() as lab:
        sent = body(("user", "hi"), ("user", "and more"), model=model, tools=TOOLS)
        await worked(lab, sent, 1)
        assert await verdict(lab, await summarised(lab, sent, 1 if first == "user" else 2)) == (
            ELSEWHERE if first == "user" else ""
        )


async def test_it_does_not_where_another_kind_of_model_wrote_the_summary() -> None:
    async with Lab() as lab:
        sent = await talk(lab, BOUND_MODELS[0])
        assert await verdict(lab, await summarised(lab, sent, model=FREE)) == ELSEWHERE
        assert await verdict(lab, await summarised(lab, sent, model=BOUND_MODELS[1])) == ""


@both
async def test_it_holds_through_a_second_compaction_with_what_was_thought_in_between(model: str) -> None:
    async with Lab() as lab:
        sent = await summarised(lab, await talk(lab, model))
        await worked(lab, sent, 4, 5)
        again = await summarised(lab, sent)
        assert sum(len(thoughts(m)) for m in again["messages"]) == 3
        assert await verdict(lab, again) == ""


@both
async def test_what_was_thought_behind_a_block_belongs_to_it(model: str) -> None:
    async with Lab() as lab:
        whole = await talk(lab, model)
        sent = await summarised(lab, whole)
        await worked(lab, sent, 4)
        assert await verdict(lab, sent) == ""
        taken_back = {**whole, "messages": [*whole["messages"], *sent["messages"][-2:]]}
        assert await verdict(lab, taken_back) == ELSEWHERE
        other = await summarised(lab, whole, 5)
        assert await verdict(lab, {**other, "messages": [*other["messages"], *sent["messages"][-2:]]}) == ELSEWHERE
