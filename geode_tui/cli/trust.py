"""`trust`: the person's word that a folder's settings may count."""

from __future__ import annotations

from pathlib import Path

import msgspec

from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.errors import CliError
from geode_tui.core.settings import GUARDED, SettingsError, flatten, guarded_hash
from geode_tui.log.store import private_folder, write_private
from geode_tui.paths import Project, read_toml, trusted_hashes


def trust(env: Env, path: Path | None) -> int:
    """Trust the project's guarded settings as they are now: keyed by real path and their hash. Raises `CliError`."""
    refuse_inside(env.environment, "trust")
    project = env.project if path is None else Project(path.resolve())
    if not project.root.is_dir():
        raise CliError(f"{project.root} is no folder")
    try:
        values = read_toml(project.settings_file)
    except SettingsError as error:
        raise CliError(str(error)) from error
    wanted = guarded_hash(values)
    if not wanted:
        env.print(f"{project.root} sets nothing that needs your trust")
        return 0
    trusted = {**trusted_hashes(env.folders), str(project.root): wanted}
    private_folder(env.folders.trust_file.parent)
    write_private(env.folders.trust_file, msgspec.json.encode(trusted))
    env.print(f"trusted: {project.root}")
    for key, value in sorted(flatten(values).items()):
        if key.split(".")[0] in GUARDED:
            env.print(f"  {key} = {value}")
    env.print("a change of these asks again")
    return 0
