"""Three columns from 200x40 on: what stands where, how the middle is hidden and a column zoomed."""

from __future__ import annotations

import pytest

from geode_tui.tui.layout import MIDDLE, Part, columns_for, form_for
from geode_tui.tui.screens.columns import Columns
from geode_tui.tui.screens.help import help_lines
from geode_tui.tui.screens.modal import PaletteScreen
from geode_tui.tui.screens.run import RunScreen
from tests.tui.driving import Driven, opened
from tests.tui.fakes import event, running_state, screen_text

WIDE, USUAL, NARROW = (200, 60), (120, 40), (80, 24)


@pytest.mark.parametrize(
    ("size", "tab", "hidden", "zoomed", "shown"),
    [
        (WIDE, "conversation", False, None, {"main": 0, "middle": MIDDLE, "side": 42}),
        (WIDE, "events", False, None, {"main": 0, "middle": MIDDLE, "side": 42}),
        (WIDE, "events", True, None, {"main": 0, "side": 42}),
        (WIDE, "events", False, "middle", {"middle": 0}),
        (WIDE, "events", False, "side", {"side": 0}),
        (WIDE, "conversation", True, "middle", {"main": 0, "side": 42}),
        (USUAL, "conversation", False, None, {"main": 0, "side": 40}),
        (USUAL, "events", True, None, {"middle": 0, "side": 40}),
        (USUAL, "events", False, "middle", {"middle": 0}),
        (NARROW, "conversation", False, None, {"main": 0}),
        (NARROW, "events", False, "side", {"middle": 0}),
    ],
)
def test_which_columns_are_shown(
    size: tuple[int, int], tab: str, hidden: bool, zoomed: Part | None, shown: dict[Part, int]
) -> None:
    assert columns_for(form_for(*size), tab, hidden=hidden, zoomed=zoomed) == shown


def columns(driven: Driven) -> Columns:
    return driven.screen.columns


async def test_conversation_the_tab_and_the_figures_stand_side_by_side() -> None:
    async with opened(running_state(feed=[event(n) for n in range(1, 9)]), size=WIDE) as driven:
        main, middle, side = driven.screen.conversation.region, driven.screen.events.region, driven.screen.side.region
        assert (main.x, main.right, middle.right, side.right) == (0, middle.x, side.x, 200)
        assert (middle.width, side.width) == (MIDDLE, 42)
        assert driven.screen.composer.region.right == main.right
        assert middle.bottom == side.bottom == 59
        assert main.y == middle.y == 3
        assert driven.screen.tabs.shown == ("conversation", "events")


async def test_a_tab_that_is_chosen_never_takes_the_conversations_place() -> None:
    async with opened(size=WIDE) as driven:
        driven.screen.conversation.focus()
        await driven.pilot.press("2")
        assert driven.screen.events.has_focus
        assert driven.screen.conversation.is_on_screen
        await driven.pilot.press("1")
        assert driven.screen.conversation.has_focus
        assert driven.screen.events.is_on_screen


async def test_the_middle_is_hidden_and_comes_back_with_its_tab() -> None:
    async with opened(size=WIDE) as driven:
        driven.screen.events.focus()
        await driven.pilot.press("backslash")
        await driven.pilot.pause()
        assert columns(driven).visible_tabs == ("conversation",)
        assert driven.screen.conversation.has_focus
        assert driven.screen.conversation.region.width == 200 - 42
        await driven.pilot.press("2")
        assert columns(driven).visible_tabs == ("conversation", "events")
        await driven.type("/middle")
        assert columns(driven).visible_tabs == ("conversation",)


async def test_the_column_with_the_focus_gets_the_whole_width_and_the_composer_stays() -> None:
    async with opened(size=WIDE) as driven:
        for pane in (driven.screen.composer.entry, driven.screen.events, driven.screen.side):
            pane.focus()
            await driven.pilot.press("ctrl+o")
            await driven.pilot.pause()
            shown = driven.screen.conversation if pane is driven.screen.composer.entry else pane
            assert shown.region.width == 200
            assert len(columns(driven).shown) == 1
            assert driven.screen.composer.region.width == 200
            assert pane.has_focus
            await driven.pilot.press("ctrl+o")
            assert len(columns(driven).shown) == 3


async def test_with_two_columns_zooming_hides_the_figures_and_a_tab_keeps_the_zoom() -> None:
    async with opened(size=USUAL) as driven:
        await driven.type("/zoom")
        assert columns(driven).shown == {"main": 0}
        await driven.pilot.press("alt+2")
        assert columns(driven).shown == {"middle": 0}
        await driven.pilot.press("ctrl+o")
        assert columns(driven).shown == {"middle": 0, "side": 40}


async def test_where_there_is_one_column_both_say_so() -> None:
    async with opened(size=NARROW, notifications=True) as driven:
        await driven.pilot.press("ctrl+o")
        await driven.type("/middle")
        assert driven.toasts == ["There is one column only.", "A middle column needs 200x40."]
        assert columns(driven).shown == {"main": 0}


async def test_another_size_keeps_the_tab_and_the_composer() -> None:
    async with opened(size=WIDE) as driven:
        await driven.pilot.press("alt+2")
        await driven.pilot.resize_terminal(*NARROW)
        await driven.until(lambda: driven.screen.form == form_for(*NARROW))
        await driven.pilot.pause()
        assert columns(driven).visible_tabs == ("events",)
        assert driven.screen.composer.entry.has_focus
        await driven.pilot.resize_terminal(*WIDE)
        await driven.until(lambda: driven.screen.conversation.is_on_screen and driven.screen.events.is_on_screen)


async def test_both_keys_are_in_the_help_the_palette_and_the_footer() -> None:
    async with opened(size=WIDE) as driven:
        helped = dict(help_lines((RunScreen,), driven.app.look))
        assert helped["\\"] == "Hide the middle column, or show it"
        assert helped["ctrl+o"] == helped["/zoom"]
        driven.screen.conversation.focus()
        await driven.pilot.pause()
        assert {"\\", "ctrl+o"} <= {hint.key for hint in driven.screen.footer.view.hints}
        await driven.pilot.press("ctrl+p")
        assert isinstance(driven.app.screen, PaletteScreen)
        assert {"middle", "zoom"} <= {choice.value for choice in driven.app.screen.choices.shown}


async def test_without_planes_a_line_stands_left_of_the_figures_down_to_the_footer() -> None:
    from geode_tui.tui.glyphs import ASCII

    async with opened(size=USUAL, glyphs=ASCII) as driven:
        side = driven.screen.side.region
        rows = screen_text(driven.app)
        assert {row[side.x : side.x + 2] for row in rows[side.y : side.bottom]} == {"| "}
        edge = driven.screen.edge.region
        assert rows[edge.y][: edge.width] == "-" * edge.width
        assert rows[1].startswith("[1 Conversation] 2 Events")
        palette = driven.app.look.palette
        assert palette.panel == palette.surface == palette.base
        assert driven.app.theme_variables["geode-panel"] == palette.base


async def test_a_blank_row_stands_below_the_tabs_only_where_there_is_room() -> None:
    for size, gap in ((USUAL, 1), (NARROW, 0)):
        async with opened(size=size) as driven:
            assert driven.screen.conversation.region.y - driven.screen.tabs.region.bottom == gap
