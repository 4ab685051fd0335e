"""What `doctor` looks at around a run: the terminal, versions, providers, settings and tools.

Each function is given what it judges and changes nothing. A check that is ok may still have a remedy: advice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from geode_tui.cli.config import DEFAULT, SettingRow, setting_text
from geode_tui.core.servers import Declared
from geode_tui.core.settings import GUARDED, flatten
from geode_tui.core.tokens import VOCABULARIES, VocabularyError, official
from geode_tui.providers.access import Access, NoProvider
from geode_tui.providers.ready import Ready
from geode_tui.providers.registry import SERVICES, Choice, is_loopback
from geode_tui.runtime.skills import Skills

TEXTUAL = "8.2.8"
"""The version the screens are written for, as pinned in pyproject.toml."""
SAFE_SQLITE = (3, 51, 3)
"""Older ones can corrupt a WAL database under two writers (LIBRARIES.md)."""
COMFORTABLE, LEAST = (40, 12), (20, 5)
"""Columns and rows from which everything has its place, and below which nothing is shown (SCREENS.md 6)."""
TMUX = "in tmux.conf: set -sg escape-time 10; set -g focus-events on; set -as terminal-features ',*:RGB'"


class Check(msgspec.Struct, frozen=True):
    """One finding; ``remedy`` says what to do."""

    name: str
    ok: bool
    detail: str
    remedy: str | None = None


def terminal(environment: Mapping[str, str], size: tuple[int, int] | None, encoding: str) -> list[Check]:
    """The terminal; ``size`` is its columns and rows, or None where there is no terminal."""
    if size is None:
        return [Check("terminal", True, "none here: the dashboard needs one, no other command does")]
    term = environment.get("TERM", "")
    if term in {"", "dumb"}:
        what = f"TERM is {term}" if term else "TERM is not set"
        return [Check("terminal", False, f"{what}: the dashboard is told in lines", "export TERM=xterm-256color")]
    checks = [
        Check("terminal", True, term),
        Check("colours", True, _colours(environment, term)),
        _size(size),
        _encoding(encoding, term),
    ]
    if environment.get("TMUX"):
        checks.append(Check("tmux", True, "this terminal is inside tmux", TMUX))
    return checks


def _colours(environment: Mapping[str, str], term: str) -> str:
    if environment.get("NO_COLOR"):
        return "none: NO_COLOR is set"
    if environment.get("COLORTERM", "") in {"truecolor", "24bit"}:
        return "24 bit"
    if "256color" in term:
        return "256; COLORTERM=truecolor would say that there are more"
    return "16"


def _size(size: tuple[int, int]) -> Check:
    shown, wanted = f"{size[0]}x{size[1]}", f"{COMFORTABLE[0]}x{COMFORTABLE[1]}"
    if size[0] < LEAST[0] or size[1] < LEAST[1]:
        return Check("size", False, f"{shown} is too small to show anything", f"make it {wanted} or larger")
    small = size[0] < COMFORTABLE[0] or size[1] < COMFORTABLE[1]
    return Check("size", True, shown, f"from {wanted} on everything has its place" if small else None)


def _encoding(encoding: str, term: str) -> Check:
    if encoding.lower().replace("-", "") != "utf8":
        return Check("encoding", True, f"{encoding or 'not known'}: ASCII glyphs are used", "export LANG=C.UTF-8")
    if term == "linux":
        return Check("encoding", True, "utf-8; ASCII glyphs are used on the Linux console")
    return Check("encoding", True, "utf-8; how wide ambiguous characters are is not asked: no glyph is one")


def versions(own: str, python: str, textual: str, sqlite: str) -> list[Check]:
    """The versions that matter."""
    again = "install geode-tui again, with its own dependencies"
    safe = tuple(int(part) for part in sqlite.split(".")[:3]) >= SAFE_SQLITE
    exact = textual == TEXTUAL
    return [
        Check("geode-tui", True, own),
        Check("python", True, python),
        Check("textual", exact, textual if exact else f"{textual}; {TEXTUAL} is needed", None if exact else again),
        Check(
            "sqlite", safe, sqlite if safe else f"{sqlite} can damage a log with two writers", None if safe else again
        ),
    ]


def providers(ready: Iterable[Ready], access: Access) -> Iterator[Check]:
    """What can be asked, what the others need, and where requests would go. Nothing is sent, and no key is shown."""
    for one in ready:
        if one.models:
            detail = f"serves {', '.join(f'{name} ({_window(window)})' for name, window in one.models[:6])}"
        else:
            detail = _ready(one, access)
        yield Check(one.service, True, detail, None if one.ok else one.why)
        variable = next((name for name in SERVICES[one.service].urls if access.get(name)), "")
        if variable:
            yield endpoint(one.service, variable, access.get(variable))
    yield tokeniser()


def tokeniser() -> Check:
    """The bundled vocabularies."""
    try:
        for name in VOCABULARIES:
            official(name)
    except VocabularyError as error:
        line, _, remedy = str(error).partition(": ")
        return Check("tokeniser", False, f"{line}; tokens are estimated by their script", remedy)
    return Check("tokeniser", True, f"{' and '.join(VOCABULARIES)}, bundled: nothing is downloaded")


def _ready(one: Ready, access: Access) -> str:
    if one.service == "offline":
        return "ready: the offline planner needs no key and no network"
    if one.service == "local":
        return "no endpoint answers"
    if not one.ok:
        return f"{one.lacks} is not set" if not access.get(one.lacks) else f"{one.lacks} cannot be used"
    key = next((name for name in SERVICES[one.service].keys if access.get(name)), "")
    unproven = ", not tried against the real service" if one.service == "codex" else ""
    return f"{key} is set" if key else f"ready{unproven}"


def _window(window: int | None) -> str:
    return "window not told" if window is None else f"{window:,} tokens"


def model(choice: Choice | NoProvider) -> Check:
    """Who would answer a new run."""
    if isinstance(choice, NoProvider):
        return Check("model", False, str(choice), "change model or provider in the settings")
    return Check("model", True, f"{choice.model} ({choice.provider}/{choice.source})")


def endpoint(service: str, variable: str, url: str) -> Check:
    """Where requests would go; of ``url`` only scheme, host and port are shown."""
    name, remedy = f"{service} endpoint", f"set {variable} to a URL like https://host, or unset it"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host:
        return Check(name, False, f"{variable} is no URL of a server", remedy)
    shown = f"{parts.scheme}://{host}{f':{port}' if port else ''}"
    if is_loopback(url):
        return Check(name, True, f"{shown}, on this machine: its money is simulated")
    if parts.scheme == "http":
        return Check(name, False, f"{shown}: the key would travel unencrypted", remedy)
    return Check(name, True, shown)


def settings(rows: list[SettingRow], ignored: tuple[str, ...], trouble: str) -> list[Check]:
    """A check for every setting that is not left at its default, and for every one that does not count."""
    if trouble:
        return [Check("settings", False, trouble, "correct it; until then the program does not start")]
    chosen = [row for row in rows if row.origin != DEFAULT]
    checks = [Check("settings", True, f"{len(chosen)} set, {len(rows) - len(chosen)} at their defaults")]
    checks += (Check(f"setting {row.key}", True, f"{setting_text(row.value)} from {row.origin}") for row in chosen)
    checks += (Check("setting ignored", True, line, "read that file first") for line in ignored)
    return checks


def trust(root: Path, project: Mapping[str, object], *, waits: bool) -> Check:
    """Whether the settings of ``project``'s file that need trust have it; ``waits``: one is left off without it."""
    guarded = any(key.split(".")[0] in GUARDED for key in flatten(project))
    if not guarded:
        return Check("trust", True, "this folder sets nothing that needs it")
    if waits:
        return Check("trust", True, f"not given to {root}", "geode-tui trust, once you have read its settings")
    return Check("trust", True, f"given to {root}")


