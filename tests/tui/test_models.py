"""Choosing a model: the picker on both screens, the command, and what is said of models that cannot be had."""

from __future__ import annotations

import pytest

from geode_tui.tui.home_source import ProviderReady, Readiness
from geode_tui.tui.screens.modal import PaletteScreen
from tests.tui.driving import opened
from tests.tui.fakes import MODELS, running_state, screen_text
from tests.tui.homes import READY, FakeHome, at_home


async def test_the_picker_lists_models_with_their_window_and_says_which_do_not_do() -> None:
    async with opened(running_state(), size=(120, 40)) as run:
        await run.pilot.press("f3")
        await run.until(lambda: isinstance(run.app.screen, PaletteScreen))
        shown = [line.strip() for line in screen_text(run.app)]
        lines = {m.model: next(line for line in shown if line.startswith(f"{m.model or m.service} ")) for m in MODELS}
        assert "now  openai/payg  400.0k catalogue" in lines["gpt-5.2"]
        assert "  openai/payg  1.05M catalogue" in lines["gpt-6-sol"]
        assert "too small for 264.9k  anthropic/payg  200.0k catalogue" in lines["claude-haiku-4-5"]
        assert "needs OPENROUTER_API_KEY" in lines[""]


async def test_a_model_that_is_picked_is_asked_of_the_run() -> None:
    async with opened(running_state(), size=(120, 40)) as run:
        source = run.source
        await run.pilot.press("f3")
        await run.until(lambda: isinstance(run.app.screen, PaletteScreen))
        await run.pilot.press(*"sol", "enter")
        await run.until(lambda: source.sent)
        assert source.sent[0][:2] == ("model", {"model": "gpt-6-sol", "provider": "openai", "effort": ""})


async def test_a_click_picks_too_and_a_service_without_a_key_says_what_it_needs() -> None:
    async with opened(running_state(), size=(120, 40), notifications=True) as run:
        source = run.source
        await run.pilot.press("f3")
        await run.until(lambda: isinstance(run.app.screen, PaletteScreen))
        await run.pilot.click("#choices", offset=(4, len(MODELS) - 1))
        await run.until(lambda: not isinstance(run.app.screen, PaletteScreen))
        await run.until(lambda: any("OPENROUTER_API_KEY" in toast for toast in run.toasts))
        assert source.sent == []


@pytest.mark.parametrize("keys", [("f3",), ("/", *"model", "enter"), ("ctrl+p", *"model", "enter")])
async def test_the_picker_is_reached_by_key_command_and_palette(keys: tuple[str, ...]) -> None:
    async with opened(running_state(), size=(120, 40)) as run:
        await run.pilot.press(*keys)
        await run.until(lambda: any("claude-haiku-4-5" in line for line in screen_text(run.app)))
        await run.pilot.press("escape")
        await run.until(lambda: not isinstance(run.app.screen, PaletteScreen))


async def test_the_command_with_a_name_switches_at_once() -> None:
    async with opened(running_state(), size=(120, 40)) as run:
        source = run.source
        await run.pilot.press(*"/model", "space", *"gpt-6-sol", "enter")
        await run.until(lambda: source.sent)
        assert source.sent[0][:2] == ("model", {"model": "gpt-6-sol", "provider": "", "effort": ""})


async def test_new_runs_use_what_is_picked_at_home() -> None:
    source = FakeHome()
    async with at_home(source=source) as home:
        await home.press("f3")
        await home.until(lambda: isinstance(home.app.screen, PaletteScreen))
        await home.press(*"sol", "enter")
        await home.until(lambda: source.used)
        assert source.used == [("gpt-6-sol", "openai", "")]
        await home.until(lambda: home.sees("new runs use gpt-6-sol"))
        await home.press(*"/model", "space", *"glm-5.3", "enter")
        await home.until(lambda: len(source.used) == 2)
        assert source.used[1] == ("glm-5.3", "", "")


async def test_what_this_machine_serves_is_shown_once_it_has_answered() -> None:
    source = FakeHome()
    source.around = Readiness((*READY.providers, ProviderReady("local")), READY.provider, READY.model)
    async with at_home(source=source, size=(160, 40)) as home:
        await home.until(lambda: home.sees("local ready"))
