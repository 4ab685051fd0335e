"""What every command starts from: the project, the person's folders, the settings in force, the words to use."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from geode_tui.cli.ancestors import ancestors
from geode_tui.cli.errors import CliError
from geode_tui.core.ids import BadId, check_id
from geode_tui.core.settings import Resolved, Settings, SettingsError
from geode_tui.core.strings import Strings, language_of
from geode_tui.core.text import Redactor, clean, secret_values
from geode_tui.log.rows import SessionRow
from geode_tui.log.store import StoreError, connect, create
from geode_tui.log.transcript import Transcript
from geode_tui.paths import Project, UserFolders, find_project, home_of, load_settings, user_folders


class Env:
    """See the module. ``environment`` is given so that tests choose it."""

    def __init__(
        self,
        cwd: Path,
        environment: Mapping[str, str],
        flags: Mapping[str, Any] | None = None,
        project: Project | None = None,
        *,
        forgiving: bool = False,
    ) -> None:
        """Raises `CliError` when a settings file cannot be used; a ``forgiving`` one takes the defaults then, and says
        why in ``trouble``.
        """
        self.environment = environment
        self.folders: UserFolders = user_folders(environment)
        self.project = project or find_project(cwd, home_of(environment), self.folders.home_runs)
        self.redact = Redactor(secret_values(environment.items()))
        self.trouble = ""
        try:
            self.resolved: Resolved = load_settings(self.project, self.folders, environment, flags or {})
        except SettingsError as error:
            if not forgiving:
                raise CliError(str(error)) from error
            self.trouble = str(error)
            self.resolved = Resolved(Settings(), {}, ())
        self.settings = self.resolved.settings
        language = (
            "ko" if self.settings.language == "ko" else "en" if self.settings.language else language_of(environment)
        )
        self.strings = Strings(language)

    # -- the store --------------------------------------------------------------------------------------------------
    def has_store(self) -> bool:
        """Whether this project has a log."""
        return self.project.store.is_file()

    def make_store(self) -> None:
        """Make the log if there is none, and bring it up to date. Raises `CliError`."""
        try:
            create(self.project.store).close()
        except StoreError as error:
            raise CliError(str(error), 1) from error

    def transcript(self) -> Transcript:
        """A reader of the log. Raises `CliError` when there is none."""
        if not self.has_store():
            raise CliError(f"there are no runs in {self.project.root}: start one with geode-tui run PROMPT")
        try:
            return Transcript(connect(self.project.store), self.project.geode)
        except StoreError as error:
            raise CliError(str(error), 1) from error

    def session(self, transcript: Transcript, wanted: str | None) -> SessionRow:
        """The session of that id, or the one whose id begins or ends so; without one the newest. Raises `CliError`."""
        rows = transcript.sessions()
        if not rows:
            raise CliError(f"there are no runs in {self.project.root}: start one with geode-tui run PROMPT")
        if not wanted:
            return rows[0]
        try:
            check_id(wanted)
        except BadId as error:
            raise CliError(str(error)) from error
        exact = [r for r in rows if r.session_id == wanted]
        near = exact or [r for r in rows if r.session_id.startswith(wanted) or r.session_id.endswith(wanted)]
        if len(near) == 1:
            return near[0]
        if not near:
            raise CliError(f"there is no session {wanted} in {self.project.root}: geode-tui sessions lists them")
        raise CliError(f"{wanted} may be {', '.join(r.session_id for r in near[:4])}: write more of it")

    # -- output -----------------------------------------------------------------------------------------------------
    def safe(self, text: str) -> str:
        """``text`` as it may leave this process: inert, and without secrets."""
        return self.redact(clean(text))

    def print(self, text: str = "") -> None:
        """A line for the person."""
        print(self.safe(text), flush=True)

    def note(self, text: str) -> None:
        """A line on stderr."""
        print(self.safe(text), file=sys.stderr, flush=True)

    def print_json(self, value: Any) -> None:
        """``value`` as one line of JSON."""
        print(msgspec.json.encode(self.safe_value(msgspec.to_builtins(value))).decode(), flush=True)

    def safe_value(self, value: Any) -> Any:
        """``value`` with every string made safe."""
        match value:
            case str():
                return self.safe(value)
            case dict():
                return {self.safe(str(k)): self.safe_value(v) for k, v in value.items()}
            case list() | tuple():
                return [self.safe_value(v) for v in value]
        return value


def refuse_inside(environment: Mapping[str, str], what: str) -> None:
    """Refuse ``what`` where an agent's own command runs it. Raises `CliError`.

    The variable may be taken off by a command that knows of it, so the processes above this one are asked as well,
    and whether a worker is one of them: nothing that a person starts is.
    """
    if environment.get("GEODE_INSIDE_RUN") or _ancestor_inside():
        raise CliError(f"{what} is refused inside a run: only the person may do that")


def _ancestor_inside() -> bool:
    return any("GEODE_INSIDE_RUN" in one.variables or "geode_tui.cli.worker" in one.words for one in ancestors())
