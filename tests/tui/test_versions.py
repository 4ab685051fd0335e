"""The Context tab's versions and what is done with them: list, commands, differences."""

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
from geode_tui.tui.by_hand import on_block
from geode_tui.tui.glyphs import ASCII, UNICODE
from geode_tui.tui.keys import letter
from geode_tui.tui.look import Look
from geode_tui.tui.slash import Order, Wrong
from geode_tui.tui.themes import load_themes
from geode_tui.tui.widgets.context_tab import ContextPane
from geode_tui.tui.widgets.version_diff import DiffPane, DiffScreen
from geode_tui.tui.widgets.versions import VersionsPart
from geode_tui.view.blocks import BlockEntry, BlockRow
from geode_tui.view.follow import Index
from geode_tui.view.state import Outcome, RunState, WindowNote
from geode_tui.view.version_words import undo_text, what_text
from geode_tui.view.versions import Change, Step, VersionDiff, VersionEntry, VersionList, rows_of
from tests.tui.driving import Driven, opened
from tests.tui.fakes import FIGURES, running_state, screen_text

EN, KO = Strings("en"), Strings("ko")
PALETTE = load_themes()[0]["geode-dark"].palette
MASKED = BlockEntry(3, 3, 1, 9, "results", 30, "read_file", "src/core.py", True, "c1", "masked", was=900)
RESULT = BlockEntry(4, 4, 1, 9, "results", 300, "run_shell", "pytest -q", False, "c2")
TYPED = BlockEntry(5, 5, 2, 0, "user", 4, "", "go on", protected="latest_input")
PINNED = BlockEntry(6, 6, 2, 1, "agent", 4, "", "note it", protected="pinned", pinned=(6,))
ENTRIES = (MASKED, RESULT, TYPED, PINNED)
VERSIONS = (
    VersionEntry(0, 1, 1),
    VersionEntry(1, 1, 9, "warning", operations={"mask": 6}, first=2, upto=30, before=101_300, after=97_000),
    VersionEntry(
        2, 1, 15, "warning", operations={"summarise": 1}, first=1, upto=84, rounds=(1, 14), before=178_200,
        after=84_000, cost_micro=120_000,
    ),
    VersionEntry(3, 1, 35, "arrival", operations={"offload": 1}, before=283_000, after=264_900),
)  # fmt: skip
LISTED = VersionList(VERSIONS, Step((1, 2), 18_100))


def state_of(**changes: Any) -> RunState:
    return running_state(**{"newest_seq": 6, "prompt_upto": 6, "view_version": 3, "turn_open": False, **changes})


@asynccontextmanager
async def on_versions(
    listed: VersionList = LISTED, *, state: RunState | None = None, **options: Any
) -> AsyncIterator[tuple[Driven, ContextPane]]:
    options.setdefault("size", (120, 40))
    async with opened(state_of() if state is None else state, **options) as driven:
        driven.source.entries, driven.source.listed = ENTRIES, listed
        driven.screen.conversation.focus()
        driven.screen.choose_tab("context")
        pane = driven.screen.context
        pane.focus()
        await driven.until(lambda: pane._made_of == pane.view and not pane.reading and pane.has_focus)
        await driven.pilot.pause()
        yield driven, pane


def orders(driven: Driven) -> list[tuple[str, dict[str, Any]]]:
    return [(kind, payload) for kind, payload, _ in driven.source.sent]


async def choose(driven: Driven, pane: ContextPane, seq: int) -> None:
    at = next(i for i, one in enumerate(pane.rows) if one.entry is not None and one.entry.seq == seq)
    pane.action_move(-len(pane.rows))
    pane.action_move(at)
    await driven.pilot.pause()


