"""The size of a conversation of which its provider takes off a part by itself (RUNTIME.md 1.6, 3.1)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.conversation import Confirmed, Conversation
from geode_tui.context.estimate import PromptMeter, message_parts
from geode_tui.context.prefix import Prefix
from geode_tui.core.messages import Message, OpaqueBlock, TextBlock, ToolCallBlock, tool_text, user_text
from geode_tui.core.native import compacts, compacts_only, still_read
from geode_tui.core.usage import Usage
from geode_tui.routes.budget import budget_of
from geode_tui.routes.catalog import Catalog
from tests.context.talks import NATIVE, Talk

OPUS = Catalog().route("claude-opus-4-8", "anthropic", "payg")
BUDGET = budget_of(OPUS, 32_768)
PREFIX = Prefix(500, 1_500, "p")
FAILED = OpaqueBlock("anthropic", "compaction", '{"type":"compaction","content":null}')
EMPTY = OpaqueBlock("anthropic", "compaction", '{"type":"compaction","content":""}')
BROKEN = OpaqueBlock("anthropic", "compaction", "not json")
TEXT = TextBlock("word " * 400)


def used(meter: PromptMeter) -> int:
    return meter.figures(OPUS, BUDGET, PREFIX, simulated=False).used


def meter_of(*messages: Message) -> PromptMeter:
    meter = PromptMeter()
    for message in messages:
        meter.append(message, route=OPUS)
    return meter


@pytest.mark.parametrize(
    ("blocks", "whole", "only", "left"),
    [
        ((TEXT,), False, False, 1),
        ((NATIVE,), True, True, 1),
        ((NATIVE, TEXT), True, False, 2),
        ((TEXT, NATIVE, TEXT, NATIVE, FAILED), True, False, 2),
        ((FAILED,), False, True, 1),
        ((EMPTY, TEXT), False, False, 2),
        ((BROKEN,), False, True, 1),
        ((), False, False, 0),
    ],
)
def test_b037_only_a_compaction_with_a_text_counts(
    blocks: tuple[TextBlock | OpaqueBlock, ...], whole: bool, only: bool, left: int
) -> None:
    message = Message("assistant", blocks)
    assert (compacts(message), compacts_only(message)) == (whole, only)
    assert still_read(message).blocks == blocks[len(blocks) - left :]


def test_b037_the_estimate_is_the_block_and_what_came_after_it() -> None:
    later = Message("assistant", (NATIVE, TextBlock("go on"))), user_text("word " * 8_000)
    before = meter_of(user_text("word " * 100_000))
    after = meter_of(user_text("word " * 100_000), *later)
    assert used(before) > 90_000
    assert used(after) == pytest.approx(used(meter_of(*later)), abs=2)
    failed = meter_of(user_text("word " * 100_000), Message("assistant", (FAILED, TextBlock("go on"))))
    assert used(failed) >= used(before)


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=6), st.integers(1, 9_000), st.integers(1, 6_000))
def test_what_stood_before_a_compaction_never_matters_once_the_provider_counted(
    words: list[int], prompt: int, output: int
) -> None:
    meter = meter_of(*(user_text("w " * count) for count in words))
    meter.confirm(sum(words) + 2_000, meter.messages, OPUS, PREFIX)
    answer = Message("assistant", (NATIVE, TextBlock("x")))
    meter.append_compacted(answer, prompt, output, OPUS, PREFIX)
    assert used(meter) == prompt + output
    added = meter.append(user_text("more " * 300), route=OPUS)
    assert abs(used(meter) - (prompt + output + added)) <= 1


def test_a_compaction_nobody_counted_is_taken_off_by_the_estimate() -> None:
    meter = meter_of(user_text("word " * 50_000))
    assert meter.confirm(52_000, 1, OPUS, PREFIX)
    meter.append_compacted(Message("assistant", (NATIVE,)), 0, 0, OPUS, PREFIX)
    assert 1_500 < used(meter) < 4_000


def test_a_conversation_is_loaded_with_the_figures_it_had() -> None:
    talk = Talk()
    talk.user("word " * 40_000)
    talk.agent(TEXT)
    talk.user()
    talk.agent(NATIVE, TEXT)
    talk.user("and " * 500)
    calls = {2: Confirmed(Usage(42_000, 410), PREFIX), 4: Confirmed(Usage(2_100, 405), PREFIX)}
    live = Conversation(OPUS)
    for item in talk.items:
        if (call := calls.get(item.seq)) is not None:
            live.confirm(item.message, call)
            live.append(item, call.usage, call.prefix)
        else:
            live.append(item)
    again = Conversation(OPUS)
    again.load(talk.items, (), calls, OPUS)
    figures = [c.figures(BUDGET, PREFIX, simulated=False) for c in (live, again)]
    assert figures[0] == figures[1]
    assert 2_505 < figures[0].used < 3_300
    assert {"native", "agent", "user"} < figures[0].parts.keys()


# -- clearing ---------------------------------------------------------------------------------------------------------
CALLS = [ToolCallBlock(f"c-{n}", "look", "{}") for n in range(6)]
WORKED = [m for c in CALLS for m in (Message("assistant", (c,)), tool_text(c, "word " * 2_000))]


def test_what_the_provider_did_not_count_is_not_learned_from() -> None:
    told, cleared = meter_of(user_text("go"), *WORKED), meter_of(user_text("go"), *WORKED)
    assert told.confirm(20_000, told.messages, OPUS, PREFIX)
    assert cleared.confirm(12_000, cleared.messages, OPUS, PREFIX, 8_000)
    assert (used(told), used(cleared)) == (20_000, 12_000)
    more = user_text("word " * 3_000)
    assert told.append(more, route=OPUS) == cleared.append(more, route=OPUS)
    assert used(told) - used(cleared) == 8_000


def test_masking_what_the_provider_had_cleared_wins_only_the_rest() -> None:
    meter = meter_of(user_text("go"), *WORKED)
    assert meter.confirm(6_000, meter.messages, OPUS, PREFIX, 8_000)
    shorter = [tool_text(CALLS[n // 2], "gone") if n in {1, 3} else m for n, m in enumerate(WORKED)]
    meter.retake([user_text("go"), *shorter])
    assert used(meter) == 6_000, "about 4,000 tokens that were not counted any more"
    meter.retake([user_text("go")])
    assert used(meter) < 4_000


def test_the_size_of_a_real_answer_is_what_came_after_its_compaction() -> None:
    """B038: the iterations of an answer in which 164,830 tokens of a conversation were compacted."""
    block = json.dumps({"type": "compaction", "content": "so far " * 900, "signature": "s" * 600})
    message = Message("assistant", (OpaqueBlock("anthropic", "compaction", block), TEXT))
    meter = meter_of(user_text("word " * 160_000))
    meter.append_compacted(message, 4_310, 405, OPUS, PREFIX)
    assert used(meter) == 4_715
    assert message_parts(message)["native"] > 1_000
