"""A command line that cannot be used: one line that says what is wrong, nothing on stdout, status 2."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Here
from tests.cli.place import Place

WRONG = [
    ((), "needs a terminal"),
    (("run",), "geode-tui --help"),
    (("run", ""), "prompt is empty"),
    (("run", "x", "--approve", "maybe"), "maybe"),
    (("run", "x", "--nope"), "--nope"),
    (("run", "x", "--max-rounds", "-1"), "--max-rounds is 0 (no limit) or more"),
    (("run", "x", "--max-rounds", "many"), "many"),
    (("run", "x", "--cost-budget", "lots"), "--cost-budget takes dollars"),
    (("run", "x", "--cost-budget", "nan"), "--cost-budget is 0 (no limit) or more"),
    (("run", "x", "--provider", "nobody"), "there is no provider 'nobody'"),
    (("run", "x", "--provider", "anthropic"), "needs a key in ANTHROPIC_API_KEY"),
    (("run", "x", "--model", "unheard-of"), "no provider is known for the model"),
    (("statsu",), "'statsu' is no command"),
    (("status", "../../etc/passwd"), "runs in"),
    (("resume", "../../etc/passwd"), "an id has 1 to 128 letters"),
    (("budget", "x", "speed", "3"), "speed"),
    (("sessions", "extra"), "extra"),
    (("cost", "--month", "2026"), "a month is written YYYY-MM"),
    (("trust", "/nowhere/at/all"), "is no folder"),
    (("status", "x"), "there are no runs in"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda v: " ".join(v) if isinstance(v, tuple) else "")
def test_wrong_usage_is_one_line_and_status_2(place: Place, here: Here, arguments: tuple[str, ...], words: str) -> None:
    done = here(*arguments)
    assert done.status == 2
    assert done.line.startswith("geode-tui: ")
    assert words in done.line
    assert "\x1b" not in done.err
    assert not place.store.exists()


@pytest.mark.parametrize(("arguments", "words"), [WRONG[0], WRONG[4], WRONG[12]])
def test_a_process_that_was_called_wrongly_says_so_too(place: Place, arguments: tuple[str, ...], words: str) -> None:
    done = place.cli(*arguments)
    assert done.status == 2
    assert words in done.line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("approve = 7\n", "config.toml: Expected `str`"),
        ("approve = 'maybe'\n", "config.toml: Invalid enum value"),
        ("speed = 3\n", "config.toml: Object contains unknown field `speed`"),
        ("approve = \n", "is not valid TOML"),
        ("\udcff", "cannot be read"),
    ],
)
def test_a_settings_file_that_cannot_be_used_is_named_in_one_line(
    place: Place, here: Here, text: str, words: str
) -> None:
    folder = place.home / "own" / "config"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = here("run", "x")
    assert done.status == 2
    assert str(folder / "config.toml") in done.line
    assert words in done.line


def test_help_and_version_are_no_errors(here: Here) -> None:
    assert "--max-rounds" in here("run", "--help").out
    version = here("--version")
    assert version.status == 0
    assert version.out.strip()


def test_nothing_to_report_is_no_error(here: Here) -> None:
    assert here("sessions", "--json").json == []
    assert here("status", "--json").json["workers"] == []
    month = here("cost", "--json").json
    assert float(month["usd"]) == 0
    assert month["session_id"] is None
