"""The Cost tab: overview, rounds and months; what is not in the state is read only while it is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode_tui.core import events as ev
from geode_tui.core.events import EventRow
from geode_tui.core.strings import Strings
from geode_tui.core.usage import Usage
from geode_tui.tui.glyphs import ASCII, UNICODE
from geode_tui.tui.look import Look
from geode_tui.tui.themes import load_themes
from geode_tui.tui.widgets import cost_tab
from geode_tui.tui.widgets.cost_page import CostPage, CostTabView
from geode_tui.tui.widgets.cost_tab import CostPane
from geode_tui.view.cost import MonthCost, RoundCost
from geode_tui.view.follow import Index
from geode_tui.view.state import CacheBreak, CacheLoss, Money, RoundFigures, RunState
from geode_tui.view.upkeep import Answer, Upkeep
from geode_tui.view.upkeep_step import Count, Saved, Step, Total
from tests.tui.driving import Driven, opened
from tests.tui.fakes import FIGURES, NOW, event, running_state, screen_text

PALETTE = load_themes()[0]["geode-dark"].palette
MONTHS = (
    MonthCost("2026-11", Money(42_100_000, 900), {"gpt-5.2": Money(40_000_000, 800), "o3": Money(2_100_000, 100)}),
    MonthCost("2026-10", Money(7_000_000, 90), {"gpt-5.2": Money(7_000_000, 90)}),
)


def spent(**changes: Any) -> RunState:
    """A run with everything the tab can show."""
    return running_state(
        by_model={"gpt-5.2": Money(1_740_000, 35), "local-qwen": Money(0, 2, 2)},
        by_purpose={"turn": Money(1_610_000, 35), "summary": Money(120_000, 2)},
        money=Money(1_840_000, 37, 2, Usage(120_000, 18_300, 1_090_000, None, None, 9_000), 40_000, 3),
        cache_breaks=[CacheBreak(3, 15, "expired", 9_000, None), CacheBreak(3, 29, "tools", 31_000, 100_000)],
        cache_loss=CacheLoss(2, 40_000, 100_000),
        **changes,
    )


def call(number: int, round_: int, cost: int | None = 50_000) -> EventRow:
    ended = ev.LlmCallEnded(
        f"c{number}", 1, "turn", "gpt-5.2", "openai", "payg", 900, Usage(1_000, 200, 9_000), cost, "end_turn", FIGURES
    )
    return EventRow(number, NOW + number, 3, round_, "llm_call_ended", ev.encode_payload(ended))


@asynccontextmanager
async def on_cost(state: RunState | None = None, **options: Any) -> AsyncIterator[tuple[Driven, CostPane]]:
    options.setdefault("size", (120, 40))
    async with opened(spent() if state is None else state, **options) as driven:
        driven.source.ledger = MONTHS
        driven.source.log = [event(1), call(2, 1), event(3), call(4, 2, None), call(5, 3, 1_230_000)]
        driven.screen.conversation.focus()
        await driven.pilot.press("6")
        await settled(driven)
        yield driven, driven.screen.cost


async def settled(driven: Driven) -> None:
    await driven.pilot.pause()
    await driven.until(lambda: not driven.screen.cost.reading)
    await driven.pilot.pause()


async def test_the_overview_tells_session_turn_month_and_how_long_the_budget_lasts() -> None:
    async with on_cost() as (driven, _):
        assert driven.sees("this session $1.84 of $5.00  36 %   this turn $0.31   month $42.10")
        assert any("the budget lasts ~" in line and "more rounds" in line for line in screen_text(driven.app))


async def test_the_overview_tells_purposes_models_tokens_and_what_must_be_said() -> None:
    async with on_cost() as (driven, _):
        for text in (
            "By purpose", "By model", "cache read", "1.09M", "of it reasoning", "9.0k",
            "calls without a known price: 2", "failed attempts: 3, $0.04 of it at least",
        ):  # fmt: skip
            assert driven.sees(text), text
        assert any("local-qwen" in line and "unpriced" in line for line in screen_text(driven.app))
        assert any("summary" in line and "$0.12" in line for line in screen_text(driven.app))


async def test_each_cache_break_has_its_round_its_reason_and_its_price() -> None:
    async with on_cost() as (driven, _):
        assert driven.sees("hit rate 90 %  breaks: 2, 40.0k tok sent again")
        first, second = (line for line in screen_text(driven.app) if "t3 r" in line)
        assert "r29" in first
        assert "tool list changed" in first
        assert "$0.10" in first
        assert "the cache had expired" in second
        assert "unpriced" in second


async def test_a_cache_that_is_not_known_of_is_not_called_empty() -> None:
    state = msgspec.structs.replace(spent(), money=Money(10_000, 1, usage=Usage(9, 9)), cache_breaks=[])
    async with on_cost(state) as (driven, _):
        assert driven.sees("hit rate not known")


async def test_r_lists_the_rounds_newest_first_and_again_goes_back() -> None:
    async with on_cost() as (driven, pane):
        await driven.pilot.press("r")
        await settled(driven)
        assert [one.round for one in pane.rounds] == [3, 2, 1]
        rows = [line for line in screen_text(driven.app) if line.strip().startswith("t3 r")]
        assert [row[: pane.size.width].split()[-1] for row in rows] == ["$1.23", "unpriced", "$0.05"]
        assert "90 %" in rows[0]
        await driven.pilot.press("r")
        assert pane.page == "overview"


async def test_a_round_that_ends_joins_the_list() -> None:
    async with on_cost() as (driven, pane):
        await driven.pilot.press("r")
        await settled(driven)
        driven.source.log += [call(6, 4)]
        driven.source.read.clear()
        await driven.show(spent(turn_money=Money(320_000, 7)))
        await driven.until(lambda: len(pane.rounds) == 4)
        assert driven.source.read == [(None, 5)]


async def test_a_long_run_is_read_backwards_and_only_its_newest_rounds_are_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cost_tab, "MOST_ROUNDS", 500)
    async with on_cost() as (driven, pane):
        driven.source.log = [call(n, n) for n in range(1, 2_001)]
        await driven.pilot.press("r")
        await settled(driven)
        assert (len(pane.rounds), pane.rounds[0].round) == (500, 2_000)
        assert len(driven.source.read) == 2
        assert driven.sees("the newest 500")


async def test_rounds_are_not_read_before_they_are_wanted() -> None:
    async with on_cost() as (driven, _):
        assert driven.source.read == []


async def test_m_lists_the_months_and_esc_goes_back() -> None:
    async with on_cost() as (driven, pane):
        await driven.pilot.press("m")
        await settled(driven)
        assert driven.sees("2026-11  900 calls")
        assert any("o3" in line and "$2.10" in line for line in screen_text(driven.app))
        await driven.pilot.press("escape")
        assert pane.page == "overview"


async def test_a_month_without_a_paid_call_says_why() -> None:
    async with on_cost() as (driven, _):
        driven.source.ledger = (MonthCost("2026-11"),)
        await driven.pilot.press("m")
        await settled(driven)
        assert driven.sees("No call was paid for yet.")


async def test_enter_shows_the_round_in_the_conversation() -> None:
    async with on_cost() as (driven, _):
        row = driven.source.add_message(1, "hello")
        await driven.show(spent(), ops=[Index((msgspec.structs.replace(row, round=3),))])
        await driven.pilot.press("r")
        await settled(driven)
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.screen.tab == "conversation")


async def test_b_begins_the_command_and_keeps_what_was_being_written() -> None:
    async with on_cost() as (driven, pane):
        entry = driven.screen.composer.entry
        entry.insert("half a thought")
        pane.focus()
        await driven.pilot.press("b", *"7.50", "enter")
        await driven.until(lambda: driven.source.sent)
        assert driven.source.sent[0][:2] == ("budget", {"limit": "cost", "value": "7.50"})
        await driven.pilot.press("up", "up")
        assert entry.text == "half a thought"


async def test_e_exports_the_calls_and_y_copies_the_page() -> None:
    async with on_cost(notifications=True) as (driven, _):
        await driven.pilot.press("e")
        await driven.until(lambda: driven.toasts)
        assert "3" in driven.toasts[0]
        await driven.pilot.press("y")
        assert "By purpose" in driven.app.clipboard


async def test_the_mouse_scrolls_selects_and_goes_back() -> None:
    async with on_cost() as (driven, pane):
        await driven.pilot.press("r")
        await settled(driven)
        await driven.pilot.click(pane, offset=(20, 3))
        assert pane.selected is not None
        assert pane.selected.round == 2
        await driven.pilot.click(pane, offset=(4, 0))
        assert pane.page == "overview"


async def test_a_page_that_is_longer_than_the_pane_scrolls_and_says_so() -> None:
    async with on_cost(size=(60, 20)) as (driven, _):
        assert driven.sees("more lines below")
        await driven.pilot.press("G")
        assert driven.sees("failed attempts")
        assert not driven.sees("more lines below")


async def test_a_ledger_that_cannot_be_read_says_so() -> None:
    async with on_cost() as (driven, _):
        driven.source.fails = "the ledger could not be read"
        await driven.pilot.press("m")
        await settled(driven)
        assert driven.sees("the ledger could not be read")


async def test_hangul_mode_works_the_same_keys() -> None:
    async with on_cost() as (driven, pane):
        await driven.pilot.press("ㄱ")
        assert pane.page == "rounds"


async def test_the_palette_shows_the_rounds() -> None:
    async with opened(spent(), size=(120, 40)) as driven:
        driven.source.log = [call(1, 1)]
        await driven.pilot.press("ctrl+p", *"cost by round", "enter")
        await driven.until(lambda: driven.screen.cost.page == "rounds" and driven.screen.cost.rounds)


# -- upkeep -----------------------------------------------------------------------------------------------------------
STEPS = [
    Step(11, 1, "warning", "masked", 2, 9, 20_000, since=Count(9, 9, 2_700_000), paid=(2, 12)),
    Step(12, 2, "manual", "summarised", 3, 30, 50_000, 31_000, 25_000, 980_000, since=Count(30, 30, 9_000_000)),
    Step(13, 3, "warning", "trimmed", 3, 36, 9_000, None, since=Count(37, 37, 11_100_000)),
]


def account(**changes: Any) -> Upkeep:
    now = Count(37, 37, 11_100_000)
    return Upkeep(**{"steps": list(STEPS), "now": now, "answer": Answer("c", 300_000), **changes})


async def test_what_upkeep_cost_and_saved_is_told_newest_first_under_its_sum() -> None:
    async with on_cost(spent(upkeep=account()), size=(140, 50)) as (driven, _):
        lines = [line for line in screen_text(driven.app) if " v" in line or "Upkeep" in line]
        assert "3 steps, 910.0k tok saved worth $0.27, spent $1.01" in lines[0]
        assert "-$0.74" in lines[0]
        assert [line.split()[:4] for line in lines[1:]] == [
            ["t3", "r36", "v3", "left"], ["t3", "r30", "v2", "summary"], ["t2", "r9", "v1", "masked"]
        ]  # fmt: skip
        said = ("unpriced", "$0.03 $0.98 350.0k -$0.91 about t3 r98", "$0.00 $0.00 560.0k +$0.17 paid back t2 r12")
        assert all(words in " ".join(line.split()) for words, line in zip(said, lines[1:], strict=True))


async def test_without_upkeep_there_is_no_section_for_it() -> None:
    async with on_cost(size=(140, 50)) as (driven, _):
        assert not driven.sees("Upkeep")


async def test_many_steps_scroll_with_the_page_and_the_earlier_ones_are_counted() -> None:
    steps = [msgspec.structs.replace(STEPS[0], id=n, version=n) for n in range(1, 31)]
    state = spent(upkeep=account(steps=steps, older=Total(steps=70)))
    async with on_cost(state) as (driven, _):
        assert driven.sees("100 steps")
        assert not driven.sees("80 earlier steps are in the sum")
        await driven.pilot.press("G")
        assert driven.sees("80 earlier steps are in the sum")
        assert driven.sees("v11 masked")
        assert not driven.sees("v10 masked")


@pytest.mark.parametrize(("width", "language", "said"), [(52, "en", "paid back t2 r12"), (70, "ko", "t2 12R에 본전")])
def test_on_a_narrow_pane_the_verdict_stays(width: int, language: Any, said: str) -> None:
    page = CostPage(Look(PALETTE, ASCII, Strings(language), str), width, True)
    lines = [strip.text for strip in page.overview(CostTabView(upkeep=account()), None)]
    assert any(said in line for line in lines)


steps = st.builds(
    Step,
    st.integers(1, 99),
    st.integers(0, 10**4),
    st.sampled_from(["warning", "provider", "\x1b[2J한글"]),
    st.sampled_from(["masked", "cleared", "on_demand", "nobody knows"]),
    st.integers(1, 999),
    st.integers(1, 9_999),
    st.integers(-(10**6), 10**6),
    st.one_of(st.none(), st.integers(0, 10**9)),
    st.integers(0, 10**7),
    st.one_of(st.none(), st.integers(0, 10**9)),
    st.builds(Saved, st.integers(0, 9), st.integers(0, 9), st.integers(0, 10**8), st.integers(0, 10**8)),
    st.one_of(st.none(), st.just(Count())),
    st.booleans(),
    st.one_of(st.none(), st.just((3, 12))),
)


@given(
    st.integers(20, 170), st.sampled_from([UNICODE, ASCII]), st.sampled_from(["en", "ko"]), st.lists(steps, max_size=4)
)
@settings(deadline=None, max_examples=60)
def test_every_row_of_upkeep_is_as_wide_as_the_pane(width: int, glyphs: Any, language: Any, made: list[Step]) -> None:
    page = CostPage(Look(PALETTE, glyphs, Strings(language), str), width, True)
    view = CostTabView(upkeep=account(steps=made, wasted=1), place=(3, 37))
    lines = page.overview(view, None)
    assert {strip.cell_length for strip in lines} == {width}
    assert not any("\x1b" in strip.text for strip in lines)


money = st.builds(
    Money,
    st.integers(0, 10**10),
    st.integers(0, 10**6),
    st.integers(0, 10**3),
    st.builds(Usage, st.integers(0, 10**8), st.integers(0, 10**8), st.one_of(st.none(), st.integers(0, 10**8))),
)


@given(
    st.integers(20, 170),
    st.sampled_from([UNICODE, ASCII]),
    st.sampled_from(["en", "ko"]),
    money,
    st.lists(st.one_of(st.none(), st.integers(0, 10**9)), max_size=60),
    st.booleans(),
)
@settings(deadline=None, max_examples=80)
def test_every_row_is_as_wide_as_the_pane(
    width: int, glyphs: Any, language: str, total: Money, costs: list[int | None], simulated: bool
) -> None:
    page = CostPage(Look(PALETTE, glyphs, Strings("ko" if language == "ko" else "en"), str), width, True)
    rounds = tuple(RoundFigures(1, n, 9, cost) for n, cost in enumerate(costs, 1))
    breaks = tuple(CacheBreak(1, n, "message", 9, None, "", n) for n in range(1, len(costs), 3))
    parts = {"turn": total, "한국어 모델 이름": total}
    view = CostTabView(total, total, 5_000_000, simulated, parts, parts, rounds, breaks, CacheLoss(1, 2, 3))
    month = MonthCost("2026-11", total, parts)
    lines = [*page.overview(view, month), *page.months([month]), page.round_heads()]
    lines += [page.round_line(RoundCost(3, 12, total, ("tools",)), selected=chosen) for chosen in (True, False)]
    assert {strip.cell_length for strip in lines} == {width}
