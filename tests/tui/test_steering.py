"""What the person asks of a run: sent, never lost, answered once."""

from __future__ import annotations

from typing import Any

import pytest
from textual.widgets._toast import Toast

from geode_tui.log.rows import Liveness, PendingCommand
from geode_tui.tui.screens.modal import PaletteScreen, ReadScreen
from geode_tui.view.state import Outcome
from tests.tui.driving import Driven, opened
from tests.tui.fakes import FREE, HELD, NOW, FakeSource, approval, make_app, running_state


# -- sending ----------------------------------------------------------------------------------------------------------
async def test_enter_sends_and_the_log_is_looked_at_at_once() -> None:
    async with opened() as driven:
        await driven.type("and the tests?")
        await driven.until(lambda: driven.source.feed and driven.source.feed.nudges)
        kind, payload, key = driven.source.sent[0]
        assert (kind, payload) == ("submit", {"text": "and the tests?", "later": False})
        assert key
        assert driven.screen.composer.entry.text == ""


async def test_messages_sent_one_after_the_other_arrive_in_order_and_keep_every_letter() -> None:
    async with opened() as driven:
        await driven.pilot.press(*"one", "enter", *"two", "ctrl+j", *"more", "enter", *"three")
        await driven.until(lambda: len(driven.source.sent) == 2)
        assert [payload["text"] for _, payload, _ in driven.source.sent] == ["one", "two\nmore"]
        assert driven.screen.composer.entry.text == "three"


async def test_text_that_could_not_be_sent_comes_back_with_the_reason() -> None:
    async with opened() as driven:
        driven.source.fails = "store locked by 4711"
        await driven.type("precious words")
        await driven.pilot.press("n", "e", "x", "t")
        await driven.until(lambda: driven.toasts)
        assert set(driven.screen.composer.entry.text.split("\n")) == {"precious words", "next"} or (
            driven.screen.composer.entry.text == "precious wordsnext"
        )
        assert driven.toasts == ["store locked by 4711"]


async def test_a_refused_message_comes_back_and_says_why_once() -> None:
    async with opened() as driven:
        await driven.type("precious words")
        await driven.until(lambda: driven.source.sent)
        outcome = Outcome(1, driven.source.sent[0][2], "submit", "refused", "input blocked")
        await driven.show(running_state(outcomes=[outcome]))
        assert driven.toasts == ["message refused. input blocked"]
        assert driven.screen.composer.entry.text == "precious words"
        await driven.show(running_state(outcomes=[outcome], chars=1))
        assert len(driven.toasts) == 1


async def test_unknown_commands_are_answered_and_stay_in_the_composer() -> None:
    async with opened() as driven:
        await driven.type("/bugdet rounds 5")
        assert driven.toasts == ["There is no command /bugdet. /help lists them; a space before / sends it as text"]
        assert driven.screen.composer.entry.text == "/bugdet rounds 5"
        assert driven.source.sent == []


async def test_slash_commands_become_commands() -> None:
    answer = {"approval_id": "a-1", "always": False}
    cases: list[tuple[str, str, dict[str, Any]]] = [
        ("/later then commit", "submit", {"text": "then commit", "later": True}),
        ("/budget session 3h", "budget", {"limit": "session", "value": "10800"}),
        ("/interrupt", "interrupt", {}),
        ("/deny too much", "decide", {**answer, "verdict": "deny", "why": "too much"}),
        ("/approve", "decide", {**answer, "verdict": "allow", "why": ""}),
    ]
    async with opened(running_state(approvals={"a-1": approval()})) as driven:
        for number, (typed, kind, payload) in enumerate(cases, start=1):
            await driven.type(typed)
            await driven.until(lambda number=number: len(driven.source.sent) == number)
            assert driven.source.sent[-1][:2] == (kind, payload)


