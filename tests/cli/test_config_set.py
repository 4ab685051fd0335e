"""`config set`: one value in the person's own file, and nothing else in it changes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.cli.config_set import set_setting
from geode_tui.core.settings import Layer, SettingsError, resolve
from tests.cli.conftest import Here
from tests.cli.place import Place


def written(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_a_value_is_written_and_counts(place: Place, here: Here) -> None:
    done = here("config", "set", "codex_login", "yes")
    path = place.home / "own" / "config" / "config.toml"
    assert done.status == 0
    assert str(path) in done.out
    assert written(path) == {"codex_login": "yes"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert here("config", "set", "limits.rounds", "40").status == 0
    assert here("config", "set", "codex_login", "no").status == 0
    assert written(path) == {"codex_login": "no", "limits": {"rounds": 40}}
    (row,) = [r for r in here("config", "--json").json if r["key"] == "codex_login"]
    assert (row["value"], row["origin"]) == ("no", str(path))


BEFORE = """# mine
model = "claude-opus-5-5"  # the good one

[limits]
rounds = 3

# tools I trust
[tools]
deny = ["run_shell"]
"""


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("theme", "rose", ("theme", "rose")),
        ("model", "gpt-6-sol", ("model", "gpt-6-sol")),
        ("ascii", "true", ("ascii", True)),
        ("context_window", "32000", ("context_window", 32_000)),
        ("tool_offload_threshold", "5000", ("tool_offload", {"threshold": 5_000})),
    ],
)
def test_other_lines_and_comments_stay(tmp_path: Path, key: str, value: str, expected: tuple[str, object]) -> None:
    path = tmp_path / "config.toml"
    path.write_text(BEFORE)
    set_setting(path, key, value)
    assert written(path) == {**tomllib.loads(BEFORE), expected[0]: expected[1]}
    assert {"# mine", "# tools I trust", "[tools]", 'deny = ["run_shell"]'} <= set(path.read_text().splitlines())


def test_a_table_is_added_to_or_made(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(BEFORE)
    set_setting(path, "limits.cost_usd", "2.5")
    assert written(path)["limits"] == {"rounds": 3, "cost_usd": 2.5}
    bare = tmp_path / "bare.toml"
    bare.write_text('theme = "rose"\n')
    set_setting(bare, "limits.rounds", "9")
    assert written(bare) == {"theme": "rose", "limits": {"rounds": 9}}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nonsense", "1"),
        ("codex_login", "perhaps"),
        ("ascii", "maybe"),
        ("limits.rounds", "-1"),
        ("limits.rounds", '1\nmodel = "x"'),
        ("limits.rounds", "many"),
    ],
)
def test_what_is_no_value_of_a_setting_is_not_written(tmp_path: Path, key: str, value: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(BEFORE)
    with pytest.raises(SettingsError):
        set_setting(path, key, value)
    assert path.read_text() == BEFORE


def test_a_broken_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("theme = [")
    with pytest.raises(SettingsError, match="not valid TOML"):
        set_setting(path, "theme", "rose")
    path.write_text("limits = { rounds = 3 }\n")
    with pytest.raises(SettingsError):
        set_setting(path, "limits.time_s", "3")
    assert path.read_text() == "limits = { rounds = 3 }\n"


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=60))
def test_any_text_is_kept_as_it_is(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("set") / "config.toml"
    set_setting(path, "model", text)
    assert written(path) == {"model": text}


def test_an_agent_cannot_set_anything(place: Place, here: Here) -> None:
    done = here("config", "set", "approve", "all", env={"GEODE_INSIDE_RUN": "s-1"})
    assert done.status == 2
    assert "refused inside a run" in done.line


def test_a_project_can_never_allow_the_login_to_be_read() -> None:
    """Trusted or not."""
    resolved = resolve((Layer("mine", {}), Layer("theirs", {"codex_login": "yes"})), project="theirs")
    assert resolved.settings.codex_login == "ask"
    assert "only in your own settings" in resolved.ignored[0]
    assert not resolved.untrusted
