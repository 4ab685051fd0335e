"""Widgets that draw their own lines: what they hand over is what Textual's own way would have made of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from geode_tui.tui.conversation.window import Window
from geode_tui.tui.widgets.pane import Pane
from geode_tui.tui.widgets.side import Side
from tests.tui.driving import opened
from tests.tui.fakes import running_state

SIZES = [(120, 40), (80, 24), (40, 12), (180, 50)]


def cells(strips: list[Strip]) -> list[list[tuple[Any, ...]]]:
    """What is seen of each line's cells, and what a click on them does; a blank one shows only its plane."""
    return [[_seen(c, s.style or Style()) for s in strip for c in s.text] for strip in strips]


def _seen(character: str, style: Style) -> tuple[Any, ...]:
    ink, plane = (style.bgcolor, style.color) if style.reverse else (style.color, style.bgcolor)
    marks = (style.bold, style.italic, style.underline) if character != " " or style.underline else ()
    return character, plane, marks and (ink, *marks), style.meta


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("depth", ["full", "256", "16", "none"])
async def test_lines_are_handed_over_as_textual_would_have_made_them(size: tuple[int, int], depth: str) -> None:
    async with opened(size=size, depth=depth) as driven:
        conversation = driven.screen.conversation
        drawing = [*driven.screen.query(Pane), conversation, conversation.vertical_scrollbar]
        shown = [widget for widget in drawing if widget.region.area]
        assert {conversation, conversation.vertical_scrollbar} < set(shown)
        for widget in shown:
            width, height = conversation.area if widget is conversation else widget.outer_size
            for crop in (Region(0, 0, width, height), Region(0, height // 2, max(1, width // 2), 1)):
                lines = widget.render_lines(crop)
                assert cells(lines) == cells(Widget.render_lines(widget, crop)), widget
                assert [strip.cell_length for strip in lines] == [crop.width] * crop.height


async def test_no_pane_has_a_border_or_padding_that_its_lines_would_cover() -> None:
    async with opened(size=(180, 50)) as driven:
        for kind in (Pane, Window):
            for widget in driven.screen.query(kind):
                assert not any(widget.styles.gutter), widget


async def test_figures_that_move_often_are_painted_a_few_times_a_second_and_the_last_ones_always() -> None:
    async with opened(size=(120, 40)) as driven:
        side = driven.screen.query_one(Side)
        built: list[object] = []
        build = side.build
        side.build = lambda size: built.append(size) or build(size)  # type: ignore[method-assign,func-returns-value]
        view = driven.screen.presented.side if driven.screen.presented is not None else None
        assert view is not None
        for spent in range(1, 41):
            money = msgspec.structs.replace(view.cost.money, cost_micro=1_000_000 + spent * 10_000)
            side.show(msgspec.structs.replace(view, cost=msgspec.structs.replace(view.cost, money=money)))
        assert len(built) <= 2
        await driven.until(lambda: not side.waiting)
        assert any("1.40" in strip.text for strip in side.render_lines(side.outer_size.region))


async def test_a_plan_shows_at_once_while_figures_wait() -> None:
    async with opened(running_state(plan=(("first step", "active"),)), size=(120, 40)) as driven:
        side = driven.screen.query_one(Side)
        view = driven.screen.presented.side if driven.screen.presented is not None else None
        assert view is not None
        for round_ in range(2):
            money = msgspec.structs.replace(view.cost.money, cost_micro=7_770_000 + round_)
            side.show(msgspec.structs.replace(view, cost=msgspec.structs.replace(view.cost, money=money)))
        side.show(msgspec.structs.replace(view, plan=(("another step", "active"),)))
        assert any("another step" in strip.text for strip in side.render_lines(side.outer_size.region))
