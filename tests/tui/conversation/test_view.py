import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.binding import Binding
from textual.geometry import Region
from textual.pilot import Pilot

from geode_tui.core.messages import Message, TextBlock, ThinkingBlock, ToolCallBlock
from geode_tui.core.strings import Strings
from geode_tui.log.rows import MessageRow, ResultMeta
from geode_tui.tui.conversation.drawing import KEEP_LINES
from geode_tui.tui.conversation.view import Conversation, round_notes
from geode_tui.tui.glyphs import Glyphs
from geode_tui.view.follow import Added, Completed, Index
from geode_tui.view.state import OpenApproval, OpenTool, RoundFigures, RunState
from tests.tui.conversation.kit import ASCII, SAMPLE, UNICODE, Stand, Store, palette, pieces, screen, settled

SHELL = ToolCallBlock("c1", "run_shell", '{"command": "pytest -q tests/"}')
READ = ToolCallBlock("c2", "read_file", '{"path": "src/parser/core.py"}')


@asynccontextmanager
async def standing(
    store: Store,
    rows: list[MessageRow],
    size: tuple[int, int] = (80, 24),
    glyphs: Glyphs = UNICODE,
    *,
    no_color: bool = False,
) -> AsyncIterator[tuple[Pilot[None], Conversation]]:
    app = Stand(store, glyphs, no_color=no_color)
    async with app.run_test(size=size) as pilot:
        app.conversation.apply([Index(tuple(rows))])
        await settled(pilot, app.conversation)
        yield pilot, app.conversation


def long_run(
    store: Store, rounds: int, paragraph: str = "some words of an answer that goes on for a while "
) -> list[MessageRow]:
    rows = [store.user("Make the parser streaming", turn=1)]
    for number in range(1, rounds + 1):
        text = "\n\n".join(f"round {number} part {part}. {paragraph * 6}" for part in range(6))
        rows.append(store.agent(text, round=number))
    return rows


def tool_run(store: Store) -> list[MessageRow]:
    return [
        store.user("Go"),
        store.agent("I look.", READ, SHELL, round=1),
        store.result(READ, "1\timport re", ResultMeta("1 line", 120, 96), round=1),
        store.result(
            SHELL, "E  AssertionError\n2 failed\nmore\n", ResultMeta("exit 1", 8_400, 1_200, is_error=True), round=1
        ),
        store.agent("Two tests fail.", round=2),
    ]


def squeeze(text: str) -> str:
    return "".join(text.split())


async def test_a_run_with_tools_reads_from_top_to_bottom() -> None:
    store = Store()
    async with standing(store, tool_run(store)) as (_, view):
        lines = [line for line in screen(view) if line]
        assert lines[0].startswith("  Go")
        assert lines[1] == "  round 1"
        assert lines[2] == "  I look."
        assert lines[3].split() == ["✓", "read_file", "src/parser/core.py", "1", "line", "0.1", "s", "96", "tok"]
        assert lines[4].split()[:4] == ["✗", "run_shell", "pytest", "-q"]
        assert lines[5:7] == ["    E AssertionError", "    2 failed"]
        assert lines[7:] == ["  round 2", "  Two tests fail."]


async def test_what_is_shown_is_what_is_stored_at_the_top_the_middle_and_the_end() -> None:
    """A conversation of about a million characters, of which little is loaded."""
    store = Store()
    rows = long_run(store, 500)
    assert sum(row.chars for row in rows) > 800_000
    async with standing(store, rows, (100, 40)) as (pilot, view):
        assert view.following
        assert squeeze(screen(view)[-1]) in squeeze(store.messages[rows[-1].id].message.text)
        view.focus()
        for number in (250, 1):
            assert view.stage is not None
            view.scroll_to(y=view.stage.transcript.heights.top(number), animate=False, immediate=True)
            await settled(pilot, view)
            shown = [line for line in screen(view)[1:] if line and not line.startswith("  round")]
            nearby = squeeze(
                " ".join(store.messages[rows[n].id].message.text for n in range(max(1, number - 2), number + 6))
            )
            assert len(shown) > 10
            assert all(squeeze(line) in nearby for line in shown if "part" not in line[:12])
        assert len(store.reads) < 40


