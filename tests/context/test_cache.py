"""Why a prompt was not read from its provider's cache, and what that cost."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.cache import (
    LEAST_TOKENS,
    STEP_TOKENS,
    Break,
    Difference,
    MessageNames,
    Sent,
    as_read,
    break_between,
    cached_tokens,
    caches,
    difference,
    layers_of,
    loss_micro,
    lost_tokens,
)
from geode_tui.core.messages import ImageBlock, Message, ThinkingBlock, ToolCallBlock, tool_text, user_text
from geode_tui.core.tools import ToolSpec
from geode_tui.core.usage import Usage
from geode_tui.routes.catalog import Catalog

CATALOG = Catalog()
OPUS = CATALOG.route("claude-opus-4-8", "anthropic", "payg")
SOL = CATALOG.route("gpt-6-sol", "openai", "payg")
TS = 1_790_000_000.0
CALL = ToolCallBlock("c-1", "look", '{"n": 1}')
HISTORY = (
    user_text("go"),
    Message("assistant", (ThinkingBlock("hm", "anthropic", '{"signature": "s"}'), CALL)),
    tool_text(CALL, "found"),
    Message("assistant", (ImageBlock("image/png", "AAAA"),)),
)
LOOK, SEE = (ToolSpec(name, "A tool.", {"type": "object"}) for name in ("look", "see"))
WRITTEN = Usage(100, 50, 8_000, 2_000, 1_000)
"""11,000 tokens stay in the cache."""


def sent(messages: tuple[Message, ...] = HISTORY, usage: Usage = WRITTEN, **changed: Any) -> Sent:
    names = MessageNames().of(messages)
    parts: dict[str, Any] = {
        "tools": (LOOK, SEE),
        "system": "be brief",
        "dynamic": "monday",
        "settings": ("auto", "high"),
    }
    parts |= {name: changed.pop(name) for name in parts.keys() & changed.keys()}
    facts = {"route": OPUS.key, "at": TS, "names": names, "caches": True, **changed}
    return Sent(layers=layers_of(names=names, **parts), usage=usage, **facts)


def after(read: int = 0, plain: int = 20_000, **changed: Any) -> Sent:
    """A later request of the same conversation: what of it was read, and the rest of its prompt."""
    more = (*HISTORY, user_text("more"))
    return sent(**{"messages": more, "usage": Usage(plain, 50, read), "at": TS + 10, **changed})


# -- the first difference ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({}, None),
        ({"route": SOL.key}, "model"),
        ({"tools": (SEE, LOOK)}, "tools"),
        ({"tools": (LOOK,)}, "tools"),
        ({"system": "be long"}, "system"),
        ({"dynamic": "tuesday"}, "dynamic"),
        ({"settings": ("none", "high")}, "settings"),
        ({"tools": (), "system": "", "dynamic": ""}, "tools"),
        ({"system": "", "dynamic": "", "settings": ()}, "system"),
    ],
)
def test_the_first_layer_that_differs_is_the_difference(changed: dict[str, Any], cause: str | None) -> None:
    found = difference(sent(), after(**changed))
    assert (found and found.cause) == cause


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        (HISTORY, None),
        (HISTORY[:3], Difference("removed", 4)),
        ((*HISTORY[:1], *HISTORY[2:]), Difference("removed", 2)),
        ((HISTORY[0], HISTORY[1], tool_text(CALL, "other"), HISTORY[3]), Difference("message", 3)),
        ((user_text("stop"), *HISTORY[1:]), Difference("message", 1)),
        ((), Difference("removed", 1)),
    ],
)
def test_a_message_that_differs_is_told_by_its_place(messages: tuple[Message, ...], found: Difference | None) -> None:
    assert difference(sent(), sent(messages)) == found


def test_where_a_message_came_from_is_not_sent_and_so_no_difference() -> None:
    renamed = tuple(msgspec.structs.replace(m, origin="import") for m in HISTORY)
    assert difference(sent(), sent(renamed)) is None


def test_after_a_restart_a_changed_history_is_seen_without_its_place() -> None:
    before = msgspec.structs.replace(sent(), names=())
    assert difference(before, after()) is None
    assert difference(before, sent(HISTORY[1:])) == Difference("message")


texts = st.lists(st.text(max_size=8), max_size=12)


@given(texts, texts)
def test_a_conversation_that_only_grows_never_differs(old: list[str], added: list[str]) -> None:
    before, later = (tuple(user_text(t) for t in some) for some in (old, old + added))
    assert difference(sent(before), sent(later)) is None


@given(texts, texts)
def test_a_difference_is_found_at_the_first_place_where_there_is_one(old: list[str], new: list[str]) -> None:
    found = difference(sent(tuple(map(user_text, old))), sent(tuple(map(user_text, new))))
    if found is None:
        assert new[: len(old)] == old
    else:
        place = found.position - 1
        assert new[:place] == old[:place]
        assert new[place : place + 1] != old[place : place + 1]


@given(st.lists(st.sampled_from(HISTORY), max_size=8), st.lists(st.sampled_from(HISTORY), max_size=8))
def test_names_that_were_made_before_are_those_made_anew(first: list[Message], second: list[Message]) -> None:
    names = MessageNames()
    names.of(first)
    assert names.of(second) == MessageNames().of(second)


# -- what is kept, and what is lost -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("usage", "known", "kept"),
    [
        (WRITTEN, False, 11_000),
        (Usage(900, 0, 0, 0, 0), True, 0),
        (Usage(5_000, 0, 4_000), True, 8_960),
        (Usage(5_000, 0, 0), False, 0),
        (Usage(1_000, 0, 0), True, 0),
        (Usage(5_000), True, None),
    ],
)
def test_what_a_provider_keeps_follows_from_what_it_reports(usage: Usage, known: bool, kept: int | None) -> None:
    assert cached_tokens(sent(usage=usage, caches=known)) == kept


def test_a_route_is_known_to_cache_once_it_read_something() -> None:
    other = CATALOG.route("openrouter/acme/m", "openrouter", "payg")
    nothing, read = Usage(9_000, 0, 0), Usage(1_000, 0, 8_000)
    assert [caches(other, usage, None) for usage in (nothing, read)] == [False, True]
    assert caches(other, nothing, sent(route=other.key))
    assert not caches(other, nothing, sent(route=OPUS.key))
    assert caches(SOL, nothing, None)


def test_what_is_not_sent_any_more_is_not_lost() -> None:
    assert lost_tokens(sent(), after(read=0, plain=4_000)) == 4_000
    assert lost_tokens(sent(), after(read=3_000, plain=20_000)) == 8_000
    assert lost_tokens(sent(), after(read=11_000)) == lost_tokens(sent(), after(read=12_000)) == 0


def test_nothing_is_lost_where_nothing_is_reported() -> None:
    assert lost_tokens(sent(), after(usage=Usage(20_000))) == 0
    assert lost_tokens(sent(usage=Usage(20_000)), after()) == 0


# -- the break --------------------------------------------------------------------------------------------------------
def cause(found: Break | None) -> str | None:
    return None if found is None else found.difference.cause


@pytest.mark.parametrize(
    ("provider", "gap_s", "changed", "expected"),
    [
        ("anthropic", 10, {}, "unknown"),
        ("anthropic", 301, {}, "expired"),
        ("anthropic", 301, {"dynamic": "tuesday"}, "dynamic"),
        ("anthropic", 3_601, {"dynamic": "tuesday"}, "expired"),
        ("openai", 301, {}, "unknown"),
        ("openai", 1_801, {}, "expired"),
        ("openai", 3_601, {"dynamic": "tuesday"}, "dynamic"),
        ("openai", 86_401, {"dynamic": "tuesday"}, "expired"),
        ("glm", 301, {}, "expired"),
    ],
)
def test_time_is_the_cause_where_nothing_changed_or_nothing_can_be_left(
    provider: str, gap_s: float, changed: dict[str, Any], expected: str
) -> None:
    key = ("m", provider, "payg")
    assert cause(break_between(sent(route=key), after(route=key, at=TS + gap_s, **changed))) == expected


@pytest.mark.parametrize(
    ("said", "changed", "expected"),
    [
        ("system_changed", {}, "system"),
        ("system_changed", {"dynamic": "tuesday"}, "dynamic"),
        ("tools_changed", {"dynamic": "tuesday"}, "tools"),
        ("messages_changed", {"messages": HISTORY[:2]}, "removed"),
        ("messages_changed", {}, "message"),
        ("input_changed", {"dynamic": "tuesday"}, "dynamic"),
        ("prompt_cache_key_changed", {"tools": ()}, "tools"),
        ("prompt_cache_key_changed", {}, "key"),
        ("context_compacted", {"messages": HISTORY[:2]}, "compacted"),
        ("reasoning_effort_changed", {}, "settings"),
        ("model_changed", {"at": TS + 90_000}, "model"),
        ("something_new", {"dynamic": "tuesday"}, "dynamic"),
    ],
)
def test_the_providers_word_comes_first_and_is_made_exact(said: str, changed: dict[str, Any], expected: str) -> None:
    found = break_between(sent(), after(**changed), said)
    assert found is not None
    assert (found.difference.cause, found.said) == (expected, said)


def test_little_is_no_break_and_without_a_reason_less_than_a_cached_prefix_is_none() -> None:
    cases: tuple[tuple[dict[str, Any], int], ...] = (({"dynamic": "tuesday"}, STEP_TOKENS), ({}, LEAST_TOKENS))
    for changed, least in cases:
        assert break_between(sent(), after(read=11_000 - least + 1, **changed)) is None
        found = break_between(sent(), after(read=11_000 - least, **changed))
        assert found is not None
        assert found.tokens == least


def test_a_difference_that_lost_nothing_is_no_break() -> None:
    assert break_between(sent(), after(read=11_000, tools=())) is None


# -- its price --------------------------------------------------------------------------------------------------------
def test_a_loss_costs_what_was_paid_above_the_price_of_reading() -> None:
    """$5 in, 0.50 read, 6.25 and 10 written for five minutes and an hour (RUNTIME.md 1.5)."""
    usage = Usage(1_000, 50, 500, 6_000, 2_000)
    assert as_read(usage, 7_000) == Usage(1_000, 50, 7_500, 1_000, 0)
    assert loss_micro(OPUS, usage, 7_000, TS) == 2_000 * 95 // 10 + 5_000 * 575 // 100
    assert as_read(usage, 9_000) == Usage(0, 50, 9_500, 0, 0)


def test_a_loss_above_a_price_tier_costs_at_the_rate_of_the_tier() -> None:
    """B061: $4 in above 272,000 tokens, 0.40 read."""
    assert loss_micro(SOL, Usage(300_000, 0, 0), 100_000, TS) == 360_000
    assert loss_micro(SOL, Usage(200_000, 0, 0), 100_000, TS) == 180_000


def test_a_loss_without_a_price_has_none() -> None:
    assert loss_micro(CATALOG.route("acme/m", "openrouter", "payg"), Usage(9_000, 0, 0), 5_000, TS) is None


counts = st.integers(0, 400_000)


@given(counts, counts, st.none() | counts, st.none() | counts, st.integers(0, 2_000_000))
def test_reading_changes_no_size_and_never_costs_more(
    plain: int, read: int, short: int | None, long: int | None, lost: int
) -> None:
    usage = Usage(plain, 10, read, short, long)
    lost = min(lost, usage.prompt_tokens - read)
    cheaper = as_read(usage, lost)
    assert cheaper.prompt_tokens == usage.prompt_tokens
    assert cheaper.cache_read_tokens == read + lost
    assert (loss_micro(OPUS, usage, lost, TS) or 0) >= 0
