"""Settings: one declared shape, five layers, and where each value came from.

Defaults < user file < project file < environment < flags. What a project's file could use to widen its own reach
counts only once the person has trusted the folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from geode_tui.core.limits import (
    MAX_RESULT_TOKENS,
    OFFLOAD_THRESHOLD,
    Approve,
    DreamRules,
    Limits,
    OnLimit,
    ResultBounds,
    Retention,
)

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Amount: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
"""Seconds or USD: TOML also knows ``inf`` and ``nan``, which no clock and no budget can use."""


class SettingsError(ValueError):
    """A settings file or variable that cannot be used: one line that names it and the fix."""


class LimitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Default limits of a run; 0 is none. Money in USD."""

    rounds: Count = 0
    time_s: Amount = 0.0
    session_s: Amount = 7_200.0
    cost_usd: Amount = 0.0
    on_limit: OnLimit = "wrap-up"


class ToolSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tools a run may use: all when ``allow`` is empty, less those in ``deny``."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class OffloadSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Results that are put into files: those above ``threshold`` tokens; 0 is none (RUNTIME.md 4.1). Files that nothing
    refers to any more stay ``ttl_hours``, the untouched results ``receipt_days``; all files of results may take
    ``quota_mb`` megabytes together. 0 is no such bound.
    """

    threshold: Count = OFFLOAD_THRESHOLD
    ttl_hours: Amount = 4.0
    quota_mb: Count = 1_000
    receipt_days: Amount = 30.0


class DreamSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a dream is written after each turn, and the share of the cost budget that dreams may spend together."""

    enabled: bool = True
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.05


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be set."""

    model: str = ""
    provider: str = ""
    effort: str = ""
    """How hard the model is asked to think, in the route's own words; empty leaves the route's default."""
    local_url: str = ""
    """Base URL of an OpenAI-compatible endpoint of one's own; empty looks on this machine's usual ports."""
    codex_login: Literal["ask", "yes", "no"] = "ask"
    """Whether the Codex CLI's own login may be read for runs on its subscription."""
    cache_diagnosis: Literal["auto", "on", "off"] = "auto"
    """Whether a provider that can say why its cache missed is asked with every request, which costs nothing. ``auto``
    asks it at its own address only: another server may refuse a field that it does not know."""
    approve: Approve = "ask"
    language: str = ""
    theme: str = "geode-dark"
    ascii: bool = False
    motion: bool = True
    """Whether the spinner moves and a chip is reversed where a limit is crossed (SCREENS.md 9)."""
    bell: bool = False
    """Whether the terminal's bell rings for a limit that is near, a question, and the end of a turn."""
    notify: bool = False
    """Whether the terminal is asked to show a notification for the same."""
    context_window: Count = 0
    """Overrides the window of the chosen route, tokens; 0 leaves what is known of it."""
    retry_for_s: Amount = 0.0
    """How long a provider's bad hour is waited out; 0: 30 minutes watched, 10 headless (RUNTIME.md 8.6)."""
    organization_fixture_dir: str = ""
    """A folder of JSON files with what an organization knows of a subject (RUNTIME.md 6); empty is none."""
    max_tool_result_tokens: Count = MAX_RESULT_TOKENS
    """What a result that is not put into a file may take, tokens; 0 is any number. A small window has its own bound."""
    limits: LimitSettings = LimitSettings()
    tools: ToolSettings = ToolSettings()
    tool_offload: OffloadSettings = OffloadSettings()
    dreams: DreamSettings = DreamSettings()
    mcp: dict[str, Any] = {}
    """MCP servers by name, a table each; see `core.servers.declared`. A bad one costs that server alone."""

    def run_limits(self) -> Limits:
        """The limits as a run takes them."""
        return Limits(
            self.limits.rounds, self.limits.time_s, self.limits.session_s, round(self.limits.cost_usd * 1_000_000)
        )

    def result_bounds(self) -> ResultBounds:
        """What one tool result may take."""
        return ResultBounds(self.tool_offload.threshold, self.max_tool_result_tokens)

    def dream_rules(self) -> DreamRules:
        """How a run dreams."""
        return DreamRules(self.dreams.enabled, self.dreams.share)

    def retention(self) -> Retention:
        """How long results stay in files."""
        kept = self.tool_offload
        return Retention(kept.ttl_hours * 3_600, kept.quota_mb * 1_000_000, kept.receipt_days * 86_400)


ALIASES = {
    "tool_offload_threshold": "tool_offload.threshold",
    "tool_offload_ttl_hours": "tool_offload.ttl_hours",
}
"""Other names of settings (RUNTIME.md 4.1)."""

