"""The field to find in the conversation, on the run screen."""

from __future__ import annotations

from geode_tui.core.messages import Message, TextBlock
from geode_tui.log.rows import MessageRow, StoredMessage
from geode_tui.view.follow import Index
from tests.tui.driving import Driven, opened
from tests.tui.fakes import NOW, running_state


async def talk(driven: Driven, rounds: int = 40) -> None:
    rows = []
    for number in range(1, rounds + 1):
        text = f"round {number}\n\n" + "\n\n".join(f"word {n} needle" for n in range(5))
        row = MessageRow(number, number, 1, number, "assistant", "agent", "complete", len(text), NOW)
        driven.source.bodies[number] = StoredMessage(row, Message("assistant", (TextBlock(text),)))
        rows.append(row)
    await driven.show(running_state(), ops=[Index(tuple(rows))])
    await driven.until(lambda: not driven.screen.conversation.busy)


async def test_slash_opens_the_field_and_shows_which_match_of_how_many() -> None:
    async with opened() as driven:
        await talk(driven)
        driven.screen.conversation.focus()
        await driven.pilot.press("/", *"needle")
        await driven.until(lambda: driven.sees("of 200"))
        found = driven.screen.conversation.found
        assert found is not None
        assert 180 < found.at < 200, "the view was at the end"
        await driven.pilot.press("enter", "n", "n")
        await driven.until(lambda: driven.sees(f"{found.at + 2} of 200"))
        await driven.pilot.press("N")
        await driven.until(lambda: driven.sees(f"{found.at + 1} of 200"))


async def test_it_opens_from_the_composer_and_arrows_go_on_while_writing() -> None:
    async with opened() as driven:
        await talk(driven)
        await driven.pilot.press("ctrl+f", *"round 1")
        await driven.until(lambda: driven.sees("of 11"))
        before = driven.screen.conversation.found
        await driven.pilot.press("down")
        await driven.until(lambda: driven.screen.conversation.found != before)
        assert driven.screen.find.entry.has_focus


async def test_esc_closes_it_from_the_field_and_from_the_conversation() -> None:
    async with opened() as driven:
        await talk(driven)
        for keys in (("escape",), ("enter", "escape")):
            await driven.pilot.press("ctrl+f", *"word", *keys)
            await driven.pilot.pause()
            assert not driven.screen.find.opened
            assert driven.screen.conversation.found is None
            assert driven.screen.conversation.has_focus
        assert driven.source.sent == []


async def test_what_is_nowhere_is_said_and_letters_of_the_field_do_nothing_else() -> None:
    async with opened() as driven:
        await talk(driven)
        await driven.pilot.press("ctrl+f", *"nNyq/2")
        await driven.until(lambda: driven.sees("not found"))
        assert driven.screen.find.entry.value == "nNyq/2"
        assert driven.screen.tab == "conversation"


async def test_another_tab_closes_it() -> None:
    async with opened() as driven:
        await talk(driven)
        await driven.pilot.press("ctrl+f", *"word", "alt+2")
        await driven.pilot.pause()
        assert not driven.screen.find.opened
        assert driven.screen.find.region.height == 0


async def test_the_help_lists_its_keys() -> None:
    async with opened(size=(120, 60)) as driven:
        driven.screen.conversation.focus()
        await driven.pilot.press("question_mark")
        await driven.pilot.pause()
        lines = driven.app.screen.query_one("#reading").lines  # type: ignore[attr-defined]
        texts = [text for _, text in lines]
        assert {"Next match", "Match before", "Copy the whole message", "Search earlier prompts"} <= set(texts)


async def test_a_new_session_says_what_to_do() -> None:
    async with opened(running_state(turn=0, turn_open=False, round=0, rounds=[])) as driven:
        assert driven.sees("Nothing has been said yet.")
        assert driven.sees("Type what the agent should do, then enter.")
        await talk(driven, 1)
        assert not driven.sees("Nothing has been said yet.")


async def test_ctrl_c_copies_what_is_selected_and_esc_drops_it() -> None:
    async with opened() as driven:
        await talk(driven, 2)
        driven.screen.conversation.focus()
        await driven.pilot.press("g", "j", "j", "j", "J", "ctrl+c")
        await driven.until(lambda: driven.app.clipboard)
        assert driven.app.clipboard == "word 0 needle"
        assert driven.toasts == ["copied 13 characters"]
        await driven.pilot.press("escape")
        await driven.pilot.pause()
        assert not driven.screen.conversation.has_selection
        assert driven.source.sent == []
