"""What a summary lost, as a list over the run: going to a message, and putting a thing back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

import msgspec
import pytest

from geode_tui.core.events import LostKind
from geode_tui.log.rows import MessageRow
from geode_tui.tui.keys import letter
from geode_tui.tui.screens.lost import LostScreen
from geode_tui.tui.slash import Local, Order, Wrong, parse, put_back
from geode_tui.view.follow import Index
from geode_tui.view.state import Outcome, RunState, WindowNote
from geode_tui.view.window_history import LostRow
from tests.tui.conversation.kit import ASCII, HOSTILE, assert_inert
from tests.tui.driving import Driven, opened
from tests.tui.fakes import running_state

THINGS = (
    LostRow("rule", "Never touch the public signature", 3),
    LostRow("error", "TypeError: 'NoneType' object is not iterable", 5, pinned=True),
    LostRow("path", "src/core/parser.py", 0),
)
CARD = WindowNote(6, "summarised", 90_000, 20_000, first=1, upto=5, id=9, version=4, lost=3)
OLDER = WindowNote(3, "summarised", 80_000, 30_000, first=1, upto=2, id=5, version=2, lost=1)


def compacted(**changes: Any) -> RunState:
    return running_state(window_notes=[OLDER, CARD, WindowNote(6, "masked", 9, 8, id=12)], **changes)


@asynccontextmanager
async def listed(
    things: tuple[LostRow, ...] = THINGS, size: tuple[int, int] = (120, 40), **options: Any
) -> AsyncIterator[tuple[Driven, LostScreen]]:
    """The list of what version 4 lost."""
    async with opened(compacted(), size=size, **options) as driven:
        driven.source.losses = {4: things}
        await driven.type("/lost")
        await driven.until(lambda: isinstance(driven.app.screen, LostScreen))
        await driven.pilot.pause()
        screen = driven.app.screen
        assert isinstance(screen, LostScreen)
        yield driven, screen


def line(driven: Driven, text: str) -> str:
    assert isinstance(driven.app.screen, LostScreen)
    return next(row.text.strip() for row in driven.app.screen.list._current() if text in row.text)


def has_left(driven: Driven) -> bool:
    return not isinstance(driven.app.screen, LostScreen)


# -- opening ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        ("/lost", Local("lost")),
        ("/lost 12", Local("lost", "12")),
        ("/lost it all", Wrong("slash.lost")),
        ("/lost -1", Wrong("slash.lost")),
        ("/lost 99999999999999999999", Wrong("slash.lost")),
    ],
)
def test_the_slash_command_takes_a_version_or_nothing(typed: str, parsed: object) -> None:
    assert parse(typed) == parsed


async def test_it_lists_each_thing_with_its_kind_its_message_and_whether_it_was_put_back() -> None:
    async with listed() as (driven, _):
        assert driven.sees("Lost by the summary of version 4")
        assert line(driven, "rule").split() == "rule Never touch the public signature #3".split()  # noqa: SIM905
        assert line(driven, "TypeError").endswith("✱ pinned  #5")
        assert line(driven, "path").endswith("src/core/parser.py")
        assert driven.sees("enter its message   p puts it back, pinned")
        await driven.pilot.press("escape")
        await driven.until(lambda: has_left(driven))
        assert not driven.source.sent


async def test_a_version_that_is_named_is_read() -> None:
    async with opened(compacted(), size=(120, 40)) as driven:
        await driven.type("/lost 2")
        await driven.until(lambda: driven.sees("Lost by the summary of version 2"))
        assert driven.sees("Nothing that was looked for is missing")
        await driven.pilot.press("down", "enter", "p", "q")
        await driven.until(lambda: has_left(driven))
        assert (driven.source.lost_read, driven.source.sent) == ([2], [])


async def test_the_palette_and_the_conversation_open_it_too() -> None:
    async with opened(compacted(), size=(120, 40)) as driven:
        await driven.pilot.press("ctrl+p", *"what a summary lost", "enter")
        await driven.until(lambda: driven.sees("Lost by the summary of version 4"))
        await driven.pilot.press("escape")
        await driven.until(lambda: has_left(driven))
        driven.screen.conversation.focus()
        await driven.pilot.press(letter("l").split(",")[1])
        await driven.until(lambda: not has_left(driven))
        assert driven.source.lost_read == [4, 4]


async def test_without_a_summary_there_is_no_list() -> None:
    async with opened(running_state(window_notes=[WindowNote(6, "masked")]), notifications=True) as driven:
        await driven.type("/lost")
        await driven.until(lambda: driven.toasts)
        assert driven.toasts == ["No summary stands for a part of this conversation yet."]


async def test_what_could_not_be_read_is_said() -> None:
    async with opened(compacted(), notifications=True) as driven:
        driven.source.fails = "the log is busy: try again"
        await driven.type("/lost")
        await driven.until(lambda: driven.toasts)
        assert driven.toasts == ["the log is busy: try again"]
        assert has_left(driven)


# -- going to a message -----------------------------------------------------------------------------------------------
def rows(driven: Driven) -> list[MessageRow]:
    made = [driven.source.add_message(n, f"message {n} " + "and so on " * 400) for n in range(1, 7)]
    return [msgspec.structs.replace(each, round=each.seq) for each in made]


async def test_enter_goes_to_the_message_that_said_it() -> None:
    async with listed() as (driven, _):
        await driven.show(compacted(), ops=[Index(tuple(rows(driven)))])
        await driven.pilot.press("enter")
        await driven.until(lambda: has_left(driven) and driven.sees("message 3"))
        assert not driven.sees("message 6")


async def test_what_only_the_former_summary_said_has_no_message() -> None:
    async with listed(notifications=True) as (driven, _):
        await driven.pilot.press("G", "enter")
        await driven.until(lambda: driven.toasts)
        assert driven.toasts == ["Only the summary before it said this: there is no message to go to."]
        assert not has_left(driven)


# -- putting back -----------------------------------------------------------------------------------------------------
async def test_p_puts_a_thing_back_and_its_row_says_so_once_that_is_done() -> None:
    async with listed() as (driven, _):
        await driven.pilot.press("p", "p")
        await driven.until(lambda: driven.source.sent)
        kind, payload, key = driven.source.sent[0]
        assert Order(kind, payload) == put_back(4, 0)
        assert line(driven, "rule").endswith("◦ on its way  #3")
        driven.source.losses = {4: (msgspec.structs.replace(THINGS[0], pinned=True), *THINGS[1:])}
        await driven.show(compacted(outcomes=[Outcome(1, key, "keep", "done", "")]))
        await driven.until(lambda: line(driven, "rule").endswith("✱ pinned  #3"))
        await driven.pilot.press("p", "j", "p")
        assert len(driven.source.sent) == 1, "what is back is not put back again"


async def test_where_that_is_refused_the_row_stands_as_before_and_it_is_said_why() -> None:
    async with listed(notifications=True) as (driven, screen):
        await driven.pilot.press("p")
        await driven.until(lambda: driven.source.sent)
        key = driven.source.sent[0][2]
        await driven.show(compacted(outcomes=[Outcome(1, key, "keep", "refused", "the run is over")]))
        await driven.until(lambda: not screen.list.asked)
        assert line(driven, "rule").split()[-2:] == ["signature", "#3"]
        assert driven.toasts[-1].endswith("the run is over")


async def test_a_command_that_could_not_be_written_leaves_nothing_on_its_way() -> None:
    async with listed(notifications=True) as (driven, screen):
        driven.source.fails = "the log is busy: try again"
        await driven.pilot.press("p")
        await driven.until(lambda: driven.toasts)
        driven.source.fails = ""
        await driven.show(compacted(turn_open=False))
        await driven.until(lambda: not screen.list.asked)
        assert driven.source.sent == []


async def test_done_after_the_list_was_closed_is_said() -> None:
    async with listed(notifications=True) as (driven, _):
        await driven.pilot.press("p", "escape")
        await driven.until(lambda: driven.source.sent and has_left(driven))
        await driven.show(compacted(outcomes=[Outcome(1, driven.source.sent[0][2], "keep", "done", "")]))
        await driven.until(lambda: driven.toasts)
        assert "putting it back" in driven.toasts[-1]


# -- everywhere -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("ascii_only", [False, True])
async def test_any_text_fits_in_every_size_language_and_form(
    size: tuple[int, int], language: str, ascii_only: bool
) -> None:
    things = tuple(
        LostRow(kind, text or "x", number, pinned=number % 3 == 0)
        for number, text in enumerate(HOSTILE * 2)
        for kind in get_args(LostKind)[number % 6 : number % 6 + 1]
    )
    options: dict[str, Any] = {"glyphs": ASCII} if ascii_only else {}
    async with listed(things, size=size, language=language, **options) as (driven, screen):
        for key in ("G", "p", "k", "pageup", "g"):
            await driven.pilot.press(key)
            assert_inert(screen.list._current(), screen.list.size.width)
        assert all(strip.cell_length == screen.list.size.width for strip in screen.list._current())
        assert screen.list.size.height <= size[1]


async def test_the_mouse_chooses_and_the_wheel_moves() -> None:
    async with listed() as (driven, screen):
        await driven.pilot.click(screen.list, offset=(9, 4))
        assert not has_left(driven)
        assert "path" in screen.list._current()[4].text
        screen.list.action_move(-9)
        await driven.pilot.click(screen.list, offset=(9, 2))
        await driven.until(lambda: has_left(driven))
