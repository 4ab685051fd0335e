"""`doctor`: what works here, and what to do about what does not. It looks and changes nothing."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import apsw

from geode_tui import __version__
from geode_tui.cli import check_files, checks
from geode_tui.cli.checks import Check
from geode_tui.cli.config import setting_rows
from geode_tui.cli.env import Env
from geode_tui.cli.models import looked_at
from geode_tui.cli.routing import access_of, chosen
from geode_tui.cli.trust import are_trusted, project_skills
from geode_tui.core.servers import declared
from geode_tui.paths import read_toml
from geode_tui.providers.access import NoProvider
from geode_tui.providers.registry import Choice


def doctor(cwd: Path, environment: Mapping[str, str], *, json: bool) -> int:
    """Look at everything; 1 where something is not ok."""
    env = Env(cwd, environment, forgiving=True)
    found = [*_looked_at(env)]
    ok = all(check.ok for check in found)
    if json:
        env.print_json({"ok": ok, "checks": found})
        return 0 if ok else 1
    wide = max(len(check.name) for check in found)
    for check in found:
        env.print(f"{'ok' if check.ok else ' !'}  {check.name:<{wide}}  {check.detail}")
        if check.remedy:
            env.print(f"    {'':<{wide}}  {check.remedy}")
    bad = sum(not check.ok for check in found)
    env.print("everything works" if ok else f"{bad} of {len(found)} need you: the lines with !")
    return 0 if ok else 1


def _looked_at(env: Env) -> Iterator[Check]:
    resolved = env.resolved
    yield from checks.terminal(env.environment, _size(), sys.stdout.encoding or "")
    yield from checks.versions(
        __version__,
        f"{platform.python_version()} on {platform.system()}",
        version("textual"),
        apsw.sqlite_lib_version(),
    )
    yield from check_files.project(env.project)
    yield from check_files.store(env.project)
    yield from check_files.workers(env.project)
    yield from checks.providers(looked_at(env), access_of(env))
    yield checks.model(_choice(env))
    yield from checks.settings(setting_rows(resolved), resolved.ignored, env.trouble)
    if not env.trouble:
        yield checks.trust(env.project.root, read_toml(env.project.settings_file), waits=resolved.untrusted)
    yield from checks.servers(declared(env.settings.mcp))
    skills = project_skills(env.project)
    yield from checks.skills(env.project.skills, skills, trusted=are_trusted(env.folders, env.project, skills))
    yield from check_files.folders(env.folders)
    yield from check_files.themes(env.folders.themes, env.settings.theme)
    yield from checks.tools(shutil.which)


def _choice(env: Env) -> Choice | NoProvider:
    """Who would answer a new run, or why nobody would."""
    settings = env.settings
    try:
        return chosen(env, settings.provider, settings.model, settings.effort)
    except NoProvider as error:
        return error


def _size() -> tuple[int, int] | None:
    """Columns and rows of the terminal that a screen would be drawn on, or None."""
    try:
        return tuple(os.get_terminal_size(sys.stdout.fileno()))  # type: ignore[return-value]
    except (OSError, ValueError):
        return None
