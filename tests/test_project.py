"""The tree as a whole: sizes, what is imported when, what is shipped, and words that have no place in it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LARGEST = 500
FORBIDDEN = (
    "/".join(("", "work", "")),
    "/".join(("", "tmp", "venv")),
    "pythonhosted" + ".org",
    "pypi" + ".org",
    "--index" + "-url",
)
TEXT = {".py", ".toml", ".txt", ".md", ".json", ".sql", ".tcss", ".css", ".svg", ""}
SCREEN = ("anthropic", "openai", "tiktoken", "mcp", "pydantic", "genai_prices")


def ours(*folders: str) -> Iterator[Path]:
    """Files of the project, without what tools leave behind."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and not any(part.startswith("__pycache__") for part in path.parts):
                yield path


def loaded_by(code: str) -> set[str]:
    """Top-level packages that are loaded after ``code`` ran in a fresh interpreter."""
    asked = f"import sys\n{code}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_no_module_is_too_long() -> None:
    sizes = {p: p.read_text(encoding="utf-8").count("\n") for p in ours("geode_tui", "tests") if p.suffix == ".py"}
    assert len(sizes) > 100
    assert {str(path.relative_to(ROOT)): lines for path, lines in sizes.items() if lines > LARGEST} == {}


def test_the_screen_loads_no_provider() -> None:
    """So that it starts fast, and so that a provider's library cannot reach the terminal."""
    loaded = loaded_by("import geode_tui.cli.dashboard\nimport geode_tui.tui.app")
    assert "textual" in loaded
    assert loaded & set(SCREEN) == set()


@pytest.mark.parametrize("room", ["core", "routes", "log", "context", "memory", "sources", "view"])
def test_rooms_below_the_screen_load_neither_screen_nor_providers(room: str) -> None:
    code = (
        f"import importlib, pkgutil, geode_tui.{room} as room\n"
        "for found in pkgutil.walk_packages(room.__path__, room.__name__ + '.'): importlib.import_module(found.name)"
    )
    assert loaded_by(code) & {"textual", "rich", *SCREEN} == set()


def test_the_front_door_loads_nothing_heavy_for_a_bare_command() -> None:
    assert loaded_by("import geode_tui.__main__") & {"textual", "rich", "cyclopts", "apsw", *SCREEN} == set()


def test_every_dependency_is_pinned_and_no_index_is_named() -> None:
    lines = [
        line
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    assert [line for line in lines if line.count("==") != 1 or "/" in line or line.startswith("-")] == []
    assert len(lines) > 40


def test_no_file_names_a_machine_or_an_index() -> None:
    files = [*ours("geode_tui", "tests", "themes", ".ci"), *(p for p in ROOT.iterdir() if p.is_file())]
    found = [
        (str(path.relative_to(ROOT)), word)
        for path in files
        if path.suffix in TEXT
        for word in FORBIDDEN
        if word in path.read_text(encoding="utf-8", errors="replace")
    ]
    assert found == []


def test_the_wheel_holds_what_the_program_reads(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    build = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert build.returncode == 0, build.stdout + build.stderr
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    code = {str(p.relative_to(ROOT)) for p in ours("geode_tui")}
    themes = {f"geode_tui/themes/{path.name}" for path in ours("themes")}
    assert code | themes <= names
    assert {"geode_tui/log/schema/0001_log.sql", "geode_tui/routes/catalog.toml"} <= names
    assert not any(name.startswith(("tests/", "themes/")) for name in names)