async def test_paging_through_a_million_characters_keeps_a_bounded_window() -> None:
    store = Store()
    rows = long_run(store, 500)
    async with standing(store, rows, (100, 40)) as (pilot, view):
        widgets = len(list(pilot.app.query("*")))
        most = 0
        for _ in range(25):
            view.scroll_to(y=view.scroll_offset.y - 200, animate=False, immediate=True)
            await settled(pilot, view)
            assert view.stage is not None
            most = max(most, sum(view.stage.transcript.heights[index] for index in view.stage.loaded))
        assert most < 2 * KEEP_LINES
        assert len(store.reads) > 100
        assert view.loaded_messages < 150
        assert len(list(pilot.app.query("*"))) == widgets


async def test_what_stands_at_the_top_stays_there_when_estimates_are_corrected() -> None:
    store = Store()
    rows = [store.agent("short\n\n" * 40, chars=10, round=n) for n in range(1, 30)]
    async with standing(store, rows) as (pilot, view):
        for _ in range(12):
            before = screen(view)[2:]
            view.scroll_to(y=view.scroll_offset.y - 5, animate=False, immediate=True)
            after = screen(view)
            shifted = after[7:]
            await settled(pilot, view)
            assert screen(view)[7:] == shifted == before[: len(shifted)]
        assert not view.following


async def test_it_follows_the_end_only_from_the_end() -> None:
    store = Store()
    rows = long_run(store, 3)
    async with standing(store, rows) as (pilot, view):
        answer = store.agent("", status="open", round=4, number=90)
        view.apply([Added(answer), *pieces(90, "news\n\n" * 20, 40)])
        await settled(pilot, view)
        assert "  news" in screen(view)
        view.scroll_to(y=5, animate=False, immediate=True)
        await settled(pilot, view)
        before = screen(view)[:-1]
        view.apply(pieces(90, "later\n\n" * 6, 40, start=200))
        await settled(pilot, view)
        assert screen(view)[:-1] == before
        assert screen(view)[-1] == f"  {view.unseen} new lines  G"
        assert view.unseen == 12
        view.focus()
        await pilot.press("G")
        await settled(pilot, view)
        assert view.following
        assert "  later" in screen(view)
        assert not any("new line" in line for line in screen(view))


async def test_an_append_paints_only_the_lines_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    async with standing(store, [store.user("Go")], (80, 40)) as (pilot, view):
        view.apply([Added(store.agent("", status="open", round=1, number=9)), *pieces(9, "one\n\ntwo\n\nthree", 99)])
        await settled(pilot, view)
        painted: list[Region] = []
        monkeypatch.setattr(view, "refresh", lambda *regions, **_: painted.extend(regions))
        view.apply(pieces(9, " and four", 99, start=5))
        assert [region.height for region in painted] == [1]
        assert screen(view)[painted[0].y] == "  three and four"


async def test_the_clock_repaints_only_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    rows = [store.user("Go"), store.agent("", SHELL, READ, round=1)]
    async with standing(store, rows) as (pilot, view):
        view.show_state(RunState(turn_open=True, open_tools={"c1": OpenTool("c1", "run_shell", "", "running", 100.0)}))
        await settled(pilot, view)
        painted: list[Region] = []
        monkeypatch.setattr(view, "refresh", lambda *regions, **_: painted.extend(regions))
        view.tick(148.0)
        (region,) = painted
        assert screen(view)[region.y].split()[-2:] == ["running", "0:48"]
        assert screen(view)[region.y + 1].split()[-2:] == ["not", "started"]


