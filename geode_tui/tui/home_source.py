"""What the home screen needs of the outside: this project's runs, what is ready, and how to open or start a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from geode_tui.tui.source import ModelChoice, RunSource
from geode_tui.view.overview import Listing


class ProviderReady(msgspec.Struct, frozen=True):
    """A provider. ``missing`` names the variable that it needs and that is not set; empty when it is ready."""

    name: str
    missing: str = ""


class Readiness(msgspec.Struct, frozen=True):
    """What a new run would use. ``problem`` is one line when it could not start; then there is no ``model``.
    ``read_only`` where nothing may be changed: in the home folder itself.
    """

    providers: tuple[ProviderReady, ...]
    provider: str = ""
    model: str = ""
    problem: str = ""
    read_only: bool = False


class TrustQuestion(msgspec.Struct, frozen=True):
    """A project's settings that do not count before the person trusts the folder."""

    settings: tuple[tuple[str, str], ...]
    """(dotted key, value) of each."""
    mark: str
    """What the answer is given to: other settings have another one."""


class HomeFeed(Protocol):
    """What `view.overview.Overview` is to the home screen."""

    def start(self) -> None:
        """Start reading."""
        ...

    def rest(self) -> None:
        """Look at nothing until `resume`."""
        ...

    def resume(self) -> None:
        """Look again, at once."""
        ...

    def take(self) -> Listing:
        """The newest list."""
        ...

    def stop(self) -> None:
        """End the reading thread."""
        ...


class HomeSource(Protocol):
    """A project. Most methods may block and are called in a thread; `project`, `feed`, `readiness`, `trust_question`,
    `open` and `clock` do not.
    """

    project: str
    """The project's folder as people write it: ``~/src/parser``."""

    def feed(self, wake: Callable[[], None]) -> HomeFeed:
        """A feed of the project's runs that calls ``wake`` from its own thread."""
        ...

    def readiness(self) -> Readiness:
        """What is ready."""
        ...

    def look_around(self) -> Readiness:
        """As `readiness`, the endpoints of this machine included."""
        ...

    def models(self) -> tuple[ModelChoice, ...]:
        """Every model that can be chosen. Raises `SourceError`."""
        ...

    def use(self, model: str, service: str, effort: str) -> Readiness:
        """Let new runs use another model; what is empty stays. Raises `SourceError` where they cannot."""
        ...

    def trust_question(self) -> TrustQuestion | None:
        """What must be asked, None where nothing must."""
        ...

    def trust(self, question: TrustQuestion) -> None:
        """The person trusts what ``question`` shows. Raises `SourceError`, also when the settings are others by now."""
        ...

    def peek(self, session_id: str) -> str:
        """The end of what the agent said last in a run, raw; empty when it said nothing. Raises `SourceError`."""
        ...

    def paths(self) -> tuple[str, ...]:
        """As `RunSource.paths`."""
        ...

    def open(self, session_id: str) -> RunSource:
        """A run of this project. Raises `SourceError`."""
        ...

    def new(self) -> RunSource:
        """A run that starts with its first message. Raises `SourceError` when none can be started."""
        ...

    def clock(self) -> float:
        """UTC epoch seconds."""
        ...