# -- the list ---------------------------------------------------------------------------------------------------------
async def test_below_the_blocks_stands_what_the_model_saw_the_newest_first() -> None:
    async with on_versions() as (driven, _):
        lines = [line[:80].rstrip() for line in screen_text(driven.app)]
        first = next(i for i, line in enumerate(lines) if line.startswith(" Versions 4"))
        assert lines[first + 1].split() == ["v3", "r35", "offloaded", "1", "result", "283.0k", "⇢", "264.9k", "current"]
        assert "summary of rounds 1 to 14" in lines[first + 2]
        assert lines[first + 2].split()[-2:] == ["84.0k", "$0.12"]
        assert "masked 6 old results" in lines[first + 3]
        assert lines[first + 4].split()[:3] == ["v0", "r1", "start"]
        assert driven.sees("Undo takes back v1-v2: 264.9k ⇢ ~283.0k, still under critical.")
        assert driven.sees("Nothing is deleted: the transcript keeps every message.")


async def test_blocks_say_how_they_are_sent_and_how_large_they_were() -> None:
    async with on_versions() as (driven, _):
        lines = screen_text(driven.app)
        assert any("masked" in line and "was 505.9k" in line for line in lines), "in the gauge's tokens"
        assert any("protected" in line and "last words" in line for line in lines)
        assert any("protected" in line and "pinned" in line for line in lines)


def test_results_that_were_offloaded_as_they_came_are_one_row() -> None:
    arrivals = tuple(
        VersionEntry(n, 1, n, "arrival", operations={"offload": 1}, before=n * 1_000, after=n * 900)
        for n in range(3, 400)
    )
    rows = rows_of((*VERSIONS[:3], *arrivals, VersionEntry(400, cause="undo", others=(1, 2), before=9, after=8)))
    assert [row.numbers for row in rows] == [(400, 400), (3, 399), (2, 2), (1, 1), (0, 0)]
    assert (rows[1].count, rows[1].before, rows[1].newest.after) == (397, 3_000, 359_100)
    assert [what_text(row, EN) for row in rows[:2]] == ["undo of v1-v2", "offloaded 397 results"]


@pytest.mark.parametrize(
    ("entry", "en", "ko"),
    [
        (VersionEntry(1, operations={"replay": 1}), "the provider compacted by itself", "제공자가 스스로 압축함"),
        (
            VersionEntry(1, operations={"native": 1}),
            "compacted by the provider when asked",
            "요청에 따라 제공자가 압축함",
        ),
        (VersionEntry(1, operations={"pin": 1}, first=121), "pinned #121", "#121 고정"),
        (VersionEntry(1, operations={"unpin": 2}, first=3), "unpinned 2 messages", "메시지 2개 고정 풂"),
        (
            VersionEntry(1, operations={"summarise": 1}, first=1, upto=84, local=True),
            "local summary of messages 1 to 84",
            "메시지 1-84 로컬 요약",
        ),
        (VersionEntry(1, operations={"trim": 1}, rounds=(3, 3)), "left out round 3", "3라운드 제외"),
        (
            VersionEntry(1, operations={"mask": 1, "shrink": 2}),
            "masked 1 old result, shortened 2 results or calls",
            None,
        ),
        (VersionEntry(5, cause="redo", others=(3, 4)), "redo of v3-v4", "v3-v4 다시 적용"),
        (VersionEntry(1, operations={"of the\nfuture": 1}), "of the future", "of the future"),
        (VersionEntry(0), "start", "시작"),
    ],
)
def test_what_a_version_did_is_told_in_words(entry: VersionEntry, en: str, ko: str | None) -> None:
    (row,) = rows_of([entry])
    assert what_text(row, EN) == en
    assert ko is None or what_text(row, KO) == ko


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (-50_000, "Undo goes back to v2's view: 264.9k -> ~214.9k, below the warning."),
        (70_000, "Undo goes back to v2's view: 264.9k -> ~334.9k, above critical."),
        (200_000, "Undo of v3 cannot be done: ~464.9k would be sent and 367.2k fit."),
    ],
)
def test_what_an_undo_would_do_is_said_before_it_is_done(more: int, said: str) -> None:
    assert undo_text(VersionList(VERSIONS, Step((3,), more, 2)), FIGURES, EN) == said


