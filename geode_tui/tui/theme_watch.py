"""The person's theme files are read again as they change, so that a theme can be made while looking at it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from textual.message import Message

from geode_tui.tui.themes import LoadedTheme, ThemeError, load_theme

STEP_MS = 100
"""Between two looks at what the system told; a change is read once one look finds no further one."""
DEBOUNCE_MS = 400


class ThemeRead(Message):
    """A theme file changed. ``theme`` is None where it cannot be used, and ``trouble`` says why."""

    def __init__(self, theme: LoadedTheme | None, trouble: str = "") -> None:
        super().__init__()
        self.theme = theme
        self.trouble = trouble


class ThemeWatch:
    """A thread that posts `ThemeRead` for every change in ``folders``; there is none where no folder exists."""

    def __init__(self, folders: tuple[Path, ...], post: Callable[[Message], object]) -> None:
        self._folders = folders
        self._post = post
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch the folders that exist by now."""
        present = [folder for folder in self._folders if folder.is_dir()]
        if present and self._thread is None:
            self._thread = threading.Thread(target=self._watch, args=(present,), name="themes", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    def _watch(self, folders: list[Path]) -> None:
        from watchfiles import Change, watch  # 0.1 s, which no first paint waits for

        try:
            for changes in watch(
                *folders,
                watch_filter=lambda change, path: change != Change.deleted and path.endswith(".toml"),
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                stop_event=self._stop,
                recursive=False,
            ):
                for path in sorted({Path(path) for _, path in changes}):
                    self._read(path)
        except OSError as error:
            self._post(ThemeRead(None, f"themes are not watched: {error}"))

    def _read(self, path: Path) -> None:
        if not path.is_file():
            return  # an editor's temporary file
        try:
            self._post(ThemeRead(load_theme(path)))
        except ThemeError as error:
            self._post(ThemeRead(None, str(error)))