def servers(found: Declared) -> list[Check]:
    """The MCP servers that are set; whether they answer is not tried here."""
    checks = [Check(f"mcp {name}", False, line, "a run goes on without it") for name, line in found.problems]
    names = ", ".join(server.name for server in found.servers)
    if names:
        checks.insert(0, Check("mcp", True, names, "geode-tui mcp shows whether they answer"))
    return checks


def skills(folder: Path, found: Skills, *, trusted: bool) -> Iterator[Check]:
    """The project's skills, and whether runs use them."""
    names = ", ".join(skill.name for skill in found.found)
    if not found.found:
        yield Check("skills", True, f"none in {folder}")
    elif trusted:
        yield Check("skills", True, f"trusted: {names}")
    else:
        yield Check("skills", True, f"ignored: {names}", "geode-tui trust, once you have read them")
    yield from (Check("skill left out", True, line, f"correct it in {folder}") for line in found.problems)


def tools(find: Callable[[str], str | None]) -> list[Check]:
    """Programs that commands may want; ``find`` gives a program's path."""
    bwrap = "installed" if find("bwrap") else "not installed"
    return [
        Check("git", True, find("git") or "not installed"),
        Check("sandbox", True, f"none yet: a command that you allow runs as you (bwrap is {bwrap})"),
    ]
