"""The Dreams tab: what is kept of a run, the lines of one text, and what a person may do with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from geode_tui.tui.glyphs import ASCII
from geode_tui.tui.widgets.dream_tab import DreamsPane
from geode_tui.view.dreams import DreamRow, DreamTable
from geode_tui.view.state import RunState
from tests.tui.driving import Driven, opened
from tests.tui.fakes import NOW, running_state, screen_text

OLD = "## Durable Facts\n\n- Read every file under src/ (seq 2)\n- No new dependency (seq 12)\n"
NEW = (
    "## Durable Facts\n\n- No new dependency (seq 12, 14)\n- The user prefers generators\n\n"
    "## Unresolved Tasks\n\n- close() must flush the buffer (seq 20)\n"
)
ROWS = (
    DreamRow(
        "art_3", "dream", NOW - 60, 1, 24, NEW, 612, "gpt-5.4-mini", "", 20_000, NOW - 90, ((4, "cites nothing"),),
        injected=True,
    ),
    DreamRow("art_2", "compaction_summary", NOW - 900, 1, 15, "## Goal\n\n- parse\n", 300, "gpt-5.2", applied=True),
    DreamRow("art_1", "dream", NOW - 1_800, 1, 8, OLD, 200, "", "the offline planner is no model", 0),
    DreamRow("art_0", "dream", NOW - 3_600, 1, 4, "", 0, "gpt-5.2", forgotten="person: wrong"),
)  # fmt: skip
TABLE = DreamTable(ROWS, "dream seq=1-24: No new dependency", 24, NOW - 60, "gpt-5.4-mini", 20_000)


def with_dreams(**changes: Any) -> RunState:
    return running_state(**{"dreams": 3, "dreams_touched": 9, "newest_seq": 30, **changes})


@asynccontextmanager
async def on_dreams(table: DreamTable = TABLE, **options: Any) -> AsyncIterator[tuple[Driven, DreamsPane]]:
    options.setdefault("size", (120, 40))
    async with opened(with_dreams(), **options) as driven:
        driven.source.kept = table
        driven.screen.conversation.focus()
        await driven.pilot.press("4")
        pane = driven.screen.dreams
        await driven.until(lambda: pane._made_of == pane.view and not pane.reading)
        await driven.pilot.pause()
        yield driven, pane


async def press(driven: Driven, *keys: str) -> None:
    for key in keys:
        await driven.pilot.press(key)
        await driven.pilot.pause()


def line_with(driven: Driven, text: str) -> str:
    return next(line for line in screen_text(driven.app) if text in line)


async def test_every_text_says_who_wrote_it_of_what_and_what_became_of_it() -> None:
    async with on_dreams() as (driven, _):
        for text in ("4 Dreams (3)", "compaction summaries: 1", "last dream", "messages since: 6", "dreams cost $0.02"):
            assert driven.sees(text)
        assert driven.sees("Dream of messages 1 to 24")
        assert "will be injected" in line_with(driven, "Dream of messages 1 to 24")
        assert driven.sees("gpt-5.4-mini  $0.02  612 tok")
        await press(driven, "j")
        assert "applied" in line_with(driven, "Summary of messages 1 to 15")
        await press(driven, "j")
        assert driven.sees("the offline planner is no model")
        await press(driven, "j")
        assert driven.sees("The text was deleted (person: wrong).")


async def test_a_line_shows_what_it_cites_or_that_nothing_bears_it_out() -> None:
    async with on_dreams() as (driven, _):
        assert "#12 1/2" in line_with(driven, "No new dependency")
        assert "no source" in line_with(driven, "? The user prefers generators")
        assert "#20" in line_with(driven, "close() must flush")


async def test_enter_goes_to_the_message_that_the_line_cites() -> None:
    async with on_dreams(notifications=True) as (driven, pane):
        asked: list[int] = []
        driven.screen.show_message = lambda about, missing: asked.append(about.seq)  # type: ignore[method-assign]
        await press(driven, "enter", "enter", "l", "enter")
        assert asked == [12, 14]
        await press(driven, "j", "enter")
        assert driven.toasts == ["This line cites no message."]
        await press(driven, "G", "enter", "escape")
        assert asked == [12, 14, 20]
        assert pane.part == "list"


async def test_the_difference_to_the_dream_before() -> None:
    async with on_dreams() as (driven, _):
        await press(driven, "d")
        assert "+2 -1" in line_with(driven, "Changed since the one of messages 1 to 8")
        assert driven.sees("- Read every file under src/")
        assert driven.sees("+ close() must flush the buffer")
        await press(driven, "escape", "escape", "j", "d")
        assert driven.sees("There is none before it.")


async def test_the_exact_injected_text_can_be_read() -> None:
    async with on_dreams() as (driven, _):
        await press(driven, "i")
        assert driven.sees("dream seq=1-24: No new dependency")
        assert driven.sees("33 characters")


async def test_dreaming_approving_and_forgetting_are_commands() -> None:
    async with on_dreams() as (driven, pane):
        await press(driven, "n", "a", "x", *"stale", "enter")
        await driven.until(lambda: len(driven.source.sent) == 3)
        assert [sent[:2] for sent in driven.source.sent] == [
            ("dream", {}),
            ("approve", {"artifact_id": "art_3"}),
            ("forget", {"artifact_id": "art_3", "why": "stale"}),
        ]
        await press(driven, "x", "escape")
        assert pane.has_focus
        assert len(driven.source.sent) == 3


async def test_what_would_change_nothing_is_not_sent() -> None:
    async with on_dreams(msgspec.structs.replace(TABLE, upto=30), notifications=True) as (driven, _):
        await press(driven, "n", "G", "x", "a")
        assert driven.toasts[0] == "There is a dream of the newest message already."
        assert driven.toasts[-1] == "It is forgotten already."
        assert driven.source.sent == []


async def test_a_recorded_run_can_only_be_read() -> None:
    async with on_dreams(msgspec.structs.replace(TABLE, recorder="claude-code"), notifications=True) as (driven, pane):
        await press(driven, "n", "a", "x")
        assert set(driven.toasts) == {"This run was recorded by claude-code: its dreams can only be read here."}
        assert not pane.field.typing
        assert driven.source.sent == []


async def test_the_table_is_read_again_when_something_was_dreamt_and_not_else() -> None:
    async with on_dreams() as (driven, pane):
        await press(driven, "j")
        newer = DreamRow("art_4", "dream", NOW, 1, 30, NEW)
        driven.source.kept = msgspec.structs.replace(TABLE, rows=(newer, *ROWS), upto=30)
        read = driven.source.dreams_read
        await driven.show(with_dreams(dreams=4, dreams_touched=12))
        await driven.until(lambda: driven.source.dreams_read == read + 1 and not pane.reading)
        assert driven.sees("4 Dreams (4)")
        assert pane.selected is not None
        assert pane.selected.artifact_id == "art_2"
        await driven.show(with_dreams(dreams=4, dreams_touched=12, title="x"))
        assert driven.source.dreams_read == read + 1


async def test_nothing_is_read_while_another_tab_is_shown() -> None:
    async with opened(with_dreams(), size=(120, 40)) as driven:
        await driven.show(with_dreams(title="another"))
        assert driven.source.dreams_read == 0


async def test_only_the_rows_in_view_are_drawn() -> None:
    rows = tuple(DreamRow(f"art_{n}", "dream", NOW - n, 1, 9_000 - n, NEW) for n in range(5_000))
    async with on_dreams(DreamTable(rows, upto=9_000)) as (driven, pane):
        await press(driven, "G")
        assert driven.sees("#1-4001")
        assert len(pane.build(pane.size)) <= pane.size.height


async def test_without_texts_the_tab_says_so_and_a_failure_is_told_in_its_place() -> None:
    async with on_dreams(DreamTable()) as (driven, _):
        assert driven.sees("Nothing is kept yet.")
        assert driven.sees("no dream yet")
        driven.source.fails = "the log is locked"
        await driven.show(with_dreams(dreams_touched=40))
        await driven.until(lambda: driven.sees("the log is locked"))


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("language", ["en", "ko"])
async def test_every_size_draws_full_rows(size: tuple[int, int], language: str) -> None:
    long = "## 사실\n\n- " + "한글 긴 줄입니다 " * 30 + "(seq 3)\n- " + "가" * 400 + " (seq 5, 6)\n"
    rows = (DreamRow("art_9", "dream", NOW, 1, 30, long, marks=((3, "x"),), injected=True, approved=True), *ROWS)
    async with on_dreams(DreamTable(rows, upto=30), size=size, language=language, glyphs=ASCII) as (driven, pane):
        for key in ("j", "k", "enter", "j", "j", "d", "escape", "escape", "G", "x", "escape"):
            await press(driven, key)
            lines = pane.build(pane.size)
            assert all(line.cell_length == pane.size.width for line in lines)
            assert len(lines) <= pane.size.height


async def test_the_cursor_stays_in_view_in_a_long_text() -> None:
    text = "## Decisions\n\n" + "".join(f"- decision {n} (seq {n})\n" for n in range(300))
    async with on_dreams(DreamTable((DreamRow("art_9", "dream", NOW, 1, 30, text),)), size=(80, 24)) as (driven, _):
        await press(driven, "enter", "G")
        assert driven.sees("decision 299")
        await press(driven, "g")
        assert driven.sees("Decisions")
        await press(driven, "pagedown", "pagedown")
        assert not driven.sees("- decision 0 ")


async def test_what_a_text_holds_never_reaches_the_terminal() -> None:
    text = "## H\x1b]52;c;aGk=\x07\n\n- a\x9b31m\u202e key=hunter2hunter2 [red]x[/] (seq 3)\n"
    row = DreamRow("art_\x1b", "dream", NOW, 1, 3, text, 1, "m\x1b[2J", "w\x07", marks=((3, "\x1b"),))
    table = DreamTable((row,), f"dream seq=1-3: {text}", 3, NOW, "m\x1b[2J", 0, "")
    async with on_dreams(table) as (driven, _):
        for keys in ((), ("enter",), ("d",), ("escape", "i")):
            await press(driven, *keys)
            shown = "\n".join(screen_text(driven.app))
            assert not set("\x1b\x07\x9b\u202e") & set(shown)
            assert "hunter2" not in shown
        await press(driven, "escape", "y")
        assert "hunter2" not in driven.app.clipboard
        assert "[red]x[/]" in driven.app.clipboard


async def test_the_slash_command_and_the_palette_lead_there() -> None:
    async with opened(with_dreams(), size=(120, 40)) as driven:
        await driven.type("/dreams")
        assert driven.screen.tab == "dreams"
        assert {"tab:dreams", "dreams:forget", "dreams:diff"} <= {c.value for c in driven.screen._choices()}
