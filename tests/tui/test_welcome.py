"""The first run in a project: the welcome, the trust question, examples."""

from __future__ import annotations

import msgspec
import pytest

from geode_tui.tui.home_source import Readiness
from geode_tui.tui.widgets import welcome
from geode_tui.view.overview import Listing
from tests.tui.fakes import screen_text
from tests.tui.homes import MISSING, QUESTION, FakeHome, at_home, fleet, listed


async def test_a_project_without_runs_gets_a_welcome_and_the_list_once_there_is_one() -> None:
    async with at_home(source=FakeHome((), ready=MISSING)) as home:
        for text in ("A cockpit for long agent runs", "anthropic needs ANTHROPIC_API_KEY", "offline planner works"):
            assert home.sees(text)
        assert not home.sees("This folder")
        assert not home.screen.peek.display
        assert home.screen.composer.entry.has_focus
        await home.show(listed("one"))
        await home.until(lambda: home.sees("Run one"))
        assert not home.sees("A cockpit")
        assert home.screen.peek.display


async def test_an_example_goes_into_the_composer_and_is_sent_by_the_person_only() -> None:
    async with at_home(()) as home:
        await home.press("down", "enter")
        await home.until(lambda: home.screen.composer.entry.text)
        assert home.screen.composer.entry.text == "search for TODO and group what you find by file"
        assert not home.source.sources
        await home.press("enter")
        await home.run()
        await home.until(lambda: home.source.sources[0].sent)


async def test_a_click_takes_an_example() -> None:
    async with at_home((), size=(80, 24)) as home:
        y = next(i for i, line in enumerate(screen_text(home.app)) if "survey this project" in line)
        await home.pilot.click(offset=(20, y))
        await home.until(lambda: home.screen.composer.entry.text.startswith("survey this project"))


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_the_trust_question_shows_what_it_asks_about_and_takes_an_answer(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(welcome, "DEAF_S", 0.0)
    source = FakeHome((), question=QUESTION)
    async with at_home(source=source, size=size) as home:
        for text in ("not trusted yet", "approve = all", "limits.rounds = 0", "y trust them", "n not now"):
            assert home.sees(text)
        assert home.screen.welcome.has_focus
        await home.press("y")
        await home.until(lambda: source.trusted)
        assert source.trusted == [QUESTION]
        await home.until(lambda: not home.sees("not trusted yet"))
        assert home.screen.composer.entry.has_focus


async def test_in_the_smallest_room_the_answers_and_the_last_setting_stay() -> None:
    async with at_home(source=FakeHome((), question=QUESTION), size=(30, 8)) as home:
        for text in ("limits.rounds = 0", "y trust them", "n not now"):
            assert home.sees(text)


async def test_not_now_leaves_the_settings_off_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(welcome, "DEAF_S", 0.0)
    source = FakeHome((), question=QUESTION)
    async with at_home(source=source) as home:
        await home.press("ㅜ")
        await home.until(lambda: home.sees("its settings are left off"))
        assert source.trusted == []
        assert home.screen.composer.entry.has_focus
        await home.press("y")
        assert home.screen.composer.entry.text == "y"


async def test_a_letter_typed_as_the_question_comes_up_is_no_answer() -> None:
    source = FakeHome(question=QUESTION)
    async with at_home(source=source) as home:
        await home.press(*"ye")
        home.source.feeds[0].push(Listing())
        await home.until(lambda: home.sees("not trusted yet"))
        assert home.screen.composer.entry.has_focus
        await home.press("y")
        assert home.screen.composer.entry.text == "yey"
    source = FakeHome((), question=QUESTION)
    async with at_home(source=source) as home:
        await home.press("y")
        assert source.trusted == []
        assert home.screen.welcome.asking


async def test_trust_that_could_not_be_given_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(welcome, "DEAF_S", 0.0)
    source = FakeHome((), question=QUESTION)
    source.fails = "the settings have changed meanwhile"
    async with at_home(source=source, notifications=True) as home:
        await home.press("y")
        await home.until(lambda: home.toasts)
        assert home.toasts == [source.fails]
        assert home.screen.welcome.asking


async def test_a_project_with_runs_says_in_one_line_that_settings_wait_for_trust() -> None:
    source = FakeHome(fleet(), question=QUESTION, ready=msgspec.structs.replace(MISSING, read_only=True))
    async with at_home(source=source) as home:
        await home.until(lambda: home.sees("Settings of this project wait for your trust: geode-tui trust"))
        assert home.sees("runs may only read here")
        assert home.screen.composer.entry.has_focus


async def test_what_stands_in_the_way_of_a_new_run_is_said() -> None:
    ready = Readiness(MISSING.providers, problem="the provider anthropic needs a key in ANTHROPIC_API_KEY")
    async with at_home(source=FakeHome(fleet(), ready=ready)) as home:
        assert home.sees("✗ the provider anthropic needs a key in ANTHROPIC_API_KEY")
