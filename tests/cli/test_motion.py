"""``--no-motion`` is a setting like the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from geode_tui.cli import main


@pytest.mark.parametrize(("flag", "motion"), [(True, False), (False, True)])
def test_the_flag_turns_motion_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: bool, motion: bool) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEODE_TUI_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GEODE_MOTION", raising=False)
    assert main._env(no_motion=flag).settings.motion is motion


@pytest.mark.parametrize("words", [["--help"], ["attach", "--help"]])
def test_both_ways_to_a_screen_have_it(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(words) == 0
    assert "--no-motion" in capsys.readouterr().out
