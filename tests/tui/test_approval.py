"""The approval panel: nothing is given by accident, everything is shown."""

from __future__ import annotations

import msgspec

from geode_tui.tui.source import SourceError
from geode_tui.tui.widgets.approval_body import SETTLE_S
from tests.tui.driving import Driven, opened
from tests.tui.fakes import FREE, HELD, approval, running_state

ASKED = running_state(approvals={"a-1": approval()})


def settle(driven: Driven) -> None:
    """Let the time pass in which keys are ignored."""
    later = driven.screen.approval.body._shown_at + SETTLE_S
    driven.screen.approval.body._clock = lambda: later


async def read_question(driven: Driven) -> None:
    """Open a question at a moment that does not pass by itself."""
    driven.screen.approval.body._clock = lambda: 0.0
    await driven.show(ASKED)
    await driven.pilot.press("ctrl+g")
    await driven.pilot.pause()


async def test_it_appears_without_taking_the_focus_and_shows_who_wants_what() -> None:
    async with opened(running_state()) as driven:
        await driven.pilot.press("h", "i")
        await driven.show(ASKED)
        await driven.until(lambda: driven.sees("command: make docs"))
        assert driven.screen.composer.entry.has_focus
        assert driven.screen.composer.entry.text == "hi"
        assert driven.sees("The agent wants to run a command")
        assert driven.sees("run_shell  make docs")
        assert driven.sees("asks because  approval is ask")
        assert driven.sees("⚑ 1 needs you")
        await driven.pilot.press("y", "enter")
        await driven.until(lambda: driven.source.sent)
        assert [kind for kind, _, _ in driven.source.sent] == ["submit"]


async def test_keys_answer_in_hangul_mode_too() -> None:
    cases = [("y", "allow", False), ("ㅛ", "allow", False), ("a", "allow", True), ("ㅁ", "allow", True)]
    cases += [("n", "deny", False), ("ㅜ", "deny", False)]
    async with opened(running_state()) as driven:
        for number, (key, verdict, always) in enumerate(cases):
            one = approval(number)
            await driven.show(running_state(approvals={one.approval_id: one}))
            if not number:
                await driven.pilot.press("ctrl+g")
            settle(driven)
            await driven.pilot.press(key)
            await driven.until(lambda number=number: len(driven.source.sent) > number)
            payload = {"approval_id": one.approval_id, "verdict": verdict, "always": always, "why": ""}
            assert driven.source.sent[-1][:2] == ("decide", payload)


async def test_keys_typed_ahead_enter_and_second_answers_do_nothing() -> None:
    async with opened(running_state()) as driven:
        await read_question(driven)
        await driven.pilot.press("y", "a", "n", "r")
        assert driven.source.sent == []
        settle(driven)
        await driven.pilot.press("enter")
        await driven.pilot.pause(0.02)
        assert driven.source.sent == []
        await driven.pilot.press("y", "y", "n")
        await driven.until(lambda: driven.source.sent)
        await driven.pilot.pause(0.02)
        assert len(driven.source.sent) == 1
        assert driven.sees("answer sent")


async def test_a_new_question_in_the_same_place_is_settled_anew() -> None:
    both = running_state(approvals={"a-1": approval(), "a-2": approval(2)})
    async with opened(both) as driven:
        await driven.pilot.press("ctrl+g")
        settle(driven)
        await driven.pilot.press("y")
        await driven.until(lambda: driven.source.sent)
        await driven.show(running_state(approvals={"a-2": approval(2)}))
        await driven.pilot.press("y")
        await driven.pilot.pause(0.02)
        assert len(driven.source.sent) == 1
        settle(driven)
        await driven.pilot.press("y")
        await driven.until(lambda: len(driven.source.sent) == 2)
        assert driven.source.sent[1][1]["approval_id"] == "a-2"


async def test_an_answer_that_was_not_sent_can_be_given_again() -> None:
    async with opened(ASKED) as driven:
        driven.source.fails = "no store"
        await driven.pilot.press("ctrl+g")
        settle(driven)
        await driven.pilot.press("y")
        await driven.until(lambda: driven.toasts)
        driven.source.fails = ""
        await driven.pilot.press("y")
        await driven.until(lambda: driven.source.sent)