async def test_a_call_waits_then_runs_then_has_its_result() -> None:
    store = Store()
    rows = [store.user("Go"), store.agent("", SHELL, round=1)]
    async with standing(store, rows) as (pilot, view):
        approval = OpenApproval("a1", "c1", "run_shell", "execute", "pytest", "asks", 2, 100.0)
        view.show_state(RunState(turn_open=True, approvals={"a1": approval}))
        await settled(pilot, view)
        assert any("⚑ run_shell" in line and "needs you" in line for line in screen(view))
        assert any("ctrl+g" in line for line in screen(view))
        view.show_state(RunState(turn_open=True, open_tools={"c1": OpenTool("c1", "run_shell", "", "running", 1.0)}))
        assert any("running" in line for line in screen(view))
        meta = ResultMeta("exit 1", 900, 10, is_error=True)
        view.apply([Added(store.result(SHELL, "boom\n", meta, round=1))])
        await settled(pilot, view)
        assert any("exit 1" in line for line in screen(view))
        assert "    boom" in screen(view)


async def test_the_prompt_of_the_turn_in_view_stays_in_the_first_row() -> None:
    store = Store()
    rows = long_run(store, 4)
    rows.append(store.user("And the second question", turn=2))
    rows += [store.agent("\n\n".join(["an answer"] * 40), round=9, turn=2)]
    async with standing(store, rows) as (pilot, view):
        assert "And the second question" in screen(view)[0]
        assert screen(view)[0].endswith(time.strftime("%H:%M", time.localtime(1_700_000_000)))
        assert view.stage is not None
        view.scroll_to(y=20, animate=False, immediate=True)
        await settled(pilot, view)
        assert "Make the parser streaming" in screen(view)[0]
        view.scroll_to(y=0, animate=False, immediate=True)
        await settled(pilot, view)
        assert sum("Make the parser streaming" in line for line in screen(view)) == 1


async def test_a_card_opens_by_key_and_by_mouse() -> None:
    store = Store()
    async with standing(store, tool_run(store)) as (pilot, view):
        at = next(y for y, line in enumerate(screen(view)) if "read_file" in line)
        await pilot.click(Conversation, offset=(10, at))
        await settled(pilot, view)
        assert "    1   import re" in screen(view)
        await pilot.press("enter")
        assert "    1   import re" not in screen(view)
        await pilot.press("j", "space")
        await settled(pilot, view)
        assert "    more" in screen(view)


async def test_thinking_is_folded_until_it_is_opened() -> None:
    store = Store()
    row = store.add(Message("assistant", (ThinkingBlock("let me see " * 60), TextBlock("Done."))), round=1)
    async with standing(store, [row]) as (pilot, view):
        assert any(line.startswith("  ▸ thought  ~165 tok") for line in screen(view))
        view.focus()
        await pilot.press("g", "j", "enter")
        await settled(pilot, view)
        assert any("let me see let me see" in line for line in screen(view))


async def test_long_thinking_is_drawn_whole_once_it_is_opened() -> None:
    store = Store()
    row = store.add(Message("assistant", (ThinkingBlock("let me see\n" * 400 + "the end"),)), round=1)
    async with standing(store, [row]) as (pilot, view):
        view.focus()
        await pilot.press("g", "j", "enter")
        await settled(pilot, view)
        await pilot.press("G")
        await settled(pilot, view)
        assert "    the end" in screen(view)


async def test_the_cursor_marks_its_row_only_while_it_has_the_focus() -> None:
    store = Store()
    async with standing(store, tool_run(store), glyphs=ASCII) as (pilot, view):
        view.focus()
        await pilot.press("g")
        assert screen(view)[0].startswith("> Go") or screen(view)[0].startswith(">>Go")
        await pilot.press("j", "j")
        assert screen(view)[2] == "> round 1"
        view.blur()
        await pilot.pause()
        assert screen(view)[2] == "  round 1"


async def test_keys_go_to_rounds_and_to_what_failed() -> None:
    store = Store()
    rows = [*long_run(store, 5), *tool_run(store), *long_run(store, 5)]
    async with standing(store, rows, (80, 16), glyphs=ASCII) as (pilot, view):
        view.focus()
        await pilot.press("left_square_bracket")
        await settled(pilot, view)
        cursor = next(line for line in screen(view) if line.startswith("> x"))
        assert "run_shell" in cursor
        await pilot.press("left_curly_bracket")
        await settled(pilot, view)
        assert any(line.startswith(">>Go") for line in screen(view))
        await pilot.press("right_curly_bracket")
        await settled(pilot, view)
        assert any(line.startswith("> round 1") for line in screen(view))


