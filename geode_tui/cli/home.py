"""The home screen's side of the project: its runs, what is ready, trust, and sources of runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from geode_tui.cli.client import fresh_session_id
from geode_tui.cli.dashboard import StoreSource, leave_with_terminal, project_files
from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.cli.models import known, looked_at, offered
from geode_tui.cli.options import Wishes, new_options
from geode_tui.cli.routing import chosen, likely
from geode_tui.cli.trust import Guarded, give_trust, guarded
from geode_tui.core.ids import BadId
from geode_tui.log.store import StoreError, connect
from geode_tui.log.transcript import Transcript
from geode_tui.providers.access import NoProvider
from geode_tui.tui.home_source import ProviderReady, Readiness, TrustQuestion
from geode_tui.tui.source import ModelChoice, SourceError
from geode_tui.view.overview import Overview

PEEK_CHARS = 4_000
"""Most characters of what was said last."""


class StoreHome:
    """A project's log as the home screen sees it. See `tui.home_source.HomeSource`."""

    def __init__(self, env: Env) -> None:
        self.project = _with_tilde(env.project.root, Path(env.environment.get("HOME") or Path.home()))
        self._terminal = sys.stdin.fileno() if sys.stdin.isatty() else None
        self._wishes = Wishes()
        self._take(env)

    def _take(self, env: Env) -> None:
        self._env = env
        self._ready = known(env)
        self._readiness = self._judge(first=True)
        self._question = _question(env)

    def feed(self, wake: Callable[[], None]) -> Overview:
        """A feed of the project's runs that calls ``wake`` from its own thread."""
        return Overview(self._env.project.store, wake, on_look=lambda: leave_with_terminal(self._terminal))

    def readiness(self) -> Readiness:
        """What is ready."""
        return self._readiness

    def look_around(self) -> Readiness:
        """What is ready, the endpoints of this machine included. Blocks while they are asked."""
        self._ready = looked_at(self._env)
        self._readiness = self._judge()
        return self._readiness

    def models(self) -> tuple[ModelChoice, ...]:
        """Every model that can be chosen. Blocks like `look_around`."""
        return offered(self._env)

    def use(self, model: str, service: str, effort: str) -> Readiness:
        """Let new runs use another model. Raises `SourceError` where they cannot."""
        wishes = Wishes(model=model or self._wishes.model, provider=service, effort=effort)
        try:
            chosen(self._env, *wishes.route(self._env.settings))
        except NoProvider as error:
            raise SourceError(str(error)) from error
        self._wishes = wishes
        self._readiness = self._judge()
        return self._readiness

    def trust_question(self) -> TrustQuestion | None:
        """What must be asked, None where nothing must."""
        return self._question

    def trust(self, question: TrustQuestion) -> None:
        """Trust what ``question`` shows. Raises `SourceError`, also when the settings are others by now."""
        env = self._env
        try:
            give_trust(env.folders, env.project, Guarded(question.settings, question.mark))
            self._take(Env(env.project.root, env.environment, project=env.project))
        except (CliError, StoreError, OSError) as error:
            raise SourceError(str(error)) from error
        if self._question is not None:
            raise SourceError(f"{env.project.settings_file} has changed meanwhile: look at it again")

    def peek(self, session_id: str) -> str:
        """The end of what the agent said last in a run, raw. Raises `SourceError`."""
        try:
            db = connect(self._env.project.store)
            try:
                transcript = Transcript(db, self._env.project.geode)
                row = transcript.open_message(session_id)
                stored = transcript.message(row.id) if row else transcript.last_answer(session_id)
            finally:
                db.close()
        except StoreError as error:
            raise SourceError(str(error)) from error
        return stored.message.text[-PEEK_CHARS:] if stored else ""

    def paths(self) -> tuple[str, ...]:
        """As `StoreSource.paths`. Raises `SourceError`."""
        return project_files(self._env.project.root)

    def open(self, session_id: str) -> StoreSource:
        """A run of this project. Raises `SourceError` where its id is none that this program makes."""
        try:
            return StoreSource(self._env, session_id)
        except BadId as error:
            raise SourceError(str(error)) from error

    def new(self) -> StoreSource:
        """A run that starts with its first message. Raises `SourceError` when none can be started."""
        try:
            return StoreSource(self._env, fresh_session_id(), new_options(self._env, self._wishes))
        except CliError as error:
            raise SourceError(str(error)) from error

    def _judge(self, *, first: bool = False) -> Readiness:
        """What new runs would use; for the first paint without the catalogue, which takes too long to read."""
        env = self._env
        providers = tuple(ProviderReady(ready.service, ready.lacks) for ready in self._ready)
        read_only = env.project.at_home
        try:
            provider, model, effort = self._wishes.route(env.settings)
            choice = likely(env, provider, model) if first else chosen(env, provider, model, effort)
        except NoProvider as error:
            return Readiness(providers, problem=str(error), read_only=read_only)
        return Readiness(providers, choice.provider, choice.model, read_only=read_only)

    def clock(self) -> float:
        """UTC epoch seconds."""
        return time.time()


def _question(env: Env) -> TrustQuestion | None:
    """Only where something was ignored: then the folder is not trusted as it is now."""
    if not env.resolved.untrusted:
        return None
    settings = guarded(env.project)
    return TrustQuestion(settings.values, settings.hash)


def _with_tilde(path: Path, home: Path) -> str:
    """``path`` as people write it."""
    try:
        return str(Path("~") / path.relative_to(home.resolve()))
    except ValueError:
        return str(path)
