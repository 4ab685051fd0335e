"""The run screen over a fake run: what is shown, and when."""

from __future__ import annotations

import pytest

from geode_tui.log.rows import Liveness, PendingCommand
from geode_tui.tui.layout import form_for
from geode_tui.tui.screens import run_view
from geode_tui.view.follow import Added, Index
from tests.tui.driving import Driven, opened
from tests.tui.fakes import FREE, HELD, NOW, FakeSource, approval, event, make_app, running_state, screen_text


@pytest.mark.parametrize("delay", [3_600.0, 0.01])
async def test_the_screen_is_there_before_any_data_and_says_that_it_opens_only_after_a_while(
    delay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_view, "OPENING_S", delay)
    source = FakeSource()
    app = make_app(source)
    async with app.run_test(size=(80, 24)) as pilot:
        driven = Driven(app, pilot, source)
        await driven.until(lambda: driven.sees("Message, or / for commands"))
        if delay < 1:
            await driven.until(lambda: driven.sees("Opening the run"))
        assert driven.sees("Opening the run") == (delay < 1)
        await driven.until(lambda: source.feed)
        await driven.show(running_state())
        assert not driven.sees("Opening the run")
        assert driven.sees("round 37 0:42:10")


@pytest.mark.parametrize("language", ["en", "ko"])
async def test_every_size_shows_the_title_and_the_composer(language: str) -> None:
    state = running_state(title="Parser", approvals={"a-1": approval()})
    async with opened(state, size=(200, 60), language=language) as driven:
        for size in [(120, 40), (110, 30), (80, 24), (60, 16), (40, 12), (30, 8), (20, 5)]:
            await driven.pilot.resize_terminal(*size)
            await driven.until(lambda size=size: driven.screen.form == form_for(*size))
            await driven.until(lambda: driven.sees("❖") and driven.sees("⚑") and driven.sees("❯"))
            assert driven.sees("Parser") or size[0] < 40, size
            assert driven.screen.composer.region.bottom <= size[1], size
        await driven.pilot.resize_terminal(19, 4)
        key = {"en": "too small: 40x12", "ko": "너무 작음"}[language]
        await driven.until(lambda: driven.sees(key))


async def test_a_storm_of_sizes_ends_in_the_form_of_the_last() -> None:
    async with opened() as driven:
        for size in [(80, 24), (20, 5), (1, 1), (300, 90), (120, 40)]:
            await driven.pilot.resize_terminal(*size)
        assert driven.screen.composer.entry.has_focus
        await driven.until(lambda: driven.screen.side.region.width == 40 and driven.screen.form == form_for(120, 40))
        assert driven.sees("first to stop it")


async def test_the_strip_and_the_offline_notice_stand_where_there_is_no_side_column() -> None:
    async with opened(running_state(provider="offline", simulated=True), size=(80, 24)) as driven:
        assert not driven.screen.side.display
        assert driven.sees("264.9k of 367.2k")
        assert driven.sees("$1.84 simulated")
        assert driven.sees("No language model is answering")


async def test_an_end_that_resuming_does_not_help_says_why_and_what_to_do() -> None:
    ended = running_state(
        turn_open=False, termination_reason="context_exhausted", ended_detail="it no longer fits; start a new session"
    )
    async with opened(ended, FREE, size=(80, 24)) as driven:
        assert driven.sees("it no longer fits; start a new session")
        assert not driven.sees("enter resumes")


async def test_only_parts_whose_slice_changed_are_painted_again() -> None:
    async with opened(size=(120, 40)) as driven:
        painted: list[str] = []
        for pane in (driven.screen.header, driven.screen.side, driven.screen.strip, driven.screen.tabs):
            original = pane.repaint
            pane.repaint = lambda name=pane.id, call=original: (painted.append(str(name)), call())  # type: ignore
        await driven.show(running_state(chars=7))
        assert painted == []
        await driven.show(running_state(round=38))
        assert set(painted) <= {"header", "side", "strip"}
        assert "header" in painted


async def test_the_number_of_widgets_does_not_grow_with_the_run() -> None:
    async with opened() as driven:
        before = len(driven.screen.query("*"))
        rows = [driven.source.add_message(n, f"answer {n}") for n in range(1, 60)]
        feed = [event(n) for n in range(200)]
        ops = [Index(tuple(rows[:50])), *map(Added, rows[50:])]
        await driven.show(running_state(feed=feed, messages=60), ops=ops)
        await driven.until(lambda: driven.sees("answer 59"))
        assert len(driven.screen.query("*")) == before < 40


