"""`trust`: the person's word that a folder's settings may count."""

from __future__ import annotations

from pathlib import Path

import msgspec

from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.errors import CliError
from geode_tui.core.settings import GUARDED, SettingsError, flatten, guarded_hash
from geode_tui.log.store import private_folder, write_private
from geode_tui.paths import Project, UserFolders, home_of, project_at, read_toml, trusted_hashes


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
    chosen = sorted((k, str(v)) for k, v in flatten(values).items() if k.split(".")[0] in GUARDED)
    return Guarded(tuple(chosen), guarded_hash(values))


def give_trust(folders: UserFolders, project: Project, settings: Guarded) -> None:
    """Trust ``settings`` in the project's folder: keyed by real path and their hash. Raises `StoreError`."""
    trusted = {**trusted_hashes(folders), str(project.root): settings.hash}
    private_folder(folders.trust_file.parent)
    write_private(folders.trust_file, msgspec.json.encode(trusted))


def trust(env: Env, path: Path | None) -> int:
    """Trust the project's guarded settings as they are now. Raises `CliError`."""
    refuse_inside(env.environment, "trust")
    project = (
        env.project if path is None else project_at(path.resolve(), home_of(env.environment), env.folders.home_runs)
    )
    if not project.root.is_dir():
        raise CliError(f"{project.root} is no folder")
    settings = guarded(project)
    if not settings.hash:
        env.print(f"{project.root} sets nothing that needs your trust")
        return 0
    give_trust(env.folders, project, settings)
    env.print(f"trusted: {project.root}")
    for key, value in settings.values:
        env.print(f"  {key} = {value}")
    env.print("a change of these asks again")
    return 0