async def test_a_reason_is_asked_for_can_be_given_up_and_is_sent_with_the_refusal() -> None:
    async with opened(ASKED) as driven:
        await driven.pilot.press("ctrl+g")
        settle(driven)
        await driven.pilot.press("r", "x", "escape")
        await driven.pilot.pause()
        assert driven.screen.approval.body.has_focus
        await driven.pilot.press("escape")
        await driven.pilot.pause()
        assert driven.screen.composer.entry.has_focus
        assert driven.source.sent == []
        await driven.pilot.press("ctrl+g", "r", *"not now", "enter")
        await driven.until(lambda: driven.source.sent)
        assert driven.source.sent[0][1] == {"approval_id": "a-1", "verdict": "deny", "always": False, "why": "not now"}


async def test_arguments_are_whole_scrollable_masked_and_inert() -> None:
    lines = "\n".join(f"line {n}" for n in range(100))
    async with opened(running_state(), size=(120, 40)) as driven:
        driven.source.argument_text = msgspec.json.encode(
            {"path": "a\u202e.md", "content": f"{lines}\n\x1b[2J", "key": "hunter2hunter2"}
        ).decode()
        await driven.show(ASKED)
        await driven.until(lambda: driven.sees("line 1"))
        assert driven.sees("path: a\\u202e.md")
        assert driven.sees("more rows below")
        await driven.pilot.press("ctrl+g")
        height = driven.screen.approval.region.height
        assert height <= 21
        await driven.pilot.press("v")
        await driven.until(lambda: driven.screen.approval.region.height > height)
        await driven.pilot.press(*["pagedown"] * 6)
        assert driven.sees("line 99")
        assert driven.sees("\u241b")
        assert driven.sees("key: [redacted]")
        assert not driven.sees("hunter2")


async def test_arguments_that_cannot_be_read_are_said_to_be() -> None:
    async with opened(running_state()) as driven:

        def broken(call_id: str) -> str:
            raise SourceError("the message is gone")

        driven.screen.approval._fetch = broken
        await driven.show(ASKED)
        await driven.until(lambda: driven.sees("The arguments could not be read: the message is gone"))


async def test_ctrl_g_goes_from_question_to_question() -> None:
    async with opened(running_state(approvals={"a-1": approval(), "a-2": approval(2, brief="make clean")})) as driven:
        await driven.pilot.press("ctrl+g")
        await driven.pilot.pause()
        assert driven.sees("1 of 2 waiting")
        await driven.pilot.press("ctrl+g")
        await driven.pilot.pause()
        assert driven.sees("make clean")
        assert driven.sees("2 of 2 waiting")
        await driven.show(running_state(approvals={"a-2": approval(2, brief="make clean")}))
        assert driven.sees("1 of 1 waiting")
        assert driven.sees("make clean")


async def test_it_goes_when_the_question_does_and_the_focus_comes_back() -> None:
    async with opened(ASKED) as driven:
        await driven.pilot.press("ctrl+g")
        await driven.show(running_state())
        await driven.until(lambda: driven.screen.composer.entry.has_focus)
        assert not driven.screen.approval.display
        assert not driven.sees("needs you")


async def test_questions_of_a_dead_worker_are_not_asked() -> None:
    async with opened(ASKED, FREE) as driven:
        assert not driven.screen.approval.display
        assert not driven.sees("needs you")
        await driven.show(running_state(approvals={"a-1": approval()}, chars=1), HELD)
        assert driven.screen.approval.display


async def test_a_hostile_tool_and_reason_are_literal() -> None:
    hostile = approval(tool="[/]\x1b[2J", brief="[@click=app.quit]x[/]", why="\x1b]0;pwn\x07 [b")
    async with opened(running_state(approvals={"a-1": hostile})) as driven:
        assert driven.sees("[/]\u241b  [@click=app.quit]x[/]")
        assert driven.sees("\u241b [b")


async def test_it_fits_small_screens() -> None:
    async with opened(ASKED, size=(80, 24)) as driven:
        for size in [(80, 24), (40, 12), (30, 8), (20, 5)]:
            await driven.pilot.resize_terminal(*size)
            await driven.pilot.pause()
            assert driven.screen.approval.region.height >= 2
            assert driven.screen.composer.region.bottom <= size[1]
            await driven.until(lambda: driven.sees("allow once"))