async def test_hostile_titles_and_events_are_literal() -> None:
    hostile = "[@click=app.quit]x[/] [/] \x1b]52;c;AA\x07 \x1b[2J"
    feed = [event(1, hostile, '{"a": "[/INST] \x1b[2J"}')]
    async with opened(running_state(title=hostile, model=hostile, feed=feed)) as driven:
        await driven.pilot.press("alt+2")
        await driven.pilot.pause()
        text = "\n".join(screen_text(driven.app))
        assert "[@click=app.quit]x[/] [/]" in text
        assert "\x1b" not in text
        assert "\x07" not in text


async def test_clocks_run_only_while_a_turn_does() -> None:
    states = [
        (running_state(approvals={"a-1": approval()}), HELD, True),
        (running_state(turn_open=False), HELD, False),
        (running_state(), HELD, True),
        (running_state(), FREE, False),
        (running_state(), HELD, True),
        (running_state(), Liveness("stale"), False),
    ]
    async with opened(motion=True) as driven:
        for state, liveness, ticks in states:
            await driven.show(state, liveness)
            assert (driven.screen._clock is not None) == ticks
            assert (driven.screen._spinner is not None) == ticks
        await driven.show(running_state())
        driven.app.app_focus = False
        await driven.until(lambda: driven.screen._spinner is None)
        assert driven.screen._clock is not None


async def test_the_clock_shows_the_passing_time() -> None:
    async with opened() as driven:
        assert driven.screen._spinner is None
        driven.source.now += 10
        driven.screen._tick()
        await driven.until(lambda: driven.sees("round 37 0:42:20"))
        assert driven.sees("0:42:20 of 2:00:00")


async def test_what_is_typed_during_a_run_is_shown_as_queued() -> None:
    async with opened() as driven:
        await driven.show(running_state(), pending=[PendingCommand(1, "k", "submit", "and the tests", NOW, False)])
        await driven.until(lambda: driven.sees("and the tests"))
        assert driven.sees("sends before the next round")
        await driven.show(running_state())
        await driven.until(lambda: not driven.sees("sends before the next round"))


async def test_tabs_change_by_key_and_by_click() -> None:
    async with opened(running_state(feed=[event(n) for n in range(50)])) as driven:
        await driven.pilot.press("alt+2")
        await driven.pilot.pause()
        assert driven.screen.columns.visible_tabs == ("events",)
        assert not driven.screen.conversation.is_on_screen
        assert driven.screen.composer.entry.has_focus
        await driven.pilot.click("#tabs", offset=(3, 0))
        await driven.pilot.pause()
        assert driven.screen.columns.visible_tabs == ("conversation",)
        assert not driven.screen.events.display
        driven.screen.conversation.focus()
        await driven.pilot.press("2")
        assert driven.screen.events.has_focus
        await driven.pilot.press("1")
        assert driven.screen.conversation.has_focus


async def test_letters_are_typed_in_the_composer_and_the_focus_goes_round_all_panes() -> None:
    async with opened(size=(120, 40)) as driven:
        await driven.pilot.press("2", "question_mark", "ctrl+l")
        assert driven.screen.composer.entry.text == "2?"
        assert driven.screen.tab == "conversation"
        areas = []
        for _ in range(4):
            areas.append(driven.screen.area)
            await driven.pilot.press("tab")
            await driven.pilot.pause()
        assert areas[0] == areas[3] == "composer"
        assert set(areas) == {"composer", "side", "conversation"}


async def test_the_footer_names_the_keys_of_where_the_focus_is() -> None:
    async with opened(running_state(approvals={"a-1": approval()})) as driven:
        keys = {hint.key for hint in driven.screen.footer.view.hints}
        assert {"enter", "ctrl+g", "esc esc", "tab"} <= keys
        await driven.pilot.press("ctrl+g")
        await driven.pilot.pause()
        assert [hint.key for hint in driven.screen.footer.view.hints] == ["y", "a", "n", "r", "v", "esc"]


async def test_a_key_that_was_given_another_place_is_named_there() -> None:
    async with opened(running_state(feed=[event(1)])) as driven:
        driven.app.set_keymap({"events.pause": "x"})
        await driven.pilot.press("alt+2")
        driven.screen.events.focus()
        await driven.pilot.pause()
        assert "x" in {hint.key for hint in driven.screen.footer.view.hints}
        await driven.pilot.press("x")
        assert driven.screen.events.paused


@pytest.mark.parametrize("size", [(30, 7), (39, 11)])
async def test_without_a_footer_a_line_says_that_the_next_esc_interrupts(size: tuple[int, int]) -> None:
    async with opened(size=size) as driven:
        assert not driven.screen.footer.display
        await driven.pilot.press("escape")
        await driven.until(lambda: driven.sees("esc again interrupts"))
        driven.screen._arm(False)
        await driven.until(lambda: not driven.sees("esc again"))
