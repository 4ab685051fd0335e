"""The Offloads tab: a row for every stored result, and a viewer of the one under the cursor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from geode_tui.tui.glyphs import ASCII
from geode_tui.tui.widgets.offload_tab import OffloadsPane
from geode_tui.view.offloads import OffloadRow, OffloadTable
from geode_tui.view.state import Outcome, RunState
from tests.tui.driving import Driven, opened
from tests.tui.fakes import NOW, running_state, screen_text
from tests.tui.viewer.held import Held

LOG = "\n".join(f"test_chunk{n} {'FAILED' if n % 100 == 7 else 'PASSED'}" for n in range(1, 501)) + "\n"
STUB = '{"_offloaded":true,"_ref_id":"call_1","_original_tokens":18300,"summary":"141 passed","hint":"recall it"}'
ROWS = (
    OffloadRow("call_1", NOW - 9, "run_shell", "pytest -vv", 37, 18_300, referenced=True, recalls=2, recalled=(29, 33)),
    OffloadRow("call_2", NOW - 120, "read_file", "src/parser/core.py", 36, 44_900, expires_at=NOW + 3_600 * 3.5),
    OffloadRow("call_3", NOW - 7_300, "grep", "Token", 12, 19_900, pinned=True),
    OffloadRow("call_4", NOW - 9_000, "web_fetch", "https://e.org", 10, 61_200, standing="gone"),
)


def with_offloads(**changes: Any) -> RunState:
    return running_state(offloaded=4, offloads_touched=99, **changes)


@asynccontextmanager
async def on_offloads(
    rows: tuple[OffloadRow, ...] = ROWS, data: bytes = LOG.encode(), **options: Any
) -> AsyncIterator[tuple[Driven, OffloadsPane]]:
    options.setdefault("size", (120, 40))
    async with opened(with_offloads(), **options) as driven:
        driven.source.stored = OffloadTable(rows)
        driven.source.results = {row.ref_id: Held(data) for row in rows if row.standing == "stored"}
        driven.source.stubs = {"call_1": STUB}
        driven.screen.conversation.focus()
        await driven.pilot.press("3")
        pane = driven.screen.offloads
        await driven.until(lambda: pane._made_of == pane.view)
        await rest(driven, pane)
        yield driven, pane


async def rest(driven: Driven, pane: OffloadsPane) -> None:
    """Wait until nothing is read any more."""
    await driven.pilot.pause()
    await driven.until(lambda: not pane.reading)
    await driven.pilot.pause()
    await driven.until(lambda: not pane.reading)
    await driven.pilot.pause()


async def press(driven: Driven, pane: OffloadsPane, *keys: str) -> None:
    await driven.pilot.press(*keys)
    await rest(driven, pane)


def line_with(driven: Driven, text: str) -> str:
    return next(line for line in screen_text(driven.app) if text in line)


async def test_every_result_has_a_row_with_its_tool_size_and_stay() -> None:
    async with on_offloads(size=(140, 40)) as (driven, _):
        assert driven.sees("3 Offloads (4)")
        assert driven.sees("kept out of the context: 18.3k tok")
        first = line_with(driven, "pytest -vv")
        for text in ("call_1", "run_shell", "18.3k", "73 KB", "0:09", "in use", "2x"):
            assert text in first
        assert "3:30" in line_with(driven, "src/parser")
        assert "✱ pinned" in line_with(driven, "grep")
        assert "✗ gone" in line_with(driven, "web_fetch")


async def test_only_the_files_of_rows_in_view_are_looked_into() -> None:
    rows = tuple(OffloadRow(f"call_{n}", NOW - n, "grep", f"word {n}", 1, 100 + n) for n in range(10_000))
    async with on_offloads(rows) as (driven, pane):
        assert len(pane.rows) == 10_000
        assert 0 < len(driven.source.files_read) < 20
        await press(driven, pane, "G")
        assert driven.source.files_read[-1] == "call_9999"
        assert len(driven.source.files_read) < 40


async def test_nothing_is_read_while_another_tab_is_shown() -> None:
    async with opened(with_offloads(), size=(120, 40)) as driven:
        await driven.show(with_offloads(title="another"))
        assert driven.source.offloads_read == 0
        assert driven.sees("Offloads (4)")


async def test_the_model_s_view_stands_beside_the_whole() -> None:
    async with on_offloads() as (driven, _):
        heading = line_with(driven, "The model sees")
        assert "Whole result" in heading
        assert "line 1 of 500" in heading
        assert driven.sees("141 passed")
        assert driven.sees("recalled at r29, r33")
        assert driven.sees("test_chunk1 PASSED")


async def test_finding_goes_from_match_to_match() -> None:
    async with on_offloads() as (driven, pane):
        await press(driven, pane, "enter", "/", *"failed", "enter")
        assert driven.sees("/failed  1 of 5")
        assert driven.sees("test_chunk7 FAILED")
        await press(driven, pane, "n")
        assert driven.sees("/failed  2 of 5")
        assert driven.sees("test_chunk107 FAILED")
        await press(driven, pane, "N", "N")
        assert driven.sees("/failed  5 of 5")
        await press(driven, pane, "escape")
        assert pane.part == "view"
        assert pane.page is not None
        assert pane.page.found is None
        await press(driven, pane, "escape")
        assert pane.part == "list"


async def test_a_line_that_is_named_is_gone_to() -> None:
    async with on_offloads() as (driven, pane):
        await press(driven, pane, "enter", ":", *"321", "enter")
        assert driven.sees("line 321 of 500")
        await press(driven, pane, ":", *"x", "enter")
        assert pane.field.typing
        await press(driven, pane, "escape", "G")
        assert driven.sees("line 500 of 500")


async def test_recall_sends_the_whole_or_the_selected_characters() -> None:
    async with on_offloads(data="가나다\nab\n다\n".encode()) as (driven, pane):
        await press(driven, pane, "r")
        assert driven.source.sent[-1][:2] == ("recall", {"ref_id": "call_1", "offset": 0, "limit": 0})
        await press(driven, pane, "enter", "j", "shift+down", "r")
        assert driven.source.sent[-1][:2] == ("recall", {"ref_id": "call_1", "offset": 4, "limit": 5})
        assert driven.sees("7 B selected")


async def test_pin_asks_for_the_other_state() -> None:
    async with on_offloads() as (driven, pane):
        await press(driven, pane, "p", "j", "j", "p")
        assert [sent[:2] for sent in driven.source.sent] == [
            ("pin_ref", {"ref_id": "call_1", "pinned": True}),
            ("pin_ref", {"ref_id": "call_3", "pinned": False}),
        ]


async def test_a_refused_command_is_told() -> None:
    async with on_offloads(notifications=True) as (driven, pane):
        driven.source.fails = "this run cannot recall"
        await press(driven, pane, "r")
        assert driven.toasts == ["this run cannot recall"]


async def test_copying_takes_the_page_or_the_selection() -> None:
    async with on_offloads(data=b"one\ntwo\nthree \x1b[31m sk-ant-abcdefghij\n") as (driven, pane):
        await press(driven, pane, "y")
        assert driven.app.clipboard == "call_1"
        await press(driven, pane, "enter", "y")
        assert driven.app.clipboard == "one\ntwo\nthree ␛ [redacted]\n"
        await press(driven, pane, "shift+down", "y")
        assert driven.app.clipboard == "one\ntwo\n"


async def test_saving_asks_for_a_name_and_never_overwrites_silently() -> None:
    async with on_offloads(notifications=True) as (driven, pane):
        driven.source.saved["old.txt"] = b"mine"
        await press(driven, pane, "s")
        assert pane.field.entry.value == "call_1.txt"
        pane.field.entry.value = "old.txt"
        await press(driven, pane, "enter")
        assert driven.source.saved["old.txt"] == b"mine"
        assert "old.txt is there already" in driven.toasts[-1]
        await press(driven, pane, "s")
        pane.field.entry.value = "old.txt"
        await press(driven, pane, "enter")
        assert driven.source.saved["old.txt"] == LOG.encode()


async def test_json_opens_as_a_tree_and_bytes_in_hexadecimal() -> None:
    data = b'{"rows": [{"name": "x"}, 2], "ok": true}'
    async with on_offloads(data=data) as (driven, pane):
        await press(driven, pane, "enter", "t")
        assert driven.sees("value 1 of 3")
        assert driven.sees("▸ rows: [] ") or driven.sees("▸ rows: []")
        await press(driven, pane, "j", "enter")
        assert driven.sees("value 2 of 5")
        await press(driven, pane, "t")
        assert driven.sees("7b 22 72 6f 77 73")
        await press(driven, pane, "t")
        assert driven.sees("line 1 of 1")


async def test_binary_opens_in_hexadecimal_at_any_byte() -> None:
    async with on_offloads(data=b"\x00\x01\x02" * 10_000) as (driven, pane):
        assert driven.sees("byte 0 of 30,000")
        await press(driven, pane, "enter", ":", *"0x4e20", "enter")
        assert driven.sees("byte 20,000 of 30,000") or driven.sees("byte 19,9")


async def test_z_gives_the_result_the_whole_width() -> None:
    async with on_offloads() as (driven, pane):
        await press(driven, pane, "z")
        assert list(driven.screen.columns.shown) == ["middle"]
        assert not driven.sees("read_file")
        await press(driven, pane, "escape")
        assert "side" in driven.screen.columns.shown
        assert driven.sees("read_file")


async def test_a_narrow_screen_shows_the_list_and_then_the_result() -> None:
    async with on_offloads(size=(60, 20)) as (driven, pane):
        assert not driven.sees("Whole result")
        await press(driven, pane, "enter")
        assert driven.sees("Whole result")
        assert not driven.sees("read_file")


@pytest.mark.parametrize(
    ("size", "language"), [((40, 12), "ko"), ((80, 24), "en"), ((120, 40), "ko"), ((200, 60), "en")]
)
async def test_every_size_draws_full_rows(size: tuple[int, int], language: str) -> None:
    data = ("한글 " * 900 + "\n").encode() * 3
    async with on_offloads(size=size, language=language, glyphs=ASCII, data=data) as (driven, pane):
        for key in ("enter", "w", "l", "t", "z", "escape"):
            await press(driven, pane, key)
            lines = pane.build(pane.size)
            assert all(line.cell_length == pane.size.width for line in lines)
            assert len(lines) <= pane.size.height


async def test_without_colours_the_cursor_and_matches_are_reversed() -> None:
    async with on_offloads(depth="none") as (driven, pane):
        await press(driven, pane, "enter", "/", *"failed", "enter")
        (found,) = (strip for strip in pane._strips if "test_chunk7 FAILED" in strip.text)
        assert all(segment.style is None or segment.style.color is None for segment in found)
        assert any(segment.style.reverse for segment in found if segment.style and "FAILED" in segment.text)


async def test_a_result_that_cannot_be_opened_says_why_in_its_place() -> None:
    async with on_offloads() as (driven, pane):
        await press(driven, pane, "G")
        assert driven.sees("there is no stored result call_4")
        await press(driven, pane, "g")
        assert driven.sees("test_chunk1 PASSED")


async def test_a_result_that_turns_out_damaged_says_so() -> None:
    async with on_offloads() as (driven, pane):
        driven.source.results["call_2"] = Held(LOG.encode(), piece=64, fails="the stored result call_2 was changed")
        await press(driven, pane, "j")
        assert driven.sees("the stored result call_2 was changed")


async def test_the_filter_and_the_order() -> None:
    async with on_offloads() as (driven, pane):
        await press(driven, pane, "/", *"core.py", "enter")
        assert [row.ref_id for row in pane.rows] == ["call_2"]
        await press(driven, pane, "escape", "o")
        assert [row.ref_id for row in pane.rows][:2] == ["call_4", "call_2"]
        assert driven.sees("largest first")


async def test_the_table_is_read_again_when_something_was_recalled() -> None:
    async with on_offloads() as (driven, pane):
        read = driven.source.offloads_read
        await driven.show(msgspec.structs.replace(with_offloads(), offloads_touched=120))
        await driven.until(lambda: driven.source.offloads_read == read + 1)
        await rest(driven, pane)
        await driven.show(msgspec.structs.replace(with_offloads(), offloads_touched=120, title="x"))
        assert driven.source.offloads_read == read + 1


async def test_what_the_model_sees_follows_the_view_and_a_pin_shows() -> None:
    async with on_offloads() as (driven, pane):
        await press(driven, pane, "enter", ":", *"250", "enter")
        driven.source.stubs = {"call_1": None}
        driven.source.stored = OffloadTable((msgspec.structs.replace(ROWS[0], pinned=True), *ROWS[1:]))
        await driven.show(with_offloads(view_version=5, outcomes=[Outcome(7, "k", "pin_ref", "done", "")]))
        await driven.until(lambda: driven.sees("All of it: it is"))
        await rest(driven, pane)
        assert driven.sees("✱ pinned")
        assert driven.sees("line 250 of 500")


async def test_without_results_the_tab_says_so() -> None:
    async with on_offloads(()) as (driven, _):
        assert driven.sees("No result has left the context yet.")


async def test_what_a_result_holds_never_reaches_the_terminal() -> None:
    hostile = "a\x1b]52;c;aGk=\x07b\x9b31m\u202ec\r\n" * 30 + "key=hunter2hunter2\n"
    async with on_offloads(data=hostile.encode()) as (driven, pane):
        for keys in ((), ("enter", "w"), ("t",)):
            await press(driven, pane, *keys, "G")
            shown = "\n".join(screen_text(driven.app))
            assert not set("\x1b\x07\x9b\u202e") & set(shown)
            assert "hunter2" not in shown


async def test_the_slash_command_and_the_palette_lead_there() -> None:
    async with opened(with_offloads(), size=(120, 40)) as driven:
        await driven.type("/offloads")
        assert driven.screen.tab == "offloads"
        choices = {choice.value for choice in driven.screen._choices()}
        assert {"offloads:save", "offloads:recall", "tab:offloads"} <= choices