async def test_a_block_is_copied_as_its_source() -> None:
    store = Store()
    async with standing(store, [store.agent(SAMPLE, round=1)], (80, 40)) as (pilot, view):
        view.focus()
        await pilot.press("g", "j")
        await pilot.press("y")
        assert pilot.app.clipboard.startswith("Two tests fail because the tokenizer holds a **whole** line")


@pytest.mark.parametrize("width", [1, 2, 3, 10, 20, 40, 80, 300])
async def test_every_width_is_drawn(width: int) -> None:
    store = Store()
    rows = [*tool_run(store), store.agent(SAMPLE, round=3)]
    async with standing(store, rows, (width, 20)) as (_pilot, view):
        view.show_state(RunState(turn_open=True))
        assert all(view.render_line(y).cell_length == view.area.width for y in range(view.size.height))


async def test_a_storm_of_sizes_while_it_streams_ends_at_the_end() -> None:
    """B087."""
    store = Store()
    async with standing(store, [store.user("Go")], (120, 40)) as (pilot, view):
        view.apply([Added(store.agent("", status="open", round=1, number=9))])
        sizes = [(120, 40), (80, 24), (20, 5), (1, 1), (300, 90)]
        ops = pieces(9, SAMPLE, 25)
        for number, op in enumerate(ops):
            view.apply([op])
            await pilot.resize_terminal(*sizes[number % len(sizes)])
        await pilot.resize_terminal(80, 24)
        for _ in range(500):
            if view.size.height == 24:
                break
            await pilot.pause(0.01)
        await settled(pilot, view)
        assert view.following
        assert "  The public signature stays." in screen(view)


async def test_a_new_width_keeps_what_is_read_in_view() -> None:
    store = Store()
    rows = long_run(store, 60)
    async with standing(store, rows, (100, 30)) as (pilot, view):
        assert view.stage is not None
        view.scroll_to(y=view.stage.transcript.heights.top(30) + 2, animate=False, immediate=True)
        await settled(pilot, view)
        top = screen(view)[1].split()[:6]
        await pilot.resize_terminal(60, 30)
        await settled(pilot, view)
        shown = " ".join(screen(view)[:12]).split()
        assert " ".join(top[:3]) in " ".join(shown)


async def test_a_completed_answer_stays_as_it_was_seen() -> None:
    store = Store()
    async with standing(store, [store.user("Go")], (80, 40)) as (pilot, view):
        view.apply([Added(store.agent("", status="open", round=1, number=9))])
        view.apply(pieces(9, SAMPLE, 25))
        await settled(pilot, view)
        before = screen(view)
        done = store.agent(SAMPLE, round=1, number=9)
        view.apply([Completed(done)])
        await settled(pilot, view)
        assert [line.replace("streaming", "").rstrip() for line in before] == screen(view)


async def test_an_interrupted_answer_says_so() -> None:
    store = Store()
    async with standing(store, [store.agent("It began", round=1, status="interrupted")]) as (_, view):
        assert screen(view)[2] == "  ▴ interrupted here"


async def test_a_message_that_cannot_be_read_says_why_and_is_read_again() -> None:
    store = Store()
    row = store.agent("read at last", round=1)
    stored = store.messages.pop(row.id)
    async with standing(store, [row]) as (pilot, view):
        assert screen(view)[0] == "    This message could not be read: 1  enter tries again"
        store.messages[row.id] = stored
        view.focus()
        await pilot.press("g", "enter")
        await settled(pilot, view)
        assert "  read at last" in screen(view)


async def test_without_a_worker_nothing_streams_or_runs() -> None:
    store = Store()
    rows = [store.user("Go"), store.agent("", SHELL, round=1), store.agent("", status="open", round=2, number=9)]
    async with standing(store, rows) as (pilot, view):
        running = RunState(turn_open=True, open_tools={"c1": OpenTool("c1", "run_shell", "", "running", 1.0)})
        view.show_state(running)
        view.apply(pieces(9, "It began", 99))
        await settled(pilot, view)
        assert any(line.endswith("streaming") for line in screen(view))
        view.show_state(running, alive=False)
        await settled(pilot, view)
        assert not any("streaming" in line or "running" in line for line in screen(view))
        assert any("outcome unknown" in line for line in screen(view))
        assert any(line.startswith("  round 2") and line.endswith("interrupted here") for line in screen(view))


