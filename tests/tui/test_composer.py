"""The composer: rows, pastes, history, widths."""

from __future__ import annotations

from textual import events

from tests.tui.driving import opened
from tests.tui.fakes import running_state


async def test_it_grows_with_its_text_up_to_its_limit_and_shrinks_again() -> None:
    async with opened(size=(120, 40)) as driven:
        composer = driven.screen.composer
        await driven.pilot.press("a", "ctrl+j", "b")
        await driven.until(lambda: composer.region.height == 2)
        composer.entry.insert("\n" * 20)
        await driven.until(lambda: composer.region.height == 6)
        composer.entry.clear_text()
        await driven.until(lambda: composer.region.height == 1)


async def test_wide_characters_keep_the_cursor_where_the_text_is() -> None:
    async with opened(size=(60, 20)) as driven:
        entry = driven.screen.composer.entry
        entry.insert("한글中文日本語ABC")
        await driven.pilot.pause()
        assert entry.cursor_screen_offset.x - entry.content_region.x == 17
        await driven.pilot.press("left", "left", "left", "x")
        assert entry.text == "한글中文日本語xABC"
        await driven.pilot.press("home")
        assert entry.cursor_location == (0, 0)
        await driven.pilot.press("end")
        assert entry.cursor_location == (0, 11)


async def test_up_and_down_move_in_the_text_and_go_through_history_only_at_its_edges() -> None:
    async with opened() as driven:
        entry = driven.screen.composer.entry
        entry.seed(["before"])
        await driven.pilot.press("o", "n", "e", "ctrl+j", "t", "w", "o", "up")
        assert entry.text == "one\ntwo"
        assert entry.cursor_location[0] == 0
        await driven.pilot.press("up")
        assert entry.text == "before"
        await driven.pilot.press("down")
        assert entry.text == "one\ntwo"
        await driven.pilot.press("down")
        assert entry.text == "one\ntwo"


async def paste(driven: object, text: str) -> None:
    driven.screen.composer.entry.post_message(events.Paste(text))  # type: ignore[attr-defined]
    await driven.pilot.pause()  # type: ignore[attr-defined]


async def test_a_large_paste_is_a_chip_and_is_sent_whole() -> None:
    async with opened() as driven:
        entry = driven.screen.composer.entry
        big = "한글 words\n" * 2_000
        await paste(driven, big)
        await paste(driven, big + "x")
        assert entry.text == "[pasted 18.0k characters][pasted 18.0k characters, 2]"
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.source.sent)
        assert driven.source.sent[0][1]["text"] == big + big + "x"


async def test_the_marks_of_a_paste_and_escapes_never_reach_the_screen() -> None:
    async with opened() as driven:
        await paste(driven, "a\x1b[201~b\x1b[200~c\x1b[2Jd")
        assert driven.screen.composer.entry.text == "abc\u241bd"
        assert driven.source.sent == []


async def test_a_paste_of_many_lines_submits_nothing() -> None:
    async with opened() as driven:
        await paste(driven, "one\ntwo\n")
        assert driven.source.sent == []
        assert driven.screen.composer.entry.text == "one\ntwo\n"


async def test_a_chip_comes_back_whole_from_a_send_that_failed_and_from_history() -> None:
    async with opened(running_state()) as driven:
        entry = driven.screen.composer.entry
        big = "x" * 9_000
        driven.source.fails = "no store"
        await paste(driven, big)
        await driven.pilot.press("enter")
        await driven.until(lambda: entry.text)
        assert entry.whole_text() == big
        driven.source.fails = ""
        entry.clear_text()
        await driven.pilot.press("up", "enter")
        await driven.until(lambda: driven.source.sent)
        assert driven.source.sent[0][1]["text"] == big


async def test_brackets_in_the_text_are_text() -> None:
    async with opened() as driven:
        await driven.type("[/INST] [b + x [@click=app.quit]x[/]")
        await driven.until(lambda: driven.source.sent)
        assert driven.source.sent[0][1]["text"] == "[/INST] [b + x [@click=app.quit]x[/]"


async def test_focus_is_shown_at_the_prompt_sign() -> None:
    async with opened() as driven:
        assert driven.screen.composer.prompt.focused
        await driven.pilot.press("tab")
        await driven.pilot.pause()
        assert not driven.screen.composer.prompt.focused
