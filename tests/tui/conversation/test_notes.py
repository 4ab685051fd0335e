"""What befell the context stands in the conversation where it happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest
from textual.pilot import Pilot

from geode_tui.core.messages import Message, OpaqueBlock, TextBlock
from geode_tui.log.rows import MessageRow
from geode_tui.tui.conversation.notes import WindowNoteItem
from geode_tui.tui.conversation.view import Conversation
from geode_tui.view.follow import Added, Completed, Index
from geode_tui.view.state import NoteKind, RunState, WindowNote
from tests.tui.conversation.kit import ASCII, UNICODE, Stand, Store, assert_inert, canvas, pieces, screen, settled
from tests.tui.conversation.test_view import long_run, tool_run

COMPACTED = WindowNote(4, "summarised", 162_000, 41_000, first=1, upto=3, local=True)
LINE = "✎ context compacted: 162.0k ⇢ 41.0k, messages 1-3, local summary"
MASKED = WindowNote(4, "masked", 92_000, 61_000, count=12)


def state(*notes: WindowNote) -> RunState:
    return RunState(session_id="s-1", turn=1, window_notes=list(notes))


async def shown(pilot: Pilot[None], view: Conversation) -> list[str]:
    await settled(pilot, view)
    return [line.strip() for line in screen(view) if line.strip()]


def below(lines: Sequence[str], one: str) -> str:
    return lines[lines.index(one) + 1]


async def test_a_note_stands_after_the_message_it_came_after() -> None:
    store = Store()
    app = Stand(store)
    async with app.run_test(size=(80, 30)) as pilot:
        app.conversation.apply([Index(tuple(tool_run(store)))])
        app.conversation.show_state(state(COMPACTED, MASKED))
        lines = await shown(pilot, app.conversation)
        assert lines.index(LINE) > next(n for n, line in enumerate(lines) if "run_shell" in line)
        assert below(lines, LINE) == "⊘ results masked: 12, 92.0k ⇢ 61.0k"
        assert lines.index(LINE) < next(n for n, line in enumerate(lines) if "Two tests fail." in line)


@pytest.mark.parametrize("first", ["state", "rows"])
async def test_it_does_not_matter_whether_the_note_or_its_message_comes_first(first: str) -> None:
    store = Store()
    rows = tool_run(store)
    app = Stand(store)
    async with app.run_test(size=(80, 30)) as pilot:
        view = app.conversation
        view.apply([Index(tuple(rows[:2]))])
        await settled(pilot, view)
        rest = [Added(row) for row in rows[2:]]
        if first == "state":
            view.show_state(state(COMPACTED))
            view.apply(rest)
        else:
            view.apply(rest)
            view.show_state(state(COMPACTED))
        lines = await shown(pilot, view)
        assert lines.count(LINE) == 1
        assert lines.index(LINE) < next(n for n, line in enumerate(lines) if "Two tests fail." in line)


async def test_a_new_note_shows_below_what_is_loaded_and_the_end_stays_in_view() -> None:
    store = Store()
    app = Stand(store)
    async with app.run_test(size=(80, 12)) as pilot:
        rows = long_run(store, 5)
        app.conversation.apply([Index(tuple(rows))])
        app.conversation.show_state(state())
        await settled(pilot, app.conversation)
        app.conversation.show_state(state(WindowNote(rows[-1].seq, "undone", 41_000, 162_000, versions=(3,))))
        lines = await shown(pilot, app.conversation)
        assert lines[-1] == "↺ undo: version 3 taken back, 41.0k ⇢ 162.0k"
        assert app.conversation.following


async def test_an_answer_that_streams_goes_on_below_it() -> None:
    store = Store()
    app = Stand(store)
    async with app.run_test(size=(80, 30)) as pilot:
        view = app.conversation
        view.apply([Index((store.user("Go"),))])
        view.show_state(state(WindowNote(1, "forked", detail="s-0")))
        row = store.agent("An answer.", round=1)
        open_row = MessageRow(row.id, row.seq, row.turn, row.round, row.role, row.origin, "open", 0, row.timestamp)
        view.apply([Added(open_row), *pieces(row.id, "An answer.", 4)])
        await settled(pilot, view)
        view.apply([Completed(row)])
        lines = await shown(pilot, view)
        assert below(lines, "⇢ forked from s-0") == "round 1"
        assert "An answer." in lines


async def test_the_keys_for_what_wants_a_look_stop_at_it() -> None:
    store = Store()
    app = Stand(store)
    async with app.run_test(size=(80, 12)) as pilot:
        rows = long_run(store, 6)
        app.conversation.apply([Index(tuple(rows))])
        app.conversation.show_state(state(WindowNote(rows[2].seq, "masked", 9_000, 5_000, count=2)))
        await settled(pilot, app.conversation)
        app.conversation.focus()
        await pilot.press("g", "right_square_bracket")
        await settled(pilot, app.conversation)
        assert any("results masked: 2" in line for line in screen(app.conversation))


async def test_another_language_is_spoken_at_once() -> None:
    store = Store()
    app = Stand(store)
    async with app.run_test(size=(80, 30)) as pilot:
        app.conversation.apply([Index(tuple(tool_run(store)))])
        app.conversation.show_state(state(COMPACTED))
        await settled(pilot, app.conversation)
        app.conversation.set_look(app.conversation.ink.palette, canvas(language="ko").strings)
        assert "✎ 컨텍스트 압축: 162.0k ⇢ 41.0k, 메시지 1-3, 로컬 요약" in await shown(pilot, app.conversation)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@pytest.mark.parametrize("what", get_args(NoteKind))
@pytest.mark.parametrize("width", [12, 40, 120])
def test_each_kind_has_a_mark_and_fits(glyphs: object, what: NoteKind, width: int) -> None:
    note = WindowNote(4, what, 162_000, 41_000, 3, 1, 84, (2,), detail="\x1b[2Jevil" * 40)
    page = canvas(width, glyphs)  # type: ignore[arg-type]
    strips = WindowNoteItem(note).draw(page)
    assert len(strips) == 1
    assert_inert(strips, width)
    assert len(strips[0].text.split(maxsplit=1)[0]) <= 2


# -- a provider's own compaction --------------------------------------------------------------------------------------
def compacted(store: Store, content: str) -> list[MessageRow]:
    block = OpaqueBlock("anthropic", "compaction", f'{{"type":"compaction","content":{content},"signature":"s"}}')
    answer = Message("assistant", (block, TextBlock("I go on.")))
    return [store.user("Go"), store.add(answer, round=1)]


@pytest.mark.parametrize("first", ["note", "message"])
async def test_a_compaction_is_one_line_in_the_place_of_its_block(first: str) -> None:
    store = Store()
    rows = compacted(store, '"what was before"')
    note = state(WindowNote(rows[1].seq, "native", 52_000, 6_400))
    app = Stand(store)
    async with app.run_test(size=(80, 30)) as pilot:
        view = app.conversation
        if first == "note":
            view.show_state(note)
        view.apply([Index(tuple(rows))])
        if first == "message":
            assert "✎ compacted by the provider" in await shown(pilot, view), "what is not known is not said"
            view.show_state(note)
        lines = await shown(pilot, view)
        assert [line for line in lines if "compacted" in line] == ["✎ compacted by the provider: 52.0k ⇢ 6.4k"]
        assert below(lines, "✎ compacted by the provider: 52.0k ⇢ 6.4k") == "I go on."
        view.set_look(view.ink.palette, canvas(language="ko").strings)
        assert "✎ 제공자가 컨텍스트를 압축함: 52.0k ⇢ 6.4k" in await shown(pilot, view)


async def test_a_compaction_that_failed_says_so() -> None:
    store = Store()
    app = Stand(store)
    async with app.run_test(size=(80, 30)) as pilot:
        app.conversation.apply([Index(tuple(compacted(store, "null")))])
        lines = await shown(pilot, app.conversation)
        assert [line for line in lines if "compaction failed" in line] == [
            "▴ the provider's compaction failed: everything is read as before"
        ]
