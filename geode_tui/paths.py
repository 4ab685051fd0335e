"""Where things live: the project, its ``.geode`` folder, and the person's own folders (PRODUCT.md)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from geode_tui.core.settings import Layer, Resolved, SettingsError, from_environment, guarded_hash, resolve

APP = "geode-tui"


class Project(msgspec.Struct, frozen=True):
    """A project: its resolved root. ``at_home`` when geode-tui was started in the home folder itself: ``~/.geode`` is
    another program's and is never written, so such runs are kept under ``kept``.
    """

    root: Path
    at_home: bool = False
    kept: Path | None = None

    @property
    def geode(self) -> Path:
        """The project's ``.geode`` folder."""
        return self.root / ".geode" if self.kept is None else self.kept

    @property
    def store(self) -> Path:
        """The log."""
        return self.geode / "sessions.db"

    @property
    def settings_file(self) -> Path:
        """The project's settings."""
        return self.geode / "config.toml"

    @property
    def skills(self) -> Path:
        """The project's skills, and the key under which they are trusted."""
        return self.geode / "skills"


class UserFolders(msgspec.Struct, frozen=True):
    """The person's folders, by the platform's habit; ``GEODE_TUI_HOME`` puts them all under one."""

    config: Path
    data: Path
    state: Path

    @property
    def settings_file(self) -> Path:
        """The person's settings."""
        return self.config / "config.toml"

    @property
    def trust_file(self) -> Path:
        """Folders the person has trusted."""
        return self.data / "trust.json"

    @property
    def usage(self) -> Path:
        """The usage ledger, a file a month."""
        return self.data / "usage"

    @property
    def home_runs(self) -> Path:
        """What ``.geode`` is to a project, for runs in the home folder."""
        return self.data / "home"

    @property
    def themes(self) -> Path:
        """The person's own themes."""
        return self.config / "themes"

    @property
    def logs(self) -> Path:
        """Log files of workers."""
        return self.state / "logs"


def user_folders(environment: Mapping[str, str]) -> UserFolders:
    """The person's folders."""
    home = environment.get("GEODE_TUI_HOME", "")
    if home:
        base = Path(home)
        return UserFolders(base / "config", base / "data", base / "state")
    dirs = platformdirs.PlatformDirs(APP, appauthor=False)
    return UserFolders(Path(dirs.user_config_dir), Path(dirs.user_data_dir), Path(dirs.user_state_dir))


def home_of(environment: Mapping[str, str]) -> Path:
    """The person's home folder."""
    return Path(environment.get("HOME") or Path.home())


def find_project(start: Path, home: Path, kept: Path | None = None) -> Project:
    """The nearest folder upwards that holds our store or settings, not above the git root and never the home folder
    or a file-system root; else the git root; else ``start``. ``kept`` is where runs in the home folder are kept.
    """
    start, home = start.resolve(), home.resolve()
    git_root: Path | None = None
    for folder in (start, *start.parents):
        if folder == home or folder.parent == folder:
            break
        if (folder / ".geode" / "sessions.db").is_file() or (folder / ".geode" / "config.toml").is_file():
            return Project(folder)
        if (folder / ".git").exists():
            git_root = folder
            break
    return project_at(git_root or start, home, kept)


def project_at(root: Path, home: Path, kept: Path | None = None) -> Project:
    """The project whose root is known."""
    if root.resolve() == home.resolve():
        return Project(root, at_home=True, kept=kept)
    return Project(root)


def read_toml(path: Path) -> dict[str, Any]:
    """A settings file; empty where there is none. Raises `SettingsError` naming the file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from error


def trusted_hashes(folders: UserFolders) -> dict[str, str]:
    """Real path of a project -> hash of the guarded settings that were trusted there; of its folder of skills -> hash
    of the skills.
    """
    try:
        return msgspec.json.decode(folders.trust_file.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}


def load_settings(
    project: Project, folders: UserFolders, environment: Mapping[str, str], flags: Mapping[str, Any]
) -> Resolved:
    """The settings in force. Raises `SettingsError`."""
    project_values = read_toml(project.settings_file)
    wanted = guarded_hash(project_values)
    trusted = not wanted or trusted_hashes(folders).get(str(project.root)) == wanted
    name = str(project.settings_file)
    layers = (
        Layer(str(folders.settings_file), read_toml(folders.settings_file)),
        Layer(name, project_values),
        from_environment(environment),
        Layer("flags", {k: v for k, v in flags.items() if v is not None}),
    )
    return resolve(layers, untrusted="" if trusted else name, project=name)
