"""The system prompt's two halves, and where a request is marked for its provider's cache (RUNTIME.md 7)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.prompt import (
    MARK_DISTANCE,
    MESSAGE_MARKS,
    PromptFacts,
    cache_marks,
    dynamic_prompt,
    static_prompt,
)
from geode_tui.core.messages import (
    Block,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    tool_text,
    user_text,
)

CALL = ToolCallBlock("c-1", "grep", "{}")
FACTS = PromptFacts("parser", "2026-11-30", "linux", "reads", ("grep", "read_file"))


def test_the_dynamic_half_stands_in_its_envelope_and_says_each_fact_once() -> None:
    text = dynamic_prompt(FACTS)
    assert text.startswith("<dynamic_context>\n")
    assert text.endswith("\n</dynamic_context>")
    lines = text.splitlines()[1:-1]
    assert [line.split(":")[0] for line in lines] == ["project", "date", "platform", "approvals", "tools"]
    assert "2026-11-30" in text
    assert "grep, read_file" in text


@pytest.mark.parametrize("approve", ["ask", "reads", "all"])
def test_each_approval_policy_has_words(approve: str) -> None:
    others = {"ask", "reads", "all"} - {approve}
    text = dynamic_prompt(PromptFacts("p", "d", "l", approve, ()))
    assert all(text != dynamic_prompt(PromptFacts("p", "d", "l", other, ())) for other in others)


def test_the_static_half_knows_nothing_that_changes() -> None:
    assert static_prompt() == static_prompt()
    assert "<dynamic_context>" not in static_prompt()
    assert "instruction" in static_prompt()


def says(*blocks: Block) -> Message:
    return Message("assistant", blocks)


def test_the_last_three_of_a_short_history_are_marked() -> None:
    history = tuple(user_text(f"message {n}") for n in range(5))
    assert cache_marks(history) == (2, 3, 4)
    assert cache_marks(history[:1]) == (0,)
    assert cache_marks(()) == ()


def test_marks_never_stand_on_empty_text_thinking_or_native_blocks() -> None:
    history = (
        user_text("go"),
        says(TextBlock("x"), ThinkingBlock("hm")),
        says(TextBlock("  \n")),
        says(OpaqueBlock("p", "k", "{}")),
        says(),
        says(TextBlock("x"), CALL),
        tool_text(CALL, "found"),
    )
    assert cache_marks(history) == (0, 5, 6)


def test_a_long_history_is_marked_at_distances_that_the_look_back_covers() -> None:
    history = tuple(user_text(f"message {n}") for n in range(60))
    assert cache_marks(history) == (23, 41, 59)


def test_a_long_history_that_ends_unmarkable_is_marked_before_its_end() -> None:
    history = (*(user_text(f"message {n}") for n in range(30)), says(ThinkingBlock("hm")))
    assert cache_marks(history)[-1] == 29


messages = st.sampled_from(
    [
        user_text("x"),
        user_text(" "),
        says(ThinkingBlock("hm")),
        says(TextBlock("a"), CALL),
        says(*[TextBlock("a")] * 7),
        tool_text(CALL, "found"),
    ]
)


@given(st.lists(messages, max_size=90).map(tuple))
def test_marks_are_few_rising_and_far_enough_apart(history: tuple[Message, ...]) -> None:
    marks = cache_marks(history)
    assert len(marks) <= MESSAGE_MARKS
    assert list(marks) == sorted(set(marks))
    if sum(len(m.blocks) for m in history) > 20:
        for earlier, later in itertools.pairwise(marks):
            assert sum(len(m.blocks) for m in history[earlier:later]) >= MARK_DISTANCE


@given(st.lists(messages, min_size=1, max_size=60).map(tuple))
def test_the_newest_message_that_can_be_marked_is(history: tuple[Message, ...]) -> None:
    markable = [i for i, m in enumerate(history) if m != user_text(" ") and m != says(ThinkingBlock("hm"))]
    assert cache_marks(history)[-1:] == tuple(markable[-1:])
