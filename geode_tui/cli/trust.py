"""`trust`: the person's word that a folder's settings and skills may count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.errors import CliError
from geode_tui.core.servers import Declared, declared
from geode_tui.core.settings import GUARDED, SettingsError, flatten, guarded_hash
from geode_tui.log.store import private_folder, write_private
from geode_tui.paths import Project, UserFolders, home_of, project_at, read_toml, trusted_hashes
from geode_tui.runtime.skills import Skills, read_skills


class Guarded(msgspec.Struct, frozen=True):
    """A project's guarded settings by dotted key, and the hash that trust is given to; empty without any."""

    values: tuple[tuple[str, str], ...]
    hash: str


def guarded(project: Project) -> Guarded:
    """The project's guarded settings as they are now. Raises `CliError`."""
    try:
        values = read_toml(project.settings_file)
    except SettingsError as error:
        raise CliError(str(error)) from error
    chosen = {k: v for k, v in flatten(values).items() if k.split(".")[0] in GUARDED}
    servers = chosen.pop("mcp", None)
    rows = sorted((k, str(v)) for k, v in chosen.items())
    if isinstance(servers, Mapping):
        rows += _server_rows(declared(servers))
    return Guarded(tuple(rows), guarded_hash(values))


def _server_rows(servers: Declared) -> list[tuple[str, str]]:
    """What a project's MCP servers would run or reach, and which variables they would be given; no values."""
    rows = []
    for server in servers.servers:
        given = f"  gives {', '.join((*server.env, *server.headers))}" if server.env or server.headers else ""
        takes = f"  takes {', '.join(server.takes)} from your environment" if server.takes else ""
        rows.append((f"mcp.{server.name}", f"{server.place}{given}{takes}"))
    return [*rows, *((f"mcp.{name}", line) for name, line in servers.problems)]


def give_trust(folders: UserFolders, project: Project, settings: Guarded) -> None:
    """Trust ``settings`` in the project's folder: keyed by real path and their hash. Raises `StoreError`."""
    _keep(folders, str(project.root), settings.hash)


def trust_skills(folders: UserFolders, project: Project, skills: Skills) -> None:
    """Trust a project's skills as they are now. Raises `StoreError`."""
    _keep(folders, str(project.skills), skills.mark)


def _keep(folders: UserFolders, key: str, mark: str) -> None:
    private_folder(folders.trust_file.parent)
    write_private(folders.trust_file, msgspec.json.encode({**trusted_hashes(folders), key: mark}))


def project_skills(project: Project) -> Skills:
    """The project's skills, trusted or not. Runs in the home folder have none: its ``.geode`` is another program's."""
    return Skills() if project.at_home else read_skills(project.geode)


def are_trusted(folders: UserFolders, project: Project, skills: Skills) -> bool:
    """Whether the person has trusted these very skills. Where there are none there is nothing to trust."""
    return not skills.found or trusted_hashes(folders).get(str(project.skills)) == skills.mark


def usable_skills(folders: UserFolders, project: Project) -> tuple[Skills, tuple[str, ...]]:
    """The skills that a run may use, and one line for what it may not."""
    skills = project_skills(project)
    if are_trusted(folders, project, skills):
        return skills, ()
    return Skills(), (ignored_skills(project),)


def ignored_skills(project: Project) -> str:
    """Says that a project's skills do not count, and what would make them."""
    return f"skills in {project.skills} are ignored until you trust them: geode-tui trust"


def trust(env: Env, path: Path | None) -> int:
    """Trust the project's guarded settings and its skills as they are now. Raises `CliError`."""
    refuse_inside(env.environment, "trust")
    project = (
        env.project if path is None else project_at(path.resolve(), home_of(env.environment), env.folders.home_runs)
    )
    if not project.root.is_dir():
        raise CliError(f"{project.root} is no folder")
    settings, skills = guarded(project), project_skills(project)
    if not settings.hash and not skills.found:
        env.print(f"{project.root} sets nothing that needs your trust")
        return 0
    if settings.hash:
        give_trust(env.folders, project, settings)
    if skills.found:
        trust_skills(env.folders, project, skills)
    env.print(f"trusted: {project.root}")
    for key, value in settings.values:
        env.print(f"  {key} = {value}")
    for skill in skills.found:
        env.print(f"  skill {skill.name}: {skill.description}")
    env.print("a change of these asks again")
    return 0
