"""`screenshot`: the screen of a session as an SVG file, without a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.log.lease import lock_path, probe
from geode_tui.tui.app import GeodeApp
from geode_tui.tui.glyphs import ASCII, UNICODE
from geode_tui.tui.source import SourceError
from geode_tui.tui.still import picture
from geode_tui.tui.themes import load_themes
from geode_tui.tui.widgets.tabs import TABS
from geode_tui.view.follow import Follower

SMALLEST, LARGEST = (20, 5), (400, 200)
"""Columns and rows."""
_SIZE = re.compile(r"(\d{1,4})x(\d{1,4})\Z")


class StillSource(StoreSource):
    """A run that is looked at once: nobody counts as watching it, and nothing is asked of it."""

    def follower(self, wake: Callable[[], None]) -> Follower:
        """A follower that leaves no trace."""
        return Follower(self._env.project.store, self.session_id, wake)

    def send(self, kind: str, payload: Mapping[str, Any], key: str | None = None) -> None:  # noqa: ARG002  the port's
        """Refuse. Raises `SourceError`."""
        raise SourceError("a picture sends nothing")


def screenshot(env: Env, session: str | None, output: Path, *, tab: str, size: str, theme: str | None) -> int:
    """Draw ``session`` into ``output``. Raises `CliError`.

    ``env`` holds the theme, the language and the glyphs to use; ``theme`` is given where the person named one, since
    a name that does not exist is then an error.
    """
    columns_rows = parse_size(size)
    _known("tab", tab, TABS)
    if theme is not None:
        _known("theme", theme, sorted(load_themes((env.folders.themes,))[0]))
    transcript = env.transcript()
    session_id = env.session(transcript, session).session_id
    transcript.db.close()
    lock = lock_path(env.project.geode, session_id)
    app = GeodeApp(
        StillSource(env, session_id),
        env.strings,
        ASCII if env.settings.ascii else UNICODE,
        theme_name=env.settings.theme,
        user_theme_dirs=(env.folders.themes,),
        redact=env.redact,
        motion=False,
        depth="none" if env.environment.get("NO_COLOR") else "full",
    )
    drawn = picture(app, columns_rows, tab, lambda batch: batch.liveness.state == probe(lock).state)
    if drawn is None:
        raise CliError(f"the screen of {session_id} could not be drawn", 1)
    try:
        output.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{output} cannot be written ({error.strerror}): name another file with -o", 1) from error
    env.print(f"{output}  {session_id}  {size}")
    return 0


def parse_size(text: str) -> tuple[int, int]:
    """Columns and rows of ``COLUMNSxROWS``. Raises `CliError`."""
    match = _SIZE.match(text)
    if match is None:
        raise CliError(f"{text!r} is no size: write it as 120x40, columns by rows")
    columns, rows = int(match[1]), int(match[2])
    if not (SMALLEST[0] <= columns <= LARGEST[0] and SMALLEST[1] <= rows <= LARGEST[1]):
        smallest, largest = (f"{c}x{r}" for c, r in (SMALLEST, LARGEST))
        raise CliError(f"the size {text} cannot be drawn: choose one from {smallest} to {largest}")
    return columns, rows


def _known(what: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise CliError(f"there is no {what} {name}: choose one of {', '.join(names)}")
