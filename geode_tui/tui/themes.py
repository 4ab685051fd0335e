"""Themes: one TOML file each, shipped or the person's own.

``[textual]`` maps to `textual.theme.Theme`; ``[roles]`` and ``[gauge]`` become the variables ``$geode-ROLE`` and
``$gauge-KIND`` and the `Palette` that line-drawing widgets use.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from textual.theme import Theme

from geode_tui.tui.palette import PLANES, READABLE, TEXT_ROLES, Palette, contrast, palette_from

DEFAULT = "geode-dark"
_COLOR = re.compile(r"#[0-9a-fA-F]{6}\Z")


class ThemeError(ValueError):
    """A theme file that cannot be used; the message names the file and what is wrong."""


class LoadedTheme(msgspec.Struct, frozen=True):
    """A theme in both of its forms. ``warnings`` are one line each."""

    name: str
    textual: Theme
    palette: Palette
    warnings: tuple[str, ...] = ()


def shipped_folder() -> Path:
    """Where the themes of this program are: in the package when installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "themes"
    return inside if inside.is_dir() else package.parent / "themes"


def load_theme(path: Path) -> LoadedTheme:
    """The theme in ``path``, named after the file. Raises `ThemeError`."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ThemeError(f"{path.name}: {error}") from error
    roles, gauge, base = (_table(path, tables, name) for name in ("roles", "gauge", "textual"))
    colors = {**roles, **gauge, **{key: value for key, value in base.items() if key != "dark"}}
    for key, value in colors.items():
        if not isinstance(value, str) or not _COLOR.match(value):
            raise ThemeError(f"{path.name}: {key} must be a colour like #a1b2c3")
    try:
        palette = palette_from(roles, gauge)
        variables = {f"geode-{key}": value for key, value in roles.items()}
        variables |= {f"gauge-{key}": value for key, value in gauge.items()}
        theme = Theme(name=path.stem, variables=variables, **base)
    except KeyError as error:
        raise ThemeError(f"{path.name}: {error.args[0]} is missing") from error
    except TypeError as error:
        raise ThemeError(f"{path.name}: {error}") from error
    # The shipped themes are checked by the tests: no need to do it at every start.
    faint = () if path.parent == shipped_folder() else faint_pairs(palette)
    return LoadedTheme(path.stem, theme, palette, tuple(f"{path.name}: {line}" for line in faint))


def without_planes(theme: LoadedTheme) -> LoadedTheme:
    """The same theme on one plane: regions are told apart by marks, and what is selected still by its background."""
    ground = theme.palette.base
    names = ("surface", "panel", "raised", "scrim", "addbg", "delbg")
    palette = msgspec.structs.replace(theme.palette, **dict.fromkeys(names, ground))
    variables = theme.textual.variables | {f"geode-{name}": ground for name in names}
    return msgspec.structs.replace(theme, textual=replace(theme.textual, variables=variables), palette=palette)


def _table(path: Path, tables: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = tables.get(name)
    if not isinstance(table, dict):
        raise ThemeError(f"{path.name}: the table [{name}] is missing")
    return table


def faint_pairs(palette: Palette) -> Iterator[str]:
    """A line for each text role that reads badly on a plane it may stand on."""
    for role in TEXT_ROLES:
        for plane in PLANES:
            ratio = contrast(getattr(palette, role), getattr(palette, plane))
            if ratio < READABLE:
                yield f"{role} on {plane} has contrast {ratio:.1f}, below {READABLE}"


def load_themes(user_folders: Iterable[Path] = ()) -> tuple[dict[str, LoadedTheme], tuple[str, ...]]:
    """All usable themes by name, and a line for each one that is faint or was left out. A person's theme replaces a
    shipped one of the same name.
    """
    themes: dict[str, LoadedTheme] = {}
    lines: list[str] = []
    for folder in (shipped_folder(), *user_folders):
        for path in sorted(folder.glob("*.toml")) if folder.is_dir() else ():
            try:
                theme = load_theme(path)
            except ThemeError as error:
                lines.append(str(error))
                continue
            themes[theme.name] = theme
            lines += theme.warnings
    return themes, tuple(lines)