async def test_readings_open_over_the_run_and_close() -> None:
    cases = [
        ("/help", "Keys and commands"),
        ("/status", "running"),
        ("/cost", "$1.84 of $5.00  36 %"),
        ("/context", "72 %"),
        ("/context tiers", "None of this is sent to the model"),
        ("/mcp", "This run has no MCP servers"),
    ]
    async with opened(size=(80, 24)) as driven:
        for typed, shows in cases:
            await driven.type(typed)
            await driven.until(lambda: isinstance(driven.app.screen, ReadScreen))
            await driven.until(lambda shows=shows: driven.sees(shows))
            await driven.pilot.press("escape")
            await driven.until(lambda: driven.app.screen is driven.screen)


async def test_an_empty_enter_resumes_a_dead_run_once_and_does_nothing_to_a_live_one() -> None:
    async with opened(running_state(), FREE) as driven:
        assert driven.sees("The worker stopped at round 37. enter resumes")
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.source.sent)
        assert driven.source.sent[0][:2] == ("resume", {})
        await driven.show(running_state(), FREE, pending=[PendingCommand(1, "k", "resume", "", NOW, False)])
        await driven.pilot.press("enter")
        await driven.show(running_state(), HELD)
        await driven.pilot.press("enter")
        await driven.pilot.pause(0.05)
        assert len(driven.source.sent) == 1


# -- interrupting -----------------------------------------------------------------------------------------------------
async def test_esc_arms_and_a_second_esc_interrupts_until_the_turn_has_ended() -> None:
    async with opened() as driven:
        await driven.pilot.press("escape")
        await driven.until(lambda: driven.sees("esc again interrupts"))
        assert driven.source.sent == []
        await driven.pilot.press("escape")
        await driven.until(lambda: driven.source.sent)
        assert driven.source.sent[0][:2] == ("interrupt", {})
        await driven.until(lambda: driven.sees("interrupting"))
        await driven.pilot.press("escape", "escape")
        await driven.show(running_state(chars=1))
        assert driven.sees("interrupting")
        assert len(driven.source.sent) == 1
        await driven.show(running_state(turn_open=False, termination_reason="user_cancelled"))
        await driven.until(lambda: driven.sees("interrupted by you"))
        assert not driven.sees("interrupting")


async def test_an_armed_esc_is_forgotten_and_without_a_turn_there_is_none() -> None:
    async with opened() as driven:
        await driven.pilot.press("escape")
        await driven.until(lambda: driven.screen._disarm is not None)
        driven.screen._arm(False)
        await driven.pilot.press("escape", "enter")
        await driven.show(running_state(turn_open=False))
        driven.screen._arm(False)
        await driven.pilot.press("escape", "escape", "escape", "enter")
        await driven.pilot.pause(0.05)
        assert driven.source.sent == []


async def test_an_interrupt_that_was_not_sent_or_was_refused_is_taken_back() -> None:
    async with opened() as driven:
        driven.source.fails = "no store"
        await driven.type("/interrupt")
        await driven.until(lambda: driven.toasts)
        assert not driven.sees("interrupting")
        driven.source.fails = ""
        await driven.type(" ")
        driven.screen.composer.entry.clear_text()
        await driven.type("/interrupt")
        await driven.until(lambda: driven.source.sent)
        await driven.until(lambda: driven.sees("interrupting"))
        late = Outcome(1, driven.source.sent[0][2], "interrupt", "too_late", "")
        await driven.show(running_state(outcomes=[late]))
        await driven.until(lambda: not driven.sees("interrupting"))


async def test_ctrl_c_copies_else_clears_else_arms_and_never_leaves() -> None:
    async with opened() as driven:
        entry = driven.screen.composer.entry
        entry.insert("some words")
        entry.select_all()
        await driven.pilot.press("ctrl+c")
        assert driven.app.clipboard == "some words"
        assert entry.text == "some words"
        entry.move_cursor((0, 0))
        await driven.pilot.press("ctrl+c")
        assert entry.text == ""
        await driven.pilot.press("up")
        assert entry.text == "some words"
        await driven.pilot.press("ctrl+c", "ctrl+c")
        await driven.until(lambda: driven.sees("esc again interrupts"))
        assert driven.app.is_running