def test_what_cannot_be_undone_or_can_be_done_again_is_said() -> None:
    assert undo_text(VersionList(VERSIONS[:1]), FIGURES, EN) == "There is nothing to undo."
    both = undo_text(VersionList(VERSIONS, None, Step((3,), -9)), FIGURES, EN)
    assert both == "There is nothing to undo.  Redo makes v3 hold again."
    assert "claude" in undo_text(VersionList(VERSIONS, recorder="claude\n"), FIGURES, EN)


async def test_a_version_that_comes_while_the_tab_is_open_is_read_and_no_other_time() -> None:
    async with on_versions() as (driven, pane):
        await driven.show(state_of(title="another", newest_seq=7))
        assert driven.source.lists_read == 1
        undone = msgspec.structs.replace(VERSIONS[2], taken_back=True)
        undo = VersionEntry(4, 2, 1, "undo", others=(2,), before=264_900, after=283_000)
        driven.source.listed = VersionList((*VERSIONS[:2], undone, VERSIONS[3], undo))
        await driven.show(state_of(view_version=4, view_cause="undo"))
        await driven.until(lambda: len(pane.versions.rows) == 5)
        await driven.pilot.pause()
        assert driven.source.lists_read == 2
        assert any("v2" in line and "↺ undone" in line for line in screen_text(driven.app))
        assert any("v4" in line and "undo of v2" in line and "current" in line for line in screen_text(driven.app))


async def test_before_anything_was_sent_there_are_no_versions() -> None:
    async with on_versions(VersionList(), state=RunState(session_id="s-1")) as (driven, _):
        assert not driven.sees("Versions")


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_where_there_is_no_room_for_both_v_goes_to_the_versions_and_esc_back(size: tuple[int, int]) -> None:
    async with on_versions(size=size) as (driven, pane):
        assert not driven.sees("Versions 4")
        await driven.pilot.press("v")
        await driven.pilot.pause()
        assert driven.sees("Versions 4")
        assert not driven.sees("Blocks")
        assert driven.screen.area == "context_versions"
        await driven.pilot.press("escape")
        assert pane.part == "blocks"
        assert driven.screen.tab == "context"


# -- commands ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("key", "seq", "order"),
    [
        ("p", 4, ("pin", {"seqs": (4,)})),
        ("ㅔ", 6, ("unpin", {"seqs": (6,)})),
        ("m", 4, ("mask", {"seqs": (4,)})),
        ("o", 4, ("offload", {"seqs": (4,)})),
        ("u", 4, ("undo", {})),
    ],
)
async def test_a_key_sends_its_command(key: str, seq: int, order: tuple[str, dict[str, Any]]) -> None:
    async with on_versions() as (driven, pane):
        await choose(driven, pane, seq)
        await driven.pilot.press(key)
        await driven.until(lambda: driven.source.sent)
        assert orders(driven) == [order]


async def test_what_was_undone_can_be_done_again() -> None:
    async with on_versions(VersionList(VERSIONS, None, Step((2,), -90))) as (driven, _):
        await driven.pilot.press("ctrl+y")
        await driven.until(lambda: driven.source.sent)
        assert orders(driven) == [("redo", {})]


@pytest.mark.parametrize(
    ("key", "seq", "why"),
    [
        ("m", 3, "It has given way already: masked."),
        ("o", 5, "Only the result of a tool can give way."),
        ("ctrl+y", 4, "There is nothing to redo."),
    ],
)
async def test_what_cannot_be_is_said_at_once_and_not_sent(key: str, seq: int, why: str) -> None:
    async with on_versions(notifications=True) as (driven, pane):
        await choose(driven, pane, seq)
        await driven.pilot.press(key)
        await driven.until(lambda: driven.toasts)
        assert driven.toasts == [why]
        assert driven.source.sent == []


