"""The Context tab: every block, largest first; read only while it is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.geometry import Size

from geode_tui.core.strings import Strings
from geode_tui.tui.glyphs import ASCII, UNICODE
from geode_tui.tui.look import Look
from geode_tui.tui.themes import load_themes
from geode_tui.tui.widgets.context_tab import BlocksView, ContextPane
from geode_tui.view.blocks import BlockEntry
from geode_tui.view.follow import Index
from geode_tui.view.state import RunState
from tests.tui.driving import Driven, opened
from tests.tui.fakes import FIGURES, FREE, FakeSource, approval, running_state, screen_text

PALETTE = load_themes()[0]["geode-dark"].palette
ENTRIES = (
    BlockEntry(1, 1, 1, 0, "user", 30, "", "Make the parser streaming"),
    BlockEntry(2, 2, 1, 1, "agent", 40, "read_file", "src/parser/core.py", True, "c1"),
    BlockEntry(3, 3, 1, 1, "results", 900, "read_file", "src/parser/core.py", True, "c1"),
    BlockEntry(4, 4, 1, 2, "results", 300, "run_shell", "pytest -q", False, "c2"),
    BlockEntry(5, 5, 1, 12, "results", 60, "grep", '"Token("', False, "c3"),
)


def on_blocks_state(**changes: Any) -> RunState:
    return running_state(newest_seq=5, prompt_upto=4, **changes)


@asynccontextmanager
async def on_blocks(
    state: RunState | None = None, entries: tuple[BlockEntry, ...] = ENTRIES, **options: Any
) -> AsyncIterator[tuple[Driven, ContextPane]]:
    options.setdefault("size", (120, 40))
    async with opened(on_blocks_state() if state is None else state, **options) as driven:
        driven.source.entries = entries
        driven.screen.conversation.focus()
        await driven.pilot.press("5")
        pane = driven.screen.context
        await driven.until(lambda: pane._made_of == pane.view and not pane.reading)
        await driven.pilot.pause()
        yield driven, pane


async def test_the_largest_block_comes_first_and_the_heading_says_what_the_gauge_says() -> None:
    async with on_blocks() as (driven, pane):
        assert pane.rows[0].tokens == 139_125
        assert sum(row.tokens for row in pane.rows if row.state != "unsent") == FIGURES.used
        assert driven.sees("Blocks 10  largest first")
        assert driven.sees("264.9k tok  top 6 hold 95 %")
        line = next(line for line in screen_text(driven.app) if "/core.py" in line and "139" in line)
        assert "139.1k" in line
        assert "52.5%" in line
        assert "verbatim" in line


async def test_nothing_is_read_while_another_tab_is_shown() -> None:
    async with opened(on_blocks_state(), size=(120, 40)) as driven:
        driven.source.entries = ENTRIES
        await driven.show(on_blocks_state(title="another"))
        assert driven.source.blocks_read == 0
        driven.screen.choose_tab("context")
        await driven.until(lambda: driven.screen.context.rows)
        assert driven.source.blocks_read == 1


async def test_bodies_are_read_again_only_when_there_are_new_messages() -> None:
    async with on_blocks() as (driven, pane):
        more = msgspec.structs.replace(FIGURES, used=270_000, parts={**FIGURES.parts, "results": 190_600})
        await driven.show(on_blocks_state(context=more))
        await driven.until(lambda: pane.table.of is not None and pane.table.of.used == 270_000)
        assert driven.source.blocks_read == 1
        driven.source.entries = (*ENTRIES, BlockEntry(6, 6, 1, 13, "results", 10, "glob"))
        await driven.show(msgspec.structs.replace(on_blocks_state(context=more), newest_seq=6))
        await driven.until(lambda: len(pane.rows) == 11)
        assert driven.source.blocks_read == 2


async def test_what_has_not_been_sent_joins_the_next_request() -> None:
    async with on_blocks() as (driven, _):
        line = next(line for line in screen_text(driven.app) if "Token(" in line)
        assert "~60" in line
        assert "joins next" in line


async def test_enter_shows_the_block_in_the_conversation() -> None:
    async with on_blocks() as (driven, pane):
        rows = tuple(driven.source.add_message(number, f"message {number}") for number in range(1, 6))
        await driven.show(on_blocks_state(), ops=[Index(rows)])
        driven.screen.choose_tab("context")
        pane.focus()
        await driven.pilot.press("j", "enter")
        await driven.until(lambda: driven.screen.conversation.has_focus)
        assert driven.screen.tab == "conversation"


async def test_what_stands_before_the_conversation_says_so_instead() -> None:
    async with on_blocks(notifications=True) as (driven, _):
        await driven.pilot.press("/", *"schemas", "enter", "enter")
        await driven.pilot.pause()
        assert driven.toasts == ["This stands before the conversation."]
        assert driven.screen.tab == "context"


async def test_the_filter_narrows_while_one_types_and_esc_shows_all_again() -> None:
    async with on_blocks() as (driven, pane):
        await driven.pilot.press("/", *"shell")
        await driven.pilot.pause()
        assert [row.entry.name for row in pane.rows if row.entry] == ["run_shell"]
        await driven.pilot.press("enter")
        assert pane.has_focus
        assert driven.sees("/ shell")
        await driven.pilot.press("escape")
        assert len(pane.rows) == 10


@pytest.mark.parametrize(
    ("wanted", "count"), [("r1", 2), ("r12", 1), ("core.py result", 1), ("joins", 1), ("fixed", 5), ("nothing", 0)]
)
async def test_what_a_filter_finds(wanted: str, count: int) -> None:
    async with on_blocks() as (_, pane):
        pane.look_for(wanted)
        assert len(pane.rows) == count


async def test_the_cursor_stays_on_its_block_when_more_is_known() -> None:
    async with on_blocks() as (driven, pane):
        await driven.pilot.press("G")
        chosen = pane.selected
        assert chosen is not None
        bigger = BlockEntry(6, 6, 1, 13, "results", 999_999, "glob")
        driven.source.entries = (*ENTRIES, bigger)
        await driven.show(running_state(newest_seq=6, prompt_upto=6))
        await driven.until(lambda: len(pane.rows) == 11)
        assert pane.selected is not None
        assert pane.selected.entry == chosen.entry


async def test_s_and_a_click_on_the_heading_change_the_order() -> None:
    async with on_blocks() as (driven, pane):
        await driven.pilot.press("s")
        assert driven.sees("newest first")
        assert pane.rows[0].entry is not None
        assert pane.rows[0].entry.seq == 5
        await driven.pilot.click(pane, offset=(4, 0))
        assert pane.order == "oldest"


async def test_a_click_selects_and_another_one_jumps() -> None:
    async with on_blocks() as (driven, pane):
        await driven.pilot.click(pane, offset=(20, 4))
        assert pane.selected == pane.rows[1]
        assert driven.screen.tab == "context"
        driven.source.bodies.clear()
        pane.look_for("core.py result")
        await driven.pilot.pause()
        await driven.pilot.click(pane, offset=(20, 4))
        await driven.until(lambda: driven.screen.tab == "conversation")


async def test_a_store_that_cannot_be_read_says_so_and_is_tried_again() -> None:
    async with opened(on_blocks_state(), size=(120, 40)) as driven:
        driven.source.fails = "the store is locked by 4711"
        driven.screen.choose_tab("context")
        await driven.until(lambda: driven.sees("the store is locked by 4711"))
        driven.source.fails = ""
        driven.source.entries = ENTRIES
        await driven.show(on_blocks_state(title="again"), liveness=FREE)
        driven.screen.choose_tab("events")
        await driven.pilot.pause()
        driven.screen.choose_tab("context")
        await driven.until(lambda: driven.screen.context.rows)
        assert not driven.sees("locked")


async def test_before_the_first_message_it_says_what_will_show() -> None:
    async with on_blocks(RunState(session_id="s-1"), entries=()) as (driven, _):
        assert driven.sees("Nothing was sent yet.")
        assert driven.sees("Blocks show with the first round.")


async def test_the_footer_names_its_keys_and_a_question_comes_first() -> None:
    waiting = on_blocks_state(approvals={"a-1": approval()})
    async with on_blocks(waiting) as (driven, _):
        footer = screen_text(driven.app)[-1]
        assert footer.split()[:2] == ["enter", "show"]
        assert "ctrl+g answer" in footer
        assert "/ filter" in footer


async def test_hangul_mode_works_the_same_keys() -> None:
    async with on_blocks() as (driven, pane):
        await driven.pilot.press("ㄴ")
        assert pane.order == "newest"


async def test_the_palette_reaches_the_filter() -> None:
    async with opened(on_blocks_state(), size=(120, 40)) as driven:
        driven.source.entries = ENTRIES
        await driven.pilot.press("ctrl+p", *"filter the blocks", "enter")
        await driven.until(lambda: driven.screen.context.field.typing)


texts = st.text(st.sampled_from("ab한글🜚\u202e\x1b\t\n "), max_size=60)


@given(
    st.integers(20, 160),
    st.sampled_from([UNICODE, ASCII]),
    st.sampled_from(["en", "ko"]),
    st.lists(st.tuples(st.sampled_from(["user", "agent", "results", "made_up"]), texts, texts), max_size=12),
)
@settings(deadline=None, max_examples=60)
def test_every_row_is_as_wide_as_the_pane_whatever_it_shows(
    width: int, glyphs: Any, language: str, blocks: list[tuple[str, str, str]]
) -> None:
    look = Look(PALETTE, glyphs, Strings("ko" if language == "ko" else "en"), str)
    pane = ContextPane(look, FakeSource())
    entries = [
        BlockEntry(n, n, 1, n, kind, n, name, text, n % 2 == 0) for n, (kind, name, text) in enumerate(blocks, 1)
    ]
    pane._entries = tuple(entries)
    pane.table, pane._texts = pane._shared_out(BlocksView(FIGURES, 0, 9, 99))
    pane._arrange()
    for strip in pane.build(Size(width, 12)):
        assert strip.cell_length == width
        assert strip.text.isprintable()
