"""What befell the context stands in the conversation where it happened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import get_args

import msgspec
import pytest
from textual.pilot import Pilot

from geode_tui.core.events import LostItem, LostKind
from geode_tui.core.messages import Message, OpaqueBlock, TextBlock
from geode_tui.core.text import Redactor, clean
from geode_tui.log.rows import MessageRow
from geode_tui.tui.conversation.blocks import Parser
from geode_tui.tui.conversation.compaction_card import CompactionCard
from geode_tui.tui.conversation.items import SegmentItem
from geode_tui.tui.conversation.notes import WindowNoteItem
from geode_tui.tui.conversation.view import Conversation
from geode_tui.tui.glyphs import Glyphs
from geode_tui.tui.source import SourceError
from geode_tui.tui.widgets.paced import PERIOD_S
from geode_tui.view.follow import Added, Completed, Index
from geode_tui.view.state import NOTES, NoteKind, RunState, WindowNote
from tests.tui.conversation.kit import (
    ASCII,
    HOSTILE,
    UNICODE,
    Stand,
    Store,
    assert_inert,
    canvas,
    pieces,
    screen,
    settled,
)
from tests.tui.conversation.test_view import long_run, tool_run

COMPACTED = WindowNote(
    4,
    "summarised",
    162_000,
    41_000,
    first=1,
    upto=3,
    id=90,
    budget=200_000,
    version=3,
    cause="warning",
    writer="claude-haiku-4-5",
    cost_micro=18_000,
    lost=8,
    told=(
        LostItem("error", "TypeError: 'NoneType' object is not iterable", 2),
        LostItem("path", "src/core/parser.py", 3),
        LostItem("rule", "Never touch the public signature", 1),
    ),
)
TITLE = "▸ ✎ context compacted  warning                162.0k ⇢ 41.0k  81 % ⇢ 20 %"
CARD = [
    TITLE,
    "messages 1-3, rounds 1, summary by claude-haiku-4-5, cost $0.02",
    "▴ 8 things the summary does not hold  l lists them",
    "error  TypeError: 'NoneType' object is not iterable",
    "path   src/core/parser.py",
    "rule   Never touch the public signature",
]
MASKED = WindowNote(4, "masked", 92_000, 61_000, count=12, id=91)


def state(*notes: WindowNote) -> RunState:
    return RunState(session_id="s-1", turn=1, window_notes=list(notes))


async def shown(pilot: Pilot[None], view: Conversation) -> list[str]:
    await settled(pilot, view)
    return [line.strip() for line in screen(view) if line.strip()]


def titled(lines: Sequence[str]) -> int:
    return next(n for n, line in enumerate(lines) if "✎ context compacted" in line)


def below(lines: Sequence[str], one: str) -> str:
    return lines[lines.index(one) + 1]


async def test_a_note_stands_after_the_message_it_came_after() -> None:
    store = Store()
    app = Stand(store)
    async with app.run_test(size=(80, 30)) as pilot:
        app.conversation.apply([Index(tuple(tool_run(store)))])
        app.conversation.show_state(state(COMPACTED, MASKED))
        lines = await shown(pilot, app.conversation)
        start = titled(lines)
        assert start > next(n for n, line in enumerate(lines) if "run_shell" in line)
        assert lines[start + 1 : start + 6] == CARD[1:]
        assert lines[start].split() == TITLE.split()
        assert below(lines, CARD[-1]) == "⊘ results masked: 12, 92.0k ⇢ 61.0k"
        assert start < next(n for n, line in enumerate(lines) if "Two tests fail." in line)


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
        assert lines.count(CARD[1]) == 1
        assert titled(lines) < next(n for n, line in enumerate(lines) if "Two tests fail." in line)


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
        lines = await shown(pilot, app.conversation)
        assert "메시지 1-3, 1라운드, claude-haiku-4-5 요약, 비용 $0.02" in lines
        assert "▴ 요약에 없는 것 8개  l 로 모두 보기" in lines


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
            assert "▸ ✎ compacted by the provider" in await shown(pilot, view), "what is not known is not said"
            view.show_state(note)
        lines = await shown(pilot, view)
        title = next(line for line in lines if "compacted" in line)
        assert title.split() == ["▸", "✎", "compacted", "by", "the", "provider", "52.0k", "⇢", "6.4k"]
        assert below(lines, title) == "I go on."
        assert sum("compacted" in line for line in lines) == 1
        view.set_look(view.ink.palette, canvas(language="ko").strings)
        assert any("✎ 제공자가 컨텍스트를 압축함" in line for line in await shown(pilot, view))


async def test_a_compaction_that_failed_says_so() -> None:
    store = Store()
    app = Stand(store)
    async with app.run_test(size=(80, 30)) as pilot:
        app.conversation.apply([Index(tuple(compacted(store, "null")))])
        lines = await shown(pilot, app.conversation)
        assert [line for line in lines if "compaction failed" in line] == [
            "▴ the provider's compaction failed: everything is read as before"
        ]


# -- a card -----------------------------------------------------------------------------------------------------------
TO_CARD = ("right_square_bracket", "right_square_bracket")
"""From the beginning of `tool_run`: past the call that failed."""


class Then:
    """What befell the context, to read; counting what is read."""

    def __init__(self, texts: dict[int, str] | None = None, older: Sequence[WindowNote] = ()) -> None:
        self.texts, self.older = texts or {}, older
        self.read: list[int] = []
        self.spans: list[tuple[tuple[int, int], tuple[int, int] | None]] = []

    def summary(self, version: int) -> str:
        self.read.append(version)
        if version not in self.texts:
            raise SourceError(f"version {version} of the view is not in the log")
        return self.texts[version]

    def notes(self, since: tuple[int, int], until: tuple[int, int] | None) -> tuple[WindowNote, ...]:
        self.spans.append((since, until))
        return tuple(self.older)


class Stood(Stand):
    """A conversation that can read what was."""

    def __init__(self, store: Store, then: Then) -> None:
        super().__init__(store)
        made = self.conversation
        self.conversation = Conversation(
            store.load, made.strings, UNICODE, made.ink.palette, Redactor(["hunter2-hunter2"]), then
        )


@asynccontextmanager
async def on_card(then: Then, note: WindowNote = COMPACTED) -> AsyncIterator[tuple[Pilot[None], Conversation]]:
    """A conversation with the cursor on the card of ``note``."""
    store = Store()
    app = Stood(store, then)
    async with app.run_test(size=(80, 40)) as pilot:
        view = app.conversation
        view.apply([Index(tuple(tool_run(store)))])
        view.show_state(state(note))
        await settled(pilot, view)
        view.focus()
        await pilot.press("g", *TO_CARD)
        await settled(pilot, view)
        yield pilot, view


async def test_opened_a_card_shows_the_summary_as_markdown_once_it_was_read() -> None:
    then = Then({3: "## Goal\n\nMake the *parser* stream; the key is hunter2-hunter2.\n\n- one\n\n\x1b[2J"})
    async with on_card(then) as (pilot, view):
        assert then.read == [], "nobody has asked for it yet"
        await pilot.press("enter")
        lines = await shown(pilot, view)
        assert below(lines, CARD[-1]) == "Goal"
        assert below(lines, "Goal") == "Make the parser stream; the key is [redacted]."
        assert "- one" in lines
        await pilot.press("enter")
        assert "Goal" not in await shown(pilot, view)
        await pilot.press("enter")
        assert "Goal" in await shown(pilot, view)
        assert then.read == [3], "it was read once"


async def test_a_click_on_its_title_opens_a_card() -> None:
    async with on_card(Then({3: "It went well."})) as (pilot, view):
        line = next(n for n, text in enumerate(screen(view)) if "✎ context compacted" in text)
        await pilot.click(view, offset=(6, line))
        assert "It went well." in await shown(pilot, view)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("on_demand", "This block has no readable text: only the provider reads it."),
        ("trimmed", "Nothing stands in their place."),
    ],
)
async def test_where_there_is_no_text_a_card_says_so(what: NoteKind, said: str) -> None:
    async with on_card(Then({3: " "}), msgspec.structs.replace(COMPACTED, what=what)) as (pilot, view):
        await pilot.press("enter")
        assert said in await shown(pilot, view)


async def test_a_text_that_could_not_be_read_is_tried_again_when_the_card_is_opened_anew() -> None:
    then = Then()
    async with on_card(then) as (pilot, view):
        await pilot.press("enter")
        trouble = "The summary could not be read: version 3 of the view is not in the log"
        assert trouble in await shown(pilot, view)
        then.texts = {3: "It went well."}
        await pilot.press("enter", "enter")
        lines = await shown(pilot, view)
        assert "It went well." in lines
        assert trouble not in lines


async def test_a_long_summary_is_drawn_beside_the_keys_and_stays_open_while_notes_come() -> None:
    then = Then({3: "\n\n".join(f"Paragraph {n} of the summary." for n in range(90))})
    async with on_card(then) as (pilot, view):
        await pilot.press("enter")
        assert "Paragraph 9 of the summary." in await shown(pilot, view)
        view.show_state(state(COMPACTED, MASKED))
        await shown(pilot, view)
        view.action_bottom()
        lines = await shown(pilot, view)
        assert below(lines, "Paragraph 89 of the summary.").startswith("⊘ results masked: 12")
        assert then.read == [3]


@pytest.mark.parametrize("on_it", [True, False])
async def test_its_key_asks_for_what_the_summary_under_the_cursor_lost(on_it: bool) -> None:
    asked: list[int] = []

    class Asking(Stood):
        def on_conversation_lost_wanted(self, event: Conversation.LostWanted) -> None:
            asked.append(event.version)

    store = Store()
    app = Asking(store, Then())
    async with app.run_test(size=(80, 30)) as pilot:
        app.conversation.apply([Index(tuple(tool_run(store)))])
        app.conversation.show_state(state(COMPACTED))
        await settled(pilot, app.conversation)
        app.conversation.focus()
        await pilot.press("g", *(TO_CARD if on_it else ()), "l")
        await pilot.pause()
        assert asked == [3 if on_it else 0]


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("width", [1, 12, 40, 80, 120])
def test_a_card_fits_whatever_it_tells(glyphs: Glyphs, language: str, width: int) -> None:
    told = tuple(LostItem(kind, each[:100], 7) for kind, each in zip(get_args(LostKind), HOSTILE, strict=False))
    note = msgspec.structs.replace(COMPACTED, told=told, writer="\x1b[2Jevil" * 20, cause="of the future\x1b")
    page = canvas(width, glyphs, language=language)
    for opened in (False, True):
        card = CompactionCard(note)
        card.opened = opened
        card.stands_for("1.1-2.9")
        assert card.lacks_text == opened
        card.show(SegmentItem(Parser(), clean("\n".join(HOSTILE)), 0, 0))
        for strips in (card.draw(page), card.sketch(page)):
            assert_inert(strips, width)
            assert len(strips) > len(told)


def test_a_card_guesses_its_height_well() -> None:
    card = CompactionCard(COMPACTED)
    for width in (40, 80, 120):
        assert card.estimate(canvas(width)) == len(card.draw(canvas(width)))


# -- many -------------------------------------------------------------------------------------------------------------
async def test_repeated_notes_after_one_message_are_one_line() -> None:
    store = Store()
    app = Stand(store)
    masked = [WindowNote(4, "masked", 90_000 - n, 80_000 - n, count=2, id=10 + n) for n in range(3)]
    undone = [WindowNote(4, "undone", 1, 2, id=20 + n, versions=(9 - n,)) for n in range(2)]
    async with app.run_test(size=(80, 30)) as pilot:
        app.conversation.apply([Index(tuple(tool_run(store)))])
        app.conversation.show_state(state(*masked[:2]))
        assert "⊘ results masked: 4, 2 times, 90.0k ⇢ 80.0k" in await shown(pilot, app.conversation)
        app.conversation.show_state(state(*masked, *undone))
        await pilot.pause(2 * PERIOD_S)
        lines = await shown(pilot, app.conversation)
        assert below(lines, "⊘ results masked: 6, 3 times, 90.0k ⇢ 80.0k") == (
            "↺ undo: version 8-9 taken back, 2 times, 1 ⇢ 2"
        )


async def test_notes_that_no_state_holds_any_more_are_read_where_they_are_looked_at() -> None:
    store = Store()
    rows = long_run(store, 150)
    newest = [WindowNote(rows[-1].seq, "masked", 9_000, 8_000 - n, count=1, id=1_000 + n) for n in range(NOTES)]
    old = WindowNote(rows[1].seq, "masked", 5_000, 4_000, count=7, id=12)
    then = Then(older=[old, *newest])
    app = Stood(store, then)
    async with app.run_test(size=(80, 20)) as pilot:
        view = app.conversation
        view.apply([Index(tuple(rows))])
        view.show_state(state(*newest))
        await settled(pilot, view)
        view.focus()
        await pilot.press("g")
        await settled(pilot, view)
        await pilot.press("right_square_bracket")
        lines = await shown(pilot, view)
        assert lines.count("⊘ results masked: 7, 5.0k ⇢ 4.0k") == 1
        await pilot.press("G")
        lines = await shown(pilot, view)
        assert lines[-1] == f"⊘ results masked: {NOTES}, {NOTES} times, 9.0k ⇢ 8.0k"
        assert len(then.spans) == len(set(then.spans)), "each part is read once"
        assert ((1, 0), (1, 64)) in then.spans
