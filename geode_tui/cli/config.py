"""`config`: every setting with its value, its default and where the value came from. It only shows."""

from __future__ import annotations

from typing import Any

import msgspec

from geode_tui.cli.env import Env
from geode_tui.core.servers import declared
from geode_tui.core.settings import ENVIRONMENT, GUARDED, Resolved, Settings, flatten

DEFAULT = "default"


class SettingRow(msgspec.Struct, frozen=True):
    """One setting. ``origin`` is `DEFAULT`, a file's path, a variable's name or ``flags``; ``guarded`` ones count in a
    project's file only where the person trusts the folder.
    """

    key: str
    value: Any
    default: Any
    origin: str
    guarded: bool


def setting_rows(resolved: Resolved) -> list[SettingRow]:
    """Every setting by its dotted key, in the order of their declaration."""
    values = flatten(msgspec.to_builtins(resolved.settings))
    values["mcp"] = {server.name: server.place for server in declared(values["mcp"]).servers}  # without their secrets
    defaults = flatten(msgspec.to_builtins(Settings()))
    return [
        SettingRow(key, value, defaults[key], _origin(resolved, key), key.split(".")[0] in GUARDED)
        for key, value in values.items()
    ]


def _origin(resolved: Resolved, key: str) -> str:
    origin = resolved.origins.get(key, DEFAULT)
    return next((name for name, of in ENVIRONMENT.items() if of == key), origin) if origin == "environment" else origin


def config(env: Env, *, json: bool) -> int:
    """Show the settings in force; what was ignored is told on stderr."""
    rows = setting_rows(env.resolved)
    if json:
        env.print_json(rows)
    else:
        wide = max(len(row.key) for row in rows)
        shown = {row.key: setting_text(row.value) for row in rows}
        room = max(map(len, shown.values()))
        for row in rows:
            was = "" if row.value == row.default else f"  (default {setting_text(row.default)})"
            env.print(f"{row.key:<{wide}}  {shown[row.key]:<{room}}  {row.origin}{was}")
    for line in env.resolved.ignored:
        env.note(line)
    return 0


def setting_text(value: Any) -> str:
    """A setting's value as TOML has it."""
    return msgspec.json.encode(value).decode()