async def test_secrets_and_control_characters_are_not_shown() -> None:
    store = Store()
    rows = [store.user("key hunter2-hunter2 \x1b[2J"), store.agent("has hunter2-hunter2 \x9b31m", round=1)]
    async with standing(store, rows) as (_, view):
        whole = "\n".join(screen(view))
        assert "hunter2" not in whole
        assert whole.count("[redacted]") == 2
        assert "\x1b" not in whole


async def test_other_colours_repaint_without_moving_anything() -> None:
    store = Store()
    async with standing(store, long_run(store, 6)) as (pilot, view):
        before = screen(view)
        light = palette(theme="geode-light")
        view.set_look(light, view.strings)
        await settled(pilot, view)
        assert screen(view) == before
        colors = {s.style.bgcolor for s in view.render_line(3) if s.style}
        assert colors == {light.style("", light.base).bgcolor}


async def test_without_colours_only_weight_and_underline_remain() -> None:
    store = Store()
    rows = [*tool_run(store), store.agent(SAMPLE, round=3)]
    async with standing(store, rows, (80, 50), no_color=True) as (_, view):
        segments = [segment for y in range(50) for segment in view.render_line(y)]
        assert all(s.style is None or (s.style.color is None and s.style.bgcolor is None) for s in segments)
        assert any(s.style and s.style.bold for s in segments)


async def test_ascii_form_prints_ascii_of_its_own() -> None:
    store = Store()
    rows = [*tool_run(store), store.agent("```\ncode\n```\n\n> quote", round=3)]
    async with standing(store, rows, (80, 40), glyphs=ASCII) as (_, view):
        whole = "\n".join(screen(view))
        assert whole.isascii()
        assert "  | code" in whole


async def test_operations_before_there_is_a_size_are_kept() -> None:
    store = Store()
    app = Stand(store)
    app.conversation.apply([Index((store.user("Early"),))])
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot, app.conversation)
        assert any("Early" in line for line in screen(app.conversation))


def test_rounds_say_what_they_added_and_cost() -> None:
    figures = [RoundFigures(1, 1, 1_000, 50_000), RoundFigures(1, 2, 2_200, 60_000), RoundFigures(1, 3, 2_000, None)]
    assert round_notes(figures, Strings("en")) == {(1, 1): "$0.05", (1, 2): "+1.2k tok  $0.06", (1, 3): "unpriced"}


async def test_rounds_show_their_figures_when_they_are_known() -> None:
    store = Store()
    async with standing(store, tool_run(store)) as (_, view):
        view.show_state(RunState(rounds=[RoundFigures(1, 1, 1_000, 50_000), RoundFigures(1, 2, 2_200, 60_000)]))
        assert any(line.startswith("  round 2") and line.endswith("+1.2k tok  $0.06") for line in screen(view))


def test_every_binding_can_be_mapped_anew() -> None:
    bindings = [binding for binding in Conversation.BINDINGS if isinstance(binding, Binding)]
    assert len(bindings) == len(Conversation.BINDINGS)
    assert all(binding.id and binding.description for binding in bindings)
    assert len({binding.id for binding in bindings}) == len(bindings)


async def test_every_failed_card_of_a_message_is_a_stop() -> None:
    store = Store()
    bad = ResultMeta("exit 1", 1, 1, is_error=True)
    rows = [
        store.user("Go"),
        store.agent("", SHELL, READ, round=1),
        store.result(SHELL, "one", bad),
        store.result(READ, "two", bad),
    ]
    async with standing(store, rows, glyphs=ASCII) as (pilot, view):
        view.focus()
        await pilot.press("g")
        seen = []
        for key in ("right_square_bracket", "right_square_bracket", "left_square_bracket"):
            await pilot.press(key)
            seen.append(next(line.split()[2] for line in screen(view) if line.startswith("> x")))
        assert seen == ["run_shell", "read_file", "run_shell"]
