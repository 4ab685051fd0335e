"""Another language from the keyboard, everywhere at once."""

from __future__ import annotations

import pytest

from geode_tui.core.strings import Strings
from tests.tui.driving import opened

EN, KO = Strings("en"), Strings("ko")


async def test_a_command_switches_every_pane_and_back() -> None:
    async with opened(size=(120, 40)) as driven:
        shown = ("tab.conversation", "section.context", "section.cost", "composer.placeholder", "hint.send")
        assert all(driven.sees(EN.t(key)) for key in shown)
        await driven.type("/language ko")
        await driven.until(lambda: all(driven.sees(KO.t(key)) for key in shown))
        assert not any(driven.sees(EN.t(key)) for key in shown)
        await driven.type("/language en")
        await driven.until(lambda: all(driven.sees(EN.t(key)) for key in shown))


async def test_the_palette_offers_the_other_language_by_its_own_name() -> None:
    async with opened() as driven:
        await driven.pilot.press("ctrl+p", *"language", "enter")
        await driven.until(lambda: driven.sees(KO.t("composer.placeholder")))
        await driven.pilot.press("ctrl+p")
        await driven.pilot.pause()
        assert driven.sees(KO.t("palette.placeholder"))


@pytest.mark.parametrize("typed", ["/language", "/language fr"])
async def test_a_language_that_is_not_there_is_told_and_changes_nothing(typed: str) -> None:
    async with opened() as driven:
        await driven.type(typed)
        await driven.until(lambda: driven.toasts == [EN.t("slash.language")])
        assert driven.sees(EN.t("hint.send"))
