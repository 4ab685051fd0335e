"""What the composer offers while one writes."""

from __future__ import annotations

import pytest

from geode_tui.tui.completing import MOST, PathIndex, Token, token_at
from geode_tui.tui.slash import COMMANDS
from geode_tui.tui.source import SourceError
from geode_tui.tui.widgets.suggestions import MOST_ROWS
from tests.tui.driving import Driven, opened

FILES = ("README.md", "src/parser/core.py", "src/parser/lexer.py", "tests/test_core.py", "문서/안내.md")


@pytest.mark.parametrize(
    ("before", "first_line", "token"),
    [
        ("/", True, Token("command", 0, "")),
        ("/bud", True, Token("command", 0, "bud")),
        ("/bud", False, None),
        ("/budget ", True, None),
        ("/usr/bin", True, None),
        ("look at @src/pa", True, Token("path", 8, "src/pa")),
        ("@", False, Token("path", 0, "")),
        ("me@example", True, None),
        ("@one two", True, None),
    ],
)
def test_what_is_being_written(before: str, first_line: bool, token: Token | None) -> None:
    assert token_at(before, first_line=first_line) == token


async def offered(driven: Driven) -> list[str]:
    await driven.pilot.pause()
    return [offer.text for offer in driven.screen.composer.entry.suggestions.offers]


async def test_a_slash_offers_commands_in_at_most_six_rows_and_enter_takes_one() -> None:
    async with opened(size=(120, 40)) as driven:
        entry = driven.screen.composer.entry
        bottom = driven.screen.composer.region.bottom
        await driven.pilot.press("/")
        assert await offered(driven) == [f"/{name}" for name in COMMANDS]
        assert entry.suggestions.region.height == MOST_ROWS
        assert driven.screen.composer.region.bottom == bottom
        assert driven.sees("Keys and commands")
        await driven.pilot.press("b", "u", "enter")
        assert entry.text == "/budget "
        assert not entry.suggestions.display
        assert driven.source.sent == []


async def test_a_whole_command_is_done_by_one_enter() -> None:
    async with opened() as driven:
        await driven.pilot.press(*"/interrupt", "enter")
        await driven.until(lambda: driven.source.sent)
        assert driven.source.sent[0][0] == "interrupt"


async def test_up_and_down_go_round_and_tab_takes() -> None:
    async with opened() as driven:
        entry = driven.screen.composer.entry
        await driven.pilot.press("/", "up", "tab")
        assert entry.text == f"/{COMMANDS[-1]} "
        entry.clear_text()
        await driven.pilot.press("/", "down", "down", "tab")
        assert entry.text == f"/{COMMANDS[2]} "
        assert entry.has_focus


async def test_esc_closes_the_offers_for_this_word_only() -> None:
    async with opened() as driven:
        entry = driven.screen.composer.entry
        await driven.pilot.press("/", "h", "escape")
        assert not entry.suggestions.display
        await driven.pilot.press("e")
        assert not entry.suggestions.display
        entry.clear_text()
        await driven.pilot.press("/")
        await driven.pilot.pause()
        assert entry.suggestions.display


async def test_at_offers_paths_of_the_project_wherever_it_stands() -> None:
    async with opened(size=(120, 40)) as driven:
        driven.source.files = FILES
        entry = driven.screen.composer.entry
        await driven.pilot.press(*"see ", "@")
        await driven.until(lambda: entry.suggestions.offers)
        await driven.pilot.press(*"core")
        assert await offered(driven) == ["src/parser/core.py", "tests/test_core.py"]
        await driven.pilot.press("enter", *"now")
        assert entry.text == "see src/parser/core.py now"


async def test_paths_that_cannot_be_read_are_no_obstacle_to_writing() -> None:
    async with opened() as driven:

        def fails() -> tuple[str, ...]:
            raise SourceError("no such folder")

        entry = driven.screen.composer.entry
        entry.paths = fails
        await driven.pilot.press(*"@core", "enter")
        await driven.until(lambda: driven.source.sent)
        assert driven.source.sent[0][1]["text"] == "@core"


async def test_names_that_would_drive_a_terminal_are_not_offered_and_others_compare_composed() -> None:
    async with opened() as driven:
        index = PathIndex(["a\x1b[2Jb", "한글.md", "x/" + "한글.md"])
        assert [offer.text for offer in index.offers("한글", driven.screen.look)] == ["한글.md", "x/한글.md"]
        assert len(PathIndex(map(str, range(1_000))).offers("1", driven.screen.look)) == MOST


async def test_earlier_prompts_are_found_by_a_part_of_them_newest_first() -> None:
    async with opened() as driven:
        entry = driven.screen.composer.entry
        entry.seed(["fix the parser", "write docs", "run the Parser tests", "write docs"])
        entry.insert("a draft")
        await driven.pilot.press("ctrl+r")
        assert await offered(driven) == ["write docs", "run the Parser tests", "fix the parser"]
        await driven.pilot.press(*"parser")
        assert await offered(driven) == ["run the Parser tests", "fix the parser"]
        await driven.pilot.press("ctrl+r", "enter")
        assert entry.text == "fix the parser"
        assert driven.source.sent == []


async def test_esc_in_the_search_of_prompts_brings_the_draft_back() -> None:
    async with opened() as driven:
        entry = driven.screen.composer.entry
        entry.seed(["one"])
        big = "x" * 9_000
        entry.put(big)
        await driven.pilot.press("ctrl+r", *"none of them")
        assert await offered(driven) == []
        assert driven.sees("No earlier prompt holds this.")
        await driven.pilot.press("escape")
        assert entry.whole_text() == big
        assert driven.screen.composer.region.height == 1


async def test_the_terminals_cursor_stands_where_hangul_will_be_composed() -> None:
    async with opened(size=(60, 20)) as driven:
        entry = driven.screen.composer.entry
        await driven.pilot.press("한", "글", "ctrl+j", "이")
        await driven.until(lambda: driven.screen.composer.region.height == 2)
        await driven.pilot.pause()
        assert driven.app.cursor_position == entry.cursor_screen_offset
        assert entry.cursor_screen_offset.x - entry.content_region.x == 2


async def test_ctrl_c_ends_the_search_of_prompts_and_remembers_no_query() -> None:
    async with opened() as driven:
        entry = driven.screen.composer.entry
        entry.seed(["one"])
        entry.insert("a draft")
        await driven.pilot.press("ctrl+r", *"on", "ctrl+c")
        assert entry.text == "a draft"
        await driven.pilot.press("up")
        assert entry.text == "one"


async def test_words_that_come_back_end_the_search_of_prompts() -> None:
    async with opened() as driven:
        entry = driven.screen.composer.entry
        entry.insert("a draft")
        await driven.pilot.press("ctrl+r", "x")
        entry.give_back("not sent")
        await driven.pilot.pause()
        assert entry.text == "not sent\na draft"
        assert not entry.searching


async def test_esc_closes_the_offers_before_anything_else() -> None:
    async with opened() as driven:
        await driven.pilot.press("/", "escape", "escape")
        await driven.pilot.pause()
        assert driven.source.sent == []
        assert driven.screen.composer.entry.text == "/"