@pytest.mark.parametrize("key", ["p", "m", "o", "u", "ctrl+y"])
async def test_in_a_run_of_another_program_nothing_can_be_changed(key: str) -> None:
    listed = VersionList(VERSIONS[:1], recorder="claude")
    async with on_versions(listed, notifications=True) as (driven, pane):
        assert driven.sees("This run was recorded by claude")
        await choose(driven, pane, 4)
        await driven.pilot.press(key)
        await driven.until(lambda: driven.toasts)
        assert "recorded by claude" in driven.toasts[0]
        assert driven.source.sent == []


def test_a_block_that_has_to_stay_says_by_which_rule() -> None:
    def asked(entry: BlockEntry | None, deed: Any = "mask", why: str = "") -> Order | Wrong:
        block = BlockRow(entry.kind if entry else "system", 9, "verbatim", entry)
        return on_block(deed, block, VersionList(VERSIONS, why=why), EN)

    kept = msgspec.structs.replace(RESULT, protected="last_batch")
    assert asked(kept) == Wrong("blocks.stays", {"rule": "last calls"})
    assert asked(None) == Wrong("blocks.not_said")
    assert asked(msgspec.structs.replace(RESULT, message_id=0)) == Wrong("blocks.no_message")
    assert asked(RESULT, why="a native block stands") == Wrong("blocks.because", {"why": "a native block stands"})
    assert asked(kept, "pin", why="a native block stands") == Order("pin", {"seqs": (4,)})
    assert on_block("pin", None, VersionList(VERSIONS), EN) == Wrong("blocks.choose")


async def test_what_came_of_a_pin_is_said_in_words_of_its_own() -> None:
    notes = [WindowNote(3, "masked", 101_300, 97_000, count=6)]
    async with on_versions(state=state_of(window_notes=notes), notifications=True) as (driven, pane):
        await choose(driven, pane, 4)
        await driven.pilot.press("p")
        await driven.until(lambda: driven.source.sent)
        done = Outcome(1, driven.source.sent[0][2], "pin", "done", "version 4")
        await driven.show(state_of(window_notes=notes, outcomes=[done]))
        assert driven.toasts == ["pinning done."]


@pytest.mark.parametrize("pane", [ContextPane, DiffPane])
def test_every_key_has_words_and_works_in_hangul_mode(pane: type[ContextPane | DiffPane]) -> None:
    for binding in pane.__dict__["BINDINGS"]:
        assert EN.has(f"key.{binding.id}"), binding.id
        keys = binding.key.split(",")
        small = [key for key in keys if len(key) == 1 and key.isascii() and key.islower()]
        assert all(set(letter(key).split(",")) <= set(keys) for key in small), binding.key


# -- differences ------------------------------------------------------------------------------------------------------
SUMMARY = BlockEntry(0, 1, 0, 0, "summaries", 90, "", "## Goal", state="summarised", version=2)
DIFF = VersionDiff(
    1,
    2,
    (
        Change(SUMMARY, None, "summarised", 0, 90),
        Change(MASKED, "masked", "summarised", 30, 0),
        Change(RESULT, "verbatim", "summarised", 300, 0),
    ),
    "## Goal\n- parse as a stream\x1b[31m, " + "word " * 30,
)


async def test_d_shows_in_what_the_chosen_version_differs_and_enter_shows_a_message() -> None:
    async with on_versions() as (driven, _):
        driven.source.diffs[1, 2] = DIFF
        rows = tuple(driven.source.add_message(number, f"message {number}") for number in range(1, 7))
        await driven.show(state_of(), ops=[Index(rows)])
        driven.screen.choose_tab("context")
        driven.screen.context.focus()
        await driven.pilot.press("v", "j", "d")
        await driven.until(lambda: isinstance(driven.app.screen, DiffScreen) and driven.sees("3 blocks differ"))
        assert driven.sees("From v1 to v2")
        assert driven.sees("- parse as a stream␛, word")
        line = next(line for line in screen_text(driven.app) if "run_shell" in line)
        assert line.split()[:2] == ["r9", "#4"]
        assert "verbatim" in line
        assert line.index("verbatim") < line.index("summarised")
        await driven.pilot.press("G", "enter")
        await driven.until(lambda: driven.screen.conversation.has_focus)
        assert driven.screen.tab == "conversation"


