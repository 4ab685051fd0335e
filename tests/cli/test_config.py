"""`config`: every setting, its value and where it came from."""

from __future__ import annotations

from typing import Any

import msgspec

from geode_tui.core.settings import Settings, flatten
from tests.cli.conftest import Here
from tests.cli.place import Place


def rows(here: Here, **environment: str) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in here("config", "--json", env={"GEODE_DREAMS": "", **environment}).json}


def test_every_setting_has_a_row_with_its_default(here: Here) -> None:
    found = rows(here)
    defaults = flatten(msgspec.to_builtins(Settings()))
    assert {key: row["default"] for key, row in found.items()} == {
        key: [*value] if isinstance(value, tuple) else value for key, value in defaults.items()
    }
    assert all(row["value"] == row["default"] and row["origin"] == "default" for row in found.values())
    assert {key for key, row in found.items() if row["guarded"]} == {
        key
        for key in found
        if key.split(".")[0] in {"approve", "tools", "limits", "context_window", "local_url", "mcp", "dreams"}
    }


def test_each_value_names_where_it_came_from_and_the_later_source_wins(place: Place, here: Here) -> None:
    own = place.home / "own" / "config" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('theme = "rose"\nlanguage = "ko"\n[limits]\nrounds = 60\n')
    project = place.geode / "config.toml"
    project.parent.mkdir()
    project.write_text('language = "en"\nmodel = "claude-x"\n')
    found = rows(here, GEODE_MODEL="claude-y", GEODE_SESSION_TIME_BUDGET_S="60")
    seen = {key: (row["value"], row["origin"]) for key, row in found.items() if row["origin"] != "default"}
    assert seen == {
        "theme": ("rose", str(own)),
        "limits.rounds": (60, str(own)),
        "language": ("en", str(project)),
        "model": ("claude-y", "GEODE_MODEL"),
        "limits.session_s": (60.0, "GEODE_SESSION_TIME_BUDGET_S"),
    }


def test_what_needs_trust_is_left_out_and_told_on_stderr_alone(place: Place, here: Here) -> None:
    place.geode.mkdir()
    (place.geode / "config.toml").write_text('approve = "all"\n')
    done = here("config", "--json")
    assert {row["key"]: row["value"] for row in done.json}["approve"] == "ask"
    file = place.geode / "config.toml"
    assert done.err == f"approve in {file} is ignored until you trust this folder: geode-tui trust\n"


def test_for_people_it_is_a_line_a_setting_in_columns(here: Here) -> None:
    done = here("config", env={"GEODE_THEME": "rose"})
    lines = done.out.splitlines()
    assert len(lines) == len(rows(here))
    (theme,) = (line for line in lines if line.startswith("theme "))
    assert theme.split("  ")[-1] == '(default "geode-dark")'
    assert '"rose"' in theme
    assert len({line.index("default") for line in lines if line.endswith("  default")}) == 1


def test_settings_that_cannot_be_used_are_one_line(place: Place, here: Here) -> None:
    place.geode.mkdir()
    (place.geode / "config.toml").write_text("theme = 3\n")
    done = here("config")
    assert done.status == 2
    assert str(place.geode / "config.toml") in done.line
