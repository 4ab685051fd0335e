"""`config set`: one value in the person's own settings file, which keeps its other lines and comments."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec

from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.errors import CliError
from geode_tui.core.settings import ALIASES, Layer, Settings, SettingsError, flatten, resolve
from geode_tui.log.store import StoreError, private_folder, write_private
from geode_tui.paths import read_toml

_TABLE = re.compile(r"\s*\[")


def config_set(env: Env, key: str, value: str) -> int:
    """Set ``key`` (dotted) to ``value`` in the person's own settings. Returns the exit status. Raises `CliError`."""
    refuse_inside(env.environment, "config set")
    try:
        set_setting(env.folders.settings_file, key, value)
    except SettingsError as error:
        raise CliError(str(error)) from error
    env.print(f"{key} = {value} in {env.folders.settings_file}")
    return 0


def set_setting(path: Path, key: str, value: str) -> None:
    """Write one value; ``value`` is text where the setting is text, else as TOML has it. Raises `SettingsError`."""
    defaults = flatten(msgspec.to_builtins(Settings()))
    key = ALIASES.get(key, key)
    if key not in defaults:
        raise SettingsError(f"there is no setting {key!r}: geode-tui config lists them")
    literal = msgspec.json.encode(value).decode() if isinstance(defaults[key], str) else value
    read_toml(path)  # a file that is broken already is not written into
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    changed = _with(text, key, literal)
    try:
        wanted = tomllib.loads(changed)
        before = flatten(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{value!r} is no value for {key}") from error
    resolve((Layer(str(path), wanted),))
    after = flatten(wanted)
    if {**before, key: after.get(key)} != after:
        raise SettingsError(f"{path} is written in a way that cannot be changed here: set {key} in it by hand")
    try:
        private_folder(path.parent)
        write_private(path, changed.encode())
    except (OSError, StoreError) as error:
        raise SettingsError(f"{path} cannot be written: {error}") from error


def _with(text: str, key: str, literal: str) -> str:
    """``text`` with ``key``: in its own line, else in its table, else in a new one."""
    table, _, name = key.rpartition(".")
    lines = text.splitlines()
    start, end = _section(lines, table)
    line = f"{name} = {literal}"
    if start is None:
        gap = [""] if lines else []
        return "\n".join([*lines, *gap, f"[{table}]", line, ""])
    at = next((i for i in range(start, end) if re.match(rf"\s*{re.escape(name)}\s*=", lines[i])), None)
    if at is not None:
        return "\n".join([*lines[:at], line, *lines[at + 1 :], ""])
    while end > start and not lines[end - 1].strip():
        end -= 1
    return "\n".join([*lines[:end], line, *lines[end:], ""])


def _section(lines: list[str], table: str) -> tuple[int | None, int]:
    """Where the lines of ``table`` begin and end; no table is the head of the file. None where there is none."""
    headers = [i for i, line in enumerate(lines) if _TABLE.match(line)]
    if not table:
        return 0, headers[0] if headers else len(lines)
    for i in headers:
        if re.fullmatch(rf"\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?", lines[i]):
            return i + 1, next((j for j in headers if j > i), len(lines))
    return None, len(lines)