GUARDED = ("approve", "tools", "limits", "context_window", "local_url", "mcp", "dreams")
"""Settings that a project's file may only use in a trusted folder."""

NAMED = frozenset({"mcp"})
"""Tables whose keys are names that a person chose: whole entries of a later layer replace those of an earlier one."""

PERSONAL = ("codex_login", "organization_fixture_dir")
"""Settings that no project's file can use, trusted or not: they give leave to read what is the person's own."""

ENVIRONMENT = {
    "GEODE_MODEL": "model",
    "GEODE_PROVIDER": "provider",
    "GEODE_EFFORT": "effort",
    "GEODE_LOCAL_URL": "local_url",
    "GEODE_APPROVE": "approve",
    "GEODE_LANG": "language",
    "GEODE_THEME": "theme",
    "GEODE_ASCII": "ascii",
    "GEODE_MOTION": "motion",
    "GEODE_BELL": "bell",
    "GEODE_NOTIFY": "notify",
    "GEODE_DREAMS": "dreams.enabled",
    "GEODE_CONTEXT_WINDOW": "context_window",
    "GEODE_SESSION_TIME_BUDGET_S": "limits.session_s",
}


_SWITCHES = frozenset({"ascii", "motion", "bell", "notify", "dreams.enabled"})


class Layer(msgspec.Struct, frozen=True):
    """One source of settings: ``name`` is what ``doctor`` calls it (a file's path, a variable)."""

    name: str
    values: Mapping[str, Any]


class Resolved(msgspec.Struct, frozen=True):
    """The settings in force, the layer each dotted key came from, and one line for each that was ignored."""

    settings: Settings
    origins: dict[str, str]
    ignored: tuple[str, ...]
    untrusted: bool = False
    """Whether one of them would count if the person trusted the folder."""


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys; tables whose keys are names of the person's own stay as they are."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and f"{prefix}{key}" not in NAMED:
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def guarded_hash(project: Mapping[str, Any]) -> str:
    """Hash of a project's guarded settings: what a person's trust is given to. Empty when there are none."""
    chosen = {k: v for k, v in sorted(flatten(project).items()) if k.split(".")[0] in GUARDED}
    if not chosen:
        return ""
    return hashlib.sha256(msgspec.json.encode(chosen, order="deterministic")).hexdigest()


def resolve(layers: tuple[Layer, ...], *, untrusted: str = "", project: str = "") -> Resolved:
    """Merge ``layers``, later over earlier; guarded keys of the layer named ``untrusted`` are ignored and told, and so
    are personal ones of the layer named ``project``.

    Raises `SettingsError` naming the layer of the first bad value.
    """
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    ignored: list[str] = []
    waits = False
    for layer in layers:
        for key, value in _by_their_names(layer).items():
            if untrusted and layer.name == untrusted and key.split(".")[0] in GUARDED:
                ignored.append(f"{key} in {layer.name} is ignored until you trust this folder: geode-tui trust")
                waits = True
                continue
            if project and layer.name == project and key.split(".")[0] in PERSONAL:
                ignored.append(f"{key} in {layer.name} is ignored: it counts only in your own settings")
                continue
            _check(layer.name, key, value)
            merged[key] = {**merged.get(key, {}), **value} if key in NAMED else value
            origins[key] = layer.name
    return Resolved(_convert("the settings", _nest(merged)), origins, tuple(ignored), waits)


def _by_their_names(layer: Layer) -> dict[str, Any]:
    """The layer's values by dotted key, other names replaced. Raises `SettingsError` where both names are used."""
    flat = flatten(layer.values)
    for other, key in ALIASES.items():
        if other in flat:
            if key in flat:
                raise SettingsError(f"{layer.name}: {other} and {key} are one setting: leave one of them out")
            flat[key] = flat.pop(other)
    return flat


def from_environment(environment: Mapping[str, str]) -> Layer:
    """The layer of ``GEODE_*`` variables; values are read as the setting's type."""
    values = {}
    for name, key in ENVIRONMENT.items():
        text = environment.get(name, "")
        if text:
            values[key] = _number(text) if key in {"limits.session_s", "context_window"} else text
            if key in _SWITCHES:
                values[key] = text not in {"0", "false", "no"}
    return Layer("environment", values)


def _number(text: str) -> float | int | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def _check(layer: str, key: str, value: Any) -> None:
    _convert(layer, _nest({key: value}))


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        *tables, last = key.split(".")
        place = nested
        for table in tables:
            place = place.setdefault(table, {})
        place[last] = value
    return nested


def _convert(layer: str, values: Mapping[str, Any]) -> Settings:
    try:
        return msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{layer}: {error}") from error
