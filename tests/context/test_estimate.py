"""How many tokens a prompt takes before its provider counted it (RUNTIME.md 1.6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context import loads
from geode_tui.context.estimate import (
    UNCONFIRMED_MARGIN_PERCENT,
    PromptMeter,
    block_part,
    message_parts,
    plausible,
    replayed_output,
    vocabulary_of,
)
from geode_tui.context.figures import CATEGORIES, balanced
from geode_tui.context.prefix import Prefix, prefix_of
from geode_tui.core.events import ContextFigures
from geode_tui.core.messages import (
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    tool_text,
    user_text,
)
from geode_tui.core.tokens import ScriptCounter, load_vocabulary
from geode_tui.core.tools import ToolSpec
from geode_tui.core.usage import Usage
from geode_tui.routes.budget import budget_of
from geode_tui.routes.catalog import Catalog, Route

CATALOG = Catalog()
ROUTE = Route("m", "p", "payg", "m", 200_000, 64_000, "catalog")
OPUS = CATALOG.route("claude-opus-4-6", "anthropic", "payg")
HAIKU = CATALOG.route("claude-haiku-4-5", "anthropic", "payg")
BUDGET = budget_of(ROUTE, 32_768)
PREFIX = Prefix(500, 1_500, "p")
CALL = ToolCallBlock("c-1", "grep", '{"pattern":"x"}')
SIGNED = '{"type":"thinking","thinking":"t","signature":"s"}'


def gauge(meter: PromptMeter, route: Route = ROUTE, prefix: Prefix = PREFIX) -> ContextFigures:
    return meter.figures(route, BUDGET, prefix, simulated=False)


def confirmed(*messages: Message, tokens: int, route: Route = ROUTE) -> PromptMeter:
    meter = PromptMeter()
    for message in messages:
        meter.append(message)
    assert meter.confirm(tokens, meter.messages, route, PREFIX)
    return meter


# -- parts ----------------------------------------------------------------------------------------------------------
def test_hangul_is_not_taken_for_latin() -> None:
    assert 50_000 <= sum(message_parts(user_text("압" * 100_000)).values()) < 130_000


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_an_image_is_bounded_whatever_its_size(size: int) -> None:
    """B009."""
    message = Message("user", (ImageBlock("image/png", "A" * size), TextBlock("what is this?")))
    assert 0 < sum(message_parts(message).values()) <= 5_000


def test_replayed_reasoning_is_in_the_estimate() -> None:
    """B014: signed thinking and encrypted items take their room, each in its own row."""
    signed = ThinkingBlock("x" * 60_000, "anthropic", SIGNED)
    meter = PromptMeter()
    meter.append(user_text("go"))
    before = gauge(meter).used
    meter.append(Message("assistant", (signed, CALL, OpaqueBlock("openai", "reasoning", "A" * 40_000))))
    shown = gauge(meter)
    assert shown.parts["thinking"] >= 15_000
    assert shown.parts["native"] == 10_000
    assert shown.used >= before + 25_000


def test_blocks_are_named_by_what_they_are() -> None:
    assert block_part(TextBlock("x" * 400))[0] == "agent"
    assert block_part(OpaqueBlock("openai", "reasoning", "A" * 40_000)) == ("native", 10_000)


def test_a_prefix_counts_the_real_schemas_and_has_a_digest_of_its_exact_content() -> None:
    small, large = (ToolSpec("grep", text, {"type": "object"}) for text in ("Search.", "Search. " * 100))
    counter = ScriptCounter()
    made = [prefix_of(("You are",), tools, counter) for tools in ((), (small,), (large,), (large, small))]
    assert [m.system for m in made] == [2] * 4
    assert 0 == made[0].tools < made[1].tools < made[2].tools < made[3].tools
    assert len({m.digest for m in made}) == 4
    assert prefix_of(("You are",), (small,), counter) == made[1]
    assert prefix_of(("You ", "are"), (), counter).digest != made[0].digest


texts = st.text(max_size=200)
messages = st.one_of(
    texts.map(user_text),
    texts.map(lambda t: Message("assistant", (TextBlock(t), ThinkingBlock(t), CALL, OpaqueBlock("p", "k", t)))),
    texts.map(lambda t: tool_text(CALL, t)),
    st.just(Message("user", (ImageBlock("image/png", "AAAA"),))),
)


@given(st.lists(messages, max_size=12), st.none() | st.integers(-5, 300_000), st.data())
def test_the_parts_of_a_gauge_always_add_up(history: list[Message], count: int | None, data: st.DataObject) -> None:
    """B006."""
    meter = PromptMeter()
    for message in history:
        meter.append(message)
    if count is not None:
        meter.confirm(count, data.draw(st.integers(0, len(history))), ROUTE, PREFIX)
    shown = gauge(meter)
    assert sum(shown.parts.values()) == shown.used > 0
    assert min(shown.parts.values(), default=0) >= 0
    assert shown.parts.keys() <= set(CATEGORIES)


@given(st.dictionaries(st.sampled_from(CATEGORIES[:-1]), st.integers(0, 10**6)), st.integers(0, 10**7))
def test_parts_are_made_to_add_up_to_any_total(parts: dict[str, int], used: int) -> None:
    assert sum(balanced(parts, used).values()) == used


def test_what_the_provider_counted_more_is_shown_as_unattributed() -> None:
    """B006."""
    parts = {"system": 2_600, "tools": 15_800, "user": 103_700, "native": 8_000}
    assert balanced(parts, 162_000) == {**parts, "unattributed": 31_900}


# -- the anchor -----------------------------------------------------------------------------------------------------
def test_a_confirmed_figure_anchors_the_estimate_and_only_what_was_appended_is_estimated() -> None:
    meter = PromptMeter()
    meter.append(user_text("x" * 4_000))
    first = gauge(meter)
    assert (first.measured, first.margin_percent) == ("estimated", UNCONFIRMED_MARGIN_PERCENT)
    assert meter.confirm(5_000, 1, ROUTE, PREFIX)
    at_once = gauge(meter)
    assert (at_once.measured, at_once.used, at_once.margin_percent) == ("confirmed", 5_000, 0)
    added = meter.append(user_text("y" * 400), route=ROUTE)
    later = gauge(meter)
    assert (later.measured, later.used) == ("estimated", 5_000 + added)
    assert added > 100


def test_an_answer_is_added_as_its_provider_counted_it() -> None:
    meter = confirmed(user_text("go"), tokens=5_000)
    meter.append(Message("assistant", (TextBlock("x" * 400),)), counted=173, route=ROUTE)
    assert gauge(meter).used == 5_173


@pytest.mark.parametrize("counted", [0, 1, 26])
def test_tokens_of_an_answers_first_words_are_not_taken_for_the_whole(counted: int) -> None:
    meter = confirmed(user_text("go"), tokens=5_000)
    added = meter.append(Message("assistant", (TextBlock("x" * 4_000),)), counted=counted, route=ROUTE)
    assert gauge(meter).used == 5_000 + added > 6_000


def test_what_is_not_replayed_is_not_added() -> None:
    thought = Message("assistant", (ThinkingBlock("hm"), TextBlock("yes")))
    signed = Message("assistant", (ThinkingBlock("hm", "anthropic", SIGNED), TextBlock("yes")))
    usage = Usage(output_tokens=500, reasoning_tokens=450)
    assert replayed_output(thought, usage) == 50
    assert replayed_output(signed, usage) == 500
    assert replayed_output(thought, Usage(output_tokens=500)) is None


def test_an_anchor_holds_for_its_own_route_only() -> None:
    meter = confirmed(user_text("x" * 4_000), tokens=9_000)
    shown = gauge(meter, Route("m", "p", "subscription", "m", 200_000, 64_000, "catalog"))
    assert (shown.measured, shown.margin_percent) == ("estimated", UNCONFIRMED_MARGIN_PERCENT)
    assert shown.used < 6_000
    assert gauge(meter).used == 9_000


def test_another_prefix_moves_the_anchor_by_its_difference() -> None:
    meter = confirmed(user_text("x" * 4_000), tokens=9_000)
    shown = gauge(meter, prefix=Prefix(500, PREFIX.tools + 1_000, "with one tool more"))
    assert (shown.measured, shown.margin_percent) == ("estimated", 0)
    assert 9_000 + 500 < shown.used + PREFIX.system - 500 < 9_000 + 1_800


@pytest.mark.parametrize("tokens", [0, -1, 200_001, 41_000_900])
def test_a_count_that_cannot_be_is_not_believed(tokens: int) -> None:
    """B003: more than the window, on a call that was accepted."""
    meter = PromptMeter()
    meter.append(user_text("hi"))
    assert not meter.confirm(tokens, 1, ROUTE, PREFIX)
    assert gauge(meter).measured == "estimated"
    assert gauge(meter).used < 4_000


@pytest.mark.parametrize("cached", [(3, 150_000, 20_000), (170_003, 0, 0), (0, 0, 170_003)])
def test_all_parts_of_a_prompt_occupy_the_window(cached: tuple[int, int, int]) -> None:
    """B002: what was read from a cache, and what was written to one, is in the prompt."""
    plain, read, written = cached
    usage = Usage(plain, 500, read, written)
    shown = gauge(confirmed(user_text("go"), tokens=usage.prompt_tokens))
    assert (shown.used, shown.used >= shown.critical) == (170_003, True)


@pytest.mark.parametrize("model", ["claude-opus-4-8[1m]", "claude-opus-4-8", "claude-opus-4-8-20260801"])
def test_a_prompt_is_held_against_the_window_of_its_own_model(model: str) -> None:
    """B004: 468,102 tokens are half of a million, whichever way the model is written."""
    route = CATALOG.route(model, "anthropic", "payg")
    meter = confirmed(user_text("go"), tokens=468_102, route=route)
    shown = meter.figures(route, budget_of(route, 32_768), PREFIX, simulated=False)
    assert (shown.used, shown.budget, shown.provenance) == (468_102, 1_000_000 - 32_768, "catalog")
    assert shown.used < shown.warning


@pytest.mark.parametrize(("model", "provider"), [("claude-opus-4-8@20260601", "anthropic"), ("local/foo-13b", "local")])
def test_a_model_that_nothing_is_known_of_never_passes_for_one_of_200k(model: str, provider: str) -> None:
    """B004, B016: whatever shows the figure has to say that its window is assumed."""
    route = CATALOG.route(model, provider, "payg")
    meter = confirmed(user_text("go"), tokens=9_000, route=route)
    shown = meter.figures(route, budget_of(route, 20_000), PREFIX, simulated=False)
    assert (shown.used, shown.measured, shown.provenance) == (9_000, "confirmed", "unknown_fallback")


def test_a_cached_part_that_is_within_the_input_is_not_added_again() -> None:
    """B001: 67.9 % of the budget, so below the 70 % at which a window of this size warns."""
    route = Route("m", "p", "payg", "m", 400_000, 128_000, "catalog")
    usage = Usage(184_704 - 183_936, 49, 183_936)
    meter = confirmed(user_text("go"), tokens=usage.prompt_tokens, route=route)
    shown = meter.figures(route, budget_of(route, 128_000), PREFIX, simulated=False)
    assert (shown.used, round(100 * shown.used / shown.budget, 1), shown.warning_percent) == (184_704, 67.9, 70)
    assert shown.used < shown.warning


def test_another_view_is_the_anchor_less_what_left_and_what_came() -> None:
    kept, dropped = user_text("k" * 400), tool_text(CALL, "d" * 40_000)
    meter = confirmed(kept, dropped, tokens=16_000)
    meter.retake([kept])
    smaller = gauge(meter)
    assert smaller.measured == "estimated"
    assert 1_500 < smaller.used < 16_000 - 10_000
    meter.retake([kept, dropped])
    assert (gauge(meter).used, gauge(meter).measured) == (16_000, "estimated")
    meter.confirm(16_100, 2, ROUTE, PREFIX)
    assert (gauge(meter).used, gauge(meter).measured) == (16_100, "confirmed")


def grown(meter: PromptMeter, *messages: Message, by: int) -> PromptMeter:
    """``messages`` joined, and the next prompt had ``by`` tokens more."""
    before = gauge(meter).used
    for message in messages:
        meter.append(message, route=ROUTE)
    assert meter.confirm(before + by, meter.messages, ROUTE, PREFIX)
    return meter


@pytest.mark.parametrize("by", [7_000, 9_000, 16_000])
def test_what_leaves_is_taken_off_as_its_provider_counted_it_when_it_joined(by: int) -> None:
    """Whatever its text lets expect: here about 13,000 tokens."""
    kept, dropped, last = user_text("k" * 400), tool_text(CALL, "d" * 40_000), user_text("l" * 400)
    meter = grown(confirmed(kept, tokens=3_000), dropped, by=by)
    meter = grown(meter, last, by=110)
    assert gauge(meter).used == 3_000 + by + 110
    copied = meter.copy()
    copied.retake([kept, last])
    assert gauge(copied).used == pytest.approx(3_110, abs=2)
    assert gauge(meter).used == 3_000 + by + 110
    meter.retake([kept, last])
    meter.retake([kept, dropped, last])
    assert (gauge(meter).used, gauge(meter).measured) == (3_000 + by + 110, "estimated")


def test_a_figure_with_something_else_in_it_is_not_taken_for_that_of_what_joined() -> None:
    """The client added a file of its own, and whether that leaves with the result is not known."""
    kept, dropped = user_text("k" * 400), tool_text(CALL, "d" * 4_000)
    meter = grown(confirmed(kept, tokens=3_000), dropped, by=30_000)
    meter.retake([kept])
    assert 29_000 < gauge(meter).used < 33_000


def test_another_view_keeps_what_is_known_of_the_messages_that_stay() -> None:
    summary, dropped = user_text("all so far"), tool_text(CALL, "d" * 4_000)
    meter = PromptMeter()
    meter.append(summary, summary=True)
    meter.append(dropped)
    meter.retake([summary])
    assert gauge(meter).parts.keys() == {"system", "tools", "summaries"}


def test_a_route_that_was_left_has_its_anchor_when_the_session_returns() -> None:
    meter = confirmed(user_text("x" * 4_000), tokens=9_000)
    meter.confirm(7_000, 1, OPUS, PREFIX)
    more = user_text("y" * 4_000)
    meter.append(more)
    assert 9_900 < gauge(meter).used < 11_000
    assert 7_900 < gauge(meter, OPUS).used < 9_000


# -- what providers leave out ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("route", "kept"), [(OPUS, True), (HAIKU, False)])
def test_thinking_of_earlier_turns_counts_only_where_it_is_replayed(route: Route, kept: bool) -> None:
    meter = PromptMeter()
    thinking = Message("assistant", (ThinkingBlock("t" * 8_000, "anthropic", SIGNED), TextBlock("done")))
    meter.append(user_text("go"))
    meter.append(thinking)
    meter.confirm(10_000, meter.messages, route, PREFIX)
    assert gauge(meter, route).used == 10_000
    meter.append(user_text("and"))
    shown = gauge(meter, route)
    assert (shown.used > 9_900) is kept
    assert ("thinking" in shown.parts) is kept


def test_what_stands_before_a_native_compaction_takes_no_room() -> None:
    meter = PromptMeter()
    meter.append(user_text("x" * 400_000))
    block = OpaqueBlock("anthropic", "compaction", '{"type":"compaction","content":"what happened"}')
    failed = OpaqueBlock("anthropic", "compaction", '{"type":"compaction","content":null}')
    meter.append(Message("assistant", (failed,)))
    assert gauge(meter, OPUS).used > 100_000
    meter.append(Message("assistant", (block, TextBlock("on it"))))
    assert gauge(meter, OPUS).used < 3_000


# -- vocabularies ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("route", "expected"),
    [
        (CATALOG.route("gpt-5.5", "openai", "payg"), ("o200k_base", "own")),
        (CATALOG.route("gpt-4-turbo", "openai", "payg"), ("cl100k_base", "own")),
        (CATALOG.route("gpt-4.1", "openai", "payg"), ("o200k_base", "own")),
        (OPUS, ("o200k_base", "borrowed")),
        (CATALOG.route("glm-5.3", "glm", "payg"), ("o200k_base", "borrowed")),
        (CATALOG.route("offline", "offline", "adapter"), (None, "script")),
    ],
)
def test_each_family_is_counted_by_the_nearest_vocabulary(route: Route, expected: tuple[str | None, str]) -> None:
    assert vocabulary_of(route) == expected


def test_a_models_own_vocabulary_counts_instead_of_estimating() -> None:
    openai = CATALOG.route("gpt-5.5", "openai", "payg")
    meter = PromptMeter(load_vocabulary("o200k_base"))
    meter.append(user_text("hello world " * 1_000))
    shown = gauge(meter, openai)
    assert (shown.measured, shown.margin_percent) == ("counted", 0)
    assert 2_000 <= shown.parts["user"] <= 2_010
    assert gauge(meter, OPUS).measured == "estimated"


def test_a_routes_ratio_is_learned_and_used_without_an_anchor() -> None:
    meter = PromptMeter()
    meter.append(user_text("go"))
    meter.confirm(5_000, 1, ROUTE, PREFIX)
    tokens = 5_000
    for _ in range(20):
        meter.append(Message("assistant", (CALL,)), route=ROUTE)
        meter.append(tool_text(CALL, "x" * 8_000))
        tokens += 2_000 * 2
        meter.confirm(tokens, meter.messages, ROUTE, PREFIX)
    without = gauge(meter, prefix=Prefix(500, 1_500, "other")).used
    assert 0.9 * tokens < without < 1.1 * tokens


# -- cost -----------------------------------------------------------------------------------------------------------
def test_an_estimate_costs_what_was_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    real = loads.block_load

    def counting(*arguments: object) -> object:
        nonlocal seen
        seen += 1
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(loads, "block_load", counting)
    meter = PromptMeter()
    for _ in range(500):
        meter.append(user_text("hello"))
        gauge(meter)
    assert seen == 500


def test_a_copy_goes_on_by_itself() -> None:
    meter = confirmed(user_text("go"), tokens=5_000)
    other = meter.copy()
    other.append(user_text("x" * 4_000))
    assert gauge(other).used > 5_900
    assert gauge(meter).used == 5_000


def test_the_least_that_a_prompt_can_take_is_well_below_its_estimate() -> None:
    meter = PromptMeter()
    meter.append(user_text("x" * 40_000))
    assert 0.2 * gauge(meter).used < meter.least(ROUTE, PREFIX) < 0.5 * gauge(meter).used
    meter.confirm(12_000, 1, ROUTE, PREFIX)
    assert meter.least(ROUTE, PREFIX) == int(12_000 * 0.95)
    meter.append(Message("user", (ImageBlock("image/png", "AAAA"),)))
    assert meter.least(ROUTE, PREFIX) < int(12_000 * 0.95)
    meter.retake([user_text("a summary")])
    assert meter.least(ROUTE, PREFIX) < 1_000


def test_a_count_beyond_an_assumed_window_is_believed_and_one_beyond_a_known_window_is_not() -> None:
    unknown = CATALOG.route("nobody-knows", "local", "adapter")
    known = CATALOG.route("claude-opus-4-5", "anthropic", "payg")
    assert plausible(unknown.window + 1, unknown)
    assert not plausible(known.window + 1, known)
    assert not plausible(0, unknown)


def test_where_most_of_a_conversation_left_what_is_there_now_says_how_large_it_is() -> None:
    """A few percent of what left would be a third of what stays."""
    meter = PromptMeter()
    texts = [user_text(f"{n} " + "word " * 800) for n in range(40)]
    for message in texts:
        meter.append(message)
    whole = gauge(meter).used
    meter.confirm(whole * 94 // 100, meter.messages, ROUTE, PREFIX)
    meter.retake([user_text("a summary of it all"), texts[-1]])
    left = PREFIX.tokens + round((whole - PREFIX.tokens) / 40)
    assert 0.85 * left < gauge(meter).used < 1.15 * left
