"""What of a message takes room, by kind (RUNTIME.md 1.6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.loads import FEATURES, NOTHING, block_load, load, message_loads, minus, plus, total
from geode_tui.core.messages import (
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    tool_text,
    user_text,
)
from geode_tui.core.tokens import ScriptCounter

COUNTER = ScriptCounter()
CALL = ToolCallBlock("c-1", "grep", '{"pattern":"needle","limit":20}')


def test_every_kind_of_block_counts_in_its_category() -> None:
    """B014: replayed thinking and encrypted content take their room."""
    raw = '{"type":"thinking","thinking":"t","signature":"s"}'
    blocks = (TextBlock("a" * 40), ThinkingBlock("t" * 40, "anthropic", raw), CALL)
    loads = message_loads(Message("assistant", (*blocks, OpaqueBlock("openai", "reasoning", "A" * 40_000))), COUNTER)
    assert loads == {
        "agent": load(text=10, arguments=1 + 2 + 2 + 2 + 1, messages=1, calls=1, fields=2),
        "thinking": load(thinking=10, thoughts=1),
        "native": load(sealed=10_000),
    }
    assert message_loads(tool_text(CALL, "x" * 400), COUNTER) == {"results": load(results=100, returns=1)}
    assert message_loads(user_text("x" * 400), COUNTER) == {"user": load(text=100, messages=1)}
    assert message_loads(user_text("x" * 400), COUNTER, summary=True) == {"summaries": load(text=100, messages=1)}


def test_thinking_that_was_never_signed_is_not_sent_and_takes_no_room() -> None:
    assert block_load(ThinkingBlock("x" * 400), COUNTER) == ("thinking", NOTHING)


def test_thinking_whose_text_is_kept_back_takes_the_room_of_what_is_sealed() -> None:
    sealed = ThinkingBlock("", "anthropic", "s" * 4_000)
    assert block_load(sealed, COUNTER) == ("thinking", load(sealed=1_000, thoughts=1))


@pytest.mark.parametrize("arguments", ["x" * 40_000, '{"text":"' + "x" * 40_000 + '"}', '["' + "x" * 40_000 + '"]'])
def test_arguments_of_calls_are_not_forgotten_even_where_they_are_malformed(arguments: str) -> None:
    part = block_load(ToolCallBlock("c-1", "write_file", arguments), COUNTER)[1]
    assert 10_000 <= part[FEATURES.index("arguments")] <= 10_100


def test_escapes_of_json_are_not_counted() -> None:
    plain, escaped = (ToolCallBlock("c", "w", f'{{"t":"{"한글" * 50}{e * 50}"}}') for e in ("n", "\\n"))
    assert block_load(plain, COUNTER) == block_load(escaped, COUNTER)


def test_images_count_by_themselves_also_in_a_result() -> None:
    image = ImageBlock("image/png", "AAAA")
    shown = ToolResultBlock("c-1", "read_file", (image, TextBlock("a picture"), image))
    loads = message_loads(Message("tool", (shown,)), COUNTER)
    assert loads["images"] == load(pixels=3_200, tiles=3_200)
    assert loads["results"] == load(results=3, returns=1)


loads_ = st.lists(st.integers(0, 10**6), min_size=len(FEATURES), max_size=len(FEATURES)).map(
    lambda v: tuple(map(float, v))
)


@given(loads_, loads_)
def test_loads_add_up_and_come_apart_again(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    assert minus(plus(a, b), b) == a
    assert total([a, b]) == plus(b, a) == total([b, a, NOTHING])
