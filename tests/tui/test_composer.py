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
        await paste(driven, big)
        assert entry.text == "[pasted 26 KB, 2,000 lines][pasted 26 KB, 2,000 lines, 2]"
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.source.sent)
        assert driven.source.sent[0][1]["text"] == big + big


async def test_a_paste_of_a_megabyte_is_one_chip_that_one_undo_takes_away() -> None:
    """B089."""
    async with opened() as driven:
        entry = driven.screen.composer.entry
        line = "한글 mixed with ASCII words, 50 bytes each line..\n"
        big = line * 20_000
        entry.insert("see ")
        await paste(driven, f"{big[:100]}\x1b[201~\x1b[200~{big[100:]}".replace("\n", "\r"))
        assert entry.text == "see [pasted 1.0 MB, 20,000 lines]"
        assert driven.source.sent == []
        assert entry.whole_text() == f"see {big}"
        await driven.pilot.press("ctrl+z")
        assert entry.text == "see "
        await driven.pilot.press("ctrl+y")
        assert entry.whole_text() == f"see {big}"


async def test_a_paste_that_is_larger_than_what_is_left_of_the_context_is_told_before_it_is_sent() -> None:
    async with opened(size=(120, 40)) as driven:
        await paste(driven, "words and words " * 30_000)
        await driven.until(lambda: driven.sees("About 120.0k tokens, and 102.3k are left"))
        await driven.pilot.press("ctrl+z")
        await driven.until(lambda: not driven.sees("tokens, and"))
        await paste(driven, "한" * 150_000)
        await driven.until(lambda: driven.sees("About 150.0k tokens"))
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.source.sent)
        assert not driven.sees("tokens, and")


async def test_before_the_first_round_a_window_of_200_000_tokens_is_taken_to_be_there() -> None:
    async with opened(running_state(context=None), size=(120, 40)) as driven:
        await paste(driven, "x" * 790_000)
        assert not driven.sees("tokens, and")
        await paste(driven, "x" * 20_000)
        await driven.until(lambda: driven.sees("About 202.5k tokens, and 200.0k are left"))


async def test_the_marks_of_a_paste_and_escapes_never_reach_the_screen() -> None:
    async with opened() as driven:
        await paste(driven, "a\x1b[201~b\x1b[200~c\x1b[2Jd")
        assert driven.screen.composer.entry.text == "abc\u241bd"
        assert driven.source.sent == []


async def test_a_paste_of_many_lines_submits_nothing() -> None:
    async with opened() as driven:
        await paste(driven, "one\r\ntwo\r")
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