async def test_what_could_not_be_compared_says_so_and_esc_closes_it() -> None:
    async with on_versions() as (driven, _):
        driven.source.fails = "the store is locked by 4711"
        await driven.pilot.press("d")
        await driven.until(lambda: driven.sees("The versions could not be compared: the store is locked by 4711"))
        await driven.pilot.press("escape")
        await driven.until(lambda: not isinstance(driven.app.screen, DiffScreen))


async def test_there_is_nothing_before_the_start() -> None:
    async with on_versions(notifications=True) as (driven, _):
        await driven.pilot.press("v", "G", "d")
        await driven.until(lambda: driven.toasts)
        assert driven.toasts == ["v0 is where it began: there is nothing before it."]


async def test_a_click_chooses_a_version_and_another_one_opens_it() -> None:
    async with on_versions() as (driven, pane):
        driven.source.diffs[1, 2] = DIFF
        row = next(y for y in range(pane.size.height) if "summary of rounds" in pane.render_line(y).text)
        await driven.pilot.click(pane, offset=(20, row))
        await driven.pilot.pause()
        assert (pane.part, pane.versions.selected) == ("versions", pane.versions.rows[1])
        await driven.pilot.click(pane, offset=(20, row))
        await driven.until(lambda: isinstance(driven.app.screen, DiffScreen))


texts = st.text(st.sampled_from("ab한글🜚\u202e\x1b\t\n "), max_size=40)
versions = st.builds(
    VersionEntry,
    st.integers(1, 10**6),
    round=st.integers(0, 9_999),
    cause=st.one_of(texts, st.sampled_from(["arrival", "undo", "manual"])),
    mode=st.one_of(texts, st.just("on_demand")),
    operations=st.dictionaries(texts, st.integers(1, 9_999), max_size=2),
    before=st.integers(0, 10**9),
    after=st.integers(0, 10**9),
    cost_micro=st.one_of(st.none(), st.integers(0, 10**9)),
    taken_back=st.booleans(),
)


@given(st.integers(20, 160), st.integers(1, 30), st.sampled_from([UNICODE, ASCII]), st.lists(versions, max_size=9))
@settings(deadline=None, max_examples=50)
def test_every_row_of_any_version_is_as_wide_as_the_pane(
    width: int, height: int, glyphs: Any, entries: list[VersionEntry]
) -> None:
    look = Look(PALETTE, glyphs, KO, str)
    part = VersionsPart()
    part.take(VersionList(tuple(entries), Step((1,), 5), recorder="x\x1b" if width % 2 else ""))
    part.move(width)
    strips = part.build(look, width, height, FIGURES, focused=True)
    assert len(strips) == height
    for strip in strips:
        assert strip.cell_length == width
        assert strip.text.isprintable()


@given(st.integers(20, 120), texts, texts)
@settings(deadline=None, max_examples=40)
def test_every_row_of_a_difference_is_as_wide_as_the_pane(width: int, text: str, detail: str) -> None:
    pane = DiffPane(Look(PALETTE, UNICODE, KO, str), 1, 2)
    change = Change(msgspec.structs.replace(RESULT, name=text, detail=detail), "verbatim", None, 900, 0)
    pane.show(VersionDiff(1, 2, (change,), text))
    for strip in pane.build(Size(width, 12)):
        assert strip.cell_length == width
        assert strip.text.isprintable()