async def test_ctrl_c_in_an_idle_run_with_nothing_to_copy_or_clear_does_nothing() -> None:
    """B091: idle, once and twice."""
    async with opened(running_state(turn_open=False, termination_reason="natural"), FREE) as driven:
        await driven.pilot.press("ctrl+c", "ctrl+c", "ctrl+c")
        assert driven.app.is_running
        assert driven.source.sent == []


async def test_ctrl_c_twice_interrupts_once_and_leaves_a_question_open() -> None:
    """B091: a running tool, and one that waits for the person."""
    async with opened(running_state(approvals={"a-1": approval()})) as driven:
        await driven.pilot.press("ctrl+c")
        assert driven.source.sent == []
        await driven.pilot.press("ctrl+c")
        await driven.until(lambda: driven.source.sent)
        await driven.pilot.press("ctrl+c")
        assert [kind for kind, _, _ in driven.source.sent] == ["interrupt"]
        assert driven.app.is_running
        assert [a.approval_id for a in driven.screen.waiting] == ["a-1"]


@pytest.mark.parametrize(
    ("liveness", "notice"), [(HELD, "The run goes on. geode-tui attach s-1 brings it back."), (FREE, None)]
)
async def test_ctrl_q_leaves_and_says_whether_the_run_goes_on(liveness: Liveness, notice: str | None) -> None:
    async with opened(liveness=liveness) as driven:
        await driven.pilot.press("ctrl+q")
    assert driven.app.return_value == notice
    assert driven.screen._pump is not None
    driven.screen._pump.wake()  # the reader may still be on its way


# -- palette, themes, toasts ------------------------------------------------------------------------------------------
async def test_the_palette_narrows_and_does() -> None:
    async with opened() as driven:
        await driven.pilot.press("ctrl+p")
        await driven.until(lambda: isinstance(driven.app.screen, PaletteScreen))
        await driven.pilot.press(*"rose")
        await driven.until(lambda: driven.sees("Theme rose") and not driven.sees("Theme geode-dark"))
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.app.theme == "rose")
        assert driven.screen.header.look.palette.base == "#1c1418"
        assert driven.screen.look.palette.base == "#1c1418"


async def test_a_theme_that_is_not_there_is_answered_with_those_there_are() -> None:
    async with opened(theme="mauve") as driven:
        assert driven.app.theme == "geode-dark"
        assert driven.toasts == ["There is no theme mauve; geode-dark is shown."]
        await driven.type("/theme lilac")
        await driven.until(lambda: len(driven.toasts) == 2)
        assert driven.toasts[1].startswith("There is no theme lilac. There are: colour-blind-safe, geode-dark")


async def test_never_more_than_three_toasts_and_esc_clears_them_first() -> None:
    async with opened(notifications=True) as driven:
        for n in range(5):
            driven.screen.say(f"line {n}", error=True)
            await driven.until(lambda n=n: driven.sees(f"line {n}"))
            assert 0 < len(driven.screen.query(Toast)) <= 3
        await driven.pilot.press("escape")
        await driven.until(lambda: not driven.toasts)
        assert not driven.screen._armed


async def test_earlier_prompts_of_the_session_are_there_at_the_upper_edge() -> None:
    source = FakeSource(running_state())
    source.earlier = ("first", "second \x1b[2J")
    app = make_app(source)
    async with app.run_test(size=(80, 24)) as pilot:
        driven = Driven(app, pilot, source)
        entry = app.run_screen.composer.entry
        await driven.until(lambda: len(entry._history) == 2)
        entry.insert("draft")
        await pilot.press("up")
        assert entry.text == "second \u241b"
        await pilot.press("up", "up")
        assert entry.text == "first"
        await pilot.press("down", "down")
        assert entry.text == "draft"
