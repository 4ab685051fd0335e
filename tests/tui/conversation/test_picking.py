from textual.pilot import Pilot

from geode_tui.core.messages import ToolCallBlock
from geode_tui.log.rows import ResultMeta
from geode_tui.tui.conversation.view import Conversation
from tests.tui.conversation.kit import Store, screen, settled
from tests.tui.conversation.test_view import long_run, standing

LONG = "A **paragraph** that is long enough to be wrapped over a line or two of the view, so that it has ends."


async def drag(pilot: Pilot[None], view: Conversation, start: tuple[int, int], stop: tuple[int, int]) -> None:
    await pilot.mouse_down(view, offset=start)
    await pilot.hover(view, offset=stop)
    await pilot.mouse_up(view, offset=stop)
    await pilot.pause()


async def copied(pilot: Pilot[None], key: str = "y") -> str:
    pilot.app._clipboard = ""
    await pilot.press(key)
    for _ in range(100):
        if pilot.app.clipboard:
            break
        await pilot.pause(0.005)
    return pilot.app.clipboard


def store_with(text: str) -> Store:
    store = Store()
    store.agent(text, round=1)
    return store


async def test_whole_lines_are_copied_as_their_source_and_a_toast_says_how_much() -> None:
    store = store_with(f"{LONG}\n\n- one\n- two\n\n```python\nx = 1\ny = 2\n```")
    async with standing(store, [row.row for row in store.messages.values()], (60, 20)) as (pilot, view):
        view.focus()
        await pilot.press("g", "j", *["J"] * 8)
        text = await copied(pilot)
        assert text == f"{LONG}\n\n- one\n- two\n\nx = 1\ny = 2"
        assert [n.message for n in pilot.app._notifications] == [f"copied {len(text)} characters"]


async def test_part_of_a_wrapped_paragraph_is_copied_as_one_line() -> None:
    store = store_with(LONG)
    async with standing(store, [row.row for row in store.messages.values()], (60, 20)) as (pilot, view):
        view.focus()
        lines = screen(view)
        assert lines[2].startswith("  long") or lines[2].startswith("  to") or lines[2]
        await drag(pilot, view, (4, 1), (lines[2].index(" ", 4) - 1, 2))
        second = lines[2].split()[0]
        text = await copied(pilot)
        assert text == f"{lines[1][4:]} {second}"
        assert "\n" not in text


async def test_the_mouse_selects_cells_and_a_drag_opens_nothing() -> None:
    store = Store()
    call = ToolCallBlock("c1", "run_shell", '{"command": "make test"}')
    rows = [store.agent("See.", call, round=1), store.result(call, "fine", ResultMeta("ok", 10, 5), round=1)]
    async with standing(store, rows) as (pilot, view):
        view.focus()
        y = next(y for y, line in enumerate(screen(view)) if "run_shell" in line)
        x = screen(view)[y].index("make")
        await drag(pilot, view, (x, y), (x + len("make test") - 1, y))
        assert await copied(pilot) == "make test"
        assert len([line for line in screen(view) if line]) == 3, "the card stayed closed"
        await pilot.click(view, offset=(0, 1))
        assert view.span is None


async def test_a_selection_stays_with_its_text_while_more_comes_above_and_below() -> None:
    store = Store()
    rows = long_run(store, 30)
    async with standing(store, rows) as (pilot, view):
        view.focus()
        await pilot.press("k", "k", "J", "J")
        text = await copied(pilot)
        view.scroll_to(y=0, animate=False, immediate=True)
        await settled(pilot, view)
        assert await copied(pilot) == text
        assert len(text) > 40


async def test_moving_on_and_another_click_drop_the_selection() -> None:
    store = Store()
    async with standing(store, long_run(store, 2)) as (pilot, view):
        view.focus()
        await pilot.press("J", "J")
        assert view.has_selection
        await pilot.press("j")
        assert not view.has_selection


async def test_a_whole_message_is_copied_as_it_was_written() -> None:
    store = store_with("# Title\n\nText with **weight**.\n\nhunter2-hunter2")
    async with standing(store, [row.row for row in store.messages.values()]) as (pilot, view):
        view.focus()
        assert await copied(pilot, "Y") == "# Title\n\nText with **weight**.\n\n[redacted]"


async def test_messages_that_are_no_longer_held_are_read_again_to_be_copied() -> None:
    store = Store()
    rows = long_run(store, 200)
    async with standing(store, rows) as (pilot, view):
        view.focus()
        view.action_top()
        await settled(pilot, view)
        await pilot.press("J")
        view.action_bottom()
        await settled(pilot, view)
        await pilot.press("J")
        text = await copied(pilot)
        for number in (1, 100, 199):
            assert store.messages[rows[number].id].message.text in text
        assert view.loaded_messages < 150


async def test_a_drag_beyond_the_edge_takes_the_view_along() -> None:
    store = Store()
    async with standing(store, long_run(store, 20), (80, 12)) as (pilot, view):
        before = view.scroll_offset.y
        await pilot.mouse_down(view, offset=(4, 5))
        view.post_message(_move(view, -1))
        view.post_message(_move(view, -2))
        await pilot.pause()
        await pilot.mouse_up(view, offset=(4, 1))
        span = view.span
        assert span is not None
        assert view.scroll_offset.y < before
        assert not view.following
        assert span.last - span.first >= 6


def _move(view: Conversation, y: int) -> object:
    from textual.events import MouseMove

    return MouseMove(view, 4, y, 0, -1, 1, False, False, False)
