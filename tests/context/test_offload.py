"""Which results are put into files, and what is sent in their stead (RUNTIME.md 4.1, 4.3)."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.conversation import Confirmed, Conversation
from geode_tui.context.estimate import PromptMeter
from geode_tui.context.offload import (
    LEAST_PAGE,
    SUMMARY_CHARS,
    gauge_counter,
    page_tokens,
    referred,
    should_offload,
    stub_text,
    summary_of,
    tokens_of,
)
from geode_tui.context.prefix import Prefix
from geode_tui.context.view import Item
from geode_tui.core.limits import ResultBounds
from geode_tui.core.messages import Message, ToolCallBlock, tool_text, user_text
from geode_tui.core.tokens import CHUNK_CHARS, text_tokens
from geode_tui.core.usage import Usage
from geode_tui.core.views import Cause, Native, Offload, Operation, Stub, Summarise, Version
from geode_tui.providers.offline.evidence import offload_ref
from geode_tui.routes.budget import budget_of
from geode_tui.routes.catalog import Catalog

any_text = st.text(st.characters(codec="utf-8"), max_size=600)


class Counting:
    """Counts as `text_tokens`, and what it was given."""

    def __init__(self) -> None:
        self.pieces: list[int] = []

    def __call__(self, text: str) -> int:
        self.pieces.append(len(text))
        return text_tokens(text)


# -- which ------------------------------------------------------------------------------------------------------------
@given(any_text, st.integers(1, 200))
def test_what_takes_more_than_the_threshold_is_stored(text: str, threshold: int) -> None:
    if len(text) <= 8 * threshold:
        assert should_offload(text, threshold, text_tokens) == (text_tokens(text) > threshold)
    else:
        assert should_offload(text, threshold, text_tokens)


@pytest.mark.parametrize(("tokens", "over"), [(15_000, False), (15_001, True)])
def test_the_threshold_itself_is_not_more(tokens: int, over: bool) -> None:
    assert should_offload("abcd" * tokens, 15_000, text_tokens) is over
    assert should_offload("한" * tokens, 15_000, text_tokens) is over


def test_a_threshold_of_nothing_stores_nothing() -> None:
    assert not should_offload("x" * 10_000_000, 0, text_tokens)


def test_no_more_is_counted_than_is_needed() -> None:
    count = Counting()
    assert not should_offload("x" * 15_000, 15_000, count)
    assert should_offload("x" * 20_000_000, 15_000, count)
    assert count.pieces == []
    assert should_offload("한" * 350_000, 90_000, count)
    assert count.pieces == [CHUNK_CHARS]


def test_a_very_long_text_is_measured_by_a_sample() -> None:
    count = Counting()
    text = "a line of the log\n" * 1_200_000
    tokens = tokens_of(text, count)
    assert sum(count.pieces) <= 1_000_000
    assert tokens == pytest.approx(text_tokens(text), rel=0.01)
    assert tokens_of(text[:3_000_000], text_tokens) == pytest.approx(text_tokens(text[:3_000_000]), rel=0.001)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "offline"])
def test_a_result_is_counted_as_the_gauge_counts_it(provider: str) -> None:
    route = Catalog().route("some-model", provider, "payg")
    text, sizes = "def f(x):\n    return x\n" * 40, []
    for body in (text, "-"):
        meter = PromptMeter()
        meter.append(tool_text(ToolCallBlock("c", "read_file", "{}"), body), route=route)
        sizes.append(meter.figures(route, budget_of(route, 1_000), Prefix(), simulated=False).parts["results"])
    assert gauge_counter(PromptMeter(), route)(text) == pytest.approx(sizes[0] - sizes[1], abs=2)


# -- pages ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("bounds", "window", "tokens"),
    [
        (ResultBounds(), 200_000, 7_500),
        (ResultBounds(), 1_000_000, 7_500),
        (ResultBounds(offload=40_000), 1_000_000, 8_000),
        (ResultBounds(offload=0), 1_000_000, 8_000),
        (ResultBounds(), 32_000, 1_600),
        (ResultBounds(most=0), 32_000, 1_600),
        (ResultBounds(most=3_000), 1_000_000, 3_000),
        (ResultBounds(offload=10), 1_000_000, LEAST_PAGE),
    ],
)
def test_a_page_is_smaller_than_what_would_be_stored_or_cut(bounds: ResultBounds, window: int, tokens: int) -> None:
    assert page_tokens(bounds, window) == tokens


# -- the stub ---------------------------------------------------------------------------------------------------------
@given(any_text, st.text(st.sampled_from("abc \n[]"), max_size=30))
def test_a_stub_is_one_json_object_that_names_the_result(text: str, note: str) -> None:
    stub = stub_text("toolu_1", "grep", 18_300, text, note)
    value = json.loads(stub)
    assert list(value) == ["_offloaded", "_ref_id", "_original_tokens", "summary", "hint"]
    assert (value["_offloaded"], value["_ref_id"], value["_original_tokens"]) == (True, "toolu_1", 18_300)
    assert len(value["summary"]) <= SUMMARY_CHARS
    assert 'recall_tool_result(ref_id="toolu_1")' in value["hint"]
    assert value["hint"].endswith(note.strip())
    assert offload_ref(stub) == "toolu_1"


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ('{"rows": [1], "summary": "3 rows of 5"}', "3 rows of 5"),
        ('{"message": "later", "content": "first of the keys"}', "first of the keys"),
        ('{"text": "", "output": "said"}', "said"),
        ('{"summary": 5, "a": 1}', 'keys: summary, a; {"summary": 5, "a": 1}'),
        ("plain text", "plain text"),
        ('{"broken": ', '{"broken":'),
        ('["a", "list"]', '["a", "list"]'),
        ("  한국어 결과  ", "한국어 결과"),
    ],
)
def test_the_summary_is_what_the_result_says_of_itself(text: str, summary: str) -> None:
    assert summary_of(text) == summary


def test_of_many_keys_ten_are_named() -> None:
    text = json.dumps({f"key_{n}": n for n in range(100)})
    assert summary_of(text).startswith("keys: " + ", ".join(f"key_{n}" for n in range(10)) + "; {")


def test_b045_beginning_and_end_of_a_long_text_stay() -> None:
    text = "first line\n" + "L1\n" * 4_300 + "exit 1"
    summary = summary_of(text)
    assert summary.startswith("first line\n")
    assert summary.endswith("exit 1")
    assert " [...] " in summary
    assert len(summary) == SUMMARY_CHARS


def test_hostile_text_stays_within_its_string() -> None:
    text = '", "_ref_id": "other", "x": "\x1b]0;t\x07' + "\u202e\x00" * 300
    value = json.loads(stub_text("call_1", "run_shell", 9, text))
    assert value["_ref_id"] == "call_1"
    assert value["summary"].startswith('", "_ref_id"')


def test_deeply_nested_json_is_text() -> None:
    assert summary_of('{"a":' * 100_000).startswith('{"a":')


# -- what is referred to ----------------------------------------------------------------------------------------------
def made(number: int, cause: Cause, *operations: Operation, back: tuple[int, ...] = ()) -> Version:
    return Version(number=number, parent=number - 1, group=number, cause=cause, operations=operations, takes_back=back)


ARRIVED = made(1, "arrival", Offload((Stub(3, "{}", "c1"), Stub(5, "{}", "c2"))))


def test_what_is_sent_is_referred_to_and_what_an_undo_would_bring_back() -> None:
    assert referred([]) == frozenset()
    assert referred([ARRIVED]) == {"c1", "c2"}
    summarised = made(2, "manual", Summarise(1, 4, "about c9"))
    assert referred([ARRIVED, summarised]) == {"c1", "c2"}
    assert referred([ARRIVED, summarised, made(3, "manual", Summarise(1, 4, "again"))]) == {"c2"}
    undone = made(4, "undo", back=(3,))
    assert referred([ARRIVED, summarised, made(3, "manual", Summarise(1, 4, "again")), undone]) == {"c1", "c2"}


def test_what_a_summary_names_stays_and_so_does_all_behind_a_providers_own_block() -> None:
    first = made(2, "manual", Summarise(1, 4, "x"))
    assert referred([ARRIVED, first, made(3, "manual", Summarise(1, 6, "the log is in c1"))]) == {"c1", "c2"}
    twice = made(3, "manual", Summarise(1, 6, "x")), made(4, "manual", Summarise(1, 6, "x"))
    assert referred([ARRIVED, first, *twice]) == frozenset()
    assert referred([ARRIVED, first, made(3, "manual", Native(1, 6, "{}", "anthropic"))]) == {"c1", "c2"}


# -- in the conversation ----------------------------------------------------------------------------------------------
def test_an_arrival_costs_no_confirmed_figure_and_is_loaded_as_it_came_about() -> None:
    route = Catalog().route("some-model", "anthropic", "payg")
    asked = ToolCallBlock("c1", "grep", "{}")
    items = (
        Item(1, 1, 1, user_text("look")),
        Item(2, 1, 1, Message("assistant", (asked,))),
        Item(3, 1, 1, tool_text(asked, "a line\n" * 20_000)),
    )
    confirmed = {2: Confirmed(Usage(3_000, 700), Prefix(digest="p"))}
    stub = Stub(3, stub_text("c1", "grep", 30_000, "a line\n"), "c1", 30_000)

    def used(conversation: Conversation) -> int:
        budget = budget_of(route, 1_000)
        return conversation.figures(budget, Prefix(digest="p"), simulated=False).used

    live = Conversation(route)
    live.append(items[0])
    live.confirm(items[1].message, confirmed[2])
    live.append(items[1], Usage(3_000, 700))
    before = used(live)
    version = msgspec.structs.replace(live.version("arrival", (Offload((stub,)),)), newest=3)
    live.take(version)
    assert used(live) == before
    live.append(items[2])
    assert [sent.state for sent in live.sent] == ["verbatim", "verbatim", "offloaded"]
    assert used(live) - before == pytest.approx(live.size(live.messages[-1]), abs=1)
    again = Conversation(route)
    again.load(items, (version,), confirmed, route)
    assert (used(again), again.messages) == (used(live), live.messages)
